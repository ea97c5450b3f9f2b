"""Which records are not what was written of them: every row is read and compared with its seal."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence

from dowse.errors import IndexDamaged
from dowse.store.health import Progress
from dowse.store.sqlite.catalog.details import CALLS, LINKS
from dowse.store.sqlite.chunks import SEALED as CHUNKS
from dowse.store.sqlite.database import Database, Row
from dowse.store.sqlite.seals import details_seal, intact
from dowse.store.sqlite.symbols import SEALED as SYMBOLS
from dowse.text.names import last_name

_AT_ONCE = 200
_OWN = "path, kind, title, digest, chunking, tags, aliases, facets, details"
_BASES, _ATTRIBUTES = (SYMBOLS.replace(" ", "").split(",").index(name) for name in ("bases", "attributes"))


def unsound_records(db: Database, progress: Progress) -> Iterator[int]:
    """The keys of the records whose rows, or what hangs on them, are not as they were written."""
    keys = [key for (key,) in db.rows("SELECT id FROM records ORDER BY id")]
    for start in range(0, len(keys), _AT_ONCE):
        progress("checking records", start, len(keys))
        yield from _unsound(db, keys[start : start + _AT_ONCE])
    progress("checking records", len(keys), len(keys))


def unsealed(db: Database) -> int:
    """How many records were written before there were seals."""
    return int(db.rows("SELECT count(*) FROM records WHERE seal IS NULL")[0][0])


def _unsound(db: Database, keys: Sequence[int]) -> list[int]:
    try:
        with db.moment():
            rows = _Rows(db, keys[0], keys[-1])
            return [key for key in keys if not rows.sound(key)]
    except IndexDamaged:
        # Something in there can not even be read: it is found by asking for one after the other.
        return list(keys) if len(keys) == 1 else [bad for key in keys for bad in _unsound(db, [key])]


class _Rows:
    """Everything that is stored of the records with keys in a range."""

    def __init__(self, db: Database, first: int, last: int) -> None:
        self._range = (first, last)
        self._db = db
        own = db.rows(f"SELECT id, seal, {_OWN} FROM records WHERE id BETWEEN ? AND ?", self._range)
        self._own = {row[0]: row for row in own}
        self._chunks = self._of("chunks", f"seal, {CHUNKS}")
        self._symbols = self._of("symbols", SYMBOLS)
        self._links = self._of("links", LINKS)
        self._calls = self._of("calls", CALLS)
        self._traits = self._of("traits", "kind, value, symbol", order="kind")
        self._texts = self._of("texts", "body", order="record")

    def _of(self, table: str, columns: str, order: str = "ordinal") -> defaultdict[int, list[Row]]:
        rows = self._db.rows(
            f"SELECT record, {columns} FROM {table} WHERE record BETWEEN ? AND ? ORDER BY record, {order}", self._range
        )
        grouped: defaultdict[int, list[Row]] = defaultdict(list)
        for key, *values in rows:
            grouped[key].append(tuple(values))
        return grouped

    def sound(self, key: int) -> bool:
        """A record that went meanwhile, or was written before there were seals, is none that is damaged."""
        if key not in self._own or self._own[key][1] is None:
            return True
        _, sealed, *own = self._own[key]
        chunks = self._chunks[key]
        if not intact(sealed, own) or not all(intact(row[0], row[1:]) for row in chunks):
            return False
        symbols, texts = self._symbols[key], self._texts[key]
        body = texts[0][0] if texts else b""
        details = details_seal(sorted(row[0] for row in chunks), symbols, self._links[key], self._calls[key], body)
        return details == own[-1] and set(self._traits[key]) == _traits_of(symbols)


def _traits_of(symbols: Sequence[Row]) -> set[Row]:
    """What follows from the symbols, and is kept so that it is found."""
    return {
        (kind, last_name(text), row[0])
        for row in symbols
        for kind, column in (("base", _BASES), ("attribute", _ATTRIBUTES))
        if row[column] != "[]"
        for text in json.loads(row[column])
    }
