"""Damage done to files on purpose."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from pathlib import Path


def flip(at: Callable[[int], int]) -> Callable[[Path], None]:
    """Damage one byte, found by the size of the file."""

    def damage(file: Path) -> None:
        content = bytearray(file.read_bytes())
        content[at(len(content))] ^= 0xFF
        file.write_bytes(content)

    return damage


def of_format(file: Path, number: int) -> bytes:
    """A file of vectors as another version made it: sound, but not for us."""
    fields = struct.Struct("<8sIIQqqII")
    content = file.read_bytes()
    magic, _, *rest, _ = fields.unpack_from(content)
    seal = zlib.crc32(fields.pack(magic, number, *rest, 0))
    aside = file.with_name("aside")
    aside.write_bytes(fields.pack(magic, number, *rest, seal) + content[fields.size :])
    aside.replace(file)  # as every version does it: whoever has the one before mapped goes on with it
    return file.read_bytes()
