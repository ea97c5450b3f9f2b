"""Lines and their words beside the catalog: found in what each process holds of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dowse.model import EVERYTHING, Scope
from dowse.store.sqlite.database import Database
from dowse.store.sqlite.lines.held import WITHOUT_FILE_UP_TO, HeldLines, lines_of
from dowse.store.sqlite.rows import RECORDS
from dowse.store.sqlite.scopes import Scopes
from dowse.store.texts import FoundLines, LineQuery

if TYPE_CHECKING:
    from dowse.store.sqlite.lines.arrays import Array

__all__ = ["WITHOUT_FILE_UP_TO", "HeldLines", "SqliteLines", "lines_of"]


class SqliteLines:
    db: Database
    _lines: HeldLines
    _scopes: Scopes

    def find_lines(self, query: LineQuery) -> FoundLines:
        from dowse.store.sqlite.lines.answer import found_lines

        scope = self._scopes.narrowed(query.scope)
        inside = None if scope == EVERYTHING else self._scopes.once("records", scope, lambda: self._records(scope))
        return self._lines.ask(lambda state: found_lines(state, query, inside))

    def _records(self, scope: Scope) -> Array:
        import numpy as np

        condition, values = self._scopes.condition(scope)
        rows = self.db.rows(f"SELECT records.id FROM {RECORDS} WHERE {condition}", values)
        return np.array([row[0] for row in rows], dtype=np.int64)

    def lines_between(self, collection: str, path: str, spans: Sequence[tuple[int, int]]) -> list[tuple[str, ...]]:
        rows = self.db.rows(
            f"SELECT records.id FROM {RECORDS} WHERE records.path = ? AND collections.name = ?", (path, collection)
        )
        return self._lines.ask(lambda state: state.lines_between(rows[0][0], spans)) if rows else [()] * len(spans)
