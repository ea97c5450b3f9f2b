"""Vectors turned in space: all angles stay, and each value is spread over all places.

A vector is laid out as rows of 64 values; a cosine transform goes along these, then one across them. Both are small:
one of all places at once would take the square of the dimension, in memory and in every step.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache

import numpy as np

from dowse.store.sqlite.vectors.exact import Halves, Matrix, Vector

WIDTH = 64


def height_of(dimension: int) -> int:
    """How many rows of 64 a vector takes; the last one is filled up with zeros."""
    return -(-dimension // WIDTH)


def turned(vectors: Halves | Matrix) -> Matrix:
    """Each vector, laid out and turned: the same on every machine and for every version of numpy, but for rounding,
    as files need it that outlive them.

    Each product is so small that it is left to one thread, up to 4,096 dimensions: see `exact.products`.
    """
    count, dimension = vectors.shape
    height = height_of(dimension)
    laid_out = np.zeros((count, height, WIDTH), dtype=np.float32)
    np.multiply(vectors, _signs(height)[:dimension], out=laid_out.reshape(count, -1)[:, :dimension])
    result: Matrix = _waves(height) @ (laid_out @ _waves(WIDTH).T)
    return result


@lru_cache(maxsize=4)
def _waves(size: int) -> Matrix:
    """The cosine transform of so many values."""
    places = np.arange(size)
    waves = np.cos(np.pi / size * np.outer(places, places + 0.5)) * np.sqrt(2 / size)
    waves[0] /= np.sqrt(2)
    return np.asarray(waves, dtype=np.float32)


@lru_cache(maxsize=2)
def _signs(height: int) -> Vector:
    """Some values change their sign before, or vectors whose values are alike would have all of it at one place."""
    drawn = np.frombuffer(hashlib.shake_256(b"signs").digest(height * WIDTH // 8), dtype=np.uint8)
    return np.where(np.unpackbits(drawn), np.float32(1), np.float32(-1))
