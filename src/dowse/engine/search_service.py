"""Search, reading of passages, and the freshness and completeness of each answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from dowse.engine.core import EngineCore
from dowse.engine.freshness import FreshnessResult, FreshnessService
from dowse.engine.memory_service import _MAX_RANKED_MEMORIES, MEMORY_RECIPE, MEMORY_SCOPE, MemoryService
from dowse.engine.status_service import StatusService
from dowse.errors import BadInput
from dowse.ingest.extract.documents import is_document
from dowse.ingest.sources.base import Source
from dowse.lookup.memories import (
    LinkingMemory,
    find_linking_memories,
    rank_by_relevance,
)
from dowse.lookup.targets import Passage, memories_by_name, nested_collections, read_lines, resolve_records
from dowse.model import (
    FILES,
    MEMORIES,
    Answer,
    DocumentLayout,
    Fragment,
    Hit,
    Item,
    Link,
    Query,
    Record,
    Scope,
    StoredChunk,
)
from dowse.search.plan import answer_query
from dowse.search.run import SearchModels
from dowse.search.search import SearchResult, search
from dowse.search.stages.dedup import Preference
from dowse.text.globs import escape_glob
from dowse.text.memory_notes import RecordKey, record_key
from dowse.text.tokenize import parse_query


class SearchService:
    def __init__(
        self, core: EngineCore, freshness: FreshnessService, memory: MemoryService, status: StatusService
    ) -> None:
        self._core = core
        self._settings = core.settings
        self._sources = core.sources
        self._freshness = freshness
        self._memory = memory
        self._status = status

    def search(self, query: Query) -> Answer:
        if not query.text.strip():
            raise BadInput("the query is empty; ask for something")
        freshness_result = self._freshness.check()
        found = self._answer(query, freshness_result)
        again = (
            None
            if freshness_result.disk_freshness.complete
            else self._freshness.check_files(_stale_places(found.hits), freshness_result.disk_freshness.as_of)
        )
        return found if again is None else self._answer(query, again)

    def _answer(self, query: Query, freshness_result: FreshnessResult) -> Answer:
        found = answer_query(query, self._rank)
        hits = tuple(self._with_freshness(found.hits))
        steps, completeness = (
            (freshness_result.step, *found.steps),
            self._status.completeness(freshness_result.disk_freshness),
        )
        return Answer(query, hits, steps, completeness, self._core.clock.now(), found.abstained)

    def _rank(self, query: Query) -> SearchResult:
        return search(
            replace(query, scope=self._core.expand_scope(query.scope)),
            self._core.view(),
            SearchModels(self._core.encoders.encode_query, self._core.rerankers.judge),
            rrf_k=self._settings.rrf_k,
            shares=self._retriever_weights(),
            priors=self._core.preferences.factors_for(query.subject),
            begin=self._core.spare_threads.begin,
            now=self._core.clock.now,
        )

    def prefer(self, subject: str, path: str, delta: float, collection: str | None = None) -> Preference:
        """Raise or lower a document's rank in a subject's searches until the engine is closed."""
        record = self._core.one_record(path, collection)
        return self._core.preferences.move(subject, record.collection, record.path, delta)

    def _retriever_weights(self) -> dict[str, float]:
        words = self._settings.lexical_weight
        return {"lexical": words, "headline": words, "semantic": self._settings.semantic_weight}

    def _with_freshness(self, hits: Iterable[Hit]) -> Iterator[Hit]:
        """Yield each hit with the freshness of its file and the caveats a reader should know."""
        folders = self._memory_folder_paths()
        sources: dict[str, Source | None] = {}  # looked up once each, because the lookup takes longer than the query
        layouts: dict[RecordKey, DocumentLayout | None] = {}
        for hit in hits:
            record = hit.stored.record
            if record.collection not in sources:
                sources[record.collection] = self._source_of(record.collection)
            source = sources[record.collection]
            freshness = source.freshness(Item(record.path, record.size, record.mtime_ns)) if source else "gone"
            fragments = self._fragments(layouts, hit.stored) if is_document(record.path) else ()
            place = f"{folders[record.collection]}/{record.path}" if record.collection in folders else ""
            yield replace(
                hit, freshness=freshness, notes=self._memory.caveats(record), display_path=place, fragments=fragments
            )

    def _fragments(self, layouts: dict[RecordKey, DocumentLayout | None], stored: StoredChunk) -> tuple[Fragment, ...]:
        """Return where the chunk stands on the pages of its document. Each layout is read once."""
        key = record_key(stored.record)
        if key not in layouts:
            layouts[key] = self._core.view().layout(stored.record)
        layout = layouts[key]
        return layout.fragments_of(stored.chunk) if layout else ()

    def _memory_folder_paths(self) -> dict[str, str]:
        """Return the folder of each memory collection, relative to the root it lies below, else absolute."""
        collections = self._core.collections()
        ways = {it.collection: it.prefix for it in nested_collections(collections)}
        return {it.name: ways.get(it.name, it.root) for it in collections if it.source == MEMORIES}

    def _source_of(self, collection: str) -> Source | None:
        """Return the source; None if another process has dropped the collection since the search."""
        try:
            return self._sources.source_of(collection)
        except BadInput:
            return None

    def linked_memories(self, question: str, target: str) -> list[LinkingMemory]:
        """Return the memories that link to a file or other target, ranked by relevance to the question."""
        if not question.strip():
            raise BadInput("the query is empty; ask for something")
        self._freshness.ensure()
        scope = self._memory.scope()
        roots = [it.root for it in self._core.collections() if it.source == FILES]
        found = find_linking_memories(self._core.view(), scope, target, roots, self._links_to(target))
        if not found:
            return []
        paths = tuple(escape_glob(f"/{it.record.path}") for it in found[:_MAX_RANKED_MEMORIES])
        narrow = Scope(collections=scope.collections, kinds=scope.kinds, paths=paths)
        answer = self.search(Query(question, narrow, limit=len(paths), recipe=MEMORY_RECIPE, min_score=0.0))
        scores: dict[tuple[str, str], float] = {}
        for hit in answer.hits:
            place = record_key(hit.stored.record)
            scores[place] = max(hit.score, scores.get(place, 0.0))
        if parse_query(question).required:
            found = [it for it in found if record_key(it.record) in scores]
        return rank_by_relevance(found, question, scores)

    def _links_to(self, target: str) -> set[tuple[RecordKey, Link]]:
        """Return the links that resolve to the indexed target, however they spell it."""
        from dowse.lookup.why_evidence import MemoryLinks  # imports more than a search needs
        from dowse.lookup.why_target import Target

        records = resolve_records(self._core.view(), target) or memories_by_name(self._core.view(), target)
        links = MemoryLinks.of(self._core.view())
        found = (resolved_link for it in records for resolved_link in links.links_to(Target(it.path, it)))
        return {(record_key(teller), link) for teller, link in found}


def _stale_places(hits: Iterable[Hit]) -> set[tuple[str, str]]:
    records = [hit.stored.record for hit in hits if hit.freshness in ("changed", "gone")]
    return {(it.collection, it.path) for it in records}


class ReadService:
    def __init__(self, core: EngineCore, freshness: FreshnessService, memory: MemoryService) -> None:
        self._core = core
        self._settings = core.settings
        self._sources = core.sources
        self._freshness = freshness
        self._memory = memory

    def chunk(self, chunk_id: str, collection: str | None = None) -> list[StoredChunk]:
        """Return every chunk with this id; several roots may each have one."""
        return self._core.view().by_chunk_id(chunk_id, collection)

    def passage(self, stored: StoredChunk) -> Passage:
        """Return the chunk's current lines; as indexed if the file has changed, because its lines may have moved."""
        record, chunk = stored.record, stored.chunk
        freshness = self._freshness.freshness_of(record)
        if freshness == "fresh":
            return self.lines(record, chunk.start_line, chunk.end_line)
        passage = replace(self.lines(record), text=chunk.text, freshness=freshness)
        return replace(passage, start_line=chunk.start_line, end_line=chunk.end_line)

    def chunks(self, record: Record) -> list[StoredChunk]:
        return self._core.view().chunks(record)

    def lines(self, record: Record, start_line: int = 1, end_line: int | None = None) -> Passage:
        """Return the current lines of a record, with its current caveats."""
        view = self._core.view()
        # The lines of a document exist only in the index.
        current = view.text(record) if is_document(record.path) else self._sources.read_text(record)
        passage = read_lines(view, record, current, "unknown", start_line, end_line)
        record = self._refreshed_memory(record)  # after the lines were read: the index has none of a deleted file then
        return replace(
            passage, record=record, freshness=self._freshness.freshness_of(record), notes=self._memory.caveats(record)
        )

    def page_lines(self, record: Record, first_page: int, last_page: int) -> tuple[int, int]:
        """Return the first and the last line of these pages of a document."""
        layout = self._core.view().layout(record)
        pages = sorted({it.page for it in layout.fragments}) if layout else []
        if not layout or not pages:
            raise BadInput(f"{record.path} has no pages; give lines instead, as in {record.path}:10-20")
        spans = [layout.lines_of_page(it) for it in pages if first_page <= it <= last_page]
        lines = [span for span in spans if span]
        if not lines:
            raise BadInput(f"{record.path} has text on pages {pages[0]} to {pages[-1]}, not on page {first_page}")
        return min(first for first, _ in lines), max(last for _, last in lines)

    def _refreshed_memory(self, record: Record) -> Record:
        """Return a memory as indexed after a freshness check: it, or its anchor target, may have been saved just
        now."""
        if record.kind not in MEMORY_SCOPE.kinds:
            return record
        self._freshness.ensure()
        return next(iter(self._core.view().records(record.path, record.collection)), record)

    def export(self) -> Iterator[StoredChunk]:
        return self._core.view().export()
