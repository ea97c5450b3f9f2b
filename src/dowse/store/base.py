"""The protocols of a store. Its readers use `dowse.store.view` instead."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Collection as AbcCollection
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from dowse.model import (
    EVERYTHING,
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
from dowse.store.types import (
    ChunkInput,
    CodeFacts,
    ColumnWeights,
    DefinedName,
    Definition,
    DroppedRecord,
    Finding,
    IndexedFile,
    LineMatches,
    LineQuery,
    NamedDefinition,
    NamedFile,
    PendingChunk,
    Progress,
    StoredCall,
    SymbolMatches,
    SymbolQuery,
)
from dowse.text.tokenize import QueryTerm, QueryTerms

if TYPE_CHECKING:
    from dowse.store.types import Matrix, Vector
    from dowse.store.view import StoreView

Value = TypeVar("Value")


class Catalog(Protocol):
    """Reads the authoritative data: collections, records, their parts, links and metadata."""

    def collections(self) -> list[Collection]: ...

    def sizes(self) -> dict[str, int]:
        """Return the number of records of each collection."""
        ...

    def skipped_items(self) -> list[SkippedItem]: ...

    def metadata(self) -> Mapping[str, str]: ...

    def cached_by_revision(self, name: str, make: Callable[[], Value]) -> Value:
        """Return the value of `make` for the current records; call it again once any process has changed them.

        The value is shared by all threads. Vectors and metadata may change without a new value. `make` must not write.
        """
        ...

    def snapshot(self) -> AbstractContextManager[None]:
        """Give this thread a consistent snapshot to read from; it must not write inside."""
        ...

    def versions(self, collection: str, subpaths: Iterable[str] | None = None) -> dict[str, ItemVersion]:
        """Return the version of each path, optionally only at or below the paths of `subpaths`."""
        ...

    def kinds(self) -> frozenset[str]:
        """Return the kinds of all records."""
        ...

    def records_with_facet(self, name: str) -> list[tuple[str, str, str]]:
        """Return collection, path and value of each record with this facet, ordered by collection and path."""
        ...

    def select(self, scope: Scope, limit: int | None = None) -> list[Record]:
        """Return the records within the scope, newest first."""
        ...

    def summaries(self, scope: Scope, facets: Sequence[str]) -> list[RecordSummary]:
        """Return the records within the scope, newest first, with only these facets; cheap for 100,000 records."""
        ...

    def count(self, scope: Scope) -> int:
        """Return the number of records within the scope."""
        ...

    def counts(self, scope: Scope = EVERYTHING) -> IndexCounts:
        """Count the records of the scope and everything that belongs to them."""
        ...

    def records(self, path: str, collection: str | None = None) -> list[Record]: ...

    def by_chunk_id(self, chunk_id: str, collection: str | None = None) -> list[StoredChunk]: ...

    def load(self, keys: Sequence[int]) -> list[StoredChunk]:
        """Return these chunks in the given order, without those that do not exist."""
        ...

    def chunk_places(self, keys: Sequence[int]) -> dict[int, tuple[str, str, int]]:
        """Return collection, path and ordinal of each of these chunks that exists."""
        ...

    def chunk_kinds(self, keys: Sequence[int]) -> dict[int, str]:
        """Return the record kind of each of these chunks that exists."""
        ...

    def text_lengths(self, keys: Sequence[int]) -> dict[int, int]:
        """Return the text length, in characters, of each of these chunks that exists."""
        ...

    def chunks(self, record: Record) -> list[StoredChunk]: ...

    def symbols(self, record: Record) -> list[Symbol]: ...

    def calls(self, record: Record) -> list[Call]: ...

    def text(self, record: Record) -> str:
        """Return the whole text as indexed; empty if none is stored."""
        ...

    def layout(self, record: Record) -> DocumentLayout | None:
        """Return pages, boxes and tables of a document; None for a record without any."""
        ...

    def export(self) -> Iterator[StoredChunk]:
        """Yield every chunk, ordered by collection, path and ordinal."""
        ...

    def links(self, record: Record) -> list[Link]: ...

    def links_to(self, targets: Sequence[str], kinds: Sequence[str] = ()) -> list[tuple[Record, Link]]:
        """Return the links to exactly these targets, each with its record, newest records first; no kinds means any."""
        ...

    def anchors_named(self, name: str, kinds: Sequence[str]) -> list[str]:
        """Return the distinct targets that end with `#` and this name, sorted. Scans every link of these kinds."""
        ...

    def records_with_links(self, kinds: Sequence[str], scope: Scope = EVERYTHING) -> list[tuple[Record, list[Link]]]:
        """Return the records of the scope with their links of these kinds, ordered by collection and path, as one
        snapshot.

        Collections without any such link are left out.
        """
        ...

    def targets(self, kinds: Sequence[str], scope: Scope) -> list[tuple[str, str]]:
        """Return distinct pairs of record path and link target within the scope."""
        ...

    def record_places(self, scope: Scope) -> Mapping[int, tuple[str, str]]:
        """Return collection and path of each record within the scope, by record key."""
        ...


class CatalogWriter(Protocol):
    """Writes the authoritative data.

    Each method is one transaction: after a crash it has happened completely, or not at all.
    """

    def batch(self, text_bytes: int = 0) -> AbstractContextManager[object]:
        """Combine all writes inside into one transaction: faster than many, but a crash loses all of them.

        A call inside that raises leaves nothing behind, and the batch can continue.
        """
        ...

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
        """Replace everything known of the record; chunks with unchanged text and role keep their key and vector.

        Without a text its lines are not indexed.
        """
        ...

    def touch(self, collection: str, path: str, *, size: int, mtime_ns: int, settled: bool) -> None: ...

    def drop(self, collection: str, paths: Iterable[str]) -> int: ...

    def skip(self, skipped: SkippedItem, *, drop: bool = True) -> None:
        """Store why an item is not indexed. Drop its record, or keep it as the last known state."""
        ...

    def unskip(self, collection: str, paths: Iterable[str]) -> None: ...

    def add_collection(self, root: str, *, source: str = FILES, name: str = "") -> Collection:
        """Return the collection of this root; create one if needed.

        A new collection is called `name`, or after the last part of the root, with a number if that is taken.
        """
        ...

    def move_collection(self, name: str, root: str) -> None:
        """Point a collection to another root with the same files; its name stays, because everything refers to it."""
        ...

    def remove_collection(self, name: str) -> None:
        """Remove a collection whose records were all dropped, together with its skipped items."""
        ...

    def record_listing(self, collection: str, *, listed: int, at: float | None) -> None:
        """Store how many items the source lists, and when a full sync ended (None: it has started)."""
        ...

    def note(self, key: str, value: str) -> None: ...


class TextIndex(Protocol):
    def match(self, terms: QueryTerms, scope: Scope, weights: ColumnWeights, limit: int) -> list[ScoredChunk]:
        """Return the best chunks by BM25, higher is better; never raises, whatever the terms."""
        ...

    def chunks_containing(self, required: Sequence[QueryTerm]) -> list[int]:
        """Return the keys of all chunks that contain every term, in any scope."""
        ...

    def document_frequencies(self, words: Sequence[str]) -> tuple[int, list[int]]:
        """Return the number of chunks, and how many of them contain each word (at most; 0 is exact)."""
        ...


class VectorIndex(Protocol):
    """At most two vector indexes: the active one, and the next one that is filled to replace it.

    `encoder_fingerprint` is an encoder fingerprint; None means the active index.
    """

    def prepare_vectors(self, fingerprint: str) -> None:
        """Prepare an index for this encoder: the next one, or the active one while that is empty.

        Drops the next index of any other encoder.
        """
        ...

    def switch_vectors(self, encoder_fingerprint: str | None = None) -> bool:
        """Activate the next index and drop the other, in one transaction.

        Returns False if chunks still lack vectors, or the next index is not of `encoder_fingerprint`.
        """
        ...

    def chunks_without_vector(self, encoder_fingerprint: str | None = None) -> list[PendingChunk]:
        """Return the chunks that lack a vector of this encoder; empty if it has no index."""
        ...

    def put_vectors(self, keys: Sequence[int], matrix: Matrix, encoder_fingerprint: str | None = None) -> None:
        """Store vectors of chunks that exist, if this encoder has an index."""
        ...

    def vectors(self, keys: Sequence[int]) -> dict[int, Vector]:
        """Return the vectors of these chunks in the active index; chunks without one are left out."""
        ...

    def near(
        self,
        vector: Vector,
        scope: Scope,
        limit: int,
        encoder_fingerprint: str | None = None,
        among: AbcCollection[int] | None = None,
    ) -> list[ScoredChunk]:
        """Return the nearest chunks by cosine, only of `among` if given; a zero vector scores 0.0 everywhere.

        Raises OtherVectors if the active index belongs to another encoder than the vector.
        """
        ...


class LineIndex(Protocol):
    def find_lines(self, query: LineQuery) -> LineMatches:
        """Find lines; raise BadInput for a pattern that cannot be matched in bounded time."""
        ...

    def lines_between(self, collection: str, path: str, spans: Sequence[tuple[int, int]]) -> list[tuple[str, ...]]:
        """Return the lines of each span (first and last, from 1), as far as the file has them."""
        ...


class SymbolIndex(Protocol):
    """Queries over definitions, imports and calls.

    Each answer is one consistent snapshot, in which record keys are valid. Headings are not definitions.
    """

    def definitions(self, query: SymbolQuery) -> SymbolMatches:
        """Return matching definitions, best first; raise BadInput for an invalid regex.

        The order is: exact names, then prefixes; types before members; shorter names; then name, path and line.
        """
        ...

    def definitions_at(self, record: Record, line: int) -> list[Definition]:
        """Return the definitions that contain the line, innermost first."""
        ...

    def definitions_in_chunks(self, keys: Sequence[int]) -> Mapping[int, tuple[DefinedName, ...]]:
        """Return names and kinds of the definitions that begin in these chunks, by chunk key."""
        ...

    def chunks_defining(self, names: Sequence[str], scope: Scope, limit: int) -> list[int]:
        """Return the keys of chunks in which a definition of one of these names begins; types first, then by path and
        line."""
        ...

    def definition_kinds(self) -> frozenset[str]: ...

    def definition_count(self) -> int: ...

    def record_count(self) -> int:
        """Return the number of file records."""
        ...

    def files(self) -> list[IndexedFile]:
        """Return every file record, ordered by collection and path."""
        ...

    def files_with_definitions(self) -> set[tuple[str, str]]:
        """Return collection and path of every record that has a definition."""
        ...

    def lossy_records(self) -> set[tuple[str, str]]:
        """Return collection and path of every record whose text contains undecodable characters."""
        ...

    def fingerprints(self, keys: Sequence[int]) -> dict[int, str]:
        """Return a text for each of these records that exists; it changes whenever the record's facts may."""
        ...

    def facts(self, keys: Sequence[int]) -> list[CodeFacts]: ...

    def files_named(self, name: str) -> list[NamedFile]:
        """Return the records whose path ends with this file name, ordered by collection and path."""
        ...

    def definitions_named(
        self,
        names: Sequence[str],
        *,
        kinds: Sequence[str] = (),
        within: Sequence[int] | None = None,
        modifier: str = "",
        limit: int = 0,
    ) -> list[NamedDefinition]:
        """Return the definitions with these names, ignoring case, ordered by collection, path and ordinal.

        Optional filters: kinds, records (`within`) and a modifier. A limit of 0 is none.
        """
        ...

    def definitions_extending(self, names: Sequence[str]) -> list[NamedDefinition]:
        """Return the definitions with a base of one of these last names, ignoring case, in the same order."""
        ...

    def imported_as(self, targets: Sequence[str], member: str) -> list[str]:
        """Return every local name under which one of these targets is imported with this member, sorted."""
        ...

    def sites(self, names: Sequence[str], limit: int) -> list[StoredCall]:
        """Return the first calls of these names, ordered by collection, path, line and ordinal."""
        ...

    def sites_in(self, key: int, *, kind: str = "", having: str = "") -> list[StoredCall]:
        """Return the calls of one record, ordered by line and ordinal.

        Optional filters: the kind, and a text in the callee or in the passed values.
        """
        ...


