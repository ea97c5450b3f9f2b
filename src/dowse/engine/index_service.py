"""Indexing of directories: sync, vectors, and roots that moved."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from dowse.engine.core import EngineCore
from dowse.errors import DowseError, IndexBusy
from dowse.git.ignore import ignore_file_content
from dowse.git.repository import is_bare
from dowse.ingest.embed import ProgressCallback
from dowse.ingest.sources.base import Source
from dowse.ingest.sources.files import MEMORIES_FOLDER, FileSource, has_no_files
from dowse.ingest.sources.moved import (
    IndexedRoot,
    match_moved_root,
    may_have_moved,
    read_root_identity,
    root_identity_key,
    sample_paths,
)
from dowse.ingest.sources.walk import DOWSE_IGNORE_FILE, default_excludes_for, find_work_trees
from dowse.model import COMMITS, FILE_KINDS, FILES, Collection, ItemVersion, Scope, SkippedItem, SyncReport
from dowse.paths import DataPaths, check_root, is_directory, is_intact_root
from dowse.store.base import Catalog
from dowse.store.types import KEEP_DELETED_KEY_PREFIX
from dowse.text.secrets import SECRET_RULES_VERSION

if TYPE_CHECKING:
    from dowse.ingest.chunk import ChunkLimits
    from dowse.ingest.workers import WorkerPool

# --------------------------------------------------------------------------------------------------
# Relocation: a renamed or moved directory keeps its index.


class RootRelocation:
    """Assigns the index of a directory that was moved to its new place."""

    def __init__(self, core: EngineCore) -> None:
        self._core = core
        self._settings = core.settings
        self._store = core.store
        self._sources = core.sources

    def relocate(self, place: Path, former: Path | None = None) -> str:
        """Assign a collection whose root is gone to this place, if its files are here now; return a sentence about it.

        `former`: the known previous root, which makes a search for it unnecessary.
        """
        if self._find_moved(place, former) is None:
            return ""
        with self._store.writing(self._settings.lock_timeout_s):
            return self.apply(place, former)

    def apply(self, place: Path, former: Path | None = None) -> str:
        """Do the same; the caller holds the write lock."""
        collection = self._find_moved(place, former)
        if collection is None:
            return ""
        for inner in self._store.catalog.collections():
            if Path(inner.root).is_relative_to(collection.root):  # the history of its repository moves along
                self._store.writer.move_collection(
                    inner.name, str(place / Path(inner.root).relative_to(collection.root))
                )
                self._sources.forget(inner.name)
        self.note_identity(place)
        return f"took over the index of {collection.root}, which no longer exists"

    def _find_moved(self, place: Path, former: Path | None = None) -> Collection | None:
        """Return the collection that certainly was this directory; None if the place belongs to a collection
        already."""
        known = [(it, self._traces(it)) for it in self._store.catalog.collections() if it.source == FILES]
        if any(place.is_relative_to(traces.root) and not may_have_moved(traces, place) for _, traces in known):
            return None
        if former is not None:
            return next((it for it, traces in known if traces.root == former and may_have_moved(traces, place)), None)
        fitting = [(found, it) for it, traces in known if (found := match_moved_root(traces, place))]
        return max(fitting, key=lambda pair: pair[0])[1] if fitting else None

    def _traces(self, collection: Collection) -> IndexedRoot:
        def files() -> dict[str, ItemVersion]:
            return self._sample_versions(collection.name)

        def commits() -> dict[str, list[str]]:
            below = [it for it in self._store.catalog.collections() if it.source == COMMITS]
            return {
                it.root: list(self._sample_versions(it.name))
                for it in below
                if Path(it.root).is_relative_to(collection.root)
            }

        identity = self._store.catalog.metadata().get(root_identity_key(collection.root), "")
        return IndexedRoot(Path(collection.root), identity, files, commits)

    def _sample_versions(self, collection: str) -> dict[str, ItemVersion]:
        versions = self._store.catalog.versions(collection)
        return {path: versions[path] for path in sample_paths(versions)}

    def note_identity(self, root: Path) -> None:
        """Store the directory's identity, which survives a rename."""
        key, value = root_identity_key(str(root)), read_root_identity(root)
        if self._store.catalog.metadata().get(key) != value:
            self._store.writer.note(key, value)


# --------------------------------------------------------------------------------------------------
# Sync of one source into the index, followed by its vectors.

_WORKER_RESET_FILES = 2_000
_TOKEN_CHARS = 10


def no_progress(stage: str, done: int, total: int) -> None:
    pass


def never_pause() -> bool:
    return False


