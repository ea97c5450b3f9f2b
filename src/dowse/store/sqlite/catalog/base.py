"""What the parts of the catalog share: the database, what is remembered of it, and its manifest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

import apsw

from dowse.store.base import REVISION
from dowse.store.remember import Remembered
from dowse.store.sqlite.database import Database, Row, fetch
from dowse.store.sqlite.health.damage import Damage
from dowse.store.sqlite.late_words import LateWords

if TYPE_CHECKING:
    from dowse.store.sqlite.scopes import Scopes

Value = TypeVar("Value")


class CatalogBase:
    db: Database
    _worked_out: Remembered
    _late_words: LateWords
    _damage: Damage
    _scopes: Scopes

    def manifest(self) -> Mapping[str, str]:
        return dict(self._remembered("SELECT key, value FROM manifest"))

    def _remembered(self, statement: str) -> list[Row]:
        """Small tables that every answer looks at, read once for as long as the file does not change."""
        return self.db.remembered(statement, lambda: self.db.rows(statement))

    def remembered(self, name: str, make: Callable[[], Value]) -> Value:
        return self._worked_out.get(name, self._revision, make)

    def _revision(self) -> str:
        return self.manifest().get(REVISION, "")

    def note(self, key: str, value: str) -> None:
        with self.db.transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO manifest (key, value) VALUES (?, ?)", (key, value))


def collection_id(connection: apsw.Connection, name: str) -> int:
    ((key,),) = fetch(connection, "SELECT id FROM collections WHERE name = ?", (name,))
    return int(key)


def renew_revision(connection: apsw.Connection) -> None:
    """From this transaction on, nothing that is remembered of the records holds any more."""
    connection.execute("INSERT OR REPLACE INTO manifest (key, value) VALUES (?, hex(randomblob(16)))", (REVISION,))
