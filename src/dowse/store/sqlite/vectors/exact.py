"""Vectors in memory as unit rows of one matrix, compared with every query without approximation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dowse.errors import IndexDamaged
from dowse.model import Scored

Keys = NDArray[np.int64]
Vector = NDArray[np.float32]
Matrix = NDArray[np.float32]
Halves = NDArray[np.float16]


_UNDIVIDED = 8_192  # numbers: a product of so many is left to one thread
_NARROW = 0.25  # of all rows: to copy fewer costs less than to compare all


class BlockDamaged(IndexDamaged):
    """What is held of vectors contradicts itself."""


@dataclass(frozen=True, slots=True)
class ExactRows:
    keys: Keys
    matrix: Matrix

    @classmethod
    def of(cls, rows: Iterable[tuple[int, bytes]]) -> ExactRows:
        keys, halves = unpacked(rows)
        return cls(keys, units(halves.astype(np.float32)))

    def __len__(self) -> int:
        return len(self.keys)

    def changed(self, vectors: Mapping[int, bytes | None]) -> ExactRows:
        """These rows with others in the place of the changed ones, and without those that are None."""
        kept = ~np.isin(self.keys, np.fromiter(vectors, dtype=np.int64, count=len(vectors)))
        fresh = ExactRows.of((key, blob) for key, blob in vectors.items() if blob is not None)
        if not kept.any() or not len(fresh):
            return ExactRows(self.keys[kept], self.matrix[kept]) if kept.any() else fresh
        keys = np.concatenate([self.keys[kept], fresh.keys])
        return ExactRows(keys, np.concatenate([self.matrix[kept], fresh.matrix]))

    def near(self, vector: Vector, allowed: Keys | None, limit: int) -> list[Scored]:
        if allowed is None or not len(self.keys):
            return nearest(self.keys, self.matrix, vector, limit)
        inside = np.isin(self.keys, allowed)
        if np.count_nonzero(inside) < _NARROW * len(inside):
            return nearest(self.keys[inside], self.matrix[inside], vector, limit)
        return best_of(self.keys[inside], cosines(self.matrix, vector)[inside], limit)


def unpacked(rows: Iterable[tuple[int, bytes]]) -> tuple[Keys, Halves]:
    """Keys and vectors as they are stored."""
    pairs = list(rows)
    if len({len(blob) for _, blob in pairs}) > 1:
        raise BlockDamaged("vectors are of different lengths")
    keys = np.fromiter((key for key, _ in pairs), dtype=np.int64, count=len(pairs))
    values = np.frombuffer(b"".join(blob for _, blob in pairs), dtype=np.float16)
    return keys, values.reshape(len(pairs), -1) if pairs else values.reshape(0, 0)


def units(matrix: Matrix) -> Matrix:
    """Rows of length one, so that a product is a cosine; a zero row stays zero."""
    lengths = np.linalg.norm(matrix, axis=-1, keepdims=True)
    result: Matrix = np.divide(matrix, lengths, out=np.zeros_like(matrix), where=lengths > 0)
    return result


def nearest(keys: Keys, rows: Matrix, vector: Vector, limit: int) -> list[Scored]:
    """The highest cosines of unit rows with any vector, ties by key; with a zero vector all are 0.0."""
    return best_of(keys, cosines(rows, vector), limit) if len(keys) else []


def cosines(rows: Matrix, vector: Vector) -> Vector:
    """Of unit rows with any vector."""
    return products(rows, units(np.asarray(vector, dtype=np.float32)))


def products(rows: Matrix, vector: Vector) -> Vector:
    """On one thread: a large product is divided among several, which wait for each other, on a busy machine for
    milliseconds. Other threads of Python can go on meanwhile, which they could not during an `einsum`."""
    at_once = max(1, _UNDIVIDED // max(1, rows.shape[1]))
    whole = len(rows) - len(rows) % at_once
    result = np.empty(len(rows), dtype=np.float32)
    result[:whole] = (rows[:whole].reshape(-1, at_once, rows.shape[1]) @ vector).ravel()
    result[whole:] = rows[whole:] @ vector
    return result


def best_of(keys: Keys, scores: Vector, limit: int) -> list[Scored]:
    if not len(keys) or limit < 1:
        return []
    best = np.argpartition(-scores, limit - 1)[:limit] if limit < len(keys) else np.arange(len(keys))
    order = best[np.lexsort((keys[best], -scores[best]))]
    return [Scored(int(keys[place]), float(scores[place])) for place in order]