class StoreMaintenance(Protocol):
    """Health and upkeep of the files of a store."""

    def damaged_parts(self) -> Mapping[str, str]:
        """Return the parts found damaged since the store was opened, or being rebuilt, with the reasons."""
        ...

    def probe(self) -> None:
        """Read every page once, for a few seconds at most, and remember damage."""
        ...

    def check(self, *, deep: bool, progress: Progress) -> list[Finding]:
        """Check every part. A deep check reads everything; neither changes the index."""
        ...

    def begin_repair(self, parts: Iterable[str], available: Iterable[str], progress: Progress) -> list[DroppedRecord]:
        """Empty the damaged parts and mark them for rebuilding; searches skip them until then.

        Drops damaged records of collections that are `available` to be read again. Raises IndexDamaged if only a
        complete rebuild helps.
        """
        ...

    def finish_repair(self, progress: Progress) -> None:
        """Rebuild the emptied parts from the catalog, whoever emptied them. Safe to interrupt."""
        ...

    def optimize(self, progress: Progress) -> None:
        """Speed up later queries after many writes, while the write lock is held and until somebody waits for it.

        Failures are not reported: the data is already written.
        """
        ...

    def checkpoint(self) -> None:
        """Move everything from the logs into the store, so that its files can be copied."""
        ...


