"""Indexing of git histories: which repositories there are, which commits are missing, and repairs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dowse.engine.core import WORK_TREES_KEY, EngineCore
from dowse.engine.index_service import RootRelocation, SyncRunner, never_pause, no_progress, timeout_after
from dowse.errors import BadInput
from dowse.git.refs import read_refs, refs_token
from dowse.git.repositories import (
    FoundRepository,
    RepositoryDiscovery,
    find_repositories,
    git_directory_of_history,
    history_root_of,
)
from dowse.git.repository import common_directory_of, is_git_directory, work_tree_above
from dowse.git.runner import find_blocking_file
from dowse.ingest.embed import ProgressCallback
from dowse.ingest.sources.base import find_cutoff
from dowse.ingest.sources.commits import (
    COMMIT_FORMAT,
    WHOLE_HISTORY,
    RefUpdate,
    compare_newest_commits,
    compare_ref_tips,
    snapshot_ref_tips,
)
from dowse.model import COMMITS, FILES, MEMORIES, Collection, Record, SkippedItem, SyncReport
from dowse.paths import DataPaths, is_intact_root, is_redirected_root

if TYPE_CHECKING:
    from dowse.git.worktree import ChangedSpans

REFS_KEY: Final = "refs "
TIPS_KEY: Final = "tips "
"""Metadata key prefixes; the name of a history follows. REFS holds the ref state and the format it was indexed with,
TIPS the commits that all others were reached from."""
_REFUSED_KEY: Final = "refused histories"
_HISTORY_STAGE: Final = "history"
_INCOMPLETE_MARK: Final = "in part"
_DROP_BATCH_SIZE: Final = 1_000
# More new commits than this are left to a sync or the watcher.
_MAX_NEW_COMMITS: Final = 20
_TOO_MANY_COMMITS: Final = "{} has many new commits; run `dowse index`"
OTHER_FORMAT: Final = "indexed by another version or with other settings; run `dowse index` to reindex it"


@dataclass(frozen=True, slots=True)
class RepositoryPaths:
    git_directory: Path
    work_tree: Path | None


class RepositoryLookup:
    """Finds the repository and history of a file, and the file of a path in a history."""

    def __init__(self, core: EngineCore) -> None:
        self._core = core
        self._settings = core.settings
        self._store = core.store
        self._sources = core.sources

    def repository(self, history: str) -> RepositoryPaths:
        """Return the git directory of a history, and its work tree if there is one."""
        collection = self._core.collection(history)
        if collection.source != COMMITS:
            raise BadInput(f"{history!r} is not a git history; `dowse status` lists them")
        trees, place = self._sources.work_trees(collection), git_directory_of_history(collection.root)
        if is_redirected_root(place):
            raise BadInput(f"{place} is now a link; to read that history, index the repository it leads to")
        return RepositoryPaths(place, trees[0] if trees else None)

    def history_of(self, record: Record) -> tuple[Collection, str] | None:
        """Return the history that contains this file, and the file's path there; None outside git."""
        home = self._core.collection(record.collection)
        place = Path(home.root, record.path)
        top = work_tree_above(str(place.parent)) if home.source != COMMITS else None
        if top is None:
            return None
        history = self._core.history_at(common_directory_of(top).resolve())
        return (history, place.relative_to(top).as_posix()) if history else None

    def edited_lines(self, record: Record) -> ChangedSpans:
        """Return the lines of the work tree file that differ from the last commit; all lines if only one side has the
        file."""
        return self._core.edits.lines_of(Path(self._core.collection(record.collection).root, record.path))

    def file_of(self, history: str, repo_path: str) -> Record | None:
        """Return the indexed file that is now at this path of the repository."""
        for top in self._sources.work_trees(self._core.collection(history)):
            place = top / repo_path
            for home in self._core.collections():
                if place.is_relative_to(home.root):
                    found = self._store.catalog.records(place.relative_to(home.root).as_posix(), home.name)
                    if found:
                        return found[0]
        return None

    # --- indexing ---


