"""A store of dicts: slow, plain, and the oracle that every other backend is compared with."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, TypeVar

import apsw

from dowse.errors import BadInput, IndexBusy, OtherVectors
from dowse.model import (
    Call,
    Collection,
    Counts,
    Link,
    Record,
    Scope,
    Scored,
    Skipped,
    Stored,
    Symbol,
    Version,
)
from dowse.store.base import ANSWERING, NEXT, Pending, Piece, Weights
from dowse.store.call_facts import Facts, FileName, Named, Place, Site
from dowse.store.health import AlwaysSound
from dowse.store.memory_definitions import MemoryDefinitions
from dowse.store.plain_lines import found_lines, lines_of
from dowse.store.remember import Memory
from dowse.store.texts import FoundLines, LineQuery
from dowse.text.names import last_name, names
from dowse.text.scopes import inside
from dowse.text.terms import Term, Terms

if TYPE_CHECKING:
    from dowse.store.base import Matrix, Vector

Value = TypeVar("Value")

_K1, _B = 1.2, 0.75  # what FTS5's bm25() uses


@dataclass(slots=True)
class _Row:
    stored: Stored
    digest: bytes
    columns: tuple[list[str], ...]


@dataclass(slots=True)
class _Entry:
    record: Record
    symbols: tuple[Symbol, ...]
    links: tuple[Link, ...]
    calls: tuple[Call, ...]
    text: str


@dataclass(slots=True)
class _Vectors:
    """A vector index: by chunk, and whose they are."""

    made_by: str | None = None
    rows: dict[int, list[float]] = field(default_factory=dict)


class MemoryStore(AlwaysSound, MemoryDefinitions):
    def __init__(self) -> None:
        self._collections: dict[str, Collection] = {}
        self._entries: dict[tuple[str, str], _Entry] = {}
        self._rows: dict[int, _Row] = {}
        self._skipped: dict[tuple[str, str], Skipped] = {}
        self._manifest: dict[str, str] = {}
        self._answering = _Vectors()
        self._next = _Vectors()
        self._encoding = threading.Lock()
        self._next_key = 1
        self._revision = 0
        self._memory = Memory()
        self._tokenize = apsw.Connection(":memory:").fts5_tokenizer("porter", ["unicode61", "remove_diacritics", "2"])

    # --- catalog ---

    def batch(self, text_bytes: int = 0) -> AbstractContextManager[object]:
        return nullcontext()  # nothing of it outlives a crash anyway

    def collections(self) -> list[Collection]:
        return list(self._collections.values())

    def add_collection(self, root: str) -> Collection:
        for known in self._collections.values():
            if known.root == root:
                return known
        base = PurePath(root).name or "root"
        candidates = (base if number == 1 else f"{base}-{number}" for number in range(1, len(self._collections) + 2))
        name = next(candidate for candidate in candidates if candidate not in self._collections)
        self._collections[name] = Collection(name, root)
        return self._collections[name]

    def move_collection(self, name: str, root: str) -> None:
        if any(it.root == root for it in self._collections.values()):
            raise BadInput(f"{root} is indexed already; a root can not be moved there")
        self._collections[name] = replace(self._collections[name], root=root)
        self._revision += 1

    def mark(self, collection: str, *, listed: int, at: float | None) -> None:
        before = self._collections[collection]
        moment = before.synced_at if at is None else at
        self._collections[collection] = replace(before, listed=listed, synced_at=moment)

    def versions(self, collection: str, under: Iterable[str] | None = None) -> dict[str, Version]:
        places = None if under is None else tuple(place.removesuffix("/") for place in under)
        mine = [
            entry.record
            for (name, path), entry in self._entries.items()
            if name == collection and (places is None or any(path == it or path.startswith(f"{it}/") for it in places))
        ]
        return {it.path: Version(it.size, it.mtime_ns, it.digest, it.chunking, it.settled) for it in mine}

    def put(
        self,
        record: Record,
        pieces: Sequence[Piece],
        symbols: Sequence[Symbol] = (),
        links: Sequence[Link] = (),
        calls: Sequence[Call] = (),
        text: str = "",
    ) -> None:
        before = {
            (row.digest, row.stored.chunk.text): self._vectors_of(row.stored.key)
            for row in self._rows_of(record.collection, record.path)
        }
        self.drop(record.collection, [record.path])
        self._skipped.pop((record.collection, record.path), None)
        self._entries[record.collection, record.path] = _Entry(record, tuple(symbols), tuple(links), tuple(calls), text)
        for piece in pieces:
            stored = Stored(self._next_key, piece.chunk, record)
            self._rows[self._next_key] = _Row(stored, piece.digest, self._columns(stored))
            for index, vector in before.get((piece.digest, piece.chunk.text), ()):
                index.rows[self._next_key] = vector
            self._next_key += 1
        self._revision += 1

    def touch(self, collection: str, path: str, *, size: int, mtime_ns: int, settled: bool) -> None:
        entry = self._entries[collection, path]
        entry.record = replace(entry.record, size=size, mtime_ns=mtime_ns, settled=settled)
        for row in self._rows_of(collection, path):
            row.stored = replace(row.stored, record=entry.record)
        self._revision += 1

    def drop(self, collection: str, paths: Iterable[str]) -> int:
        dropped = 0
        for path in paths:
            for row in self._rows_of(collection, path):
                del self._rows[row.stored.key]
                for index in (self._answering, self._next):
                    index.rows.pop(row.stored.key, None)
            dropped += self._entries.pop((collection, path), None) is not None
        self._revision += dropped
        return dropped

    def skip(self, skipped: Skipped, *, drop: bool = True) -> None:
        if drop:
            self.drop(skipped.collection, [skipped.path])
        self._skipped[skipped.collection, skipped.path] = skipped

    def unskip(self, collection: str, paths: Iterable[str]) -> None:
        for path in paths:
            self._skipped.pop((collection, path), None)

    def kinds(self) -> frozenset[str]:
        return frozenset(entry.record.kind for entry in self._entries.values())

    def faceted(self, name: str) -> list[tuple[str, str, str]]:
        order = list(self._collections)
        records = (entry.record for entry in self._entries.values() if name in entry.record.facets)
        found = sorted(records, key=lambda it: (order.index(it.collection), it.path))
        return [(it.collection, it.path, it.facets[name]) for it in found]

    def skipped(self) -> list[Skipped]:
        order = list(self._collections)
        return sorted(self._skipped.values(), key=lambda it: (order.index(it.collection), it.path))

    def load(self, keys: Sequence[int]) -> list[Stored]:
        return [self._rows[key].stored for key in keys if key in self._rows]

    def places(self, keys: Sequence[int]) -> dict[int, tuple[str, str, int]]:
        return {it.key: (it.record.collection, it.record.path, it.chunk.ordinal) for it in self.load(keys)}

    def by_chunk_id(self, chunk_id: str, collection: str | None = None) -> list[Stored]:
        return [it for it in self._in_order() if it.chunk_id == chunk_id and _in(it.record, collection)]

    def records(self, path: str, collection: str | None = None) -> list[Record]:
        order = list(self._collections)
        found = [it.record for it in self._entries.values() if it.record.path == path and _in(it.record, collection)]
        return sorted(found, key=lambda it: order.index(it.collection))

    def chunks(self, record: Record) -> list[Stored]:
        mine = [row.stored for row in self._rows_of(record.collection, record.path)]
        return sorted(mine, key=lambda it: it.chunk.ordinal)

    def symbols(self, record: Record) -> list[Symbol]:
        entry = self._entries.get((record.collection, record.path))
        return list(entry.symbols) if entry else []

    def links(self, record: Record) -> list[Link]:
        entry = self._entries.get((record.collection, record.path))
        return list(entry.links) if entry else []

    def calls(self, record: Record) -> list[Call]:
        entry = self._entries.get((record.collection, record.path))
        return list(entry.calls) if entry else []

    def text(self, record: Record) -> str:
        entry = self._entries.get((record.collection, record.path))
        return entry.text if entry else ""

    def linked(self, kinds: Sequence[str]) -> list[tuple[Record, list[Link]]]:
        entries = sorted(self._entries.items())
        return [(entry.record, [link for link in entry.links if link.kind in kinds]) for _, entry in entries]

    def export(self) -> Iterator[Stored]:
        rows = (row.stored for row in self._rows.values())
        return iter(sorted(rows, key=lambda it: (it.record.collection, it.record.path, it.chunk.ordinal)))

    def counts(self) -> Counts:
        entries = self._entries.values()
        return Counts(
            records=len(entries),
            chunks=len(self._rows),
            symbols=sum(len(entry.symbols) for entry in entries),
            links=sum(len(entry.links) for entry in entries),
            calls=sum(len(entry.calls) for entry in entries),
            vectors=len(self._answering.rows),
            next_vectors=len(self._next.rows),
        )

    def manifest(self) -> Mapping[str, str]:
        return dict(self._manifest)

    def note(self, key: str, value: str) -> None:
        self._manifest[key] = value

    def remembered(self, name: str, make: Callable[[], Value]) -> Value:
        return self._memory.get(name, lambda: str(self._revision), make)

    # --- words ---

    def match(self, terms: Terms, scope: Scope, weights: Weights, limit: int) -> list[Scored]:
        if not terms or limit < 1:
            return []
        ranked = [*terms.required, *terms.wanted]
        if terms.required and terms.wanted:
            ranked.append(terms.required[0])  # it stands in both halves of the expression, and counts twice
        tokens = {term: self._tokens(" ".join(term.words)) for term in ranked}
        hits = {
            key: {term: _occurrences(row.columns, tokens[term], term.prefix) for term in tokens}
            for key, row in self._rows.items()
        }
        scores = self._bm25(ranked, hits, weights)
        wanted = inside(scope)
        matching = [
            Scored(key, scores[key])
            for key, found in hits.items()
            if _satisfies(terms, found) and wanted(self._rows[key].stored.record)
        ]
        return sorted(matching, key=lambda it: (-it.score, it.key))[:limit]

    def _bm25(
        self, ranked: Sequence[Term], hits: Mapping[int, Mapping[Term, tuple[int, ...]]], weights: Weights
    ) -> dict[int, float]:
        total = len(self._rows)
        lengths = {key: sum(map(len, row.columns)) for key, row in self._rows.items()}
        average = sum(lengths.values()) / total if total else 1.0
        scores = dict.fromkeys(hits, 0.0)
        for term in ranked:
            containing = sum(any(found[term]) for found in hits.values())
            idf = max(1e-6, math.log((total - containing + 0.5) / (containing + 0.5)))
            for key, found in hits.items():
                frequency = sum(weight * count for weight, count in zip(weights, found[term], strict=True))
                length = _K1 * (1 - _B + _B * lengths[key] / average)
                scores[key] += idf * frequency * (_K1 + 1) / (frequency + length)
        return scores

    def _columns(self, stored: Stored) -> tuple[list[str], ...]:
        record, chunk = stored.record, stored.chunk
        trail = " ".join(chunk.trail)
        extra = names(f"{record.title} {trail} {chunk.text}")
        texts = (
            record.title,
            trail,
            chunk.text,
            extra,
            " ".join((*record.tags, *record.aliases)),
            record.path,
        )
        return tuple(map(self._tokens, texts))

    def _tokens(self, text: str) -> list[str]:
        found = self._tokenize(text.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False)
        return [str(token) for colocated in found for token in colocated]

    # --- vectors ---

    def begin_vectors(self, fingerprint: str) -> None:
        if fingerprint == self._next.made_by:
            return
        fresh = _Vectors(fingerprint)
        if fingerprint == self._answering.made_by:
            self._hold(self._answering, _Vectors())
        elif self._answering.made_by is None or not self._answering.rows:
            self._hold(fresh, _Vectors())
        else:
            self._hold(self._answering, fresh)

    def switch_vectors(self, made_by: str | None = None) -> bool:
        following = self._next.made_by
        if following is None or made_by not in (None, following) or self.pending(following):
            return False
        self._hold(self._next, _Vectors())
        return True

    def _hold(self, answering: _Vectors, following: _Vectors) -> None:
        self._answering, self._next = answering, following
        fingerprints = {ANSWERING: answering.made_by, NEXT: following.made_by}
        others = {key: value for key, value in self._manifest.items() if key not in fingerprints}
        self._manifest = others | {key: value for key, value in fingerprints.items() if value is not None}

    def _index_of(self, made_by: str | None) -> _Vectors | None:
        if made_by is None or made_by == self._answering.made_by:
            return self._answering
        return self._next if made_by == self._next.made_by else None

    def _vectors_of(self, key: int) -> list[tuple[_Vectors, list[float]]]:
        return [(index, index.rows[key]) for index in (self._answering, self._next) if key in index.rows]

    def pending(self, made_by: str | None = None) -> list[Pending]:
        index = self._index_of(made_by)
        if index is None:
            return []
        return [Pending(key, row.digest) for key, row in sorted(self._rows.items()) if key not in index.rows]

    def put_vectors(self, keys: Sequence[int], matrix: Matrix, made_by: str | None = None) -> None:
        index = self._index_of(made_by)
        for key, vector in zip(keys, matrix, strict=True):
            if index is not None and key in self._rows:
                index.rows[key] = [float(value) for value in vector]

    def vectors(self, keys: Sequence[int]) -> dict[int, Vector]:
        import numpy as np

        held = self._answering.rows
        return {key: np.array(held[key], dtype=np.float32) for key in keys if key in held}

    def near(self, vector: Vector, scope: Scope, limit: int, made_by: str | None = None) -> list[Scored]:
        index = self._answering
        if made_by is not None and made_by != index.made_by:
            raise OtherVectors(f"the vectors are of {index.made_by} now, not of {made_by}; ask again")
        query = [float(value) for value in vector]
        wanted = inside(scope)
        scored = [
            Scored(key, _cosine(row, query)) for key, row in index.rows.items() if wanted(self._rows[key].stored.record)
        ]
        return sorted(scored, key=lambda it: (-it.score, it.key))[: max(limit, 0)]

    # --- lines ---

    def find_lines(self, query: LineQuery) -> FoundLines:
        is_inside = inside(query.scope)
        within = [name for name, entry in self._entries.items() if is_inside(entry.record)]
        return found_lines({name: entry.text for name, entry in self._entries.items()}, within, query)

    def lines_between(self, collection: str, path: str, spans: Sequence[tuple[int, int]]) -> list[tuple[str, ...]]:
        entry = self._entries.get((collection, path))
        lines = lines_of(entry.text) if entry else []
        return [tuple(lines[max(first, 1) - 1 : max(last, 0)]) for first, last in spans]

    # --- the rest ---

    def entries(self) -> Iterable[_Entry]:
        return self._entries.values()

    @contextmanager
    def writing(self, timeout_s: float, what: str = "indexing") -> Iterator[None]:
        yield

    def waited_for(self) -> bool:
        return False

    @contextmanager
    def encoding(self, timeout_s: float) -> Iterator[None]:
        if not self._encoding.acquire(timeout=timeout_s):
            raise IndexBusy("another job makes the vectors now")
        try:
            yield
        finally:
            self._encoding.release()

    def settle(self) -> None:
        pass

    def close(self) -> None:
        pass

    def _rows_of(self, collection: str, path: str) -> list[_Row]:
        wanted = (collection, path)
        return [it for it in self._rows.values() if (it.stored.record.collection, it.stored.record.path) == wanted]

    def _in_order(self) -> list[Stored]:
        order = list(self._collections)
        rows = [row.stored for row in self._rows.values()]
        return sorted(rows, key=lambda it: (order.index(it.record.collection), it.record.path, it.chunk.ordinal))

    # --- what the call graph is worked out from ---

    @contextmanager
    def moment(self) -> Iterator[None]:
        yield

    def stamps(self, keys: Sequence[int]) -> dict[int, str]:
        return {
            key: f"{it.collection}/{it.path} {it.digest} {it.chunking} {it.mtime_ns}"
            for key, it in ((key, entry.record) for key, entry in self._keyed() if key in keys)
        }

    def facts(self, keys: Sequence[int]) -> list[Facts]:
        return [
            Facts(key, it.record, it.symbols, tuple(link for link in it.links if link.kind == "import"))
            for key, it in self._keyed()
            if key in keys
        ]

    def files_named(self, name: str) -> list[FileName]:
        found = ((key, it.record) for key, it in self._keyed() if it.record.path.rpartition("/")[2] == name)
        return [FileName(key, it.collection, self._collections[it.collection].root, it.path) for key, it in found]

    def named(
        self,
        names: Sequence[str],
        *,
        kinds: Sequence[str] = (),
        within: Sequence[int] | None = None,
        modifier: str = "",
        limit: int = 0,
    ) -> list[Named]:
        folded = {name.lower() for name in names}
        found = [
            it
            for it, symbol in self._definitions()
            if it.name.lower() in folded
            and (not kinds or it.kind in kinds)
            and (within is None or it.place.record in within)
            and (not modifier or modifier in symbol.modifiers)
        ]
        return found[: limit or None]

    def extending(self, names: Sequence[str]) -> list[Named]:
        folded = {name.lower() for name in names}
        return [it for it, symbol in self._definitions() if not folded.isdisjoint(map(last_name, symbol.bases))]

    def imported_as(self, targets: Sequence[str], member: str) -> list[str]:
        imports = (link for entry in self._entries.values() for link in entry.links if link.kind == "import")
        parts = (it.context.partition("=") for it in imports if it.target in targets)
        return sorted({local for local, _, imported in parts if imported == member})

    def sites(self, names: Sequence[str], limit: int) -> list[Site]:
        found = [it for key, _ in self._keyed() for it in self.sites_in(key) if it.name in names]
        return found[:limit]

    def sites_in(self, key: int) -> list[Site]:
        calls = dict(self._keyed())[key].calls
        found = [
            Site(key, place, it.name, it.callee, it.line, it.symbol, it.arguments, it.kind)
            for place, it in enumerate(calls)
        ]
        return sorted(found, key=lambda it: (it.line, it.ordinal))

    def _keyed(self) -> list[tuple[int, _Entry]]:
        """Every record with a key, ordered by collection and path."""
        return [(key, entry) for key, (_, entry) in enumerate(sorted(self._entries.items()), 1)]

    def _definitions(self) -> Iterator[tuple[Named, Symbol]]:
        for key, entry in self._keyed():
            trails: list[tuple[str, ...]] = []
            for ordinal, it in enumerate(entry.symbols):
                trails.append(() if it.parent is None else (*trails[it.parent], entry.symbols[it.parent].name))
                place, record = Place(key, ordinal), entry.record
                yield Named(place, it.name, it.kind, trails[-1], record.collection, record.path), it


def _in(record: Record, collection: str | None) -> bool:
    return collection is None or record.collection == collection


def _occurrences(columns: tuple[list[str], ...], phrase: list[str], prefix: bool) -> tuple[int, ...]:
    """How often the phrase stands in each column."""
    if not phrase:
        return (0,) * len(columns)
    size = len(phrase)
    return tuple(
        sum(_same(column[start : start + size], phrase, prefix) for start in range(len(column) - size + 1))
        for column in columns
    )


def _same(window: list[str], phrase: list[str], prefix: bool) -> bool:
    last_agrees = window[-1].startswith(phrase[-1]) if prefix else window[-1] == phrase[-1]
    return window[:-1] == phrase[:-1] and last_agrees


def _satisfies(terms: Terms, found: Mapping[Term, tuple[int, ...]]) -> bool:
    if terms.required:
        return all(any(found[term]) for term in terms.required)
    return any(any(found[term]) for term in terms.wanted)


def _cosine(left: Sequence[float], right: Sequence[float]) -> float:
    length = math.sqrt(sum(it * it for it in left)) * math.sqrt(sum(it * it for it in right))
    return sum(a * b for a, b in zip(left, right, strict=True)) / length if length else 0.0
