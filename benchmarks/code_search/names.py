"""What an index knows by name and how often it occurs, read straight from its catalog, to draw questions from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import apsw

_FUNCTIONS = "('method', 'function', 'constructor')"


class Member(NamedTuple):
    """A function or the like in the class or the like that it is defined in."""

    name: str
    owner: str


class Place(NamedTuple):
    path: str
    line: int


class Described(NamedTuple):
    """A definition by several of its properties at once."""

    part: str
    kind: str
    parent: str


class Names:
    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def definitions(self) -> dict[str, int]:
        """How many definitions bear each name."""
        return self._counted("SELECT name, count(*) FROM symbols WHERE kind <> 'heading' GROUP BY name")

    def traits(self, kind: str) -> dict[str, int]:
        """How many have each base, or each attribute."""
        return self._counted("SELECT value, count(*) FROM traits WHERE kind = ? GROUP BY value", kind)

    def places(self) -> list[Place]:
        """A line in the middle of every function."""
        rows = self._rows(
            "SELECT path, (start_line + end_line) / 2 FROM symbols JOIN records ON records.id = symbols.record "
            f"WHERE symbols.kind IN {_FUNCTIONS}"
        )
        return [Place(*row) for row in rows]

    def described(self) -> list[Described]:
        rows = self._rows(
            "SELECT DISTINCT substr(inner.name, 1, 6), inner.kind, outer.name FROM symbols AS inner "
            "JOIN symbols AS outer ON outer.record = inner.record AND outer.ordinal = inner.parent "
            f"WHERE inner.kind IN {_FUNCTIONS} AND length(inner.name) > 3"
        )
        return [Described(*row) for row in rows]

    def called(self) -> dict[str, int]:
        """How many calls there are of each name that a function bears, whichever of them they mean."""
        return self._counted(
            "SELECT name, count(*) FROM calls "
            f"WHERE name IN (SELECT name FROM symbols WHERE kind IN {_FUNCTIONS}) GROUP BY name"
        )

    def called_alone(self) -> dict[Member, int]:
        """The same of members whose name nothing else bears, so that most of the calls mean them."""
        sites, bearers = self.called(), self.definitions()
        return {it: sites[it.name] for it in self.calling() if it.name in sites and bearers[it.name] == 1}

    def calling(self) -> dict[Member, int]:
        """How many calls each member makes."""
        rows = self._rows(
            "SELECT inner.name, outer.name, max(inner.calls_made) FROM symbols AS inner "
            "JOIN symbols AS outer ON outer.record = inner.record AND outer.ordinal = inner.parent "
            f"WHERE inner.kind IN {_FUNCTIONS} AND inner.calls_made IS NOT NULL AND outer.kind <> 'namespace' "
            "GROUP BY inner.name, outer.name"
        )
        return {Member(name, owner): number for name, owner, number in rows}

    def _counted(self, sql: str, *values: str) -> dict[str, int]:
        return {str(name): int(number) for name, number in self._rows(sql, *values)}

    def _rows(self, sql: str, *values: str) -> list[tuple[Any, ...]]:
        return list(self._connection.execute(sql, values))


@contextmanager
def names_in(index: Path) -> Iterator[Names]:
    connection = apsw.Connection(str(index), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        yield Names(connection)
    finally:
        connection.close()
