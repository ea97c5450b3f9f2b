"""A store in dictionaries: the oracle of the store's tests."""

from __future__ import annotations

import math
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Collection as AbcCollection
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import apsw

from dowse.errors import BadInput, EncoderMismatch, IndexBusy
from dowse.model import (
    EVERYTHING,
    FILE_KINDS,
    FILES,
    Call,
    Collection,
    DocumentLayout,
    IndexCounts,
    ItemVersion,
    Link,
    Record,
    RecordSummary,
    Scope,
    ScoredChunk,
    SkippedItem,
    StoredChunk,
    Symbol,
)
from dowse.store.base import RevisionCache
from dowse.store.types import (
    ACTIVE_ENCODER_KEY,
    HEADING_KIND,
    MAX_LISTED_WORDS,
    NEXT_ENCODER_KEY,
    SCORE_DIGITS,
    TYPE_SYMBOL_KINDS,
    UNENCODED_ROLES,
    ChunkInput,
    CodeFacts,
    ColumnWeights,
    DefinedName,
    Definition,
    DroppedRecord,
    FileLines,
    Finding,
    IndexedFile,
    LineMatches,
    LineQuery,
    NamedDefinition,
    NamedFile,
    PatternTerm,
    PendingChunk,
    PhraseTerm,
    Progress,
    StoredCall,
    SymbolMatches,
    SymbolQuery,
    SymbolRef,
    WordTerm,
)
from dowse.store.view import StoreView
from dowse.text.code_names import scope_predicate
from dowse.text.receiver_expressions import split_arguments
from dowse.text.regex import EXACT, compile_line_regex, compile_regex_predicate, match_quality
from dowse.text.tokenize import (
    QueryTerm,
    QueryTerms,
    WordTest,
    fold_case,
    folded_words,
    last_simple_name,
    phrase_regex,
    subtokens,
)

if TYPE_CHECKING:
    from dowse.store.types import Matrix, Vector

# --------------------------------------------------------------------------------------------------
# What the store of dicts holds: everything its parts read and write.


@dataclass(slots=True)
class DictRow:
    stored: StoredChunk
    digest: bytes
    columns: tuple[list[str], ...]


@dataclass(slots=True)
class DictEntry:
    record: Record
    symbols: tuple[Symbol, ...]
    links: tuple[Link, ...]
    calls: tuple[Call, ...]
    text: str | None
    layout: DocumentLayout | None = None


@dataclass(slots=True)
class DictVectorIndex:
    """A vector index: by chunk, and whose they are."""

    encoder_fingerprint: str | None = None
    rows: dict[int, list[float]] = field(default_factory=dict)


class DictState:
    def __init__(self) -> None:
        self._collections: dict[str, Collection] = {}
        self._entries: dict[tuple[str, str], DictEntry] = {}
        self._rows: dict[int, DictRow] = {}
        self._skipped: dict[tuple[str, str], SkippedItem] = {}
        self._manifest: dict[str, str] = {}
        self._answering = DictVectorIndex()
        self._next = DictVectorIndex()
        self._encoding = threading.Lock()
        self._next_key = 1
        self._revision = 0
        self._worked_out = RevisionCache()
        self._tokenize = apsw.Connection(":memory:").fts5_tokenizer("porter", ["unicode61", "remove_diacritics", "2"])

    def _within(self, scope: Scope) -> Callable[[Record], bool]:
        """Whether a record that is here is inside the scope."""
        within = scope_predicate(scope)
        return lambda record: within(record, self._entries[record.collection, record.path].links)

    def entries(self) -> Iterable[DictEntry]:
        return self._entries.values()

    def _rows_of(self, collection: str, path: str) -> list[DictRow]:
        wanted = (collection, path)
        return [it for it in self._rows.values() if (it.stored.record.collection, it.stored.record.path) == wanted]

    def _in_order(self) -> list[StoredChunk]:
        order = list(self._collections)
        rows = [row.stored for row in self._rows.values()]
        return sorted(rows, key=lambda it: (order.index(it.record.collection), it.record.path, it.chunk.ordinal))


# --------------------------------------------------------------------------------------------------
# Words of the store of dicts: BM25 by hand, as FTS5 counts it.

_K1, _B = 1.2, 0.75  # what FTS5's bm25() uses


