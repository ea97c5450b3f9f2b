"""Which roots are indexed, in SQLite, and what of them is left out."""

from __future__ import annotations

from pathlib import PurePath

from dowse.errors import BadInput
from dowse.model import FILES, Collection, Skipped
from dowse.store.sqlite.catalog.base import CatalogBase, renew_revision
from dowse.store.sqlite.database import fetch


class Collections(CatalogBase):
    def collections(self) -> list[Collection]:
        rows = self._remembered("SELECT name, root, listed, synced_at, source FROM collections ORDER BY id")
        return [Collection(*row) for row in rows]

    def add_collection(self, root: str, *, source: str = FILES, name: str = "") -> Collection:
        with self.db.transaction() as connection:
            taken = {row[0]: row[1] for row in connection.execute("SELECT root, name FROM collections")}
            if root not in taken:
                connection.execute(
                    "INSERT INTO collections (name, root, source) VALUES (?, ?, ?)",
                    (_free_name(name or PurePath(root).name or "root", set(taken.values())), root, source),
                )
            self.db.sign(connection)
        return next(collection for collection in self.collections() if collection.root == root)

    def move_collection(self, name: str, root: str) -> None:
        with self.db.transaction() as connection:
            if fetch(connection, "SELECT 1 FROM collections WHERE root = ?", (root,)):
                raise BadInput(f"{root} is indexed already; a root can not be moved there")
            connection.execute("UPDATE collections SET root = ? WHERE name = ?", (root, name))
            self.db.sign(connection)
            renew_revision(connection)

    def remove_collection(self, name: str) -> None:
        with self.db.transaction() as connection:
            known = "SELECT id FROM collections WHERE name = ?"
            connection.execute(f"DELETE FROM skipped WHERE collection IN ({known})", (name,))
            connection.execute("DELETE FROM collections WHERE name = ?", (name,))
            self.db.sign(connection)
            renew_revision(connection)

    def mark(self, collection: str, *, listed: int, at: float | None) -> None:
        with self.db.transaction() as connection:
            connection.execute(
                "UPDATE collections SET listed = ?, synced_at = coalesce(?, synced_at) WHERE name = ?",
                (listed, at, collection),
            )

    def skipped(self) -> list[Skipped]:
        rows = self._remembered(
            "SELECT collections.name, skipped.path, reason, size, mtime_ns FROM skipped "
            "JOIN collections ON collections.id = skipped.collection ORDER BY collections.id, skipped.path"
        )
        return [Skipped(*row) for row in rows]


def _free_name(base: str, taken: set[str]) -> str:
    name, number = base, 2
    while name in taken:
        name, number = f"{base}-{number}", number + 1
    return name