class HistoryIndex:
    """Indexes the histories of all repositories at, around and below the roots."""

    def __init__(self, core: EngineCore, relocation: RootRelocation, syncs: SyncRunner) -> None:
        self._core = core
        self._settings = core.settings
        self._store = core.store
        self._sources = core.sources
        self._relocation = relocation
        self._syncs = syncs

    def index_history(
        self,
        *,
        force: bool = False,
        for_s: float | None = None,
        pause: Callable[[], bool] = never_pause,
        progress: ProgressCallback = no_progress,
    ) -> SyncReport:
        """Index the history of every repository at, around and below the roots, without vectors.

        Stops after `for_s` seconds or when `pause` says that other work waits; the next run resumes there. If histories
        are disabled, indexed ones are dropped.
        """
        report = SyncReport()
        if not self._settings.git:
            for history in self._core.histories():
                self._drop_history(history, "is disabled (git = false)", report)
            return report
        out_of_time = timeout_after(for_s)
        found = self._discover(self._core.file_roots())
        report.notes += found.problems
        report.notes += [f"the history at {place} is not indexed: {why}" for place, why in found.refused.items()]
        for repository in found.repositories:
            report.add(self._index_repository(repository, force, lambda: out_of_time() or pause(), progress))
        self._drop_unreachable(found, report)
        self._note_refused(found)
        return report

    def collections(self) -> list[Collection]:
        """Return the collections read from repositories."""
        return self._core.histories()

    # --- other roots ---

    def remove_other_roots(self, *kept: Path) -> str:
        """Remove every collection outside these roots; return a sentence about it.

        Raises IndexBusy if the write lock is not available: an index with foreign roots must not answer.
        """
        if not self._collections_outside(kept):
            return ""
        with self._store.writing(self._settings.lock_timeout_s):
            moved = [self._relocation.apply(it) for it in kept]  # another root may be the former path of one of these
            others = self._collections_outside(kept)
            gone = [it.root for it in others if it.source == FILES]
            for collection in others:
                self._remove(collection)
            self._store.maintenance.optimize(no_progress)
        removal = f"removed {', '.join(gone)} from the index of {', '.join(map(str, kept))}" if gone else ""
        return "; ".join(filter(None, (*moved, removal)))

    def _collections_outside(self, kept_roots: Sequence[Path]) -> list[Collection]:
        """Return the collections to remove, roots last: while one is left, an interrupted run resumes."""
        every = [it for it in self._store.catalog.collections() if Path(it.root).is_absolute()]
        inside = [it for it in every if any(Path(it.root).is_relative_to(root) for root in kept_roots)]
        roots = [it for it in every if it.source == FILES and it not in inside]
        if not roots:
            return []
        user = DataPaths.of(self._settings).memories.resolve()
        memories = [it for it in every if it.source == MEMORIES and it not in inside and Path(it.root) != user]
        found = self._discover(Path(it.root) for it in inside if it.source == FILES).repositories
        kept_repositories = {it.git_directory for it in found}
        histories = [it for it in every if it.source == COMMITS and it not in inside]
        return [
            *(it for it in histories if git_directory_of_history(it.root) not in kept_repositories),
            *memories,
            *roots,
        ]

    def refused_histories(self) -> list[SkippedItem]:
        """Return the repositories below the roots that the last run refused to read, and why."""
        noted: dict[str, str] = json.loads(self._store.catalog.metadata().get(_REFUSED_KEY) or "{}")
        roots = {it.root: it.name for it in self._core.collections()}
        homes = ((next((root for root in roots if f"{place}/".startswith(f"{root}/")), ""), place) for place in noted)
        return [
            SkippedItem(roots.get(root, ""), place.removeprefix(root).lstrip("/") or ".", noted[place], 0, 0)
            for root, place in homes
        ]

    def _discover(self, roots: Iterable[Path]) -> RepositoryDiscovery:
        """Find each repository once, with all its work trees below these roots."""
        every = RepositoryDiscovery()
        trees: dict[Path, tuple[Path, ...]] = {}
        for root in roots:
            if is_intact_root(root):
                below = find_repositories(root, self._sources.files_at(root).path_filter().may_enter)
                every.problems += below.problems
                every.refused |= below.refused
                for repository in below.repositories:
                    trees[repository.git_directory] = tuple(
                        dict.fromkeys((*trees.get(repository.git_directory, ()), *repository.work_trees))
                    )
        every.repositories = [FoundRepository(*it) for it in trees.items()]
        return every

    def _index_repository(
        self, found: FoundRepository, force: bool, should_stop: Callable[[], bool], progress: ProgressCallback
    ) -> SyncReport:
        """Try the incremental update first: listing a hundred thousand commits takes seconds."""
        few = None if force else self._update_incrementally(found)
        return few or self._index_all_commits(found, force, should_stop, progress)

    def _index_all_commits(
        self, found: FoundRepository, force: bool, should_stop: Callable[[], bool], progress: ProgressCallback
    ) -> SyncReport:
        refs = read_refs(str(found.git_directory))
        if refs is None:
            trap = find_blocking_file(str(found.git_directory))
            why = f" ({trap})" if trap else ""
            return SyncReport(notes=[f"cannot read {found.git_directory}{why}; its indexed history was kept"])
        state = f"{refs.token} {self._history_format_with_limits()}"
        known = self._core.history_at(found.git_directory)
        if known and not force and self._store.catalog.metadata().get(REFS_KEY + known.name) == state:
            return SyncReport(listed=known.listed, unchanged=known.listed)
        total = SyncReport()
        while not should_stop():
            report, is_whole = self._index_part(found, state, force, should_stop, progress)
            total.go_on(report)
            if is_whole:
                return total
        total.notes.append(f"the history in {found.git_directory} is only partly indexed; the next run continues")
        return total

    def _index_part(
        self,
        found: FoundRepository,
        state: str,
        force: bool,
        should_stop: Callable[[], bool],
        progress: ProgressCallback,
    ) -> tuple[SyncReport, bool]:
        """Index until another process wants to write; return the report and whether the history is complete.

        A forced run reads everything in one go, because the index would not show the next run where to resume.
        """
        stop = never_pause if force else lambda: should_stop() or self._store.has_waiting_writer()
        tips = snapshot_ref_tips(found.git_directory)
        with self._store.writing(self._settings.lock_timeout_s):
            collection = self._core.history_at(found.git_directory) or self._add_history(found)
            self._note_work_trees(collection, found)
            report = self.sync_history(collection, force, stop, progress)
            is_whole = self._core.collection(collection.name).synced_at != collection.synced_at
            if is_whole:
                self._note_state(collection.name, state, tips)
            self._store.maintenance.optimize(progress)
        report.notes += self._omission_notes(collection)
        return report, is_whole

    def _omission_notes(self, collection: Collection) -> list[str]:
        """Return notes about commits of the repository that are not in the index."""
        cut = self._syncs.find_cut(collection)
        reasons = (self.problem_of(collection), f"{cut.path[:12]} is {cut.reason}" if cut else "")
        return [f"{collection.name}: {it}" for it in reasons if it]

    def sync_history(
        self, collection: Collection, force: bool, should_stop: Callable[[], bool], progress: ProgressCallback
    ) -> SyncReport:
        def step(_: str, done: int, total: int) -> None:
            progress(_HISTORY_STAGE, done, total)

        self._sources.forget(collection.name)
        source = self._sources.commits_of(collection)
        try:
            return self._syncs.run(source, collection, force=force, progress=step, should_stop=should_stop)
        finally:
            source.close()

    def _add_history(self, found: FoundRepository) -> Collection:
        taken = {it.root for it in self._store.catalog.collections()}
        root = history_root_of(found.git_directory, taken)
        return self._store.writer.add_collection(root, source=COMMITS, name=found.name)

    def problem_of(self, collection: Collection) -> str:
        """Return why the history could not be listed completely, or an empty string."""
        return next((it.reason for it in self.unread_items(collection.name) if it.path == WHOLE_HISTORY), "")

    def unread_items(self, history: str) -> list[SkippedItem]:
        """Return the items that could not be listed or read; items left out on purpose do not count."""
        skipped = [it for it in self._store.catalog.skipped_items() if it.collection == history]
        cut = find_cutoff(skipped, history)
        return [it for it in skipped if it != cut]

    def _note_state(self, history: str, state: str, tips: str) -> None:
        """Store the indexed state. If an item could not be read, store a different state, so that the next run tries
        again."""
        unread = self.unread_items(history)
        self._set_metadata(REFS_KEY + history, f"{state} {_INCOMPLETE_MARK}" if unread else state)
        self._set_metadata(TIPS_KEY + history, "" if unread else tips)

    def _history_format(self) -> str:
        """Return the settings that answers about a history depend on. Chunk limits are left out: they are slow to
        compute."""
        return (
            f"{self._settings.max_commits} {self._settings.diff_lines} {COMMIT_FORMAT} {self._syncs.excludes_token()} "
        )

    def _history_format_with_limits(self) -> str:
        from dowse.ingest.chunk import chunking_fingerprint  # imports every extractor

        return self._history_format() + chunking_fingerprint(self._syncs.history_limits())

    def _drop_unreachable(self, found: RepositoryDiscovery, report: SyncReport) -> None:
        """Drop histories that no root leads to. A missing git directory may only be unavailable, so its history is
        kept."""
        reachable = {it.git_directory for it in found.repositories}
        complete = all(map(is_intact_root, self._core.file_roots()))
        for history in self._core.histories():
            place = git_directory_of_history(history.root)
            if place in reachable:
                continue
            if not is_git_directory(str(place)):
                report.notes.append(f"{place} is missing; its indexed history was kept")
            elif complete:
                self._drop_history(history, "is no longer below any root", report)

    def _drop_history(self, history: Collection, why: str, report: SyncReport) -> None:
        """Drop a history without a trace: an empty one would look like a repository without commits."""
        with self._store.writing(self._settings.lock_timeout_s):
            if history.name not in [it.name for it in self._core.histories()]:
                return  # another process did it first
            report.deleted += self._remove(history)
        report.notes.append(f"the history in {git_directory_of_history(history.root)} {why}; it was dropped")

    def _remove(self, collection: Collection) -> int:
        """Remove a collection; return its number of records. The caller holds the write lock."""
        for key in (REFS_KEY, TIPS_KEY):  # first, so that an interrupted removal is known to be incomplete
            self._set_metadata(key + collection.name, "")
        paths, dropped = list(self._store.catalog.versions(collection.name)), 0
        for first in range(0, len(paths), _DROP_BATCH_SIZE):
            with self._store.writer.batch():
                dropped += self._store.writer.drop(collection.name, paths[first : first + _DROP_BATCH_SIZE])
        self._store.writer.remove_collection(collection.name)
        self._set_metadata(WORK_TREES_KEY + collection.name, "")
        self._sources.forget(collection.name)
        return dropped

    def _note_work_trees(self, history: Collection, found: FoundRepository) -> None:
        self._set_metadata(WORK_TREES_KEY + history.name, json.dumps([str(it) for it in found.work_trees]))

    def _note_refused(self, found: RepositoryDiscovery) -> None:
        refused = json.dumps(found.refused) if found.refused else ""
        if self._store.catalog.metadata().get(_REFUSED_KEY, "") != refused:
            with self._store.writing(self._settings.lock_timeout_s):
                self._store.writer.note(_REFUSED_KEY, refused)

    def _set_metadata(self, key: str, value: str) -> None:
        if self._store.catalog.metadata().get(key, "") != value:
            self._store.writer.note(key, value)

    # --- new commits before an answer ---

    def outdated_histories(self) -> dict[str, str]:
        """Return the histories that differ from their repositories, each with the token of its current refs."""
        if not self._settings.git:
            return {}
        with self._store.catalog.snapshot():
            noted, histories = self._store.catalog.metadata(), self._core.histories()
        places = {it.name: git_directory_of_history(it.root) for it in histories}
        now = {name: refs_token(str(place)) for name, place in places.items() if not is_redirected_root(place)}
        return {
            name: token
            for name, token in now.items()
            if token is not None and noted.get(REFS_KEY + name, "").partition(" ")[0] != token
        }

    def histories_of_other_format(self) -> list[str]:
        """Return the complete histories whose commits another version, or other settings, would render differently."""
        if not self._settings.git:
            return []
        noted, current_format = self._store.catalog.metadata(), self._history_format()
        states = {it.name: noted.get(REFS_KEY + it.name, "") for it in self._core.histories()}
        return [
            name for name, state in states.items() if state and not state.partition(" ")[2].startswith(current_format)
        ]

    def outdated_complete_histories(self) -> dict[str, str]:
        """Return the outdated histories that were complete once. Answers report incomplete ones anyway."""
        noted = self._store.catalog.metadata()
        return {name: state for name, state in self.outdated_histories().items() if noted.get(REFS_KEY + name)}

    def _update_incrementally(self, found: FoundRepository) -> SyncReport | None:
        """Update incrementally; None if a full run is needed.

        That is the case if the history was never complete, its format changed, or many commits changed.
        """
        known = self._core.history_at(found.git_directory)
        if known is None or known.name not in self.outdated_histories():
            return None
        if (
            self._store.catalog.metadata().get(REFS_KEY + known.name, "").partition(" ")[2]
            != self._history_format_with_limits()
        ):
            return None
        try:
            brought = self.index_new_commits(known.name, self._settings.lock_timeout_s)
        except BadInput:
            return None
        with self._store.writing(self._settings.lock_timeout_s):
            self._note_work_trees(known, found)
        listed = self._core.collection(known.name).listed
        brought = replace(brought, listed=listed, unchanged=max(0, listed - brought.indexed - brought.skipped))
        return replace(brought, notes=[*brought.notes, *self._omission_notes(known)])

    def index_new_commits(self, history: str, wait_s: float) -> SyncReport:
        """Index the new commits; raise BadInput if there are too many, or they cannot be determined."""
        with self._store.writing(wait_s):
            collection = self._core.collection(history)
            place = git_directory_of_history(collection.root)
            refs = None if is_redirected_root(place) else read_refs(str(place))
            tips = snapshot_ref_tips(place)
            token, _, how = self._store.catalog.metadata().get(REFS_KEY + history, "").partition(" ")
            ref_update = self._ref_updates(history, place, tips)
            if refs is None or not token or ref_update is None:
                raise BadInput(_TOO_MANY_COMMITS.format(history))
            if ref_update.removed or collection.listed + len(ref_update.added) > self._settings.max_commits:
                report = self._index_changed_commits(collection, place)
            else:
                report = self._index_ref_updates(ref_update, collection, place)
            self._note_state(history, f"{refs.token} {how}", tips)
        return report

    def _index_changed_commits(self, collection: Collection, place: Path) -> SyncReport:
        """Update a history that may have lost commits, or whose oldest commits leave because of `max_commits`."""
        known = self._store.catalog.versions(collection.name).keys()
        within = compare_newest_commits(place, known, self._settings.max_commits, _MAX_NEW_COMMITS)
        if within is None:
            raise BadInput(_TOO_MANY_COMMITS.format(collection.name))
        ref_update, cut = within
        return self._index_ref_updates(ref_update, collection, place, cut)

    def _index_ref_updates(
        self, ref_update: RefUpdate, collection: Collection, place: Path, cut: tuple[str, str] | None = None
    ) -> SyncReport:
        """Index the ref updates; `cut` is the first commit that is now left out, with the reason."""
        cuts = {cut[0] if cut else "", before.path if (before := self._syncs.find_cut(collection)) else ""} - {""}
        subpaths = {*ref_update.added, *ref_update.removed, *cuts}
        if not subpaths:
            return SyncReport()  # no commit changes if refs were packed, or a branch or tag names a known commit
        source = self._sources.commits_of(collection, ref_update.added, cut)
        try:
            return self._syncs.run(source, collection, subpaths=tuple(subpaths))
        finally:
            source.close()

    def _ref_updates(self, history: str, place: Path, tips: str) -> RefUpdate | None:
        before = self._store.catalog.metadata().get(TIPS_KEY + history, "")
        return compare_ref_tips(place, before, tips, _MAX_NEW_COMMITS) if before and tips else None
