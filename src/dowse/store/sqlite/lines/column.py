"""A long array that may lie in a file: what is read of it is checked, a block at a time, when it is first touched."""

from __future__ import annotations

import zlib

import numpy as np
from numpy.typing import NDArray

from dowse.errors import DowseError
from dowse.store.sqlite.lines.arrays import Array

BLOCK_BYTES = 1 << 20


class Damaged(DowseError):
    """What the index of lines holds is not what was written."""


class Column:
    """`sums` are the checksums of its blocks; without them, as in memory, nothing needs to be checked."""

    __slots__ = ("_block", "_sums", "_unseen", "values")

    def __init__(self, values: Array, sums: NDArray[np.uint32] | None = None) -> None:
        self.values = values
        self._sums = sums
        self._block = BLOCK_BYTES // values.itemsize
        self._unseen = None if sums is None else np.ones(len(sums), dtype=np.bool_)

    def __len__(self) -> int:
        return len(self.values)

    def part(self, start: int, end: int) -> Array:
        self._check(start, end)
        return self.values[start:end]

    def at(self, places: Array) -> Array:
        """The values at places in ascending order."""
        if len(places):
            self._check(int(places[0]), int(places[-1]) + 1)
        return self.values[places]

    def whole(self) -> Array:
        return self.part(0, len(self.values))

    def _check(self, start: int, end: int) -> None:
        if self._unseen is None or self._sums is None or end <= start:
            return
        blocks = slice(start // self._block, -(-end // self._block))
        if not self._unseen[blocks].any():
            return
        for block in range(blocks.start, blocks.stop):
            if self._unseen[block]:
                content = self.values[block * self._block : (block + 1) * self._block]
                if zlib.crc32(content.data) != self._sums[block]:
                    raise Damaged("a block of the index of lines is not as it was written")
                self._unseen[block] = False


class Sums:
    """Checksums of the blocks of what is written bit by bit."""

    def __init__(self) -> None:
        self._sums: list[int] = []
        self._filled = BLOCK_BYTES

    def add(self, content: bytes | memoryview) -> None:
        at = 0
        while at < len(content):
            if self._filled == BLOCK_BYTES:
                self._sums.append(0)
                self._filled = 0
            part = content[at : at + BLOCK_BYTES - self._filled]
            self._sums[-1] = zlib.crc32(part, self._sums[-1])
            self._filled += len(part)
            at += len(part)

    def values(self) -> NDArray[np.uint32]:
        return np.array(self._sums, dtype=np.uint32)
