"""Named spans in SQLite: how they are kept so that each can be found by its name, its bases and its attributes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import apsw

from dowse.model import Symbol
from dowse.store.sqlite.database import Row
from dowse.store.sqlite.rows import as_json
from dowse.text.names import last_name

_NO_STATS = (None,) * 7
SEALED = (
    "ordinal, name, folded, kind, start_line, end_line, level, parent, signature, holds, parameters, "
    "modifiers, attributes, bases, cyclomatic, cognitive, nesting, arity, returns, calls_made, lambdas"
)


def put_symbols(connection: apsw.Connection, key: int, symbols: Sequence[Symbol]) -> list[Row]:
    """The rows that were written, without the key of their record."""
    if not symbols:
        return []
    rows = list(_rows(symbols))
    places = ", ".join("?" * len(SEALED.split(",")))
    connection.executemany(
        f"INSERT INTO symbols (record, {SEALED}) VALUES (?, {places})", [(key, *row) for row in rows]
    )
    connection.executemany(
        "INSERT OR IGNORE INTO traits (kind, value, record, symbol) VALUES (?, ?, ?, ?)", list(_traits(key, symbols))
    )
    return rows


def _rows(symbols: Sequence[Symbol]) -> Iterator[Row]:
    for place, it in enumerate(symbols):
        yield (
            place, it.name, it.name.lower(), it.kind, it.start_line, it.end_line, it.level, it.parent,
            it.signature, it.holds, _list(it.parameters), _list(it.modifiers), _list(it.attributes), _list(it.bases),
            *(it.stats or _NO_STATS),
        )  # fmt: skip


def _list(texts: tuple[str, ...]) -> str:
    """Most are empty, and there are four of them to each of a million symbols."""
    return as_json(texts) if texts else "[]"


def _traits(key: int, symbols: Sequence[Symbol]) -> Iterator[Row]:
    for place, it in enumerate(symbols):
        for kind, texts in (("base", it.bases), ("attribute", it.attributes)):
            for text in texts:
                yield kind, last_name(text), key, place
