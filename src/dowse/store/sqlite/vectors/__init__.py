"""Vectors beside their chunks as float16 blobs: written here, searched in what each process holds of them."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Sequence
from json import loads
from typing import TYPE_CHECKING

from dowse.model import EVERYTHING, Scope, Scored
from dowse.store.base import Pending
from dowse.store.sqlite.database import Database
from dowse.store.sqlite.health.damage import Damage
from dowse.store.sqlite.rows import ENCODED, as_json
from dowse.store.sqlite.scopes import Scopes
from dowse.store.sqlite.vectors.changes import shorten
from dowse.store.sqlite.vectors.held import EXACT_UP_TO, HeldVectors, sidecar_of
from dowse.store.sqlite.vectors.indexes import begin, made, switch

if TYPE_CHECKING:
    from dowse.store.sqlite.vectors.exact import Keys, Matrix, Vector

__all__ = ["EXACT_UP_TO", "HeldVectors", "SqliteVectors", "sidecar_of"]


class SqliteVectors:
    db: Database
    _held: HeldVectors
    _damage: Damage
    _scopes: Scopes

    def begin_vectors(self, fingerprint: str) -> None:
        with self.db.transaction() as connection:
            begin(connection, fingerprint)
            self.db.sign(connection)

    def switch_vectors(self, made_by: str | None = None) -> bool:
        with self.db.transaction() as connection:
            switched = switch(connection, made_by)
            self.db.sign(connection)
        if switched:
            self._held.forget()
        return switched

    def pending(self, made_by: str | None = None) -> list[Pending]:
        table = made(self.db.reader()).table_of(made_by)
        if table is None:
            return []
        rows = self.db.rows(
            f"SELECT chunks.id, chunks.digest FROM chunks LEFT JOIN {table} ON {table}.chunk = chunks.id "
            f"WHERE {table}.chunk IS NULL AND {ENCODED} ORDER BY chunks.id"
        )
        return [Pending(key, digest) for key, digest in rows]

    def put_vectors(self, keys: Sequence[int], matrix: Matrix, made_by: str | None = None) -> None:
        import numpy as np

        blobs = [row.tobytes() for row in np.asarray(matrix, dtype=np.float16)]
        sealed = [(blob, zlib.crc32(blob), key) for blob, key in zip(blobs, keys, strict=True)]
        with self.db.transaction() as connection:
            table = made(connection).table_of(made_by)
            if table is None:
                return
            shorten(connection)
            # A chunk may have been replaced while its text was being encoded.
            connection.executemany(
                f"INSERT OR REPLACE INTO {table} (chunk, vector, seal) SELECT id, ?, ? FROM chunks "
                f"WHERE id = ? AND {ENCODED}",
                sealed,
            )

    def vectors(self, keys: Sequence[int]) -> dict[int, Vector]:
        import numpy as np

        rows = self.db.rows(
            "SELECT chunk, vector FROM vectors WHERE chunk IN (SELECT value FROM json_each(?))", (as_json(list(keys)),)
        )
        return {key: np.frombuffer(blob, dtype=np.float16).astype(np.float32) for key, blob in rows}

    def near(
        self,
        vector: Vector,
        scope: Scope,
        limit: int,
        made_by: str | None = None,
        among: Collection[int] | None = None,
    ) -> list[Scored]:
        with self._damage.within("vectors"):
            return self._near(vector, scope, limit, made_by, among)

    def _near(
        self, vector: Vector, scope: Scope, limit: int, made_by: str | None, among: Collection[int] | None
    ) -> list[Scored]:
        import numpy as np

        scope = self._scopes.narrowed(scope)
        allowed = None if scope == EVERYTHING else self._scopes.once("keys", scope, lambda: self._keys(scope))
        if among is not None:
            wanted = np.fromiter(among, dtype=np.int64, count=len(among))
            allowed = wanted if allowed is None else np.intersect1d(wanted, allowed)
        self.db.remembered("vectors", self._held.refresh)
        return self._held.near(vector, allowed, limit, made_by)

    def _keys(self, scope: Scope) -> Keys:
        import numpy as np

        return np.array(loads(self._scopes.chunks(scope)), dtype=np.int64)