def timeout_after(seconds: float | None) -> Callable[[], bool]:
    """Return a function that says whether this many seconds have passed since this call."""
    deadline = None if seconds is None else time.monotonic() + seconds
    return lambda: deadline is not None and time.monotonic() > deadline


def _settings_token(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_TOKEN_CHARS]


class SyncRunner:
    """Runs syncs with the parser pool and the limits of the settings, and encodes vectors."""

    def __init__(self, core: EngineCore) -> None:
        self._core = core
        self._settings = core.settings
        self._store = core.store
        self._sources = core.sources

    def sync(
        self,
        source: Source,
        collection: Collection,
        subpaths: tuple[str, ...],
        force: bool,
        prune: bool,
        progress: ProgressCallback,
    ) -> SyncReport:
        from dowse.ingest.sources.base import BudgetedSource, SourceBudget

        budget = SourceBudget(self._settings.max_files, self._settings.max_total_bytes)
        budgeted = BudgetedSource(source, budget, self.find_cut(collection) if subpaths else None)
        report = self.run(budgeted, collection, subpaths=subpaths, force=force, prune=prune, progress=progress)
        if cut := self.find_cut(collection):
            report.notes.append(f"{cut.path} is {cut.reason}")
        return report

    def run(
        self,
        source: Source,
        collection: Collection,
        *,
        subpaths: tuple[str, ...] = (),
        force: bool = False,
        prune: bool = True,
        progress: ProgressCallback = no_progress,
        should_stop: Callable[[], bool] = never_pause,
    ) -> SyncReport:
        from dowse.ingest.sync import CollectionSync  # imports every extractor, which only indexing needs

        workers = self.parser_pool()
        sync = CollectionSync(
            source,
            self._store,
            collection.name,
            self.history_limits() if collection.source == COMMITS else self.limits(),
            force,
            prune,
            subpaths,
            progress,
            workers=workers,
            should_stop=should_stop,
        )
        report = sync.run()
        if report.indexed >= _WORKER_RESET_FILES:
            # After this many files the workers hold much memory, which matters more than a quick next start.
            workers.close()
            self._core.workers = None
        return report

    def limits(self, withheld: str = "") -> ChunkLimits:
        from dowse.ingest.chunk import ChunkLimits

        settings = self._settings
        secrets = "shown" if settings.show_secrets else f"s{SECRET_RULES_VERSION}"
        return ChunkLimits(
            settings.max_chunk_chars,
            settings.min_chunk_chars,
            f"{secrets}{withheld}",
            masks_secrets=not settings.show_secrets,
        )

    def history_limits(self) -> ChunkLimits:
        """Return the chunk limits of histories. They include the exclude rules, so that a rule change reindexes the
        commits."""
        return self.limits(f"-{self.excludes_token()}-{self._ignore_files_token()}")

    def excludes_token(self) -> str:
        """Return a hash of all settings that exclude files."""
        settings = self._settings
        usual = default_excludes_for(settings.extra_extensions) if settings.default_excludes else ()
        return _settings_token(repr((SECRET_RULES_VERSION, settings.show_secrets, usual, settings.exclude)))

    def _ignore_files_token(self) -> str:
        """Return a hash of every `.dowseignore` that is indexed or lies at a root."""
        roots = [it for it in self._store.catalog.collections() if it.source == FILES]
        at_roots = ((it.name, ignore_file_content(f"{it.root}/{DOWSE_IGNORE_FILE}")) for it in roots)
        indexed = self._store.catalog.select(Scope(kinds=FILE_KINDS, paths=(DOWSE_IGNORE_FILE,)))
        return _settings_token(repr((sorted(at_roots), sorted((it.collection, it.path, it.digest) for it in indexed))))

    def find_cut(self, collection: Collection) -> SkippedItem | None:
        from dowse.ingest.sources.base import find_cutoff

        return find_cutoff(self._store.catalog.skipped_items(), collection.name)

    def parser_pool(self) -> WorkerPool:
        """Return the parser pool, kept between syncs because parsers take longer to start than to read a file."""
        from dowse.ingest.workers import WorkerPool, divide_memory

        if self._core.workers is None:
            share = divide_memory(self._settings.workers, self._settings.memory_mb)
            self._core.workers = WorkerPool(
                share.workers,
                self._settings.parse_timeout_s,
                document_timeout_s=self._settings.document_timeout_s,
                memory_bytes=share.worker_bytes,
                ahead_bytes=share.ahead_bytes,
            )
        return self._core.workers

    def embed(
        self,
        report: SyncReport,
        progress: ProgressCallback,
        timeout_s: float,
        pause: Callable[[], bool] = never_pause,
        *,
        switch: bool = False,
        quick_only: bool = False,
        behind_questions: bool = False,
    ) -> None:
        with ExitStack() as turn:
            try:
                turn.enter_context(self._store.encoding(timeout_s))
            except IndexBusy:
                report.notes.append("another process is encoding vectors; `dowse status` shows its progress")
                return
            give_way = self._core.queries.wait_for_quiet if behind_questions else None
            filled = self._core.encoders.fill(progress, pause, switch=switch, quick_only=quick_only, give_way=give_way)
        report.embedded, report.reused = filled.encoded, filled.reused
        report.notes.extend(filled.notes)


