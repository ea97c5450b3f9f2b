"""The signs of a vector's values as bits: 1/16 of its size, and near vectors differ in few of them.

Vectors are turned before: most values of a sparse one are zero, whose sign tells nothing, until each is a sum of all.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dowse.store.sqlite.vectors.exact import Halves, Keys, Matrix, Vector, products

Codes = NDArray[np.uint64]
"""One column per vector: a scan over 64 bits of many vectors at a time is several times quicker than row by row."""
Distances = NDArray[np.uint16]

_WORD_BYTES = 8
_AT_ONCE = 16_384  # columns: what is between the steps stays in the processor's cache
FAR = 65_535  # further than any vector


def words_for(dimension: int) -> int:
    return -(-dimension // (8 * _WORD_BYTES))


def codes_of(rows: Halves | Matrix) -> Codes:
    """A column of bits for each row; those of a row with values that are no numbers mean nothing."""
    with np.errstate(invalid="ignore"):
        return _packed(rows.astype(np.float32) @ _turn(rows.shape[-1]).T)


def _packed(turned: Matrix) -> Codes:
    bits = np.packbits(turned > 0, axis=-1)
    padded = np.zeros((len(turned), words_for(turned.shape[-1]) * _WORD_BYTES), dtype=np.uint8)
    padded[:, : bits.shape[-1]] = bits
    return np.ascontiguousarray(padded.view(np.uint64).T)


@lru_cache(maxsize=2)
def _turn(dimension: int) -> Matrix:
    """A cosine transform of vectors some of whose values change their sign: it keeps all angles, spreads each value
    over all, and is the same on every machine and for every version of numpy, as files need it that outlive them."""
    places = np.arange(dimension)
    waves = np.cos(np.pi / dimension * np.outer(places, places + 0.5)) * np.sqrt(2 / dimension)
    waves[0] /= np.sqrt(2)
    drawn = np.frombuffer(hashlib.shake_256(b"signs").digest(words_for(dimension) * _WORD_BYTES), dtype=np.uint8)
    signs = np.where(np.unpackbits(drawn)[:dimension], 1.0, -1.0)
    return np.ascontiguousarray(waves * signs, dtype=np.float32)


def distances(codes: Codes, vector: Vector) -> Distances:
    """In how many bits each column differs from the vector's.

    A second thread was measured and does not pay: the steps are too short for handing the interpreter over.
    """
    query = _packed(products(_turn(len(vector)), vector)[np.newaxis])
    result = np.empty(codes.shape[1], dtype=np.uint16)
    for start in range(0, len(result), _AT_ONCE):
        differing = np.bitwise_count(codes[:, start : start + _AT_ONCE] ^ query)
        np.add.reduce(differing, axis=0, dtype=np.uint16, out=result[start : start + _AT_ONCE])
    return result


def closest(distance: Distances, wanted: int) -> Keys:
    """The places of the smallest distances, exactly as many as wanted; there must be more."""
    # Distances are small whole numbers: counting them finds the limit sooner than any partial sort.
    limit = int(np.searchsorted(np.cumsum(np.bincount(distance)), wanted))
    below = np.flatnonzero(distance < limit)
    tied = np.flatnonzero(distance == limit)[: wanted - len(below)]
    return np.concatenate([below, tied])
