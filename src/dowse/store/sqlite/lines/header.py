"""The first bytes of a sidecar of lines: what it is, and of which moment; read without anything heavy."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import BinaryIO, NamedTuple

from dowse.store.sqlite.lines.changes import Position

HEADER_BYTES = 4_096  # room for it in front of the first array
_MAGIC = b"DOWSELIN"
_FORMAT = 1  # raise it with any change of the layout, or of what a word is: other files are made anew
_LAYOUT = struct.Struct("<8sIqqQQQII")


class Header(NamedTuple):
    magic: bytes
    layout: int
    epoch: int
    token: int
    size: int
    text_bytes: int
    table_at: int
    table_checksum: int
    seal: int = 0  # checksum of the fields above

    @classmethod
    def of(cls, position: Position, *, size: int, table_at: int, table_checksum: int, text_bytes: int) -> Header:
        header = cls(_MAGIC, _FORMAT, *position, size, text_bytes, table_at, table_checksum)
        return header._replace(seal=zlib.crc32(_LAYOUT.pack(*header)))

    @classmethod
    def read(cls, file: BinaryIO) -> Header | None:
        start = file.read(_LAYOUT.size)
        if len(start) < _LAYOUT.size:
            return None
        header = cls(*_LAYOUT.unpack(start))
        intact = header.seal == zlib.crc32(_LAYOUT.pack(*header._replace(seal=0)))
        return header if intact and header[:2] == (_MAGIC, _FORMAT) else None

    def packed(self) -> bytes:
        return _LAYOUT.pack(*self)

    @property
    def position(self) -> Position:
        return Position(self.epoch, self.token)


def header_of(path: Path) -> Header | None:
    """None where there is no sidecar, or one that is not ours."""
    try:
        with open(path, "rb") as file:
            header = Header.read(file)
            return header if header and path.stat().st_size == header.size else None
    except OSError:
        return None
