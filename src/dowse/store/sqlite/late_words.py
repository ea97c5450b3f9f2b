"""What comes into the full-text indexes and goes from them, kept back until the transaction ends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import apsw

from dowse.store.sqlite.database import Row, fetch
from dowse.store.sqlite.health.mending import WORDS, note, unfinished

_COLUMNS = "rowid, title, trail, text, names, tags, path"
_ADD = f"INSERT INTO words ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)"
_REMOVE = f"INSERT INTO words (words, {_COLUMNS}) VALUES ('delete', ?, ?, ?, ?, ?, ?, ?)"
_NAME = "INSERT OR IGNORE INTO symbol_names (name) VALUES (?)"
_GRAMS = "INSERT INTO symbol_grams (rowid, name) SELECT id, name FROM symbol_names WHERE id > ?"


class LateWords:
    """Rows are key, title, trail, text, names, tags and path of a chunk; names are those of symbols, in lower case.

    SQLite makes FTS5 write out all it holds in memory whenever a savepoint, or a statement that might fail half-way,
    begins. Row by row between such statements, or by a trigger, which is one, every chunk becomes a segment of its own
    that must be merged with others later; at the end of a transaction, hundreds of files become one.
    """

    def __init__(self) -> None:
        self._added: list[Row] = []
        self._removed: list[Row] = []
        self._names: set[str] = set()
        self._spoilt = False
        self._depth = 0
        self.written = 0  # chunks since their segments were merged

    def add(self, row: Row) -> None:
        self._added.append(row)

    def remove(self, rows: Iterable[Row]) -> None:
        self._removed.extend(rows)

    def spoil(self) -> None:
        """Something goes whose words are not known: the whole index of words must be made anew."""
        self._spoilt = True

    def name(self, names: Iterable[str]) -> None:
        """Of what is undone they may stay: a name that nothing bears finds nothing."""
        self._names.update(names)

    @contextmanager
    def until_the_end(self, connection: apsw.Connection) -> Iterator[None]:
        """Of the outermost of these; what was noted in one that fails is forgotten."""
        added, removed = len(self._added), len(self._removed)
        self._depth += 1
        try:
            yield
            if self._depth == 1:
                self._write(connection)
        except BaseException:
            del self._added[added:], self._removed[removed:]
            raise
        finally:
            self._depth -= 1

    def _write(self, connection: apsw.Connection) -> None:
        if self._spoilt:
            note(connection, WORDS)
        if WORDS in unfinished(connection):
            # Whoever fills it again must begin anew: what is there by now may be gone from the catalog.
            note(connection, WORDS)
        else:
            # In this order, because what was added may have been removed again; keys are never used twice.
            connection.executemany(_ADD, self._added)
            self.written += len(self._added)
            connection.executemany(_REMOVE, self._removed)
        ((last,),) = fetch(connection, "SELECT coalesce(max(id), 0) FROM symbol_names")
        connection.executemany(_NAME, [(name,) for name in sorted(self._names)])
        connection.execute(_GRAMS, (last,))
        self._added, self._removed, self._names, self._spoilt = [], [], set(), False
