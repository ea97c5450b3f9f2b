"""Where vectors to search among come from: real ones of the default encoder, mixed, or made-up ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import apsw
import numpy as np
from numpy.typing import NDArray

from dowse.encoders.cache import cache_file
from dowse.encoders.granite import GRANITE_DIMENSION, GRANITE_FINGERPRINT

Matrix: TypeAlias = NDArray[np.float32]
SEED = 20261116

ENOUGH = 2_000  # real vectors, below which mixtures would repeat themselves
LESSER_SHARE = 0.5  # of the second vector of a mixture, at most
NOISE = 0.3  # its length, against 1 of a vector

CLUSTERS = 20
SPREAD = 0.7  # of a cluster, against 1 between them
DECAY = 0.3  # the n-th direction's share falls with n to this power


@dataclass(frozen=True, slots=True)
class Base:
    """A file of kept vectors, or none."""

    file: Path | None
    described: str


def base_of(work: Path) -> Base:
    """The vectors other parts kept in the work directory, if they are enough."""
    file = cache_file(work / "data" / "vectors", GRANITE_FINGERPRINT)
    count = len(_kept(file)) if file.is_file() else 0
    if count < ENOUGH:
        return Base(None, "The vectors are synthetic")
    return Base(file, f"The vectors are mixtures of {count:,} real vectors of the default encoder")


def drawing(base: Base) -> Callable[[int], Matrix]:
    """Gives as many unit rows as asked for, the same ones in every process."""
    rng = np.random.default_rng(SEED)
    return _gaussians(rng) if base.file is None else _mixtures(rng, _kept(base.file))


def _kept(file: Path) -> Matrix:
    """In the order of the texts' digests, which is the same on every machine."""
    connection = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)
    rows = connection.execute(
        "SELECT vector FROM vectors WHERE length(vector) = ? ORDER BY digest", (2 * GRANITE_DIMENSION,)
    )
    blobs = b"".join(row[0] for row in rows)
    connection.close()
    return np.frombuffer(blobs, "<f2").reshape(-1, GRANITE_DIMENSION).astype(np.float32)


def _mixtures(rng: np.random.Generator, real: Matrix) -> Callable[[int], Matrix]:
    """Neighbours as close as real texts have them: mostly one text, partly another, and a little of neither."""

    def draw(count: int) -> Matrix:
        one, other = (real[rng.integers(len(real), size=count)] for _ in range(2))
        share = rng.random((count, 1), dtype=np.float32) * np.float32(LESSER_SHARE)
        noise = rng.standard_normal((count, GRANITE_DIMENSION), dtype=np.float32) * np.float32(
            NOISE / GRANITE_DIMENSION**0.5
        )
        return _unit((1 - share) * one + share * other + noise)

    return draw


def _gaussians(rng: np.random.Generator) -> Callable[[int], Matrix]:
    scales = np.arange(1, GRANITE_DIMENSION + 1, dtype=np.float32) ** -DECAY
    turn, _ = np.linalg.qr(rng.standard_normal((GRANITE_DIMENSION, GRANITE_DIMENSION)))
    directions = (scales[:, None] * turn).astype(np.float32)
    centres = rng.standard_normal((CLUSTERS, GRANITE_DIMENSION), dtype=np.float32)

    def draw(count: int) -> Matrix:
        noise = rng.standard_normal((count, GRANITE_DIMENSION), dtype=np.float32)
        return _unit((centres[rng.integers(CLUSTERS, size=count)] + SPREAD * noise) @ directions)

    return draw


def _unit(rows: Matrix) -> Matrix:
    unit: Matrix = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit
