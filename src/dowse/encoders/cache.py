"""A cache of vectors in a separate SQLite file, so that no text is encoded twice."""

from __future__ import annotations

import hashlib
import time
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import apsw
import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from dowse.encoders.base import Matrix

VectorRow: TypeAlias = NDArray[np.float32]

CACHE_BUSY_TIMEOUT_MS = 2_000
DAY_SECONDS = 86_400
VECTOR_CACHE_SCHEMA = """
CREATE TABLE IF NOT EXISTS vectors (digest BLOB PRIMARY KEY, vector BLOB NOT NULL, used_on INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS vectors_by_use ON vectors (used_on);
"""
DAMAGED_DATABASE_ERRORS = (apsw.CorruptError, apsw.NotADBError)


_CHECKSUM_BYTES = 4


def _with_checksum(vector: bytes) -> bytes:
    """Append a checksum. Entries of older versions have none."""
    return vector + zlib.crc32(vector).to_bytes(_CHECKSUM_BYTES, "little")


def cache_file(cache_dir: Path, fingerprint: str) -> Path:
    """Return the cache file of an encoder. Each encoder has one, because vectors of two encoders are never mixed."""
    return cache_dir / f"vectors-{hashlib.sha256(fingerprint.encode()).hexdigest()[:16]}.sqlite"


class VectorCache:
    """Maps text digests to vectors, stored as float16. Several processes may share the file.

    Disk and database errors never raise: the cache then acts as empty and describes the error in `problem`.
    """

    def __init__(
        self,
        path: Path,
        *,
        dimension: int,
        busy_ms: int = CACHE_BUSY_TIMEOUT_MS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._path = path
        self._dimension = dimension
        self._busy_ms = busy_ms
        self._clock = clock
        self._connection: apsw.Connection | None = None
        self.problem = ""
        self._run_safely(self._open)

    def get(self, digests: Sequence[bytes]) -> dict[bytes, VectorRow]:
        """Return the cached vectors of these digests as float32 rows, and mark them as used today."""
        found: dict[bytes, VectorRow] = {}
        stale: list[bytes] = []
        self._run_safely(lambda: self._read(digests, found, stale))
        if stale:
            self._run_safely(lambda: self._mark_used(stale))
        return found

    def count_missing(self, digests: Sequence[bytes]) -> int:
        """Return how many of these digests are not cached."""
        found: list[bytes] = []
        self._run_safely(lambda: self._find(digests, found))
        return len(set(digests)) - len(set(found))

    def put(self, digests: Sequence[bytes], matrix: Matrix) -> None:
        """Store row i under digest i."""
        blobs = [_with_checksum(row.tobytes()) for row in matrix.astype("<f2")]
        today = self._today()
        rows = [(digest, blob, today) for digest, blob in zip(digests, blobs, strict=True)]
        self._run_safely(lambda: self._write("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows))

    def prune(self, before_day: int) -> None:
        """Delete entries last used before that day (days since 1970)."""
        self._run_safely(lambda: self._write("DELETE FROM vectors WHERE used_on < ?", [(before_day,)]))

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _today(self) -> int:
        return int(self._clock() // DAY_SECONDS)

    # --- SQL ----------------------------------------------------------------------------------

    def _open(self) -> None:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        connection = apsw.Connection(str(self._path))
        self._connection = connection
        connection.set_busy_timeout(self._busy_ms)
        # Losing the cache only costs time, so skip syncing to disk.
        connection.pragma("synchronous", "OFF")
        connection.pragma("journal_mode", "WAL")
        connection.execute(VECTOR_CACHE_SCHEMA)

    def _read(self, digests: Sequence[bytes], found: dict[bytes, VectorRow], stale: list[bytes]) -> None:
        if self._connection is None:
            return
        today, size = self._today(), self._dimension * np.dtype("<f2").itemsize
        sql = "SELECT digest, vector, used_on < ? FROM vectors WHERE digest = ? AND length(vector) IN (?, ?)"
        # One transaction around all lookups avoids most of their overhead.
        with self._connection:
            rows = [(today, digest, size, size + _CHECKSUM_BYTES) for digest in digests]
            for digest, blob, is_stale in self._connection.executemany(sql, rows):
                if len(blob) != size and _with_checksum(blob[:size]) != blob:
                    continue  # checksum mismatch (bit rot): encode the text again
                found[digest] = np.frombuffer(blob[:size], "<f2").astype(np.float32)
                if is_stale:
                    stale.append(digest)

    def _find(self, digests: Sequence[bytes], found: list[bytes]) -> None:
        if self._connection is None:
            return
        with self._connection:
            rows = self._connection.executemany(
                "SELECT digest FROM vectors WHERE digest = ?", [(it,) for it in digests]
            )
            found += [digest for (digest,) in rows]

    def _mark_used(self, digests: Sequence[bytes]) -> None:
        rows = [(self._today(), digest) for digest in digests]
        self._write("UPDATE vectors SET used_on = ? WHERE digest = ?", rows)

    def _write(self, sql: str, rows: Sequence[tuple[bytes | int, ...]]) -> None:
        if self._connection is None:
            return
        with self._connection:
            self._connection.executemany(sql, rows)

    # --- error handling -------------------------------------------------------------------------

    def _run_safely(self, work: Callable[[], None]) -> None:
        try:
            work()
        except DAMAGED_DATABASE_ERRORS as error:
            self.problem = f"the vector cache {self._path} was damaged and recreated ({error})"
            self._recreate()
        except (apsw.Error, OSError) as error:
            self.problem = f"the vector cache {self._path} failed ({error})"

    def _recreate(self) -> None:
        try:
            self.close()
            for ending in ("", "-wal", "-shm"):
                Path(f"{self._path}{ending}").unlink(missing_ok=True)
            self._open()
        except (apsw.Error, OSError) as error:
            self.problem = f"the vector cache {self._path} is damaged and cannot be recreated ({error})"