def keeps_deleted_files(store: Catalog, collection: str) -> bool:
    """Return whether files deleted from disk stay in the index on purpose."""
    return bool(store.metadata().get(KEEP_DELETED_KEY_PREFIX + collection))


class IndexService:
    """Indexes roots, memory folders and named sources."""

    def __init__(self, core: EngineCore, relocation: RootRelocation, syncs: SyncRunner) -> None:
        self._core = core
        self._settings = core.settings
        self._store = core.store
        self._sources = core.sources
        self._relocation = relocation
        self._syncs = syncs

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
        self._core.encoders.check()
        data_dir = DataPaths.of(self._settings).data_dir
        places = [check_root(root, allow_any_root=self._settings.allow_any_root, data_dir=data_dir) for root in roots]
        total = SyncReport()
        with self._store.writing(self._settings.lock_timeout_s):
            for place in places:
                total.notes += filter(None, [self._relocation.apply(place), self._bare_repository_note(place)])
                for root, subpaths in self._collection_roots(place, total):
                    collection = self._sources.add_collection(root)
                    self._relocation.note_identity(root)
                    self._note_keeps_deleted(collection.name, not prune)
                    drops = prune and not self._is_subtree_empty(root, subpaths, total)
                    total.add(
                        self._syncs.sync(
                            self._sources.files_at(root, subpaths), collection, subpaths, force, drops, progress
                        )
                    )
            if self._store.maintenance.damaged_parts():
                self._store.maintenance.finish_repair(progress)
            self._store.maintenance.optimize(progress)
        if vectors:
            self._syncs.embed(total, progress, self._settings.lock_timeout_s, timeout_after(embed_for_s))
        return total

    def encode(
        self,
        *,
        progress: ProgressCallback = no_progress,
        pause: Callable[[], bool] = never_pause,
        timeout_s: float = 0.0,
        switch: bool = False,
        quick_only: bool = False,
        behind_questions: bool = False,
    ) -> SyncReport:
        """Encode missing vectors without the write lock, until `pause` says that other work waits.

        If another process is encoding, the report's notes say so.

        - `switch`: use the configured encoder instead of any other
        - `quick_only`: only vectors of the quick encoder, if they suffice to answer
        - `behind_questions`: at the lowest priority, and not while queries arrive
        """
        self._core.encoders.check()
        report = SyncReport()
        self._syncs.embed(
            report, progress, timeout_s, pause, switch=switch, quick_only=quick_only, behind_questions=behind_questions
        )
        return report

    def refresh(
        self,
        collection: str,
        paths: Iterable[str],
        *,
        progress: ProgressCallback = no_progress,
        timeout_s: float | None = None,
    ) -> SyncReport:
        """Reindex exactly these files and directories of a collection, without vectors; drop deleted files.

        Raises IndexBusy if the write lock is not available in time.
        """
        subpaths = tuple(paths)
        wait_s = self._settings.lock_timeout_s if timeout_s is None else timeout_s
        return self.refresh_paths(collection, subpaths, wait_s, progress) if subpaths else SyncReport()

    def refresh_paths(
        self, collection: str, subpaths: tuple[str, ...], wait_s: float, progress: ProgressCallback = no_progress
    ) -> SyncReport:
        with self._store.writing(wait_s):
            known = self._core.collection(collection)
            drops = not keeps_deleted_files(self._store.catalog, collection)
            return self._syncs.sync(
                self._sources.files_at(Path(known.root), subpaths), known, subpaths, False, drops, progress
            )

    def _note_keeps_deleted(self, collection: str, keeps: bool) -> None:
        """Remember whether this run keeps deleted files. Freshness checks then keep them too, until a run drops
        them."""
        if keeps != keeps_deleted_files(self._store.catalog, collection):
            self._store.writer.note(KEEP_DELETED_KEY_PREFIX + collection, "yes" if keeps else "")

    def warm(self) -> None:
        """Start a parser process if there is code, so that no answer has to wait for one."""
        if "code" in self._store.catalog.kinds():
            with suppress(DowseError):  # the first caller that needs a parser gets the error
                self._syncs.parser_pool().warm()

    def index_source(self, name: str, source: Source, *, progress: ProgressCallback = no_progress) -> SyncReport:
        """Index any source under a name, for example a labelled corpus for evaluation."""
        with self._store.writing(self._settings.lock_timeout_s):
            collection = self._store.writer.add_collection(name)
            self._sources.set(collection.name, source)
            report = self._syncs.sync(source, collection, (), False, True, progress)
            self._store.maintenance.optimize(progress)
        self._syncs.embed(report, progress, self._settings.lock_timeout_s)
        return report

    def _collection_roots(self, place: Path, report: SyncReport) -> list[tuple[Path, tuple[str, ...]]]:
        """Return the roots to sync, each with the subtree to sync.

        A place inside an indexed root belongs to that root, and a single file to its directory. Roots inside the place
        keep their own files.
        """
        known = [Path(it.root) for it in self._core.collections()]
        around = [root for root in known if root == place or root in place.parents]
        root = max(around, key=lambda it: len(it.parts)) if around else place if place.is_dir() else place.parent
        subpaths = place.relative_to(root).as_posix()
        inside = [it for it in known if place in it.parents]
        inside += [it for it in self._memory_folders(root) if subpaths == "." and it not in known]
        gone = [it for it in inside if not is_intact_root(it)]
        report.deleted += sum(self._drop_memory_folder(it) for it in gone if it == root / MEMORIES_FOLDER)
        unavailable = [it for it in gone if it != root / MEMORIES_FOLDER]
        report.notes += [f"{it} is missing; its index was kept" for it in unavailable]
        return [(root, () if subpaths == "." else (subpaths,)), *((it, ()) for it in inside if it not in gone)]

    def _drop_memory_folder(self, place: Path) -> int:
        """Drop the records of a memory folder that was deleted from an existing root."""
        known = next(it for it in self._store.catalog.collections() if Path(it.root) == place)
        dropped = self._store.writer.drop(known.name, list(self._store.catalog.versions(known.name)))
        self._store.writer.record_listing(known.name, listed=0, at=None)
        return dropped

    def index_new_memory_folders(self, timeout_s: float) -> tuple[str, ...]:
        """Index memory folders created since their root was indexed; return a sentence for each failure.

        They are not in any collection yet, so the disk scan would not find them.
        """
        known = self._store.catalog.collections()
        roots = [Path(it.root) for it in known if it.source == FILES and Path(it.root).is_absolute()]
        places = {it for root in roots for it in self._memory_folders(root)} - {Path(it.root) for it in known}
        notes = []
        for place in sorted(places):
            try:
                with self._store.writing(timeout_s):
                    collection = self._sources.add_collection(place)
                    self._syncs.sync(self._sources.files_at(place), collection, (), False, True, no_progress)
            except DowseError as error:
                notes.append(f"{place} is not indexed yet: {error}")
        return tuple(notes)

    def _memory_folders(self, root: Path) -> list[Path]:
        """Return the memory folders of a root. Links are skipped, because they may lead anywhere."""
        user_folders = (
            [DataPaths.of(self._settings).memories.resolve()] if self._settings.memory_location != "project" else []
        )
        return [it for it in (root / MEMORIES_FOLDER, *user_folders) if is_directory(it) and not it.is_symlink()]

    def _is_subtree_empty(self, root: Path, subpaths: tuple[str, ...], report: SyncReport) -> bool:
        """Return whether an explicitly named subtree has no files: its disk may not be mounted."""
        emptied = [place for place in subpaths if has_no_files(str(root / place))]
        report.notes += [f"{root / place} is empty now, so its index was kept" for place in emptied]
        return bool(emptied)

    def _bare_repository_note(self, place: Path) -> str:
        """Return a note for a bare repository, where a user may expect files; otherwise an empty string."""
        if not is_bare(str(place)):
            return ""
        history = "its history is indexed" if self._settings.git else "histories are disabled (git = false)"
        files = "only the files of work trees in it are indexed" if find_work_trees(str(place)) else "it has no files"
        return f"{place} is a bare git repository: {files}; {history}"

    def files_of(self, collection: str) -> FileSource:
        """Return the source of a collection's files on disk."""
        return self._sources.files_of(collection)

    def relocate(self, place: Path, former: Path | None = None) -> str:
        """Assign a collection whose root is gone to this place; see `RootRelocation.relocate`."""
        return self._relocation.relocate(place, former)

    def checkpoint(self) -> None:
        """Checkpoint everything into the index file, so that it can be moved."""
        self._store.maintenance.checkpoint()
