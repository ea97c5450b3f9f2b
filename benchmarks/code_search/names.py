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
        """The same of names that only one function bears, so that most of them mean that one."""
        return self._members(
            "SELECT symbols.name, outer.name, sites.number FROM symbols "
            "JOIN (SELECT name, count(*) AS number FROM calls GROUP BY name) AS sites ON sites.name = symbols.name "
            "JOIN (SELECT name FROM symbols GROUP BY name HAVING count(*) = 1) AS alone ON alone.name = symbols.name"
        )

    def calling(self) -> dict[Member, int]:
        """How many calls each function makes."""
        return self._members("SELECT symbols.name, outer.name, max(symbols.calls_made) FROM symbols ")

    def _members(self, select: str) -> dict[Member, int]:
        rows = self._rows(
            f"{select} JOIN symbols AS outer ON outer.record = symbols.record AND outer.ordinal = symbols.parent "
            f"WHERE symbols.kind IN {_FUNCTIONS} AND symbols.calls_made IS NOT NULL AND outer.kind <> 'namespace' "
            "GROUP BY symbols.name, outer.name"
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
