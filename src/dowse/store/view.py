"""The readers' view of a store: the records within a scope, and nothing else.

Search, lookup, call graph, memory and tools read through a `StoreView`; import rules keep the store itself away from
them. A rule about who may read what is a scope, enforced here for records, counts, names and suggestions alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Collection as AbcCollection
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypeVar

from dowse.model import (
    EVERYTHING,
    FILE_KINDS,
    Call,
    Collection,
    DocumentLayout,
    IndexCounts,
    Link,
    Record,
    RecordSummary,
    Scope,
    ScoredChunk,
    SkippedItem,
    StoredChunk,
    Symbol,
)
from dowse.store.base import Store
from dowse.store.types import (
    CodeFacts,
    ColumnWeights,
    DefinedName,
    Definition,
    IndexedFile,
    LineMatches,
    LineQuery,
    NamedDefinition,
    NamedFile,
    StoredCall,
    SymbolMatches,
    SymbolQuery,
)
from dowse.text.code_names import QualifiedNames
from dowse.text.globs import compile_globs
from dowse.text.tokenize import QueryTerm, QueryTerms

if TYPE_CHECKING:
    from dowse.store.types import Vector

Value = TypeVar("Value")
Found = TypeVar("Found")

_IMPORT_LINKS: Final = ("import",)
_NO_LIMIT: Final = 2**31
_MAX_CACHED_RECORDS: Final = 100


class StoreView:
    """Reads the records within a scope. Make one per request: collections and counts are read once."""

    def __init__(self, store: Store, scope: Scope = EVERYTHING) -> None:
        self._store = store
        self._scope = scope
        self._is_limited = scope != EVERYTHING

    # --- visibility ---

    @property
    def _visible(self) -> Mapping[int, tuple[str, str]]:
        """Collection and path of every visible record, by record key."""
        return self._store.catalog.record_places(self._scope)

    @cached_property
    def _visible_places(self) -> frozenset[tuple[str, str]]:
        return self.cached_by_revision("visible places", lambda: frozenset(self._visible.values()))

    def _narrow(self, scope: Scope) -> Scope:
        return replace(scope, within=(*scope.within, self._scope)) if self._is_limited else scope

    def _sees(self, collection: str, path: str) -> bool:
        return not self._is_limited or (collection, path) in self._visible_places

    def _visible_keys(self, keys: Sequence[int]) -> Sequence[int]:
        """Return the chunks of visible records."""
        if not self._is_limited:
            return keys
        places = self._store.catalog.chunk_places(keys)
        return [it for it in keys if it in places and places[it][:2] in self._visible_places]

    def _keep_visible(self, found: list[Found], place: Callable[[Found], tuple[str, str]]) -> list[Found]:
        return [it for it in found if place(it) in self._visible_places] if self._is_limited else found

    def _admits_path(self, collection: str, path: str) -> bool:
        """Return whether a path without a record would be visible. Only names can be judged without one."""
        scope = self._scope
        if replace(scope, collections=(), paths=(), excluded=(), nested=()) != EVERYTHING:
            return False
        spellings = scope.path_spellings(collection, path)
        return (
            (not scope.collections or collection in scope.collections)
            and (not scope.paths or any(map(compile_globs(scope.paths), spellings)))
            and not any(map(compile_globs(scope.excluded), spellings))
        )

    # --- the index ---

    def snapshot(self) -> AbstractContextManager[None]:
        """Give this thread a consistent snapshot to read from."""
        return self._store.catalog.snapshot()

    def cached_by_revision(self, name: str, make: Callable[[], Value]) -> Value:
        """Return the value of `make` for the current records and this scope."""
        return self._store.catalog.cached_by_revision(f"{name} {self._scope}" if self._is_limited else name, make)

    def collections(self) -> list[Collection]:
        """Return the collections with visible records, and those that the scope names."""
        return self._collections

    @cached_property
    def _collections(self) -> list[Collection]:
        found = self._store.catalog.collections()
        if not self._is_limited:
            return found
        names = {*self._scope.collections, *(collection for collection, _ in self._visible_places)}
        return [it for it in found if it.name in names]

    @cached_property
    def _skipped_items(self) -> list[SkippedItem]:
        found = self._store.catalog.skipped_items()
        return [it for it in found if self._admits_path(it.collection, it.path)] if self._is_limited else found

    def skipped_items(self) -> list[SkippedItem]:
        """Return the items that are not indexed, with the reasons."""
        return self._skipped_items

    def sizes(self) -> dict[str, int]:
        """Return the number of records of each collection."""
        if self._is_limited:
            return dict(Counter(collection for collection, _ in self._visible.values()))
        return self._store.catalog.sizes()

    def counts(self, scope: Scope = EVERYTHING) -> IndexCounts:
        """Count the records of the scope and everything that belongs to them."""
        return self._store.catalog.counts(self._narrow(scope))

    def count(self, scope: Scope) -> int:
        """Return the number of records within the scope."""
        return self._store.catalog.count(self._narrow(scope))

    def kinds(self) -> frozenset[str]:
        """Return the kinds of all records."""
        if not self._is_limited:
            return self._store.catalog.kinds()
        return self.cached_by_revision("kinds", lambda: frozenset(it.kind for it in self.select(EVERYTHING)))

    # --- records ---

    def records(self, path: str, collection: str | None = None) -> list[Record]:
        return self._keep_visible(self._store.catalog.records(path, collection), _record_place)

    def select(self, scope: Scope, limit: int | None = None) -> list[Record]:
        """Return the records within the scope, newest first."""
        return self._store.catalog.select(self._narrow(scope), limit)

    def summaries(self, scope: Scope, facets: Sequence[str]) -> list[RecordSummary]:
        """Return the records within the scope, newest first, with only these facets."""
        return self._store.catalog.summaries(self._narrow(scope), facets)

    def records_with_facet(self, name: str) -> list[tuple[str, str, str]]:
        """Return collection, path and value of each record with this facet, ordered by collection and path."""
        return self._keep_visible(self._store.catalog.records_with_facet(name), lambda it: it[:2])

    def chunks(self, record: Record) -> list[StoredChunk]:
        return self._store.catalog.chunks(record) if self._sees(record.collection, record.path) else []

    def symbols(self, record: Record) -> list[Symbol]:
        return self._store.catalog.symbols(record) if self._sees(record.collection, record.path) else []

    def calls(self, record: Record) -> list[Call]:
        return self._store.catalog.calls(record) if self._sees(record.collection, record.path) else []

    def links(self, record: Record) -> list[Link]:
        return self._store.catalog.links(record) if self._sees(record.collection, record.path) else []

    def text(self, record: Record) -> str:
        """Return the whole text as indexed; empty if none is stored."""
        return self._store.catalog.text(record) if self._sees(record.collection, record.path) else ""

    def layout(self, record: Record) -> DocumentLayout | None:
        """Return pages, boxes and tables of a document; None for a record without any."""
        return self._store.catalog.layout(record) if self._sees(record.collection, record.path) else None

    def export(self) -> Iterator[StoredChunk]:
        """Yield every chunk, ordered by collection, path and ordinal."""
        found = self._store.catalog.export()
        return (it for it in found if self._sees(*_record_place(it.record))) if self._is_limited else found

    def qualified_names(self, record: Record) -> QualifiedNames:
        """Return the qualified names of a record's definitions."""
        known: dict[tuple[str, str], QualifiedNames] = self.cached_by_revision("qualified names", dict)
        key = record.collection, record.path
        found = known.get(key)
        if found is None:
            if len(known) >= _MAX_CACHED_RECORDS:
                known.clear()
            found = known[key] = QualifiedNames.of(self.symbols(record))
        return found

    # --- chunks by key ---

    def load(self, keys: Sequence[int]) -> list[StoredChunk]:
        """Return these chunks in the given order, without those that do not exist."""
        return self._keep_visible(self._store.catalog.load(keys), lambda it: _record_place(it.record))

    def by_chunk_id(self, chunk_id: str, collection: str | None = None) -> list[StoredChunk]:
        found = self._store.catalog.by_chunk_id(chunk_id, collection)
        return self._keep_visible(found, lambda it: _record_place(it.record))

    def chunk_places(self, keys: Sequence[int]) -> dict[int, tuple[str, str, int]]:
        """Return collection, path and ordinal of each of these chunks that exists."""
        found = self._store.catalog.chunk_places(keys)
        if not self._is_limited:
            return found
        return {key: place for key, place in found.items() if place[:2] in self._visible_places}

    def chunk_kinds(self, keys: Sequence[int]) -> dict[int, str]:
        """Return the record kind of each of these chunks that exists."""
        return self._store.catalog.chunk_kinds(self._visible_keys(keys))

    def text_lengths(self, keys: Sequence[int]) -> dict[int, int]:
        """Return the text length, in characters, of each of these chunks that exists."""
        return self._store.catalog.text_lengths(self._visible_keys(keys))

    # --- links ---

    def links_to(self, targets: Sequence[str], kinds: Sequence[str] = ()) -> list[tuple[Record, Link]]:
        """Return the links to exactly these targets, each with its record, newest records first; no kinds means any."""
        return self._keep_visible(self._store.catalog.links_to(targets, kinds), lambda it: _record_place(it[0]))

    def anchors_named(self, name: str, kinds: Sequence[str]) -> list[str]:
        """Return the distinct targets that end with `#` and this name, sorted."""
        found = self._store.catalog.anchors_named(name, kinds)
        return [it for it in found if self.links_to([it], kinds)] if self._is_limited else found

    def records_with_links(self, kinds: Sequence[str], scope: Scope = EVERYTHING) -> list[tuple[Record, list[Link]]]:
        """Return the records of the scope with their links of these kinds, ordered by collection and path."""
        return self._store.catalog.records_with_links(kinds, self._narrow(scope))

    def targets(self, kinds: Sequence[str], scope: Scope) -> list[tuple[str, str]]:
        """Return distinct pairs of record path and link target within the scope."""
        return self._store.catalog.targets(kinds, self._narrow(scope))

    # --- words, vectors and lines ---

    def match(self, terms: QueryTerms, scope: Scope, weights: ColumnWeights, limit: int) -> list[ScoredChunk]:
        """Return the best chunks by BM25, higher is better; never raises, whatever the terms."""
        return self._store.words.match(terms, self._narrow(scope), weights, limit)

    def chunks_containing(self, required: Sequence[QueryTerm]) -> Sequence[int]:
        """Return the keys of all chunks that contain every term, in any scope."""
        return self._visible_keys(self._store.words.chunks_containing(required))

    def document_frequencies(self, words: Sequence[str]) -> tuple[int, list[int]]:
        """Return the number of chunks, and how many of them contain each word (at most; 0 is exact)."""
        if not self._is_limited:
            return self._store.words.document_frequencies(words)
        return self.counts().chunks, [len(self.chunks_containing([QueryTerm((word,))])) for word in words]

    def vectors(self, keys: Sequence[int]) -> dict[int, Vector]:
        """Return the vectors of these chunks in the active index; chunks without one are left out."""
        return self._store.vectors.vectors(self._visible_keys(keys))

    def near(
        self,
        vector: Vector,
        scope: Scope,
        limit: int,
        encoder_fingerprint: str | None = None,
        among: AbcCollection[int] | None = None,
    ) -> list[ScoredChunk]:
        """Return the nearest chunks by cosine, only of `among` if given; see `VectorIndex.near`."""
        return self._store.vectors.near(vector, self._narrow(scope), limit, encoder_fingerprint, among)

    def find_lines(self, query: LineQuery) -> LineMatches:
        """Find lines; raise BadInput for a pattern that cannot be matched in bounded time."""
        found = self._store.lines.find_lines(replace(query, scope=self._narrow(query.scope)))
        return replace(found, index_files=self.record_count(), index_words=0) if self._is_limited else found

    def lines_between(self, collection: str, path: str, spans: Sequence[tuple[int, int]]) -> list[tuple[str, ...]]:
        """Return the lines of each span (first and last, from 1), as far as the file has them."""
        if not self._sees(collection, path):
            return [() for _ in spans]
        return self._store.lines.lines_between(collection, path, spans)

    # --- definitions and files ---

    def definitions(self, query: SymbolQuery) -> SymbolMatches:
        """Return matching definitions, best first; raise BadInput for an invalid regex."""
        return self._store.symbols.definitions(replace(query, scope=self._narrow(query.scope)))

    def definitions_at(self, record: Record, line: int) -> list[Definition]:
        """Return the definitions that contain the line, innermost first."""
        return self._store.symbols.definitions_at(record, line) if self._sees(record.collection, record.path) else []

    def definitions_in_chunks(self, keys: Sequence[int]) -> Mapping[int, tuple[DefinedName, ...]]:
        """Return names and kinds of the definitions that begin in these chunks, by chunk key."""
        return self._store.symbols.definitions_in_chunks(self._visible_keys(keys))

    def chunks_defining(self, names: Sequence[str], scope: Scope, limit: int) -> list[int]:
        """Return the keys of chunks in which a definition of one of these names begins."""
        return self._store.symbols.chunks_defining(names, self._narrow(scope), limit)

    def definition_kinds(self) -> frozenset[str]:
        if not self._is_limited:
            return self._store.symbols.definition_kinds()
        return self.cached_by_revision(
            "definition kinds", lambda: frozenset(it.symbol.kind for it in self._all_definitions().definitions)
        )

    def definition_count(self) -> int:
        if not self._is_limited:
            return self._store.symbols.definition_count()
        return self.cached_by_revision("definition count", lambda: self._all_definitions().total)

    def _all_definitions(self) -> SymbolMatches:
        return self.definitions(SymbolQuery(limit=0))

    def record_count(self) -> int:
        """Return the number of file records."""
        return self.count(Scope(kinds=FILE_KINDS)) if self._is_limited else self._store.symbols.record_count()

    def files(self) -> list[IndexedFile]:
        """Return every file record, ordered by collection and path."""
        return self._keep_visible(self._store.symbols.files(), lambda it: (it.collection, it.path))

    def files_with_definitions(self) -> set[tuple[str, str]]:
        """Return collection and path of every record that has a definition."""
        return {it for it in self._store.symbols.files_with_definitions() if self._sees(*it)}

    def lossy_records(self) -> set[tuple[str, str]]:
        """Return collection and path of every record whose text contains undecodable characters."""
        return {it for it in self._store.symbols.lossy_records() if self._sees(*it)}

    # --- call graph ---

    def fingerprints(self, keys: Sequence[int]) -> dict[int, str]:
        """Return a text for each of these records that exists; it changes whenever the record's facts may."""
        return self._store.symbols.fingerprints(self._seen_records(keys))

    def facts(self, keys: Sequence[int]) -> list[CodeFacts]:
        return self._store.symbols.facts(self._seen_records(keys))

    def _seen_records(self, keys: Sequence[int]) -> Sequence[int]:
        return [it for it in keys if it in self._visible] if self._is_limited else keys

    def files_named(self, name: str) -> list[NamedFile]:
        """Return the records whose path ends with this file name, ordered by collection and path."""
        return self._keep_visible(self._store.symbols.files_named(name), lambda it: (it.collection, it.path))

    def definitions_named(
        self,
        names: Sequence[str],
        *,
        kinds: Sequence[str] = (),
        within: Sequence[int] | None = None,
        modifier: str = "",
        limit: int = 0,
    ) -> list[NamedDefinition]:
        """Return the definitions with these names, ignoring case; see `SymbolIndex.named`."""
        if not self._is_limited:
            return self._store.symbols.definitions_named(
                names, kinds=kinds, within=within, modifier=modifier, limit=limit
            )
        found = self._store.symbols.definitions_named(names, kinds=kinds, within=within, modifier=modifier)
        return self._keep_visible(found, _definition_place)[: limit or None]

    def definitions_extending(self, names: Sequence[str]) -> list[NamedDefinition]:
        """Return the definitions with a base of one of these last names, ignoring case."""
        return self._keep_visible(self._store.symbols.definitions_extending(names), _definition_place)

    def imported_as(self, targets: Sequence[str], member: str) -> list[str]:
        """Return every local name under which one of these targets is imported with this member, sorted."""
        if not self._is_limited:
            return self._store.symbols.imported_as(targets, member)
        spelled = (link.context.partition("=") for _, link in self.links_to(targets, _IMPORT_LINKS))
        return sorted({local for local, _, imported in spelled if imported == member})

    def sites(self, names: Sequence[str], limit: int) -> list[StoredCall]:
        """Return the first calls of these names, ordered by collection, path, line and ordinal."""
        if not self._is_limited:
            return self._store.symbols.sites(names, limit)
        return self._seen_calls(self._store.symbols.sites(names, _NO_LIMIT))[:limit]

    def sites_in(self, key: int, *, kind: str = "", having: str = "") -> list[StoredCall]:
        """Return the calls of one record, ordered by line and ordinal."""
        return self._seen_calls(self._store.symbols.sites_in(key, kind=kind, having=having))

    def _seen_calls(self, calls: Iterable[StoredCall]) -> list[StoredCall]:
        return [it for it in calls if not self._is_limited or it.record in self._visible]


def _record_place(record: Record) -> tuple[str, str]:
    return record.collection, record.path


def _definition_place(definition: NamedDefinition) -> tuple[str, str]:
    return definition.collection, definition.path
