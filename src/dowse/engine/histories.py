"""The histories of the repositories below the roots: found, brought into the index, and tied to the files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dowse.engine.base import TREES
from dowse.engine.indexing import Indexing
from dowse.engine.syncing import after, never, quiet
from dowse.errors import BadInput
from dowse.ingest.embed import Progress
from dowse.ingest.sources.budget import cut_of
from dowse.ingest.sources.git.commits import TOLD, WHOLE, CommitSource
from dowse.ingest.sources.git.moves import tips_of
from dowse.ingest.sources.git.refs import refs_of
from dowse.ingest.sources.git.repositories import (
    Discovery,
    Found,
    git_directory_at,
    home_of,
    repositories,
)
from dowse.ingest.sources.git.repository import (
    common_directory_of,
    is_git_directory,
    work_tree_above,
)
from dowse.ingest.sources.git.traps import trap_in
from dowse.model import COMMITS, FILES, MEMORIES, Collection, Record, Skipped, SyncReport
from dowse.places import Places, is_stored_root, leads_elsewhere

if TYPE_CHECKING:
    from dowse.ingest.sources.git.work_tree.uncommitted import Spans

REFS: Final = "refs "
TIPS: Final = "tips "
"""With the name of a history behind them, the manifest's keys for the state it was indexed at and how, and for the
commits that all others were found from."""
_REFUSED: Final = "refused histories"
_STAGE: Final = "history"
_IN_PART: Final = "in part"
_DROPPED_AT_ONCE: Final = 1_000


@dataclass(frozen=True, slots=True)
class Repository:
    git_directory: Path
    work_tree: Path | None


class Histories(Indexing):
    def index_history(
        self,
        *,
        force: bool = False,
        for_s: float | None = None,
        pause: Callable[[], bool] = never,
        progress: Progress = quiet,
    ) -> SyncReport:
        """Bring the history of every repository at, around and below the roots in line, words only: for at most
        `for_s` seconds, and until `pause` says that other work waits; the next run goes on from there. Where histories
        are left out, those that are there are dropped."""
        report = SyncReport()
        if not self.settings.git:
            for history in self.histories():
                self._drop_history(history, "is left out now (git = false)", report)
            return report
        out_of_time = after(for_s)
        found = self._discovered(self._file_roots())
        report.notes += found.problems
        report.notes += [f"the history at {place} is not indexed: {why}" for place, why in found.refused.items()]
        for it in found.found:
            report.add(self._index_repository(it, force, lambda: out_of_time() or pause(), progress))
        self._leave(found, report)
        self._note_refused(found)
        return report

    # --- other roots ---

    def remove_other_roots(self, *kept: Path) -> str:
        """Remove every collection that belongs neither to these roots nor to what lies below them; what was done, in a
        sentence. Raises IndexBusy where the write lock is not to be had: such an index gives no answers."""
        if not self._others_than(kept):
            return ""
        with self._store.writing(self.settings.lock_timeout_s):
            moved = [self._relocate(it) for it in kept]  # another root may be the former path of one of these
            others = self._others_than(kept)
            gone = [it.root for it in others if it.source == FILES]
            for it in others:
                self._remove(it)
            self._store.tidy(quiet)
        told = f"removed {', '.join(gone)} from the index of {', '.join(map(str, kept))}" if gone else ""
        return "; ".join(filter(None, (*moved, told)))

    def _others_than(self, kept: Sequence[Path]) -> list[Collection]:
        """Roots last: as long as one of them is there, another run goes on."""
        every = [it for it in self._store.collections() if Path(it.root).is_absolute()]
        inside = [it for it in every if any(Path(it.root).is_relative_to(root) for root in kept)]
        roots = [it for it in every if it.source == FILES and it not in inside]
        if not roots:
            return []
        user = Places.of(self.settings).memories.resolve()
        memories = [it for it in every if it.source == MEMORIES and it not in inside and Path(it.root) != user]
        found = self._discovered(Path(it.root) for it in inside if it.source == FILES).found
        own = {it.git_directory for it in found}
        histories = [it for it in every if it.source == COMMITS and it not in inside]
        return [*(it for it in histories if git_directory_at(it.root) not in own), *memories, *roots]

    def refused_histories(self) -> list[Skipped]:
        """The repositories below the roots that are not read, and why, as the last run found them."""
        noted: dict[str, str] = json.loads(self._store.manifest().get(_REFUSED) or "{}")
        roots = {it.root: it.name for it in self.collections()}
        homes = ((next((root for root in roots if f"{place}/".startswith(f"{root}/")), ""), place) for place in noted)
        return [
            Skipped(roots.get(root, ""), place.removeprefix(root).lstrip("/") or ".", noted[place], 0, 0)
            for root, place in homes
        ]

    # --- asking about them ---

    def repository(self, history: str) -> Repository:
        """Where git keeps this history, and the work tree that belongs to it, if there is one."""
        collection = self._collection(history)
        if collection.source != COMMITS:
            raise BadInput(f"{history!r} is no history of a repository; `dowse status` lists them")
        trees, place = self._work_trees(collection), git_directory_at(collection.root)
        if leads_elsewhere(place):
            raise BadInput(f"{place} leads elsewhere now; to read that history, index its own repository")
        return Repository(place, trees[0] if trees else None)

    def history_of(self, record: Record) -> tuple[Collection, str] | None:
        """The history that tells of this file, and the path the file has there; None outside of git."""
        home = self._collection(record.collection)
        place = Path(home.root, record.path)
        top = work_tree_above(str(place.parent)) if home.source != COMMITS else None
        if top is None:
            return None
        history = self._history_at(common_directory_of(top).resolve())
        return (history, place.relative_to(top).as_posix()) if history else None

    def edited_lines(self, record: Record) -> Spans:
        """Those of the file in its work tree that the last commit has not; all of a file that only one of them has."""
        return self._edits.of(Path(self._collection(record.collection).root, record.path))

    def file_of(self, history: str, repo_path: str) -> Record | None:
        """The file that lies at this path of the repository now, if it is indexed."""
        for top in self._work_trees(self._collection(history)):
            place = top / repo_path
            for home in self.collections():
                if place.is_relative_to(home.root):
                    found = self._store.records(place.relative_to(home.root).as_posix(), home.name)
                    if found:
                        return found[0]
        return None

    # --- bringing them in ---

    def _discovered(self, roots: Iterable[Path]) -> Discovery:
        """Each repository once, with the work trees that any of these roots leads to."""
        every = Discovery()
        trees: dict[Path, tuple[Path, ...]] = {}
        for root in roots:
            if is_stored_root(root):
                below = repositories(root, self._files(root).judge().reaches)
                every.problems += below.problems
                every.refused |= below.refused
                for it in below.found:
                    trees[it.git_directory] = tuple(dict.fromkeys((*trees.get(it.git_directory, ()), *it.work_trees)))
        every.found = [Found(*it) for it in trees.items()]
        return every

    def _file_roots(self) -> list[Path]:
        return [Path(it.root) for it in self._store.collections() if it.source == FILES and Path(it.root).is_absolute()]

    def _index_repository(
        self, found: Found, force: bool, enough: Callable[[], bool], progress: Progress
    ) -> SyncReport:
        refs = refs_of(str(found.git_directory))
        if refs is None:
            trap = trap_in(str(found.git_directory))
            why = f" ({trap})" if trap else ""
            return SyncReport(notes=[f"{found.git_directory} can not be read{why}; what was indexed of it was kept"])
        state = f"{refs.token} {self._how_histories_are_read()}"
        known = self._history_at(found.git_directory)
        if known and not force and self._store.manifest().get(REFS + known.name) == state:
            return SyncReport(listed=known.listed, unchanged=known.listed)
        total = SyncReport()
        while not enough():
            report, is_whole = self._part(found, state, force, enough, progress)
            total.go_on(report)
            if is_whole:
                return total
        total.notes.append(f"the history in {found.git_directory} is indexed only in part; the next run goes on")
        return total

    def _part(
        self, found: Found, state: str, force: bool, enough: Callable[[], bool], progress: Progress
    ) -> tuple[SyncReport, bool]:
        """As much as can be done until others want to write; whether that was all. A forced run reads everything in
        one go, because nothing would tell the next one where it was."""
        stop = never if force else lambda: enough() or self._store.waited_for()
        tips = tips_of(found.git_directory)
        with self._store.writing(self.settings.lock_timeout_s):
            collection = self._history_at(found.git_directory) or self._add_history(found)
            self._note_work_trees(collection, found)
            report = self._sync_history(collection, force, stop, progress)
            is_whole = self._collection(collection.name).synced_at != collection.synced_at
            if is_whole:
                self._note_state(collection.name, state, tips)
            self._store.tidy(progress)
        report.notes += self._left_out_of(collection)
        return report, is_whole

    def _left_out_of(self, collection: Collection) -> list[str]:
        """What a run says of commits that are not in the index though they are in the repository."""
        cut = self._cut(collection)
        told = (self._problem_of(collection), f"{cut.path[:12]} is {cut.reason}" if cut else "")
        return [f"{collection.name}: {it}" for it in told if it]

    def _sync_history(
        self, collection: Collection, force: bool, enough: Callable[[], bool], progress: Progress
    ) -> SyncReport:
        def step(_: str, done: int, total: int) -> None:
            progress(_STAGE, done, total)

        former = self._sources.pop(collection.name, None)  # may know other rules than there are now
        if isinstance(former, CommitSource):
            former.close()
        source = self._commits(collection)
        try:
            return self._run_sync(source, collection, force=force, progress=step, enough=enough)
        finally:
            source.close()

    def _add_history(self, found: Found) -> Collection:
        taken = {it.root for it in self._store.collections()}
        root = home_of(found.git_directory, taken)
        return self._store.add_collection(root, source=COMMITS, name=found.name)

    def _history_at(self, git_directory: Path) -> Collection | None:
        return next((it for it in self.histories() if git_directory_at(it.root) == git_directory), None)

    def _problem_of(self, collection: Collection) -> str:
        """Why not all of it could be listed."""
        return next((it.reason for it in self._unread(collection.name) if it.path == WHOLE), "")

    def _unread(self, history: str) -> list[Skipped]:
        """What could not be listed or read of it, other than what is left out on purpose."""
        skipped = [it for it in self._store.skipped() if it.collection == history]
        cut = cut_of(skipped, history)
        return [it for it in skipped if it != cut]

    def _note_state(self, history: str, state: str, tips: str) -> None:
        """Where something could not be read it is not quite the state, so that the next run tries again."""
        unread = self._unread(history)
        self._note_once(REFS + history, f"{state} {_IN_PART}" if unread else state)
        self._note_once(TIPS + history, "" if unread else tips)

    def _how_histories_are_told(self) -> str:
        """What answers about a history depend on, without the cutting of texts, which takes long to ask for."""
        return f"{self.settings.max_commits} {self.settings.delta_lines} {TOLD} {self._excludes_token()} "

    def _how_histories_are_read(self) -> str:
        from dowse.ingest.chunk import fingerprint  # brings every extractor with it

        return self._how_histories_are_told() + fingerprint(self._history_limits())

    def _leave(self, found: Discovery, report: SyncReport) -> None:
        """What no root leads to any more is dropped; what is not there at all may only be out of reach."""
        there = {it.git_directory for it in found.found}
        complete = all(map(is_stored_root, self._file_roots()))
        for it in self.histories():
            place = git_directory_at(it.root)
            if place in there:
                continue
            if not is_git_directory(str(place)):
                report.notes.append(f"{place} is not there now; what was indexed of its history was kept")
            elif complete:
                self._drop_history(it, "is below no root any more", report)

    def _drop_history(self, history: Collection, why: str, report: SyncReport) -> None:
        """As if it had never been indexed: an empty one would look like a repository without commits."""
        with self._store.writing(self.settings.lock_timeout_s):
            if history.name not in [it.name for it in self.histories()]:
                return  # another process was sooner
            report.deleted += self._remove(history)
        report.notes.append(f"the history in {git_directory_at(history.root)} {why}; it was dropped")

    def _remove(self, collection: Collection) -> int:
        """How many records it had; for whoever holds the write lock."""
        for key in (REFS, TIPS):  # first, so that one that is dropped in part is known not to be whole
            self._note_once(key + collection.name, "")
        paths, dropped = list(self._store.versions(collection.name)), 0
        for first in range(0, len(paths), _DROPPED_AT_ONCE):
            with self._store.batch():
                dropped += self._store.drop(collection.name, paths[first : first + _DROPPED_AT_ONCE])
        self._store.remove_collection(collection.name)
        self._note_once(TREES + collection.name, "")
        self._sources.pop(collection.name, None)
        return dropped

    def _note_work_trees(self, history: Collection, found: Found) -> None:
        self._note_once(TREES + history.name, json.dumps([str(it) for it in found.work_trees]))

    def _note_refused(self, found: Discovery) -> None:
        refused = json.dumps(found.refused) if found.refused else ""
        if self._store.manifest().get(_REFUSED, "") != refused:
            with self._store.writing(self.settings.lock_timeout_s):
                self._store.note(_REFUSED, refused)

    def _note_once(self, key: str, value: str) -> None:
        if self._store.manifest().get(key, "") != value:
            self._store.note(key, value)
