"""Bringing roots into the index: words first, vectors behind them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from dowse.engine.syncing import Syncing, after, never, quiet
from dowse.errors import DowseError
from dowse.ingest.embed import Progress
from dowse.ingest.sources.base import Source
from dowse.ingest.sources.files import holds_no_file
from dowse.ingest.sources.git.bare import work_trees_in
from dowse.ingest.sources.git.repository import is_bare
from dowse.ingest.sources.memories import FOLDER
from dowse.model import FILES, SyncReport
from dowse.places import Places, checked_root, is_directory, is_stored_root
from dowse.store.base import KEPT, Catalog


def is_kept(store: Catalog, collection: str) -> bool:
    """Whether what is gone from the disk stays in the index on purpose."""
    return bool(store.manifest().get(KEPT + collection))


class Indexing(Syncing):
    def index(
        self,
        roots: Sequence[Path],
        *,
        force: bool = False,
        prune: bool = True,
        vectors: bool = True,
        embed_for_s: float | None = None,
        progress: Progress = quiet,
    ) -> SyncReport:
        """Bring the roots into the index, words first, then vectors (for at most `embed_for_s` seconds), if wanted."""
        self._semantics.check()
        data_dir = Places.of(self.settings).data_dir
        places = [checked_root(root, any_root=self.settings.any_root, data_dir=data_dir) for root in roots]
        total = SyncReport()
        with self._store.writing(self.settings.lock_timeout_s):
            for place in places:
                total.notes += filter(None, [self._relocate(place), self._bareness(place)])
                for root, under in self._collection_roots(place, total):
                    collection = self._add_collection(root)
                    self._note_identity(root)
                    self._keep(collection.name, not prune)
                    drops = prune and not self._is_emptied(root, under, total)
                    total.add(self._sync(self._files(root, under), collection, under, force, drops, progress))
            if self._store.damaged():
                self._store.finish_mending(progress)
            self._store.tidy(progress)
        if vectors:
            self._embed(total, progress, self.settings.lock_timeout_s, after(embed_for_s))
        return total

    def encode(
        self,
        *,
        progress: Progress = quiet,
        pause: Callable[[], bool] = never,
        timeout_s: float = 0.0,
        switch: bool = False,
        quick_only: bool = False,
        behind_questions: bool = False,
    ) -> SyncReport:
        """Vectors for what has none, while others may write, until `pause` says that other work waits. Where another
        process makes them, its notes say so. `switch`: by the encoder that is asked for, instead of any other's.
        `quick_only`: just those of the quick encoder, if they are enough to answer with. `behind_questions`: at the
        lowest priority, and not while questions are asked."""
        self._semantics.check()
        report = SyncReport()
        self._embed(
            report, progress, timeout_s, pause, switch=switch, quick_only=quick_only, behind_questions=behind_questions
        )
        return report

    def refresh(
        self, collection: str, paths: Iterable[str], *, progress: Progress = quiet, timeout_s: float | None = None
    ) -> SyncReport:
        """Bring exactly these files and directories of a collection in line with the disk, words only: new and changed
        ones are read, what is gone is dropped. Raises IndexBusy when the write lock is not to be had in time."""
        under = tuple(paths)
        wait_s = self.settings.lock_timeout_s if timeout_s is None else timeout_s
        return self._bring_in_line(collection, under, wait_s, progress) if under else SyncReport()

    def _bring_in_line(
        self, collection: str, under: tuple[str, ...], wait_s: float, progress: Progress = quiet
    ) -> SyncReport:
        with self._store.writing(wait_s):
            known = self._collection(collection)
            drops = not is_kept(self._store, collection)
            return self._sync(self._files(Path(known.root), under), known, under, False, drops, progress)

    def _keep(self, collection: str, kept: bool) -> None:
        """What this run was told to keep, no answer drops either, until a run drops it."""
        if kept != is_kept(self._store, collection):
            self._store.note(KEPT + collection, "yes" if kept else "")

    def warm(self) -> None:
        """Have a parser ready where there is code, so that an answer need not wait for one to start."""
        if "code" in self._store.kinds():
            with suppress(DowseError):  # whoever needs one will be told
                self._parsers().warm()

    def index_source(self, name: str, source: Source, *, progress: Progress = quiet) -> SyncReport:
        """Bring any source into the index under a name, e.g. a labelled corpus for evaluation."""
        with self._store.writing(self.settings.lock_timeout_s):
            collection = self._store.add_collection(name)
            self._sources[collection.name] = source
            report = self._sync(source, collection, (), False, True, progress)
            self._store.tidy(progress)
        self._embed(report, progress, self.settings.lock_timeout_s)
        return report

    def _collection_roots(self, place: Path, report: SyncReport) -> list[tuple[Path, tuple[str, ...]]]:
        """The roots to sync, each with the part of it. A place inside a root that is indexed already belongs to
        it, a lone file to its directory; roots that lie inside the place keep their own files."""
        known = [Path(it.root) for it in self.collections()]
        around = [root for root in known if root == place or root in place.parents]
        root = max(around, key=lambda it: len(it.parts)) if around else place if place.is_dir() else place.parent
        under = place.relative_to(root).as_posix()
        inside = [it for it in known if place in it.parents]
        inside += [it for it in self._memory_folders(root) if under == "." and it not in known]
        gone = [it for it in inside if not is_stored_root(it)]
        report.deleted += sum(self._forget_folder(it) for it in gone if it == root / FOLDER)
        kept = [it for it in gone if it != root / FOLDER]
        report.notes += [f"{it} is not there any more; what was indexed of it was kept" for it in kept]
        return [(root, () if under == "." else (under,)), *((it, ()) for it in inside if it not in gone)]

    def _forget_folder(self, place: Path) -> int:
        """A folder of memories that was removed from a root that is there: with its files goes what was indexed."""
        known = next(it for it in self._store.collections() if Path(it.root) == place)
        dropped = self._store.drop(known.name, list(self._store.versions(known.name)))
        self._store.mark(known.name, listed=0, at=None)
        return dropped

    def _take_in_new_memories(self, timeout_s: float) -> tuple[str, ...]:
        """A folder of memories that somebody made in a root since that was indexed: no collection has it yet, so that
        no look at the disk would find it. Sentences about those that could not be taken in."""
        known = self._store.collections()
        roots = [Path(it.root) for it in known if it.source == FILES and Path(it.root).is_absolute()]
        places = {it for root in roots for it in self._memory_folders(root)} - {Path(it.root) for it in known}
        notes = []
        for place in sorted(places):
            try:
                with self._store.writing(timeout_s):
                    collection = self._add_collection(place)
                    self._sync(self._files(place), collection, (), False, True, quiet)
            except DowseError as error:
                notes.append(f"{place} is not indexed yet: {error}")
        return tuple(notes)

    def _memory_folders(self, root: Path) -> list[Path]:
        """Those that come with a root, whoever wrote them; a link in their place may lead anywhere."""
        kept = [Places.of(self.settings).memories.resolve()] if self.settings.memories != "project" else []
        return [it for it in (root / FOLDER, *kept) if is_directory(it) and not it.is_symlink()]

    def _is_emptied(self, root: Path, under: tuple[str, ...], report: SyncReport) -> bool:
        """A part that was asked for by name and holds no file may be a disk that is not mounted."""
        emptied = [place for place in under if holds_no_file(str(root / place))]
        report.notes += [f"{root / place} is empty now, so what was indexed of it was kept" for place in emptied]
        return bool(emptied)

    def _bareness(self, place: Path) -> str:
        """What is to be said where somebody may look for files in vain."""
        if not is_bare(str(place)):
            return ""
        history = "its history is indexed" if self.settings.git else "histories are left out, too (git = false)"
        files = "only the files of work trees in it are indexed" if work_trees_in(str(place)) else "it has no files"
        return f"{place} is where git keeps a repository: {files}; {history}"

    def settle(self) -> None:
        """Leave everything in the index file itself, so that it can be moved."""
        self._store.settle()
