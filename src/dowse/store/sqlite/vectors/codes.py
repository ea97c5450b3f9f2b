"""The signs of a vector's values as bits: 1/16 of its size, and near vectors differ in few of them.

Vectors are turned before: most values of a sparse one are zero, whose sign tells nothing, until each is a sum of all.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dowse.store.sqlite.vectors.exact import Halves, Keys, Matrix, Vector
from dowse.store.sqlite.vectors.turning import height_of, turned

Codes = NDArray[np.uint64]
"""One column per vector: a scan over 64 bits of many vectors at a time is several times quicker than row by row."""
Distances = NDArray[np.uint16]

_AT_ONCE = 16_384  # columns: what is between the steps stays in the processor's cache
_VALUES_AT_ONCE = 131_072  # of vectors whose bits are made: the same
FAR = 65_535  # further than any vector


def codes_of(vectors: Halves | Matrix) -> Codes:
    """A column of bits for each vector; those of one with values that are no numbers mean nothing."""
    count, dimension = vectors.shape
    codes = np.empty((height_of(dimension), count), dtype=np.uint64)
    at_once = max(1, _VALUES_AT_ONCE // max(1, dimension))
    with np.errstate(invalid="ignore"):
        for start in range(0, count, at_once):
            bits = np.packbits(turned(vectors[start : start + at_once]) > 0, axis=-1)
            codes[:, start : start + at_once] = bits.view(np.uint64)[..., 0].T
    return codes


def distances(codes: Codes, vector: Vector) -> Distances:
    """In how many bits each column differs from the vector's.

    A second thread was measured and does not pay: the steps are too short for handing the interpreter over.
    """
    query = codes_of(vector[np.newaxis])
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
