"""The API: everything Dowse can do, as verbs. Shells and profiles call these and nothing below them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from dowse.config import Settings
from dowse.errors import BadInput, Unreadable
from dowse.ingest.embed import Progress
from dowse.ingest.sources.base import Reach, Source
from dowse.ingest.sources.files import FileSource
from dowse.ingest.sources.fingerprint import fingerprint
from dowse.ingest.sources.repository import branch_at
from dowse.lookup.find import Entry, NameAnswer, NameQuery, find_names, fitting, indexed_names, listing
from dowse.lookup.find_contents import ContentAnswer, find_contents
from dowse.lookup.grep.question import Excerpt, GrepAnswer, Lines
from dowse.lookup.read import Passage, read_lines
from dowse.lookup.symbols.audit import audit
from dowse.lookup.symbols.bodies import TextLines, bodies, text_lines
from dowse.lookup.symbols.find import containing, find
from dowse.lookup.symbols.question import Audit, Body, Definition, SymbolAnswer, Wanted
from dowse.model import (
    UNPARSED,
    Answer,
    Collection,
    Completeness,
    Counts,
    Freshness,
    Hit,
    Item,
    Query,
    Record,
    Skipped,
    Stored,
    SyncReport,
    normal_path,
)
from dowse.places import Places, checked_root
from dowse.reranking import Reranking
from dowse.search.plan import answer
from dowse.search.refine.subjects import Preference, Preferences
from dowse.search.run import Models
from dowse.search.search import Ranked, search
from dowse.semantics import Description, Semantics
from dowse.store.base import Store
from dowse.store.sqlite import SqliteStore
from dowse.store.sqlite.database import MIGRATIONS
from dowse.text.decode import decode
from dowse.text.globs import literal

if TYPE_CHECKING:
    from dowse.ingest.sources.uncommitted import Uncommitted
    from dowse.ingest.workers.pool import Workers
    from dowse.lookup.calls.graph import CallGraph
    from dowse.lookup.calls.impact import Impact, Spans
    from dowse.lookup.calls.question import CallQuery, CallTree


_MANY_FILES = 2_000


def _quiet(stage: str, done: int, total: int) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Status:
    """The state of an index, for people and programs."""

    index: Path
    collections: tuple[Collection, ...]
    counts: Counts
    encoder: str
    encoder_why: str
    reranker: str
    reranker_why: str
    schema: int
    skipped: tuple[Skipped, ...]
    quarantined: tuple[Skipped, ...]  # indexed, but as plain text, because their parser failed


class Engine:
    """Opened and closed by its owner; safe to use from several threads."""

    def __init__(
        self,
        settings: Settings,
        index: Path,
        *,
        create: bool,
        store: Store | None = None,
        workers: Workers | None = None,
    ) -> None:
        self.settings = settings
        self.index_path = index.resolve()
        self._store = store or SqliteStore(index, create=create, busy_timeout_s=settings.lock_timeout_s)
        self._sources: dict[str, Source] = {}
        self._workers = workers
        self._preferences = Preferences()
        self._calls: CallGraph | None = None
        places = Places.of(settings)
        self._semantics = Semantics(settings.encoder, places, self._store, api_key=settings.encoder_key)
        self._reranking = Reranking(
            settings.reranker, places, model_dir=settings.reranker_model, key=settings.reranker_key
        )

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._workers:
            self._workers.close()
        self._store.close()

    # --- indexing ---

    def index(
        self,
        roots: Sequence[Path],
        *,
        force: bool = False,
        prune: bool = True,
        vectors: bool = True,
        embed_for_s: float | None = None,
        progress: Progress = _quiet,
    ) -> SyncReport:
        """Bring the roots into the index, words first, then vectors (for at most `embed_for_s` seconds), if wanted."""
        self._semantics.check()
        places = [checked_root(root, any_root=self.settings.any_root) for root in roots]
        total = SyncReport()
        with self._store.writing(self.settings.lock_timeout_s):
            for place in places:
                for root, under in self._collection_roots(place, total):
                    collection = self._store.add_collection(str(root))
                    total.add(self._sync(self._files(root, under), collection, under, force, prune, progress))
            if vectors:
                self._embed(total, embed_for_s, progress)
        return total

    def index_source(self, name: str, source: Source, *, progress: Progress = _quiet) -> SyncReport:
        """Bring any source into the index under a name, e.g. a labelled corpus for evaluation."""
        with self._store.writing(self.settings.lock_timeout_s):
            collection = self._store.add_collection(name)
            self._sources[collection.name] = source
            report = self._sync(source, collection, "", False, True, progress)
            self._embed(report, None, progress)
        return report

    def _sync(
        self, source: Source, collection: Collection, under: str, force: bool, prune: bool, progress: Progress
    ) -> SyncReport:
        from dowse.ingest.chunk import Limits  # brings every extractor with it, and only indexing needs them
        from dowse.ingest.sync import Sync

        limits = Limits(self.settings.max_chunk_chars, self.settings.min_chunk_chars)
        workers = self._parsers()
        sync = Sync(source, self._store, collection.name, limits, force, prune, under, progress, workers=workers)
        report = sync.run()
        if report.indexed >= _MANY_FILES:
            # What they hold of so many is worth more than a quick start of the next ones.
            workers.close()
            self._workers = None
        return report

    def _parsers(self) -> Workers:
        """Kept from one sync to the next, because they take longer to start than to read a file."""
        from dowse.ingest.workers.pool import Workers

        if self._workers is None:
            self._workers = Workers(self.settings.workers, self.settings.parse_timeout_s)
        return self._workers

    def _embed(self, report: SyncReport, embed_for_s: float | None, progress: Progress) -> None:
        deadline = None if embed_for_s is None else time.monotonic() + embed_for_s
        filled = self._semantics.fill(progress, lambda: deadline is not None and time.monotonic() > deadline)
        report.embedded, report.reused = filled.encoded, filled.reused
        report.notes.extend(filled.notes)

    def _collection_roots(self, place: Path, report: SyncReport) -> list[tuple[Path, str]]:
        """The roots to sync, each with the part of it. A place inside a root that is indexed already belongs to
        it, a lone file to its directory; roots that lie inside the place keep their own files."""
        known = [Path(it.root) for it in self._store.collections()]
        around = [root for root in known if root == place or root in place.parents]
        root = max(around, key=lambda it: len(it.parts)) if around else place if place.is_dir() else place.parent
        under = place.relative_to(root).as_posix()
        inside = [it for it in known if place in it.parents]
        gone = [it for it in inside if not it.is_dir()]
        report.notes += [f"{it} is not there any more; what was indexed of it was kept" for it in gone]
        return [(root, "" if under == "." else under), *((it, "") for it in inside if it not in gone)]

    def _files(self, root: Path, under: str = "") -> FileSource:
        inner = {it for it in map(Path, (it.root for it in self._store.collections())) if root in it.parents}
        settings = self.settings
        return FileSource(
            root,
            include=settings.include,
            exclude=(*settings.exclude, *self._own_files(root)),
            default_excludes=settings.default_excludes,
            use_gitignore=settings.gitignore,
            max_file_bytes=settings.max_file_bytes,
            under=under,
            barred=frozenset(inner | {Places.of(settings).data_dir}),
        )

    def _own_files(self, root: Path) -> tuple[str, ...]:
        """Globs for the index and what SQLite keeps beside it, where they lie inside the root."""
        if root not in self.index_path.parents:
            return ()
        name = literal("/" + self.index_path.relative_to(root).as_posix())
        sides = (
            "",
            "-wal",
            "-shm",
            "-journal",
            ".lock",
            "-vectors",
            "-vectors.lock",
            "-vectors.new",
            "-lines",
            "-lines.lock",
            "-lines.new",
        )
        return tuple(f"{name}{new}{side}" for new in ("", ".new") for side in sides)

    def settle(self) -> None:
        """Leave everything in the index file itself, so that it can be moved."""
        self._store.settle()

    # --- asking ---

    def search(self, query: Query) -> Answer:
        if not query.text.strip():
            raise BadInput("the query is empty; ask for something")
        found = answer(query, self._ranked)
        hits = tuple(self._checked(found.hits))
        return Answer(query, hits, tuple(found.steps), self.completeness(), found.abstained)

    def _ranked(self, query: Query) -> Ranked:
        return search(
            query,
            self._store,
            Models(self._semantics.encode_query, self._reranking.judge),
            rrf_k=self.settings.rrf_k,
            shares=self._shares(),
            priors=self._preferences.of(query.subject),
        )

    def prefer(self, subject: str, path: str, delta: float, collection: str | None = None) -> Preference:
        """Let a document count more or less for a subject's searches from now on, until the engine is closed."""
        record = self._one_record(path, collection)
        return self._preferences.move(subject, record.collection, record.path, delta)

    def _shares(self) -> dict[str, float]:
        words = self.settings.lexical_weight
        return {"lexical": words, "headline": words, "semantic": self.settings.semantic_weight}

    def _checked(self, hits: Iterable[Hit]) -> Iterator[Hit]:
        """Each hit with how its file compares with the disk now."""
        for hit in hits:
            yield replace(hit, freshness=self.freshness(hit.stored.record))

    def _source(self, collection: str) -> Source:
        if collection not in self._sources:
            root = next(it.root for it in self._store.collections() if it.name == collection)
            self._sources[collection] = self._files(Path(root))
        return self._sources[collection]

    def completeness(self) -> Completeness:
        collections, counts = self._store.collections(), self._store.counts()
        skipped = len(self._store.skipped())
        notes = []
        unfinished = [it.name for it in collections if not it.synced_at]
        if not collections:
            notes.append("nothing is indexed yet")
        if unfinished:
            notes.append(f"{', '.join(unfinished)} is indexed only in part so far")
        notes.extend(self._semantics.notes())
        return Completeness(
            indexed=counts.records,
            listed=max(sum(it.listed for it in collections), counts.records + skipped),
            skipped=skipped,
            chunks=counts.chunks,
            vectors=counts.vectors,
            synced_at=min((it.synced_at for it in collections), default=0.0),
            notes=tuple(notes),
        )

    # --- exact answers: lines ---

    def grep(self, query: Lines) -> GrepAnswer:
        """The files with lines that hold what is asked for, best first."""
        from dowse.lookup.grep.grep import grep

        return grep(self._store, query)

    def excerpts(self, record: Record, lines: Iterable[int], before: int = 0, after: int = 0) -> list[Excerpt]:
        """Lines of a record as they were indexed, each with so many around it."""
        from dowse.lookup.grep.excerpts import excerpts

        return excerpts(self._store, record.collection, record.path, lines, before, after)

    def freshness(self, record: Record) -> Freshness:
        """How its file compares with the disk now."""
        return self._source(record.collection).freshness(Item(record.path, record.size, record.mtime_ns))

    # --- exact answers: definitions and names ---

    def symbols(self, wanted: Wanted) -> SymbolAnswer:
        """Definitions by name, kind, base, attribute, place or measure; all that match are counted."""
        return find(self._store, wanted)

    def containing(self, path: str, line: int, collection: str | None = None) -> list[Definition]:
        """The definitions that hold this line of the file, innermost first."""
        return containing(self._store, self._one_record(path, collection), line)

    def bodies(self, definitions: Iterable[Definition], *, max_lines: int = 100, total_lines: int = 500) -> list[Body]:
        """The lines of each definition, at most so many of one and of all; 0 is no limit."""
        return bodies(definitions, self._body_source, max_lines=max_lines, total_lines=total_lines)

    def audit(self, least_bytes: int = 500) -> Audit:
        """Which files of known languages yielded no definition, and why."""
        return audit(self._store, least_bytes)

    def find(self, query: NameQuery, reach: Reach | None = None) -> NameAnswer:
        """Files and directories by name: indexed ones, or those on disk now that are within `reach`."""
        if reach is None:
            return find_names(indexed_names(self._store), query)
        return find_names(listing(self._on_disk(reach)), query)

    def find_contents(self, query: NameQuery, reach: Reach, *, deadline_s: float = 10.0) -> ContentAnswer:
        """Lines of the files on disk now, without the index; the query's other conditions choose the files."""
        files = [it for it in fitting(self._on_disk(reach), query) if not it.is_directory]
        return find_contents(files, self._current_text, query, deadline_s=deadline_s)

    def _on_disk(self, reach: Reach) -> Iterator[Entry]:
        from dowse.ingest.sources.names import names_below  # brings all that listing needs

        for collection in self._store.collections():
            root, settings = Path(collection.root), self.settings
            for item in names_below(
                str(root.resolve()), reach, exclude=settings.exclude, use_gitignore=settings.gitignore
            ):
                yield Entry(collection.name, item.path, item.size)

    def _current_text(self, entry: Entry) -> str | None:
        try:
            return decode(self._source(entry.collection).read(Item(entry.path, entry.size, 0))[1])
        except Unreadable:
            return None

    def _body_source(self, record: Record) -> TextLines:
        """The file as it is if nothing happened to it, else as it was indexed: there the lines are right."""
        item = Item(record.path, record.size, record.mtime_ns)
        source = self._source(record.collection)
        if source.freshness(item) == "fresh":
            try:
                return text_lines(decode(source.read(item)[1]))
            except Unreadable as error:
                return TextLines((), problem=str(error))
        return text_lines(self._store.text(record), changed=True)

    def _one_record(self, path: str, collection: str | None) -> Record:
        records = self.record(path, collection)
        if len(records) != 1:
            known = f"{len(records)} collections have {path!r}; name one" if records else f"{path!r} is not indexed"
            raise BadInput(known)
        return records[0]

    # --- exact answers: calls ---

    def calls(self, query: CallQuery) -> CallTree:
        """Who calls it, or what it calls, as a tree; every edge says how sure it is and why."""
        return self._call_graph().calls(query)

    def impact(self, changes: Mapping[str, Spans], query: CallQuery, collection: str | None = None) -> Impact:
        """Which definitions changed lines, by path, stand in, and who calls these: as far as the query says."""
        return self._call_graph().impact(changes, query, collection)

    def uncommitted(self, collection: Collection) -> Uncommitted:
        """The lines of a root that differ from the last commit."""
        from dowse.ingest.sources.uncommitted import uncommitted

        return uncommitted(Path(collection.root))

    def _call_graph(self) -> CallGraph:
        """Made when first asked for: a search has no use for all that it imports."""
        from dowse.lookup.calls.graph import CallGraph

        if self._calls is None:
            self._calls = CallGraph(self._store)
        return self._calls

    # --- knowing ---

    def collections(self) -> list[Collection]:
        return self._store.collections()

    @property
    def encoder_name(self) -> str:
        return self._semantics.name

    def encoder(self) -> Description:
        return self._semantics.describe()

    def fingerprint(self, places: Sequence[Path]) -> dict[str, object] | None:
        """Which commits of which work trees the places are at; None outside of git."""
        return fingerprint(places)

    def branch(self, place: Path) -> str | None:
        """The branch checked out there, as it is now; None outside of git and at a commit without a branch."""
        return branch_at(str(place))

    # --- reading ---

    def chunk(self, chunk_id: str, collection: str | None = None) -> list[Stored]:
        """Every chunk with this id: where several roots are indexed, more than one may have it."""
        return self._store.by_chunk_id(chunk_id, collection)

    def record(self, path: str, collection: str | None = None) -> list[Record]:
        """Every record with this path, likewise."""
        return self._store.records(normal_path(path).removeprefix("./"), collection)

    def passage(self, stored: Stored) -> Passage:
        """The chunk's lines; of a file that has changed since, where lines may have moved, as they were indexed."""
        chunk = stored.chunk
        passage = self.lines(stored.record, chunk.start_line, chunk.end_line)
        if passage.freshness == "fresh":
            return passage
        return replace(passage, text=chunk.text, start_line=chunk.start_line, end_line=chunk.end_line)

    def chunks(self, record: Record) -> list[Stored]:
        return self._store.chunks(record)

    def lines(self, record: Record, start_line: int = 1, end_line: int | None = None) -> Passage:
        source = self._source(record.collection)
        item = Item(record.path, record.size, record.mtime_ns)
        freshness = source.freshness(item)
        try:
            current = decode(source.read(item)[1])
        except Unreadable:
            current = None
        return read_lines(self._store, record, current, freshness, start_line, end_line)

    def export(self) -> Iterator[Stored]:
        return self._store.export()

    def status(self) -> Status:
        choice, offer = self.encoder(), self._reranking.describe()
        return Status(
            index=self.index_path,
            collections=tuple(self._store.collections()),
            counts=self._store.counts(),
            encoder=choice.name,
            encoder_why=choice.why,
            reranker=offer.name,
            reranker_why=offer.why,
            schema=len(MIGRATIONS),
            skipped=tuple(self._store.skipped()),
            quarantined=tuple(Skipped(*row) for row in self._store.faceted(UNPARSED)),
        )
