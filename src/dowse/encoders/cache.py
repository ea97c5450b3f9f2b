"""Vectors made before, kept in an SQLite file of their own, so that the same text is never encoded twice."""

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

Row: TypeAlias = NDArray[np.float32]

BUSY_MS = 2_000
DAY_SECONDS = 86_400
SCHEMA = """
CREATE TABLE IF NOT EXISTS vectors (digest BLOB PRIMARY KEY, vector BLOB NOT NULL, used_on INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS vectors_by_use ON vectors (used_on);
"""
DAMAGED = (apsw.CorruptError, apsw.NotADBError)


_SEAL_BYTES = 4


def _sealed(vector: bytes) -> bytes:
    """With its checksum; there are vectors without one, from before there were any."""
    return vector + zlib.crc32(vector).to_bytes(_SEAL_BYTES, "little")


def cache_file(cache_dir: Path, fingerprint: str) -> Path:
    """One file per encoder, because vectors of two are never mixed."""
    return cache_dir / f"vectors-{hashlib.sha256(fingerprint.encode()).hexdigest()[:16]}.sqlite"


class VectorCache:
    """Digest of a text → its vector, stored as float16. Several processes may share the file.

    A failing disk or database never raises: the cache then knows and keeps nothing and says why in `problem`.
    """

    def __init__(
        self,
        path: Path,
        *,
        dimension: int,
        busy_ms: int = BUSY_MS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._path = path
        self._dimension = dimension
        self._busy_ms = busy_ms
        self._clock = clock
        self._connection: apsw.Connection | None = None
        self.problem = ""
        self._guarded(self._open)

    def get(self, digests: Sequence[bytes]) -> dict[bytes, Row]:
        """The known ones among the digests, as float32 rows; they count as used today."""
        found: dict[bytes, Row] = {}
        stale: list[bytes] = []
        self._guarded(lambda: self._read(digests, found, stale))
        if stale:
            self._guarded(lambda: self._mark(stale))
        return found

    def lacking(self, digests: Sequence[bytes]) -> int:
        """How many of these it does not know."""
        found: list[bytes] = []
        self._guarded(lambda: self._find(digests, found))
        return len(set(digests)) - len(set(found))

    def put(self, digests: Sequence[bytes], matrix: Matrix) -> None:
        """Keeps row i under digest i."""
        blobs = [_sealed(row.tobytes()) for row in matrix.astype("<f2")]
        today = self._today()
        rows = [(digest, blob, today) for digest, blob in zip(digests, blobs, strict=True)]
        self._guarded(lambda: self._write("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows))

    def prune(self, before_day: int) -> None:
        """Forgets what was last used before that day (days since 1970)."""
        self._guarded(lambda: self._write("DELETE FROM vectors WHERE used_on < ?", [(before_day,)]))

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
        # A lost cache is only lost time, so it need not wait for the disk.
        connection.pragma("synchronous", "OFF")
        connection.pragma("journal_mode", "WAL")
        connection.execute(SCHEMA)

    def _read(self, digests: Sequence[bytes], found: dict[bytes, Row], stale: list[bytes]) -> None:
        if self._connection is None:
            return
        today, size = self._today(), self._dimension * np.dtype("<f2").itemsize
        sql = "SELECT digest, vector, used_on < ? FROM vectors WHERE digest = ? AND length(vector) IN (?, ?)"
        # One transaction around all lookups saves most of what each would cost.
        with self._connection:
            rows = [(today, digest, size, size + _SEAL_BYTES) for digest in digests]
            for digest, blob, is_stale in self._connection.executemany(sql, rows):
                if len(blob) != size and _sealed(blob[:size]) != blob:
                    continue  # a byte has changed by itself: the text is encoded once more
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

    def _mark(self, digests: Sequence[bytes]) -> None:
        rows = [(self._today(), digest) for digest in digests]
        self._write("UPDATE vectors SET used_on = ? WHERE digest = ?", rows)

    def _write(self, sql: str, rows: Sequence[tuple[bytes | int, ...]]) -> None:
        if self._connection is None:
            return
        with self._connection:
            self._connection.executemany(sql, rows)

    # --- failing well ---------------------------------------------------------------------------

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except DAMAGED as error:
            self.problem = f"the vector cache {self._path} was damaged and begun anew ({error})"
            self._begin_anew()
        except (apsw.Error, OSError) as error:
            self.problem = f"the vector cache {self._path} failed ({error})"

    def _begin_anew(self) -> None:
        try:
            self.close()
            for ending in ("", "-wal", "-shm"):
                Path(f"{self._path}{ending}").unlink(missing_ok=True)
            self._open()
        except (apsw.Error, OSError) as error:
            self.problem = f"the vector cache {self._path} is damaged and cannot be begun anew ({error})"
