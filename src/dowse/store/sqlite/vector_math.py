"""Exact search and search by sign bits over a matrix of vectors."""

from __future__ import annotations

import hashlib
import mmap
import os
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from heapq import nsmallest
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dowse.errors import IndexDamaged
from dowse.model import ScoredChunk
from dowse.store.sqlite.vectors import VectorLogPosition

Keys = NDArray[np.int64]
Vector = NDArray[np.float32]
Matrix = NDArray[np.float32]
Halves = NDArray[np.float16]


_SINGLE_THREAD_NUMBERS = 8_192  # numbers: BLAS computes a product of this size on one thread
_NARROW_ROW_SHARE = 0.25  # of all rows: copying fewer costs less than comparing all


class VectorsDamaged(IndexDamaged):
    """Cached vectors are inconsistent."""


@dataclass(frozen=True, slots=True)
class ExactRows:
    keys: Keys
    matrix: Matrix

    @classmethod
    def of(cls, rows: Iterable[tuple[int, bytes]]) -> ExactRows:
        keys, halves = decode_vectors(rows)
        return cls(keys, to_unit_rows(halves.astype(np.float32)))

    def __len__(self) -> int:
        return len(self.keys)

    def with_changes(self, vectors: Mapping[int, bytes | None]) -> ExactRows:
        """Return the rows with these changes applied; None removes a row."""
        unchanged = ~np.isin(self.keys, np.fromiter(vectors, dtype=np.int64, count=len(vectors)))
        fresh = ExactRows.of((key, blob) for key, blob in vectors.items() if blob is not None)
        if not unchanged.any() or not len(fresh):
            return ExactRows(self.keys[unchanged], self.matrix[unchanged]) if unchanged.any() else fresh
        keys = np.concatenate([self.keys[unchanged], fresh.keys])
        return ExactRows(keys, np.concatenate([self.matrix[unchanged], fresh.matrix]))

    def near(self, vector: Vector, allowed: Keys | None, limit: int) -> list[ScoredChunk]:
        if allowed is None or not len(self.keys):
            return nearest(self.keys, self.matrix, vector, limit)
        inside = np.isin(self.keys, allowed)
        if np.count_nonzero(inside) < _NARROW_ROW_SHARE * len(inside):
            return nearest(self.keys[inside], self.matrix[inside], vector, limit)
        return top_scores(self.keys[inside], cosines(self.matrix, vector)[inside], limit)


def decode_vectors(rows: Iterable[tuple[int, bytes]]) -> tuple[Keys, Halves]:
    """Decode stored rows into keys and vectors."""
    pairs = list(rows)
    if len({len(blob) for _, blob in pairs}) > 1:
        raise VectorsDamaged("vectors have different dimensions")
    keys = np.fromiter((key for key, _ in pairs), dtype=np.int64, count=len(pairs))
    values = np.frombuffer(b"".join(blob for _, blob in pairs), dtype=np.float16)
    return keys, values.reshape(len(pairs), -1) if pairs else values.reshape(0, 0)


def to_unit_rows(matrix: Matrix) -> Matrix:
    """Return rows of length one, so that a dot product is a cosine; a zero row stays zero."""
    lengths = np.linalg.norm(matrix, axis=-1, keepdims=True)
    result: Matrix = np.divide(matrix, lengths, out=np.zeros_like(matrix), where=lengths > 0)
    return result


def nearest(keys: Keys, rows: Matrix, vector: Vector, limit: int) -> list[ScoredChunk]:
    """Return the highest cosines of unit rows with any vector, ties by key; a zero vector scores 0.0 everywhere."""
    return top_scores(keys, cosines(rows, vector), limit) if len(keys) else []


def cosines(rows: Matrix, vector: Vector) -> Vector:
    """Return the cosines of unit rows with any vector."""
    return dot_products(rows, to_unit_rows(np.asarray(vector, dtype=np.float32)))