class Store(Protocol):
    """The parts of an index. Readers get a `StoreView` of them."""

    @property
    def catalog(self) -> Catalog: ...

    @property
    def writer(self) -> CatalogWriter: ...

    @property
    def words(self) -> TextIndex: ...

    @property
    def vectors(self) -> VectorIndex: ...

    @property
    def lines(self) -> LineIndex: ...

    @property
    def symbols(self) -> SymbolIndex: ...

    @property
    def maintenance(self) -> StoreMaintenance: ...

    def view(self, scope: Scope = EVERYTHING) -> StoreView:
        """Return the readers' view of the records within the scope."""
        ...

    def writing(self, timeout_s: float, what: str = "indexing") -> AbstractContextManager[None]:
        """Hold the write lock of this store, or raise IndexBusy after the timeout. Others see `what` as the reason."""
        ...

    def has_waiting_writer(self) -> bool:
        """Return whether anybody waits for the write lock, so that a long-running owner can release it."""
        ...

    def encoding(self, timeout_s: float) -> AbstractContextManager[None]:
        """Hold the lock for making vectors, or raise IndexBusy after the timeout; others may write meanwhile."""
        ...

    def close(self) -> None: ...


# --------------------------------------------------------------------------------------------------
# A cache of values derived from a store, valid for one revision of it.

RememberValue = TypeVar("RememberValue")


class RevisionCache:
    """Shared by all threads: the first caller computes a value, the others wait for it."""

    def __init__(self) -> None:
        # Reentrant, because computing one value may need another.
        self._lock = threading.RLock()
        self._entries: dict[str, tuple[str, Any]] = {}

    def get(self, name: str, revision: Callable[[], str], make: Callable[[], RememberValue]) -> RememberValue:
        """Return the value of `make` for the current revision of the store."""
        entry = self._entries.get(name)
        if entry is None or entry[0] != revision():
            with self._lock:
                entry = self._compute(name, revision(), make)
        value: RememberValue = entry[1]
        return value

    def _compute(self, name: str, revision: str, make: Callable[[], RememberValue]) -> tuple[str, RememberValue]:
        """Return the entry for this revision. The revision was read first, so later changes are noticed next time."""
        entry = self._entries.get(name)
        if entry is None or entry[0] != revision:
            entry = self._entries[name] = (revision, make())
        return entry
