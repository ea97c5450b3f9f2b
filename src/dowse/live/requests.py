"""What a server asks its queue for, so that its index is in line with the disk; what is to follow comes by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from dowse.config import Settings
from dowse.engine import Engine
from dowse.live.jobs import Job, Jobs
from dowse.live.watch import Batch, Watcher
from dowse.live.work import Check, Encode, Follow, Heal, Index, ReadHistory


class Requests:
    """Files first, then quick vectors of them, then histories, then vectors: each asks for the next when it is done."""

    def __init__(
        self, engine: Callable[[], Engine], jobs: Jobs, settings: Settings, index: Path, *, vectors: bool
    ) -> None:
        self.roots: tuple[Path, ...] = ()
        self._engine = engine
        self._jobs = jobs
        self._settings = settings
        self._index = index
        self._vectors = vectors

    def take(self, roots: Iterable[Path]) -> None:
        """Serve these too."""
        self.roots = tuple(dict.fromkeys((*self.roots, *roots)))

    # --- files ---

    def index(self, *, force: bool = False) -> Job:
        """Compare the server's own roots with the disk."""
        work = Index(self._engine, self.roots, force, self._behind_files)
        return self._jobs.submit("index", work, key=work.roots, join=Index.joined)

    def compare(self, unless_done: Callable[[Index], object]) -> Job:
        """Compare all that is indexed with the disk."""
        work = Index(self._engine, (), False, self._behind_files)
        return self._jobs.submit("reconcile", work, join=Index.joined, unless_done=unless_done)

    def follow(self, batch: Batch, watcher: Watcher) -> Job:
        """Bring in what the watcher has seen change; it is told what became of it."""

        def then(batches: Sequence[Batch]) -> None:
            for it in batches:
                watcher.done(it)
            if any(it.whole for it in batches):  # a repository may have come, or git have been at work
                self.read_history()

        def missed(work: Follow) -> None:
            for it in work.batches:
                watcher.missed(it)

        work = Follow(self._engine, batch.collection, self._settings.bulk_threshold, (batch,), then)
        kind = "reconcile" if batch.whole else "follow"
        return self._jobs.submit(kind, work, key=batch.collection, join=Follow.joined, unless_done=missed)

    def _behind_files(self) -> None:
        if self._vectors and not self._engine().answers_by_meaning():
            self.encode_quickly()
        if self.read_history() is None:
            self.encode()

    # --- behind them ---

    def read_history(self) -> Job | None:
        """Bring in what the repositories tell, or drop it where histories are left out, behind all work on files;
        vectors follow."""
        if not self._settings.git and not self._engine().histories():
            return None
        work = ReadHistory(self._engine, self.read_history, self.encode)
        return self._jobs.submit("history", work, background=True)

    def encode_quickly(self) -> Job:
        """Make vectors to answer with, before histories, which may take long."""
        work = Encode(self._engine, self.encode_quickly, quick_only=True)
        return self._jobs.submit("encode", work, key="quick")

    def encode(self) -> Job | None:
        """Make the vectors that are missing, behind all other work."""
        if not self._vectors:
            return None
        work = Encode(self._engine, self.encode, lambda: self._jobs.running("history") is not None)
        return self._jobs.submit("encode", work, background=True)

    # --- damage ---

    def heal(self) -> Job:
        return self._jobs.submit("heal", self._healing())

    def check(self) -> Job:
        return self._jobs.submit("check", Check(self._healing()), background=True)

    def _healing(self) -> Heal:
        return Heal(self._settings, self._index, self.roots[0], self.encode)
