"""What the store of dicts holds: everything its parts read and write."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import apsw

from dowse.model import Call, Collection, Link, Record, Scope, Skipped, Stored, Symbol
from dowse.store.remember import Remembered
from dowse.text.scopes import inside


@dataclass(slots=True)
class Row:
    stored: Stored
    digest: bytes
    columns: tuple[list[str], ...]


@dataclass(slots=True)
class Entry:
    record: Record
    symbols: tuple[Symbol, ...]
    links: tuple[Link, ...]
    calls: tuple[Call, ...]
    text: str | None


@dataclass(slots=True)
class VectorIndex:
    """A vector index: by chunk, and whose they are."""

    made_by: str | None = None
    rows: dict[int, list[float]] = field(default_factory=dict)


class State:
    def __init__(self) -> None:
        self._collections: dict[str, Collection] = {}
        self._entries: dict[tuple[str, str], Entry] = {}
        self._rows: dict[int, Row] = {}
        self._skipped: dict[tuple[str, str], Skipped] = {}
        self._manifest: dict[str, str] = {}
        self._answering = VectorIndex()
        self._next = VectorIndex()
        self._encoding = threading.Lock()
        self._next_key = 1
        self._revision = 0
        self._worked_out = Remembered()
        self._tokenize = apsw.Connection(":memory:").fts5_tokenizer("porter", ["unicode61", "remove_diacritics", "2"])

    def _within(self, scope: Scope) -> Callable[[Record], bool]:
        """Whether a record that is here is inside the scope."""
        within = inside(scope)
        return lambda record: within(record, self._entries[record.collection, record.path].links)

    def entries(self) -> Iterable[Entry]:
        return self._entries.values()

    def _rows_of(self, collection: str, path: str) -> list[Row]:
        wanted = (collection, path)
        return [it for it in self._rows.values() if (it.stored.record.collection, it.stored.record.path) == wanted]

    def _in_order(self) -> list[Stored]:
        order = list(self._collections)
        rows = [row.stored for row in self._rows.values()]
        return sorted(rows, key=lambda it: (order.index(it.record.collection), it.record.path, it.chunk.ordinal))
