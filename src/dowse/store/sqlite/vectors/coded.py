"""Many vectors: the bits of all, then the exact cosines of the best; what changed lies beside until the next build."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from heapq import nsmallest
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from dowse.model import Scored
from dowse.store.sqlite.vectors.codes import FAR, Codes, closest, codes_of, distances
from dowse.store.sqlite.vectors.exact import (
    BlockDamaged,
    ExactRows,
    Halves,
    Keys,
    Matrix,
    Vector,
    nearest,
    products,
    units,
    unpacked,
)

_CANDIDATES = 1_000
_CANDIDATES_SHARE = 0.02
_CANDIDATES_PER_HIT = 4
_NARROW = 0.25  # of all rows: gathering the bits of fewer costs less than comparing the bits of all
_WASTE = 0.2  # of the block, dead or replaced by the tail: then a new one is due
_LONGEST_TAIL = 20_000  # it is searched exactly, which must stay a small part of a query
_AT_ONCE = 512  # rows: what is between the steps stays in the processor's cache
_PART_BYTES = 6 << 20  # of rows read at a time
_LENGTH_TOLERANCE = 1e-3

# A half float's bits, moved to where a float has them, are 2**112 times too small.
_HALF_SHIFT = 13
_HALF_BITS = np.int32(-0x70002000)  # sign, exponent and fraction, without the copies of the sign above them
_HALF_SCALE = np.float32(2.0**112)


@dataclass(frozen=True, slots=True)
class Block:
    """Vectors that never change: keys in ascending order, bits, lengths, and rows that may be a mapped file."""

    keys: Keys
    lengths: NDArray[np.float32]
    codes: Codes
    rows: Halves

    @classmethod
    def of(cls, parts: Iterable[Block]) -> Block:
        """All parts in one, in memory."""
        keys, lengths, codes, rows = zip(*((it.keys, it.lengths, it.codes, it.rows) for it in parts), strict=True)
        return cls(np.concatenate(keys), np.concatenate(lengths), np.concatenate(codes, axis=1), np.concatenate(rows))


def parts_of(rows: Iterator[tuple[int, bytes]]) -> Iterator[Block]:
    """What is stored, as small blocks: what is made on the way is several times the size of the vectors."""
    for first in rows:
        at_once = max(1, _PART_BYTES // max(1, len(first[1])))
        keys, halves = unpacked([first, *islice(rows, at_once - 1)])
        wide = halves.astype(np.float32)
        yield Block(keys, np.linalg.norm(wide, axis=-1), codes_of(wide), halves)


@dataclass(frozen=True, slots=True)
class CodedRows:
    block: Block
    alive: NDArray[np.bool_]
    tail: ExactRows

    @classmethod
    def of(cls, block: Block) -> CodedRows:
        return cls(block, np.ones(len(block.keys), dtype=np.bool_), ExactRows.of(()))

    def __len__(self) -> int:
        return int(np.count_nonzero(self.alive)) + len(self.tail)

    @property
    def wasteful(self) -> bool:
        dead = len(self.alive) - int(np.count_nonzero(self.alive))
        return max(dead, len(self.tail)) > _WASTE * len(self.alive) or len(self.tail) > _LONGEST_TAIL

    def changed(self, vectors: Mapping[int, bytes | None]) -> CodedRows:
        if not vectors:
            return self
        alive = self.alive.copy()
        alive[self._places_of(np.fromiter(vectors, dtype=np.int64, count=len(vectors)))] = False
        return CodedRows(self.block, alive, self.tail.changed(vectors))

    def near(self, vector: Vector, allowed: Keys | None, limit: int) -> list[Scored]:
        query = units(np.asarray(vector, dtype=np.float32))
        found = [*self._near(query, allowed, limit), *self.tail.near(query, allowed, limit)]
        return nsmallest(limit, found, key=lambda it: (-it.score, it.key))

    def _near(self, query: Vector, allowed: Keys | None, limit: int) -> list[Scored]:
        places = self._candidates(query, self._open(allowed), limit)
        scores = _cosines(self.block, places, query)
        if limit < len(places):
            places = places[np.argpartition(-scores, limit - 1)[:limit]]
        # Only now as the exact search does it, so that both give the same scores.
        rows = self.block.rows[places].astype(np.float32)
        self._check(places, rows)
        return nearest(self.block.keys[places], units(rows), query, limit)

    def _check(self, places: Keys, rows: Matrix) -> None:
        """Reading all rows for a checksum would take longer than many searches: those that are found are checked."""
        lengths = np.linalg.norm(rows, axis=-1)
        if not np.allclose(lengths, self.block.lengths[places], rtol=_LENGTH_TOLERANCE, equal_nan=True):
            raise BlockDamaged("rows of vectors are not as long as they were")

    def agrees(self, part: Block) -> bool:
        """Whether the rows that are alive here are those of the part, which is of the same moment."""
        mine = self._places_of(part.keys)
        theirs = np.searchsorted(part.keys, self.block.keys[mine])
        alive = self.alive[mine]
        return bool(
            np.array_equal(self.block.rows[mine][alive].view(np.int16), part.rows[theirs][alive].view(np.int16))
        )

    def _open(self, allowed: Keys | None) -> NDArray[np.bool_]:
        """Which rows of the block may be found."""
        if allowed is None:
            return self.alive
        inside = np.zeros_like(self.alive)
        inside[self._places_of(allowed)] = True
        return inside & self.alive

    def _places_of(self, keys: Keys) -> Keys:
        """Where those of the keys are that the block has."""
        ordered = self.block.keys
        places = np.searchsorted(ordered, keys)
        places, keys = places[places < len(ordered)], keys[places < len(ordered)]
        found: Keys = places[ordered[places] == keys]
        return found

    def _candidates(self, query: Vector, open_rows: NDArray[np.bool_], limit: int) -> Keys:
        count = int(np.count_nonzero(open_rows))
        wanted = max(_CANDIDATES, int(count * _CANDIDATES_SHARE), limit * _CANDIDATES_PER_HIT)
        if count <= wanted:
            return np.flatnonzero(open_rows)
        if count < _NARROW * len(open_rows):
            places = np.flatnonzero(open_rows)
            return places[closest(distances(self.block.codes[:, places], query), wanted)]
        distance = distances(self.block.codes, query)
        np.copyto(distance, FAR, where=~open_rows)
        return closest(distance, wanted)


def _cosines(block: Block, places: Keys, query: Vector) -> Vector:
    """Cosines of some rows, at the cost of reading these rows only."""
    dots = np.empty(len(places), dtype=np.float32)
    halves = block.rows.view(np.int16)
    gathered = np.empty((_AT_ONCE, halves.shape[1]), dtype=np.int16)
    widened = np.empty(gathered.shape, dtype=np.int32)
    scaled = query * _HALF_SCALE
    for start in range(0, len(places), _AT_ONCE):
        part = places[start : start + _AT_ONCE]
        narrow, wide = gathered[: len(part)], widened[: len(part)]
        np.take(halves, part, axis=0, out=narrow, mode="clip")  # any other mode copies once more
        # numpy widens half floats one by one, which would take longer than all the rest of a query.
        np.left_shift(narrow, _HALF_SHIFT, out=wide, dtype=np.int32)
        wide &= _HALF_BITS
        dots[start : start + _AT_ONCE] = products(wide.view(np.float32), scaled)
    lengths = block.lengths[places]
    return np.divide(dots, lengths, out=np.zeros_like(dots), where=lengths > 0)
