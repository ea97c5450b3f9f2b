"""The public API: `Engine` opens an index and answers through one service for each area."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dowse.config import Settings
from dowse.engine.code_service import CodeService, ExplainService
from dowse.engine.core import SYSTEM_CLOCK, Clock, EngineCore
from dowse.engine.freshness import FreshnessService
from dowse.engine.health_service import HealthService, RepairReport
from dowse.engine.history_index import HistoryIndex, RepositoryLookup
from dowse.engine.history_service import HistoryService
from dowse.engine.index_service import IndexService, RootRelocation, SyncRunner, no_progress
from dowse.engine.memory_service import MemoryService
from dowse.engine.search_service import ReadService, SearchService
from dowse.engine.status_service import IndexStatus, StatusService
from dowse.git.repository import allow_git_directories
from dowse.ingest.embed import ProgressCallback
from dowse.lookup.find import NameAnswer, NameQuery
from dowse.lookup.grep import GrepAnswer, GrepQuery
from dowse.lookup.symbols import SymbolAnswer
from dowse.lookup.targets import Passage
from dowse.model import (
    FRESHNESS_UNKNOWN,
    Answer,
    Collection,
    Completeness,
    DiskFreshness,
    Query,
    Record,
    StoredChunk,
    SyncReport,
)
from dowse.paths import DataPaths
from dowse.store.base import Store
from dowse.store.sqlite import SqliteStore
from dowse.store.sqlite.signing import Signer
from dowse.store.types import SymbolQuery

if TYPE_CHECKING:
    from dowse.callgraph.facts import CallQuery, CallTree
    from dowse.callgraph.graph import Impact, LineSpans
    from dowse.ingest.sources.base import ListingScope
    from dowse.ingest.workers import WorkerPool
    from dowse.lookup.related import RelatedAnswer
    from dowse.lookup.why_target import WhyAnswer

__all__ = ["Engine", "IndexStatus", "RepairReport"]


class Engine:
    """One open index. Its owner opens and closes it; thread-safe.

    The common operations are methods; the services have the others:

    - `indexing`: sync of roots and sources, vectors; `histories`: commits
    - `passages`: chunks and lines of records
    - `code`: excerpts, bodies, contents; `history`: commits, authors, blame
    - `memory`: write, read, link and check memories
    - `freshness`: compare with the disk; `state`: encoder, coverage, notes; `health`: check and repair
    """

    def __init__(
        self,
        settings: Settings,
        index: Path,
        *,
        create: bool,
        store: Store | None = None,
        workers: WorkerPool | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        allow_git_directories(settings.git_directories)
        store = store or SqliteStore(
            index, create=create, busy_timeout_s=settings.lock_timeout_s, signer=Signer.of(DataPaths.of(settings))
        )
        core = self._core = EngineCore(settings, index, store, clock, workers)
        relocation, syncs = RootRelocation(core), SyncRunner(core)
        self.settings, self.index_path = settings, core.index_path
        self.queries = core.queries
        self.clock = clock
        self.indexing = IndexService(core, relocation, syncs)
        self.histories = HistoryIndex(core, relocation, syncs)
        self.health = HealthService(core, syncs, self.histories)
        self.state = StatusService(core, self.histories)
        self.freshness = FreshnessService(core, self.indexing, self.histories)
        self.repositories = RepositoryLookup(core)
        self.memory = MemoryService(core, self.freshness, self.repositories, syncs)
        self.passages = ReadService(core, self.freshness, self.memory)
        self.code = CodeService(core, self.freshness)
        self.history = HistoryService(core, self.freshness, self.histories)
        self.ranking = SearchService(core, self.freshness, self.memory, self.state)
        self._explain = ExplainService(
            core, self.freshness, self.repositories, self.code, self.history, self.memory, self.state
        )

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.freshness.close()
        self._core.close()

    def use_one_thread_when(self, is_contended: Callable[[], bool]) -> None:
        """Use a single thread per search while `is_contended`, which the server decides."""
        self._core.spare_threads.is_contended = is_contended

    # --- index ---

    def index(
        self,
        roots: Sequence[Path],
        *,
        force: bool = False,
        prune: bool = True,
        vectors: bool = True,
        embed_for_s: float | None = None,
        progress: ProgressCallback = no_progress,
    ) -> SyncReport:
        """Index the roots, text first, then vectors for at most `embed_for_s` seconds."""
        return self.indexing.index(
            roots, force=force, prune=prune, vectors=vectors, embed_for_s=embed_for_s, progress=progress
        )

    def collections(self) -> list[Collection]:
        """Return the collections read from files: roots and memory folders."""
        return self._core.collections()

    def status(self) -> IndexStatus:
        return self.state.status()

    def completeness(self, seen: DiskFreshness = FRESHNESS_UNKNOWN) -> Completeness:
        """Return how much of the roots the index covers; `seen` is the freshness of the answer it belongs to."""
        return self.state.completeness(seen)

    # --- queries ---

    def search(self, query: Query) -> Answer:
        """Rank the passages of all kinds of records."""
        return self.ranking.search(query)

    def grep(self, query: GrepQuery) -> GrepAnswer:
        """Return the files with matching lines, best first."""
        return self.code.grep(query)

    def find(self, query: NameQuery, reach: ListingScope | None = None) -> NameAnswer:
        """Find files and directories by name: indexed ones, or those on disk within `reach`."""
        return self.code.find(query, reach)

    def symbols(self, wanted: SymbolQuery, *, structural: bool = False) -> SymbolAnswer:
        """Find definitions; see `CodeService.symbols`."""
        return self.code.symbols(wanted, structural=structural)

    def calls(self, query: CallQuery) -> CallTree:
        """Return callers or callees as a tree; every edge has its confidence and evidence."""
        return self.code.calls(query)

    def impact(self, changes: Mapping[str, LineSpans], query: CallQuery, collection: str | None = None) -> Impact:
        """Return the definitions that contain the changed lines, and their callers up to the query's depth."""
        return self.code.impact(changes, query, collection)

    def why(self, target: str, budget_tokens: int = 1_500, collection: str | None = None) -> WhyAnswer:
        """Explain a target; see `ExplainService.why`."""
        return self._explain.why(target, budget_tokens, collection)

    def related(
        self, target: str, kinds: Sequence[str] = (), limit: int = 5, collection: str | None = None
    ) -> RelatedAnswer:
        """Return links to and from the target, at most `limit` for each kind of link and direction."""
        return self._explain.related(target, kinds, limit, collection)

    # --- records ---

    def record(self, path: str, collection: str | None = None) -> list[Record]:
        """Return every record with this path or reference (`memory:NAME`, `commit:HASH`). Several roots may each have
        one."""
        return self._core.record(path, collection)

    def lines(self, record: Record, start_line: int = 1, end_line: int | None = None) -> Passage:
        """Return the current lines of a record, with its current caveats."""
        return self.passages.lines(record, start_line, end_line)

    def export(self) -> Iterator[StoredChunk]:
        """Yield every chunk, ordered by collection, path and ordinal."""
        return self.passages.export()