class DictWords(DictState):
    def match(self, terms: QueryTerms, scope: Scope, weights: ColumnWeights, limit: int) -> list[ScoredChunk]:
        if not terms or limit < 1:
            return []
        ranked = [*terms.required, *terms.optional]
        if terms.required and terms.optional:
            ranked.append(terms.required[0])  # it stands in both halves of the expression, and counts twice
        tokens = {term: self._tokens(" ".join(term.words)) for term in ranked}
        hits = {
            key: {term: _occurrences(row.columns, tokens[term], term.prefix) for term in tokens}
            for key, row in self._rows.items()
        }
        scores = self._bm25(ranked, hits, weights)
        wanted = self._within(scope)
        matching = [
            ScoredChunk(key, scores[key])
            for key, found in hits.items()
            if _satisfies(terms, found) and wanted(self._rows[key].stored.record)
        ]
        return sorted(matching, key=lambda it: (-it.score, it.key))[:limit]

    def chunks_containing(self, required: Sequence[QueryTerm]) -> list[int]:
        tokens = {term: self._tokens(" ".join(term.words)) for term in required}
        return [
            key
            for key, row in self._rows.items()
            if all(any(_occurrences(row.columns, tokens[term], term.prefix)) for term in tokens)
        ]

    def document_frequencies(self, words: Sequence[str]) -> tuple[int, list[int]]:
        return len(self._rows), [self._rarest(word) for word in words]

    def _rarest(self, word: str) -> int:
        """In how many chunks the rarest token of a word occurs."""
        tokens = [[token] for token in self._tokens(word)]
        columns = [row.columns for row in self._rows.values()]
        return min((sum(any(_occurrences(it, token, False)) for it in columns) for token in tokens), default=0)

    def _bm25(
        self,
        ranked: Sequence[QueryTerm],
        hits: Mapping[int, Mapping[QueryTerm, tuple[int, ...]]],
        weights: ColumnWeights,
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

    def _columns(self, stored: StoredChunk) -> tuple[list[str], ...]:
        record, chunk = stored.record, stored.chunk
        trail = " ".join(chunk.trail)
        if chunk.role in UNENCODED_ROLES:
            return tuple(map(self._tokens, ("", trail, chunk.text, "", "", "")))
        extra = subtokens(f"{record.title} {trail} {chunk.text}")
        texts = (
            record.title,
            trail,
            chunk.text,
            extra,
            record.labels,
            record.path,
        )
        return tuple(map(self._tokens, texts))

    def _tokens(self, text: str) -> list[str]:
        found = self._tokenize(text.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False)
        return [str(token) for colocated in found for token in colocated]


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


def _satisfies(terms: QueryTerms, found: Mapping[QueryTerm, tuple[int, ...]]) -> bool:
    if terms.required:
        return all(any(found[term]) for term in terms.required)
    return any(any(found[term]) for term in terms.optional)


# --------------------------------------------------------------------------------------------------
# Vectors of the store of dicts: lists of numbers, each compared with each.


class DictVectors(DictState):
    def prepare_vectors(self, fingerprint: str) -> None:
        if fingerprint == self._next.encoder_fingerprint:
            return
        fresh = DictVectorIndex(fingerprint)
        if fingerprint == self._answering.encoder_fingerprint:
            self._hold(self._answering, DictVectorIndex())
        elif self._answering.encoder_fingerprint is None or not self._answering.rows:
            self._hold(fresh, DictVectorIndex())
        else:
            self._hold(self._answering, fresh)

    def switch_vectors(self, encoder_fingerprint: str | None = None) -> bool:
        following = self._next.encoder_fingerprint
        if following is None or encoder_fingerprint not in (None, following) or self.chunks_without_vector(following):
            return False
        self._hold(self._next, DictVectorIndex())
        return True

    def _hold(self, answering: DictVectorIndex, following: DictVectorIndex) -> None:
        self._answering, self._next = answering, following
        fingerprints = {
            ACTIVE_ENCODER_KEY: answering.encoder_fingerprint,
            NEXT_ENCODER_KEY: following.encoder_fingerprint,
        }
        others = {key: value for key, value in self._manifest.items() if key not in fingerprints}
        self._manifest = others | {key: value for key, value in fingerprints.items() if value is not None}

    def _index_of(self, encoder_fingerprint: str | None) -> DictVectorIndex | None:
        if encoder_fingerprint is None or encoder_fingerprint == self._answering.encoder_fingerprint:
            return self._answering
        return self._next if encoder_fingerprint == self._next.encoder_fingerprint else None

    def _vectors_of(self, key: int) -> list[tuple[DictVectorIndex, list[float]]]:
        return [(index, index.rows[key]) for index in (self._answering, self._next) if key in index.rows]

    def chunks_without_vector(self, encoder_fingerprint: str | None = None) -> list[PendingChunk]:
        index = self._index_of(encoder_fingerprint)
        if index is None:
            return []
        lacking = sorted(self._rows.keys() - index.rows)
        return [PendingChunk(key, self._rows[key].digest) for key in lacking if self._is_encoded(key)]

    def _is_encoded(self, key: int) -> bool:
        """Whether there is such a chunk, and it is to have a vector."""
        return key in self._rows and self._rows[key].stored.chunk.role not in UNENCODED_ROLES

    def put_vectors(self, keys: Sequence[int], matrix: Matrix, encoder_fingerprint: str | None = None) -> None:
        index = self._index_of(encoder_fingerprint)
        for key, vector in zip(keys, matrix, strict=True):
            if index is not None and self._is_encoded(key):
                index.rows[key] = [float(value) for value in vector]

    def vectors(self, keys: Sequence[int]) -> dict[int, Vector]:
        import numpy as np

        held = self._answering.rows
        return {key: np.array(held[key], dtype=np.float32) for key in keys if key in held}

    def near(
        self,
        vector: Vector,
        scope: Scope,
        limit: int,
        encoder_fingerprint: str | None = None,
        among: AbcCollection[int] | None = None,
    ) -> list[ScoredChunk]:
        index = self._answering
        if encoder_fingerprint is not None and encoder_fingerprint != index.encoder_fingerprint:
            raise EncoderMismatch(
                f"the index has vectors from {index.encoder_fingerprint}, not from {encoder_fingerprint}; "
                "repeat the query"
            )
        query = [float(value) for value in vector]
        wanted = self._within(scope)
        scored = [
            ScoredChunk(key, _cosine(row, query))
            for key, row in index.rows.items()
            if wanted(self._rows[key].stored.record) and (among is None or key in among)
        ]
        return sorted(scored, key=lambda it: (-it.score, it.key))[: max(limit, 0)]

    @contextmanager
    def encoding(self, timeout_s: float) -> Iterator[None]:
        if not self._encoding.acquire(timeout=timeout_s):
            raise IndexBusy("another job makes the vectors now")
        try:
            yield
        finally:
            self._encoding.release()


def _cosine(left: Sequence[float], right: Sequence[float]) -> float:
    length = math.sqrt(sum(it * it for it in left)) * math.sqrt(sum(it * it for it in right))
    return sum(a * b for a, b in zip(left, right, strict=True)) / length if length else 0.0


# --------------------------------------------------------------------------------------------------
# The catalog of the store of dicts.

Value = TypeVar("Value")


class DictCatalog(DictWords, DictVectors):
    """On top of its indexes, which follow what comes and goes."""

    def batch(self, text_bytes: int = 0) -> AbstractContextManager[object]:
        return nullcontext()  # nothing of it outlives a crash anyway

    def collections(self) -> list[Collection]:
        return list(self._collections.values())

    def add_collection(self, root: str, *, source: str = FILES, name: str = "") -> Collection:
        for known in self._collections.values():
            if known.root == root:
                return known
        base = name or PurePath(root).name or "root"
        candidates = (base if number == 1 else f"{base}-{number}" for number in range(1, len(self._collections) + 2))
        free = next(candidate for candidate in candidates if candidate not in self._collections)
        self._collections[free] = Collection(free, root, source=source)
        return self._collections[free]

    def move_collection(self, name: str, root: str) -> None:
        if any(it.root == root for it in self._collections.values()):
            raise BadInput(f"cannot move a root to {root}: it is already indexed")
        self._collections[name] = replace(self._collections[name], root=root)
        self._revision += 1

    def remove_collection(self, name: str) -> None:
        self._collections.pop(name, None)
        self._skipped = {key: it for key, it in self._skipped.items() if it.collection != name}
        self._revision += 1

    def record_listing(self, collection: str, *, listed: int, at: float | None) -> None:
        before = self._collections[collection]
        moment = before.synced_at if at is None else at
        self._collections[collection] = replace(before, listed=listed, synced_at=moment)

    def versions(self, collection: str, under: Iterable[str] | None = None) -> dict[str, ItemVersion]:
        places = None if under is None else tuple(place.removesuffix("/") for place in under)
        mine = [
            entry.record
            for (name, path), entry in self._entries.items()
            if name == collection and (places is None or any(path == it or path.startswith(f"{it}/") for it in places))
        ]
        return {it.path: ItemVersion(it.size, it.mtime_ns, it.digest, it.chunking, it.settled) for it in mine}

    def put(
        self,
        record: Record,
        pieces: Sequence[ChunkInput],
        symbols: Sequence[Symbol] = (),
        links: Sequence[Link] = (),
        calls: Sequence[Call] = (),
        text: str | None = "",
        layout: DocumentLayout | None = None,
    ) -> None:
        before = {
            (row.digest, row.stored.chunk.text, row.stored.chunk.role): self._vectors_of(row.stored.key)
            for row in self._rows_of(record.collection, record.path)
        }
        self.drop(record.collection, [record.path])
        self._skipped.pop((record.collection, record.path), None)
        self._entries[record.collection, record.path] = DictEntry(
            record, tuple(symbols), tuple(links), tuple(calls), text, layout
        )
        for piece in pieces:
            stored = StoredChunk(self._next_key, piece.chunk, record)
            self._rows[self._next_key] = DictRow(stored, piece.digest, self._columns(stored))
            for index, vector in before.get((piece.digest, piece.chunk.text, piece.chunk.role), ()):
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

    def skip(self, skipped: SkippedItem, *, drop: bool = True) -> None:
        if drop:
            self.drop(skipped.collection, [skipped.path])
        self._skipped[skipped.collection, skipped.path] = skipped

    def unskip(self, collection: str, paths: Iterable[str]) -> None:
        for path in paths:
            self._skipped.pop((collection, path), None)

    def kinds(self) -> frozenset[str]:
        return frozenset(entry.record.kind for entry in self._entries.values())

    def records_with_facet(self, name: str) -> list[tuple[str, str, str]]:
        order = list(self._collections)
        records = (entry.record for entry in self._entries.values() if name in entry.record.facets)
        found = sorted(records, key=lambda it: (order.index(it.collection), it.path))
        return [(it.collection, it.path, it.facets[name]) for it in found]

    def skipped_items(self) -> list[SkippedItem]:
        order = list(self._collections)
        return sorted(self._skipped.values(), key=lambda it: (order.index(it.collection), it.path))

    def load(self, keys: Sequence[int]) -> list[StoredChunk]:
        return [self._rows[key].stored for key in keys if key in self._rows]

    def chunk_places(self, keys: Sequence[int]) -> dict[int, tuple[str, str, int]]:
        return {it.key: (it.record.collection, it.record.path, it.chunk.ordinal) for it in self.load(keys)}

    def chunk_kinds(self, keys: Sequence[int]) -> dict[int, str]:
        return {it.key: it.record.kind for it in self.load(keys)}

    def text_lengths(self, keys: Sequence[int]) -> dict[int, int]:
        return {it.key: len(it.chunk.text) for it in self.load(keys)}

    def by_chunk_id(self, chunk_id: str, collection: str | None = None) -> list[StoredChunk]:
        return [it for it in self._in_order() if it.chunk_id == chunk_id and _in(it.record, collection)]

    def records(self, path: str, collection: str | None = None) -> list[Record]:
        order = list(self._collections)
        found = [it.record for it in self._entries.values() if it.record.path == path and _in(it.record, collection)]
        return sorted(found, key=lambda it: order.index(it.collection))

    def select(self, scope: Scope, limit: int | None = None) -> list[Record]:
        within = self._within(scope)
        return [it.record for it in self._newest_first() if within(it.record)][:limit]

    def summaries(self, scope: Scope, facets: Sequence[str]) -> list[RecordSummary]:
        return [
            RecordSummary(it.path, it.title, it.timestamp_ns, tuple(it.facets.get(name, "") for name in facets))
            for it in self.select(scope)
        ]

    def targets(self, kinds: Sequence[str], scope: Scope) -> list[tuple[str, str]]:
        found = self.records_with_links(kinds, scope)
        return [(record.path, target) for record, links in found for target in {it.target: None for it in links}]

    def count(self, scope: Scope) -> int:
        return len(self.select(scope))

    def links_to(self, targets: Sequence[str], kinds: Sequence[str] = ()) -> list[tuple[Record, Link]]:
        return [
            (entry.record, link)
            for entry in self._newest_first()
            for link in entry.links
            if link.target in targets and (not kinds or link.kind in kinds)
        ]

    def anchors_named(self, name: str, kinds: Sequence[str]) -> list[str]:
        targets = {link.target for entry in self._entries.values() for link in entry.links if link.kind in kinds}
        return sorted(it for it in targets if it.endswith(f"#{name}"))

    def _newest_first(self) -> list[DictEntry]:
        by_place = sorted(self._entries.values(), key=lambda it: (it.record.collection, it.record.path))
        return sorted(by_place, key=lambda it: -it.record.timestamp_ns)

    def chunks(self, record: Record) -> list[StoredChunk]:
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
        return (entry.text or "") if entry else ""

    def layout(self, record: Record) -> DocumentLayout | None:
        entry = self._entries.get((record.collection, record.path))
        return entry.layout if entry else None

    def records_with_links(self, kinds: Sequence[str], scope: Scope = EVERYTHING) -> list[tuple[Record, list[Link]]]:
        within = self._within(scope)
        entries = [entry for _, entry in sorted(self._entries.items()) if within(entry.record)]
        found = [(entry.record, [link for link in entry.links if link.kind in kinds]) for entry in entries]
        linking = {record.collection for record, links in found if links}
        return [(record, links) for record, links in found if record.collection in linking]

    def export(self) -> Iterator[StoredChunk]:
        rows = (row.stored for row in self._rows.values())
        return iter(sorted(rows, key=lambda it: (it.record.collection, it.record.path, it.chunk.ordinal)))

    def sizes(self) -> dict[str, int]:
        return {name: sum(key[0] == name for key in self._entries) for name in self._collections}

    def counts(self, scope: Scope = EVERYTHING) -> IndexCounts:
        within = self._within(scope)
        entries = [entry for entry in self._entries.values() if within(entry.record)]
        places = {(entry.record.collection, entry.record.path) for entry in entries}
        rows = {
            key: row
            for key, row in self._rows.items()
            if (row.stored.record.collection, row.stored.record.path) in places
        }
        return IndexCounts(
            records=len(entries),
            chunks=len(rows),
            symbols=sum(len(entry.symbols) for entry in entries),
            links=sum(len(entry.links) for entry in entries),
            calls=sum(len(entry.calls) for entry in entries),
            vectors=len(self._answering.rows.keys() & rows.keys()),
            next_vectors=len(self._next.rows.keys() & rows.keys()),
            unencoded=sum(row.stored.chunk.role in UNENCODED_ROLES for row in rows.values()),
        )

    def metadata(self) -> Mapping[str, str]:
        return dict(self._manifest)

    def note(self, key: str, value: str) -> None:
        self._manifest[key] = value

    def cached_by_revision(self, name: str, make: Callable[[], Value]) -> Value:
        return self._worked_out.get(name, lambda: str(self._revision), make)


def _in(record: Record, collection: str | None) -> bool:
    return collection is None or record.collection == collection


# --------------------------------------------------------------------------------------------------
# Lines found by reading every line of every text: slow, plain, and what every index of lines is compared with.

Name = tuple[str, str]  # collection and path


class _Match(NamedTuple):
    """What matched, a word or the term itself, and where."""

    name: Name
    line: int
    what: str


def lines_of(text: str) -> list[str]:
    """Only a line feed ends a line; a carriage return before it belongs to the end."""
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def found_lines(texts: Mapping[Name, str], inside: Iterable[Name], query: LineQuery) -> LineMatches:
    """`inside` are those of the texts that lie in the query's scope."""
    split = {name: lines_of(text) for name, text in texts.items()}
    allowed = {name for name in inside if query.path_filter is None or query.path_filter(name[1])}
    lengths = {name: sum(len(folded_words(line)) for line in lines) for name, lines in split.items()}
    by_term = [_matches(term, split) for term in query.terms]
    files = _files(by_term, allowed, lengths, query)
    named = {
        match.what
        for term, matches in zip(query.terms, by_term, strict=True)
        if isinstance(term, WordTerm) and term.test.kind != "is"
        for match in matches
    }
    return LineMatches(
        files=tuple(files[: query.limit or len(files)]),
        total_files=len(files),
        total_occurrences=sum(it.occurrences for it in files),
        words=tuple(sorted(named)[:MAX_LISTED_WORDS]),
        index_files=len(texts),
        index_words=len({word for lines in split.values() for line in lines for word in folded_words(line)}),
    )


def _files(
    by_term: Sequence[list[_Match]], allowed: set[Name], lengths: Mapping[Name, int], query: LineQuery
) -> list[FileLines]:
    scores: defaultdict[Name, float] = defaultdict(float)
    found: defaultdict[Name, list[int]] = defaultdict(list)
    terms: Counter[Name] = Counter()
    for term, matches in zip(query.terms, by_term, strict=True):
        here = [match for match in matches if match.name in allowed]
        holding = _holding(matches if isinstance(term, WordTerm) else here)
        for match in here:
            found[match.name].append(match.line)
            rarity = math.log(len(lengths) / holding[match.what])
            scores[match.name] += 1.0 if query.rank_by_count else rarity / max(lengths[match.name], 1)
        terms.update({match.name for match in here})
    files = [
        FileLines(*name, round(scores[name], SCORE_DIGITS), tuple(sorted(set(lines))), len(lines), terms[name])
        for name, lines in found.items()
        if not query.match_all or terms[name] == len(query.terms)
    ]
    return sorted(files, key=lambda it: (-it.score, it.path, it.collection))


def _holding(matches: Iterable[_Match]) -> Counter[str]:
    """In how many files each thing that matched is."""
    return Counter(what for _, what in {(match.name, match.what) for match in matches})


def _matches(term: WordTerm | PatternTerm | PhraseTerm, split: Mapping[Name, list[str]]) -> list[_Match]:
    return [_Match(name, *it) for name, lines in split.items() for it in _in_file(term, lines)]


def _in_file(term: WordTerm | PatternTerm | PhraseTerm, lines: Sequence[str]) -> list[tuple[int, str]]:
    if isinstance(term, PhraseTerm):
        return [(line, "") for line in _in_a_row(term, lines)]
    if isinstance(term, PatternTerm):
        regex = compile_line_regex(term.pattern, term.case_sensitive)
        return [(at, "") for at, line in enumerate(lines, 1) if _any(regex.places(_encoded(line)))]
    return [
        (at, word)
        for at, line in enumerate(lines, 1)
        for word in sorted(set(folded_words(line)))
        if passes(word, term.test)
    ]


def _any(places: Iterable[int]) -> bool:
    return next(iter(places), None) is not None


def _encoded(line: str) -> bytes:
    return line.encode("utf-8", "surrogatepass") + b"\n"


def _in_a_row(term: PhraseTerm, lines: Sequence[str]) -> list[int]:
    """Each line is tried by itself, with all that follows it."""
    pattern = phrase_regex(term.words)
    found = []
    for at in range(len(lines)):
        rest = "\n".join(lines[at:])
        match = pattern.search(rest if term.case_sensitive else fold_case(rest))
        if match and match.start() <= len(lines[at]):
            found.append(at + 1)
    return found


def passes(word: str, test: WordTest) -> bool:
    how, text = test
    if how == "matches":
        return _any(compile_line_regex(f"^(?:{text})$", False).places(_encoded(word)))
    return {"is": word == text, "holds": text in word, "begins": word.startswith(text), "ends": word.endswith(text)}[
        how
    ]


# --------------------------------------------------------------------------------------------------
# Definitions of the dict store: every symbol is looked at, so that it is plain what the answer must be.


class DictDefinitions(DictState):
    """Over the entries of a store of dicts."""

    def definitions(self, wanted: SymbolQuery) -> SymbolMatches:
        near, fits = _near(wanted), _fits(wanted, self._within(wanted.scope))
        before = [it for it in self._all() if near(it.symbol.name.lower()) is not None and fits(it)]
        enough = [it for it in before if all(_reaches(it, name, bound) for name, bound in wanted.min_metrics.items())]

        def rank(it: Definition) -> tuple[object, ...]:
            name, size = it.symbol.name.lower(), measure(it, wanted.order) if wanted.order else None
            place = (it.record.path, it.symbol.start_line, it.record.collection, it.ordinal)
            return (
                size is None,
                -(size or 0),
                near(name),
                it.symbol.kind not in TYPE_SYMBOL_KINDS,
                len(name),
                name,
                *place,
            )

        ranked = sorted(enough, key=rank)
        return SymbolMatches(ranked[: wanted.limit or None], len(enough), len(before))

    def definitions_at(self, record: Record, line: int) -> list[Definition]:
        mine = [it for it in self._all() if (it.record.collection, it.record.path) == (record.collection, record.path)]
        holding = [it for it in mine if it.symbol.start_line <= line <= it.symbol.end_line]
        return sorted(holding, key=lambda it: (it.symbol.end_line - it.symbol.start_line, -it.ordinal))

    def definitions_in_chunks(self, keys: Sequence[int]) -> dict[int, tuple[DefinedName, ...]]:
        found: dict[int, tuple[DefinedName, ...]] = {}
        for key in (it for it in keys if it in self._rows):
            stored = self._rows[key].stored
            place, lines = (stored.record.collection, stored.record.path), stored.chunk
            found[key] = tuple(
                DefinedName(it.symbol.name, it.symbol.kind)
                for it in self._all()
                if (it.record.collection, it.record.path) == place
                and lines.start_line <= it.symbol.start_line <= lines.end_line
            )
        return found

    def chunks_defining(self, names: Sequence[str], scope: Scope, limit: int) -> list[int]:
        inside = self._within(scope)
        found = [it for it in self._all() if it.symbol.name in names and inside(it.record)]
        found.sort(
            key=lambda it: (
                it.symbol.kind not in TYPE_SYMBOL_KINDS,
                it.record.path,
                it.symbol.start_line,
                it.record.collection,
            )
        )
        keys = [
            key
            for it in found
            for key, row in self._rows.items()
            if (row.stored.record.collection, row.stored.record.path) == (it.record.collection, it.record.path)
            and row.stored.chunk.start_line <= it.symbol.start_line <= row.stored.chunk.end_line
        ]
        return list(dict.fromkeys(keys[:limit]))

    def definition_kinds(self) -> frozenset[str]:
        return frozenset(it.symbol.kind for it in self._all())

    def definition_count(self) -> int:
        return len(self._all())

    def record_count(self) -> int:
        return len(self.files())

    def files(self) -> list[IndexedFile]:
        records = [entry.record for entry in self.entries() if entry.record.kind in FILE_KINDS]
        facts = [IndexedFile(it.collection, it.path, it.size, it.facets) for it in records]
        return sorted(facts, key=lambda it: (it.collection, it.path))

    def files_with_definitions(self) -> set[tuple[str, str]]:
        return {(it.record.collection, it.record.path) for it in self._all()}

    def lossy_records(self) -> set[tuple[str, str]]:
        return {(it.record.collection, it.record.path) for it in self.entries() if "\ufffd" in (it.text or "")}

    def _all(self) -> list[Definition]:
        return [
            Definition(entry.record, place, symbol, _trail(entry.symbols, place))
            for entry in self.entries()
            for place, symbol in enumerate(entry.symbols)
            if symbol.kind != HEADING_KIND
        ]


def measure(definition: Definition, name: str) -> int | None:
    symbol = definition.symbol
    if name == "lines":
        return symbol.end_line - symbol.start_line + 1
    return None if symbol.stats is None else int(getattr(symbol.stats, name))


def _reaches(definition: Definition, name: str, bound: int) -> bool:
    size = measure(definition, name)
    return size is not None and size >= bound


def _trail(symbols: Sequence[Symbol], place: int) -> tuple[str, ...]:
    """A parent precedes its children; what does not is none."""
    parent = symbols[place].parent
    if parent is None or not 0 <= parent < place:
        return ()
    return (*_trail(symbols, parent), symbols[parent].name)


def _near(wanted: SymbolQuery) -> Callable[[str], int | None]:
    asked = [name.lower() for name in wanted.names]
    if not asked:
        return lambda name: EXACT
    if wanted.matching == "exact":
        return lambda name: EXACT if name in asked else None
    if wanted.matching == "regex":
        searches = [compile_regex_predicate(pattern, ignore_case=True) for pattern in wanted.names]
        return lambda name: EXACT if any(search(name) for search in searches) else None
    return lambda name: match_quality(name, asked)


def _fits(wanted: SymbolQuery, is_inside: Callable[[Record], bool]) -> Callable[[Definition], bool]:
    modifiers = {it.lower() for it in wanted.modifiers}

    def fits(it: Definition) -> bool:
        symbol = it.symbol
        return (
            (not wanted.kinds or symbol.kind in wanted.kinds)
            and (not wanted.base or last_simple_name(wanted.base) in map(last_simple_name, symbol.bases))
            and (not wanted.attribute or last_simple_name(wanted.attribute) in map(last_simple_name, symbol.attributes))
            and (not wanted.parent or wanted.parent.lower() in it.parent.lower())
            and modifiers <= {it.lower() for it in symbol.modifiers}
            and is_inside(it.record)
            and (wanted.path_filter is None or wanted.path_filter(it.record.path))
        )

    return fits


# --------------------------------------------------------------------------------------------------
# What the call graph is worked out from, in the store of dicts.


class DictCalls(DictState):
    @contextmanager
    def snapshot(self) -> Iterator[None]:
        yield

    def fingerprints(self, keys: Sequence[int]) -> dict[int, str]:
        return {
            key: f"{it.collection}/{it.path} {it.digest} {it.chunking} {it.mtime_ns}"
            for key, it in ((key, entry.record) for key, entry in self._keyed() if key in keys)
        }

    def facts(self, keys: Sequence[int]) -> list[CodeFacts]:
        return [
            CodeFacts(key, it.record, it.symbols, tuple(link for link in it.links if link.kind == "import"))
            for key, it in self._keyed()
            if key in keys
        ]

    def files_named(self, name: str) -> list[NamedFile]:
        found = ((key, it.record) for key, it in self._keyed() if it.record.path.rpartition("/")[2] == name)
        return [NamedFile(key, it.collection, self._collections[it.collection].root, it.path) for key, it in found]

    def definitions_named(
        self,
        names: Sequence[str],
        *,
        kinds: Sequence[str] = (),
        within: Sequence[int] | None = None,
        modifier: str = "",
        limit: int = 0,
    ) -> list[NamedDefinition]:
        folded = {name.lower() for name in names}
        found = [
            it
            for it, symbol in self._definitions()
            if it.name.lower() in folded
            and (not kinds or it.kind in kinds)
            and (within is None or it.ref.record in within)
            and (not modifier or modifier in symbol.modifiers)
        ]
        return found[: limit or None]

    def definitions_extending(self, names: Sequence[str]) -> list[NamedDefinition]:
        folded = {name.lower() for name in names}
        return [it for it, symbol in self._definitions() if not folded.isdisjoint(map(last_simple_name, symbol.bases))]

    def imported_as(self, targets: Sequence[str], member: str) -> list[str]:
        imports = (link for entry in self._entries.values() for link in entry.links if link.kind == "import")
        parts = (it.context.partition("=") for it in imports if it.target in targets)
        return sorted({local for local, _, imported in parts if imported == member})

    def sites(self, names: Sequence[str], limit: int) -> list[StoredCall]:
        found = [it for key, _ in self._keyed() for it in self.sites_in(key) if it.name in names]
        return found[:limit]

    def sites_in(self, key: int, *, kind: str = "", having: str = "") -> list[StoredCall]:
        calls = dict(self._keyed())[key].calls
        found = [
            StoredCall(key, place, it.name, callee, it.line, it.symbol, it.arguments, it.kind, passed)
            for place, it in enumerate(calls)
            for callee, passed in [split_arguments(it.callee)]
            if (not kind or it.kind == kind) and having in it.callee
        ]
        return sorted(found, key=lambda it: (it.line, it.ordinal))

    def _keyed(self) -> list[tuple[int, DictEntry]]:
        """Every record with a key, ordered by collection and path."""
        return [(key, entry) for key, (_, entry) in enumerate(sorted(self._entries.items()), 1)]

    def _definitions(self) -> Iterator[tuple[NamedDefinition, Symbol]]:
        for key, entry in self._keyed():
            trails: list[tuple[str, ...]] = []
            for ordinal, it in enumerate(entry.symbols):
                trails.append(() if it.parent is None else (*trails[it.parent], entry.symbols[it.parent].name))
                place, record = SymbolRef(key, ordinal), entry.record
                yield NamedDefinition(place, it.name, it.kind, trails[-1], record.collection, record.path), it


# --------------------------------------------------------------------------------------------------


class DictTables(DictCatalog, DictDefinitions, DictCalls):
    """Every part of the store of dicts; a store in memory is never damaged."""

    def damaged_parts(self) -> Mapping[str, str]:
        return {}

    def probe(self) -> None:
        pass

    def check(self, *, deep: bool, progress: Progress) -> list[Finding]:
        return []

    def begin_repair(self, parts: Iterable[str], available: Iterable[str], progress: Progress) -> list[DroppedRecord]:
        return []

    def finish_repair(self, progress: Progress) -> None:
        pass

    def record_places(self, scope: Scope) -> Mapping[int, tuple[str, str]]:
        inside = self._within(scope)
        return {key: (it.record.collection, it.record.path) for key, it in self._keyed() if inside(it.record)}

    def find_lines(self, query: LineQuery) -> LineMatches:
        is_inside = self._within(query.scope)
        within = [name for name, entry in self._entries.items() if is_inside(entry.record)]
        texts = {name: entry.text for name, entry in self._entries.items() if entry.text is not None}
        return found_lines(texts, [name for name in within if name in texts], query)

    def lines_between(self, collection: str, path: str, spans: Sequence[tuple[int, int]]) -> list[tuple[str, ...]]:
        entry = self._entries.get((collection, path))
        lines = lines_of(entry.text or "") if entry else []
        return [tuple(lines[max(first, 1) - 1 : max(last, 0)]) for first, last in spans]

    @contextmanager
    def writing(self, timeout_s: float, what: str = "indexing") -> Iterator[None]:
        yield

    def has_waiting_writer(self) -> bool:
        return False

    def optimize(self, progress: Progress) -> None:
        pass

    def checkpoint(self) -> None:
        pass

    def close(self) -> None:
        pass


class DictStore:
    """A store of dicts: the oracle of the SQLite store."""

    def __init__(self, tables: DictTables | None = None) -> None:
        self.tables = tables = tables or DictTables()
        self.catalog = self.writer = self.words = self.vectors = self.lines = self.symbols = self.maintenance = tables

    def view(self, scope: Scope = EVERYTHING) -> StoreView:
        return StoreView(self, scope)

    def writing(self, timeout_s: float, what: str = "indexing") -> AbstractContextManager[None]:
        return self.tables.writing(timeout_s, what)

    def encoding(self, timeout_s: float) -> AbstractContextManager[None]:
        return self.tables.encoding(timeout_s)

    def has_waiting_writer(self) -> bool:
        return False

    def close(self) -> None:
        self.tables.close()