def dot_products(rows: Matrix, vector: Vector) -> Vector:
    """Return dot products, computed on one thread.

    BLAS splits a large product among threads, which wait for each other, for milliseconds on a busy machine. Unlike
    `einsum`, this releases the interpreter lock.
    """
    at_once = max(1, _SINGLE_THREAD_NUMBERS // max(1, rows.shape[1]))
    whole = len(rows) - len(rows) % at_once
    result = np.empty(len(rows), dtype=np.float32)
    result[:whole] = (rows[:whole].reshape(-1, at_once, rows.shape[1]) @ vector).ravel()
    result[whole:] = rows[whole:] @ vector
    return result


def top_scores(keys: Keys, scores: Vector, limit: int) -> list[ScoredChunk]:
    if not len(keys) or limit < 1:
        return []
    best = np.argpartition(-scores, limit - 1)[:limit] if limit < len(keys) else np.arange(len(keys))
    order = best[np.lexsort((keys[best], -scores[best]))]
    return [ScoredChunk(int(keys[place]), float(scores[place])) for place in order]


# --------------------------------------------------------------------------------------------------
# A fixed rotation of vectors: it keeps all angles and spreads each value over all dimensions.
#
# A vector is laid out as rows of 64 values, with one cosine transform along them and one across. A single transform
# over all dimensions would need their square in memory and time.

ROTATION_WIDTH = 64


def rotation_height(dimension: int) -> int:
    """Return how many rows of 64 values a vector takes; the last one is padded with zeros."""
    return -(-dimension // ROTATION_WIDTH)


def rotate(vectors: Halves | Matrix) -> Matrix:
    """Rotate each vector. The result is the same on every machine and numpy version, except for rounding, because files
    outlive them.

    Up to 4,096 dimensions each product is small enough for one thread: see `dot_products`.
    """
    count, dimension = vectors.shape
    height = rotation_height(dimension)
    laid_out = np.zeros((count, height, ROTATION_WIDTH), dtype=np.float32)
    np.multiply(vectors, _random_signs(height)[:dimension], out=laid_out.reshape(count, -1)[:, :dimension])
    result: Matrix = _cosine_matrix(height) @ (laid_out @ _cosine_matrix(ROTATION_WIDTH).T)
    return result


@lru_cache(maxsize=4)
def _cosine_matrix(size: int) -> Matrix:
    """Return the cosine transform matrix of this size."""
    places = np.arange(size)
    waves = np.cos(np.pi / size * np.outer(places, places + 0.5)) * np.sqrt(2 / size)
    waves[0] /= np.sqrt(2)
    return np.asarray(waves, dtype=np.float32)


@lru_cache(maxsize=2)
def _random_signs(height: int) -> Vector:
    """Return fixed random signs. Without them, vectors of similar values would end up in a single dimension."""
    drawn = np.frombuffer(hashlib.shake_256(b"signs").digest(height * ROTATION_WIDTH // 8), dtype=np.uint8)
    return np.where(np.unpackbits(drawn), np.float32(1), np.float32(-1))


# --------------------------------------------------------------------------------------------------
# Binary codes: the signs of a vector's values, 1/16 of its size. Near vectors differ in few bits.
#
# Vectors are rotated first. Most values of a sparse vector are zero, and their sign says nothing until each is a sum of
# all values.

Codes = NDArray[np.uint64]
"""One column per vector: scanning 64 bits of many vectors at a time is several times faster than row by row."""
Distances = NDArray[np.uint16]

_COLUMNS_PER_STEP = 16_384  # columns, so that intermediate arrays stay in the CPU cache
_VALUES_PER_STEP = 131_072  # encoded at a time, for the same reason
MAX_DISTANCE = 65_535  # greater than any distance


def encode_signs(vectors: Halves | Matrix) -> Codes:
    """Return one column of bits per vector; NaN values yield meaningless bits."""
    count, dimension = vectors.shape
    codes = np.empty((rotation_height(dimension), count), dtype=np.uint64)
    at_once = max(1, _VALUES_PER_STEP // max(1, dimension))
    with np.errstate(invalid="ignore"):
        for start in range(0, count, at_once):
            bits = np.packbits(rotate(vectors[start : start + at_once]) > 0, axis=-1)
            codes[:, start : start + at_once] = bits.view(np.uint64)[..., 0].T
    return codes


def hamming_distances(codes: Codes, vector: Vector) -> Distances:
    """Return the Hamming distance of each column to the vector's code.

    A second thread was measured and does not pay: the steps are too short for switching the interpreter.
    """
    query = encode_signs(vector[np.newaxis])
    result = np.empty(codes.shape[1], dtype=np.uint16)
    for start in range(0, len(result), _COLUMNS_PER_STEP):
        differing = np.bitwise_count(codes[:, start : start + _COLUMNS_PER_STEP] ^ query)
        np.add.reduce(differing, axis=0, dtype=np.uint16, out=result[start : start + _COLUMNS_PER_STEP])
    return result


def closest_positions(distance: Distances, count: int) -> Keys:
    """Return the positions of the `wanted` smallest distances; there must be more distances."""
    # Distances are small integers: counting them finds the limit faster than a partial sort.
    limit = int(np.searchsorted(np.cumsum(np.bincount(distance)), count))
    below = np.flatnonzero(distance < limit)
    tied = np.flatnonzero(distance == limit)[: count - len(below)]
    return np.concatenate([below, tied])


# --------------------------------------------------------------------------------------------------
# Search in many vectors: binary codes select candidates, exact cosines rank them. Changes wait in a tail until the next
# build.

_MIN_CANDIDATES = 1_000
_CANDIDATES_SHARE = 0.02
_CANDIDATES_PER_HIT = 4
_NARROW_CODE_SHARE = 0.25  # of all rows: collecting fewer codes costs less than comparing all
_MAX_WASTE_SHARE = 0.2  # share of dead or replaced rows that makes a rebuild due
_MAX_TAIL_ROWS = 20_000  # searched exactly, which must stay a small part of a query
_ROWS_PER_STEP = 512  # rows, so that intermediate arrays stay in the CPU cache
_PART_BYTES = 6 << 20  # of rows read at a time
_LENGTH_TOLERANCE = 1e-3

# Converts float16 by shifting its bits to the float32 layout, which makes values 2**112 times too small.
_HALF_SHIFT = 13
_HALF_BITS = np.int32(-0x70002000)  # sign, exponent and fraction, without the extended sign bits
_HALF_SCALE = np.float32(2.0**112)


@dataclass(frozen=True, slots=True)
class VectorBlock:
    """Immutable vectors: ascending keys, codes, lengths, and rows that may be mapped from a file."""

    keys: Keys
    lengths: NDArray[np.float32]
    codes: Codes
    rows: Halves

    @classmethod
    def of(cls, parts: Iterable[VectorBlock]) -> VectorBlock:
        """Join all parts in memory."""
        keys, lengths, codes, rows = zip(*((it.keys, it.lengths, it.codes, it.rows) for it in parts), strict=True)
        return cls(np.concatenate(keys), np.concatenate(lengths), np.concatenate(codes, axis=1), np.concatenate(rows))


def read_blocks(rows: Iterator[tuple[int, bytes]]) -> Iterator[VectorBlock]:
    """Yield stored rows as small blocks, because intermediate arrays are several times their size."""
    for first in rows:
        at_once = max(1, _PART_BYTES // max(1, len(first[1])))
        keys, halves = decode_vectors([first, *islice(rows, at_once - 1)])
        wide = halves.astype(np.float32)
        yield VectorBlock(keys, np.linalg.norm(wide, axis=-1), encode_signs(wide), halves)


@dataclass(frozen=True, slots=True)
class CodedRows:
    block: VectorBlock
    alive: NDArray[np.bool_]
    tail: ExactRows

    @classmethod
    def of(cls, block: VectorBlock) -> CodedRows:
        return cls(block, np.ones(len(block.keys), dtype=np.bool_), ExactRows.of(()))

    def __len__(self) -> int:
        return int(np.count_nonzero(self.alive)) + len(self.tail)

    @property
    def wasteful(self) -> bool:
        dead = len(self.alive) - int(np.count_nonzero(self.alive))
        return max(dead, len(self.tail)) > _MAX_WASTE_SHARE * len(self.alive) or len(self.tail) > _MAX_TAIL_ROWS

    def with_changes(self, vectors: Mapping[int, bytes | None]) -> CodedRows:
        if not vectors:
            return self
        alive = self.alive.copy()
        alive[self._find_positions(np.fromiter(vectors, dtype=np.int64, count=len(vectors)))] = False
        return CodedRows(self.block, alive, self.tail.with_changes(vectors))

    def near(self, vector: Vector, allowed: Keys | None, limit: int) -> list[ScoredChunk]:
        query = to_unit_rows(np.asarray(vector, dtype=np.float32))
        found = [*self._near_in_block(query, allowed, limit), *self.tail.near(query, allowed, limit)]
        return nsmallest(limit, found, key=lambda it: (-it.score, it.key))

    def _near_in_block(self, query: Vector, allowed: Keys | None, limit: int) -> list[ScoredChunk]:
        places = self._candidates(query, self._allowed_rows(allowed), limit)
        scores = _row_cosines(self.block, places, query)
        if limit < len(places):
            places = places[np.argpartition(-scores, limit - 1)[:limit]]
        # Computed as in the exact search, so that both return the same scores.
        rows = self.block.rows[places].astype(np.float32)
        self._verify(places, rows)
        return nearest(self.block.keys[places], to_unit_rows(rows), query, limit)

    def _verify(self, places: Keys, rows: Matrix) -> None:
        """Verify the found rows by their lengths; a checksum of all rows would take longer than many searches."""
        lengths = np.linalg.norm(rows, axis=-1)
        if not np.allclose(lengths, self.block.lengths[places], rtol=_LENGTH_TOLERANCE, equal_nan=True):
            raise VectorsDamaged("vectors do not have their stored lengths")

    def agrees(self, part: VectorBlock) -> bool:
        """Return whether live rows equal those of the part, which must be from the same snapshot."""
        mine = self._find_positions(part.keys)
        theirs = np.searchsorted(part.keys, self.block.keys[mine])
        alive = self.alive[mine]
        return bool(
            np.array_equal(self.block.rows[mine][alive].view(np.int16), part.rows[theirs][alive].view(np.int16))
        )

    def _allowed_rows(self, allowed: Keys | None) -> NDArray[np.bool_]:
        """Return which rows of the block may be returned."""
        if allowed is None:
            return self.alive
        inside = np.zeros_like(self.alive)
        inside[self._find_positions(allowed)] = True
        return inside & self.alive

    def _find_positions(self, keys: Keys) -> Keys:
        """Return the positions of the keys that the block contains."""
        ordered = self.block.keys
        places = np.searchsorted(ordered, keys)
        places, keys = places[places < len(ordered)], keys[places < len(ordered)]
        found: Keys = places[ordered[places] == keys]
        return found

    def _candidates(self, query: Vector, open_rows: NDArray[np.bool_], limit: int) -> Keys:
        count = int(np.count_nonzero(open_rows))
        candidate_count = max(_MIN_CANDIDATES, int(count * _CANDIDATES_SHARE), limit * _CANDIDATES_PER_HIT)
        if count <= candidate_count:
            return np.flatnonzero(open_rows)
        if count < _NARROW_CODE_SHARE * len(open_rows):
            places = np.flatnonzero(open_rows)
            return places[closest_positions(hamming_distances(self.block.codes[:, places], query), candidate_count)]
        distance = hamming_distances(self.block.codes, query)
        np.copyto(distance, MAX_DISTANCE, where=~open_rows)
        return closest_positions(distance, candidate_count)


def _row_cosines(block: VectorBlock, places: Keys, query: Vector) -> Vector:
    """Return the cosines of some rows; reads only these rows."""
    dots = np.empty(len(places), dtype=np.float32)
    halves = block.rows.view(np.int16)
    gathered = np.empty((_ROWS_PER_STEP, halves.shape[1]), dtype=np.int16)
    widened = np.empty(gathered.shape, dtype=np.int32)
    scaled = query * _HALF_SCALE
    for start in range(0, len(places), _ROWS_PER_STEP):
        part = places[start : start + _ROWS_PER_STEP]
        narrow, wide = gathered[: len(part)], widened[: len(part)]
        np.take(halves, part, axis=0, out=narrow, mode="clip")  # any other mode makes another copy
        # numpy converts half floats one by one, which would take longer than the rest of the query.
        np.left_shift(narrow, _HALF_SHIFT, out=wide, dtype=np.int32)
        wide &= _HALF_BITS
        dots[start : start + _ROWS_PER_STEP] = dot_products(wide.view(np.float32), scaled)
    lengths = block.lengths[places]
    return np.divide(dots, lengths, out=np.zeros_like(dots), where=lengths > 0)


# --------------------------------------------------------------------------------------------------
# A block of vectors in a file beside the index: built from the table, mapped into memory, never changed.

_VECTOR_MAGIC = b"DOWSEVEC"
_VECTOR_FORMAT = 2  # increase with any change of the layout or the codes: other files are rebuilt
_VECTOR_HEADER_STRUCT = struct.Struct("<8sIIQqqII")  # the same in all formats, to tell another version from damage
_ROWS_OFFSET = 4_096


class _VectorHeader(NamedTuple):
    magic: bytes
    layout: int
    dimension: int
    vectors: int
    epoch: int
    token: int
    checksum: int  # of keys, codes and lengths; rows are verified by their lengths when found
    header_checksum: int = 0  # checksum of the fields above

    def with_checksum(self) -> _VectorHeader:
        return self._replace(header_checksum=zlib.crc32(_VECTOR_HEADER_STRUCT.pack(*self._replace(header_checksum=0))))

    @property
    def is_intact(self) -> bool:
        return self == self.with_checksum() and self.magic == _VECTOR_MAGIC

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """Return the bytes of rows, keys, codes and lengths, in file order."""
        rows = self.vectors * self.dimension * 2
        return rows + -rows % 8, self.vectors * 8, rotation_height(self.dimension) * self.vectors * 8, self.vectors * 4


@dataclass(frozen=True, slots=True)
class VectorSidecar:
    block: VectorBlock
    position: VectorLogPosition


def open_vector_sidecar(path: Path) -> VectorSidecar | None:
    """Map the sidecar at this path; None if it is missing, incomplete or of another version."""
    try:
        with open(path, "rb") as file:
            return _map_block(file)
    except OSError:
        return None


def is_of_another_version(path: Path) -> bool:
    """Return whether an older or newer Dowse made the file, which is no problem."""
    try:
        with open(path, "rb") as file:
            header = _read_header(file)
    except OSError:
        return False
    return header is not None and header.layout != _VECTOR_FORMAT


def _read_header(file: BinaryIO) -> _VectorHeader | None:
    start = file.read(_VECTOR_HEADER_STRUCT.size)
    if len(start) < _VECTOR_HEADER_STRUCT.size:
        return None
    header = _VectorHeader(*_VECTOR_HEADER_STRUCT.unpack(start))
    return header if header.is_intact else None


def _map_block(file: BinaryIO) -> VectorSidecar | None:
    header = _read_header(file)
    if header is None or header.layout != _VECTOR_FORMAT:
        return None
    rows, keys, codes, _ = header.sizes
    if os.fstat(file.fileno()).st_size != _ROWS_OFFSET + sum(header.sizes):
        return None
    view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    if zlib.crc32(view[_ROWS_OFFSET + rows :]) != header.checksum:
        return None
    count, words = header.vectors, rotation_height(header.dimension)
    keys_at = _ROWS_OFFSET + rows
    block = VectorBlock(
        keys=np.frombuffer(view, np.int64, count, keys_at),
        lengths=np.frombuffer(view, np.float32, count, keys_at + keys + codes),
        codes=np.frombuffer(view, np.uint64, count * words, keys_at + keys).reshape(words, count),
        rows=np.frombuffer(view, np.float16, count * header.dimension, _ROWS_OFFSET).reshape(count, header.dimension),
    )
    return VectorSidecar(block, VectorLogPosition(header.epoch, header.token))


def write_vector_sidecar(path: Path, rows: Iterator[tuple[int, bytes]], position: VectorLogPosition) -> None:
    """Write a new sidecar atomically; only one process at a time may do so."""
    unfinished = path.with_name(f"{path.name}.new")
    unfinished.unlink(missing_ok=True)
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            _write_block(file, rows, position)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _write_block(file: BinaryIO, rows: Iterator[tuple[int, bytes]], position: VectorLogPosition) -> None:
    """Write the rows as they arrive, then the small arrays, and the header last."""
    file.seek(_ROWS_OFFSET)
    keys, codes, lengths, dimension = [], [], [], 0
    for part in read_blocks(rows):
        file.write(part.rows.tobytes())
        keys.append(part.keys)
        codes.append(part.codes)
        lengths.append(part.lengths)
        dimension = part.rows.shape[1]
    file.write(bytes(-file.tell() % 8))
    checksum = 0
    for content in (np.concatenate(keys), np.concatenate(codes, axis=1), np.concatenate(lengths)):
        checksum = zlib.crc32(content.tobytes(), checksum)
        file.write(content.tobytes())
    header = _VectorHeader(_VECTOR_MAGIC, _VECTOR_FORMAT, dimension, sum(map(len, keys)), *position, checksum)
    file.seek(0)
    file.write(_VECTOR_HEADER_STRUCT.pack(*header.with_checksum()))
