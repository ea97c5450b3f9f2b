"""Vectors beside their chunks as float16 blobs, searched exactly over a matrix held in memory."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dowse.model import Scope, Scored
from dowse.store.base import Pending
from dowse.store.sqlite.database import Database
from dowse.store.sqlite.rows import STORED, as_json, scope_condition

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]
    Matrix = NDArray[np.float32]


class SqliteVectors:
    db: Database
    _held: HeldVectors

    def pending(self) -> list[Pending]:
        rows = self.db.rows(
            "SELECT chunks.id, chunks.digest FROM chunks LEFT JOIN vectors ON vectors.chunk = chunks.id "
            "WHERE vectors.chunk IS NULL ORDER BY chunks.id"
        )
        return [Pending(key, digest) for key, digest in rows]

    def put_vectors(self, keys: Sequence[int], matrix: Matrix) -> None:
        import numpy as np

        blobs = [row.tobytes() for row in np.asarray(matrix, dtype=np.float16)]
        with self.db.transaction() as connection:
            # A chunk may have been replaced while its text was being encoded.
            connection.executemany(
                "INSERT OR REPLACE INTO vectors (chunk, vector) SELECT id, ? FROM chunks WHERE id = ?",
                zip(blobs, keys, strict=True),
            )

    def clear_vectors(self) -> None:
        with self.db.transaction() as connection:
            connection.execute("DELETE FROM vectors")
            # Keys will come back with other vectors: whoever holds the old ones must let all of them go.
            connection.execute(
                "INSERT INTO manifest VALUES ('vector_generation', '1') "
                "ON CONFLICT (key) DO UPDATE SET value = CAST(value AS INTEGER) + 1"
            )

    def vectors(self, keys: Sequence[int]) -> dict[int, Vector]:
        import numpy as np

        rows = self.db.rows(
            "SELECT chunk, vector FROM vectors WHERE chunk IN (SELECT value FROM json_each(?))", (as_json(list(keys)),)
        )
        return {key: np.frombuffer(blob, dtype=np.float16).astype(np.float32) for key, blob in rows}

    def near(self, vector: Vector, scope: Scope, limit: int) -> list[Scored]:
        connection = self.db.reader()
        condition, values = scope_condition(connection, scope)
        allowed = None
        if condition:
            rows = self.db.rows(f"SELECT chunks.id FROM {STORED} WHERE {condition}", values)
            allowed = [row[0] for row in rows]
        self.db.remembered("vectors", lambda: self._held.refresh(self.db))
        return self._held.near(vector, allowed, limit)


class HeldVectors:
    """All vectors of an index in one matrix; following a change reads only what was added."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._generation: list[tuple[object, ...]] = []
        self._keys: NDArray[np.int64] | None = None
        self._matrix: Matrix | None = None

    def refresh(self, db: Database) -> bool:
        import numpy as np

        with self._turn:
            generation = db.rows("SELECT value FROM manifest WHERE key = 'vector_generation'")
            if generation != self._generation:
                self._generation, self._keys, self._matrix = generation, None, None
            known = np.empty(0, dtype=np.int64) if self._keys is None else self._keys
            rows = db.rows("SELECT chunk FROM vectors ORDER BY chunk")
            now = np.fromiter((row[0] for row in rows), dtype=np.int64)
            if not np.array_equal(known, now):
                self._adopt(db, known, now)
            return True

    def _adopt(self, db: Database, known: NDArray[np.int64], now: NDArray[np.int64]) -> None:
        import numpy as np

        kept = np.isin(known, now, assume_unique=True)
        added = np.setdiff1d(now, known, assume_unique=True)
        first = int(added[0]) if len(added) else 0
        wanted = set(added.tolist())
        rows = db.rows("SELECT chunk, vector FROM vectors WHERE chunk >= ? ORDER BY chunk", (first,))
        fresh = [(key, blob) for key, blob in rows if key in wanted] if wanted else []
        new = np.frombuffer(b"".join(blob for _, blob in fresh), dtype=np.float16).astype(np.float32)
        parts = [] if self._matrix is None else [self._matrix[kept]]
        if fresh:
            parts.append(units(new.reshape(len(fresh), -1)))
        keys = np.concatenate([known[kept], np.array([key for key, _ in fresh], dtype=np.int64)])
        matrix = np.concatenate(parts) if parts else None
        self._keys, self._matrix = keys, matrix

    def near(self, vector: Vector, allowed: Sequence[int] | None, limit: int) -> list[Scored]:
        import numpy as np

        with self._turn:
            keys, matrix = self._keys, self._matrix
        if keys is None or matrix is None or not len(keys) or limit < 1:
            return []
        if allowed is not None:
            inside = np.isin(keys, np.array(allowed, dtype=np.int64))
            keys, matrix = keys[inside], matrix[inside]
        return nearest(keys, matrix, vector, limit)


def units(matrix: Matrix) -> Matrix:
    """Rows of length one, so that a product is a cosine; a zero row stays zero."""
    import numpy as np

    lengths = np.linalg.norm(matrix, axis=-1, keepdims=True)
    result: Matrix = np.divide(matrix, lengths, out=np.zeros_like(matrix), where=lengths > 0)
    return result


def nearest(keys: NDArray[np.int64], rows: Matrix, vector: Vector, limit: int) -> list[Scored]:
    """The highest cosines of unit rows with any vector, ties by key; with a zero vector all are 0.0."""
    import numpy as np

    if not len(keys):
        return []
    cosines = rows @ units(np.asarray(vector, dtype=np.float32))
    best = np.argpartition(-cosines, limit - 1)[:limit] if limit < len(keys) else np.arange(len(keys))
    order = best[np.lexsort((keys[best], -cosines[best]))]
    return [Scored(int(keys[place]), float(cosines[place])) for place in order]
