"""Bringing one source into the index, and vectors behind it."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING

from dowse.engine.moving import Moving
from dowse.errors import IndexBusy
from dowse.ingest.embed import Progress
from dowse.ingest.sources.base import Source
from dowse.ingest.sources.defaults import default_exclude
from dowse.ingest.sources.doors import IGNORE_FILE
from dowse.ingest.sources.ignore_files import ignore_file_content
from dowse.model import COMMITS, FILES, IN_FILES, Collection, Scope, Skipped, SyncReport
from dowse.text.secrets import RULES_VERSION

if TYPE_CHECKING:
    from dowse.ingest.chunk import Limits
    from dowse.ingest.workers.pool import Workers

_MANY_FILES = 2_000
_TOKEN_CHARS = 10


def quiet(stage: str, done: int, total: int) -> None:
    pass


def never() -> bool:
    return False


def after(seconds: float | None) -> Callable[[], bool]:
    """Whether so much time has passed since now."""
    deadline = None if seconds is None else time.monotonic() + seconds
    return lambda: deadline is not None and time.monotonic() > deadline


def _token(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_TOKEN_CHARS]


class Syncing(Moving):
    def _sync(
        self,
        source: Source,
        collection: Collection,
        under: tuple[str, ...],
        force: bool,
        prune: bool,
        progress: Progress,
    ) -> SyncReport:
        from dowse.ingest.sources.budget import Budget, Budgeted

        budget = Budget(self.settings.max_files, self.settings.max_total_bytes)
        budgeted = Budgeted(source, budget, self._cut(collection) if under else None)
        report = self._run_sync(budgeted, collection, under=under, force=force, prune=prune, progress=progress)
        if cut := self._cut(collection):
            report.notes.append(f"{cut.path} is {cut.reason}")
        return report

    def _run_sync(
        self,
        source: Source,
        collection: Collection,
        *,
        under: tuple[str, ...] = (),
        force: bool = False,
        prune: bool = True,
        progress: Progress = quiet,
        enough: Callable[[], bool] = never,
    ) -> SyncReport:
        from dowse.ingest.sync import Sync  # brings every extractor with it, and only indexing needs them

        workers = self._parsers()
        sync = Sync(
            source,
            self._store,
            collection.name,
            self._history_limits() if collection.source == COMMITS else self._limits(),
            force,
            prune,
            under,
            progress,
            workers=workers,
            enough=enough,
        )
        report = sync.run()
        if report.indexed >= _MANY_FILES:
            # What they hold of so many is worth more than a quick start of the next ones.
            workers.close()
            self._workers = None
        return report

    def _limits(self, withheld: str = "") -> Limits:
        from dowse.ingest.chunk import Limits

        settings = self.settings
        secrets = "shown" if settings.show_secrets else f"s{RULES_VERSION}"
        return Limits(settings.max_chunk_chars, settings.min_chunk_chars, f"{secrets}{withheld}")

    def _history_limits(self) -> Limits:
        """Of histories, the changes of files that are left out are not told: by other rules they are told anew."""
        return self._limits(f"-{self._excludes_token()}-{self._ignore_files_token()}")

    def _excludes_token(self) -> str:
        """Stands for all settings that say which files are left out."""
        settings = self.settings
        usual = default_exclude(settings.extra_extensions) if settings.default_excludes else ()
        return _token(repr((RULES_VERSION, settings.show_secrets, usual, settings.exclude)))

    def _ignore_files_token(self) -> str:
        """Stands for what every `.dowseignore` says, as far as they are indexed, or lie in a root."""
        roots = [it for it in self._store.collections() if it.source == FILES]
        own = ((it.name, ignore_file_content(f"{it.root}/{IGNORE_FILE}")) for it in roots)
        others = self._store.select(Scope(kinds=IN_FILES, paths=(IGNORE_FILE,)))
        return _token(repr((sorted(own), sorted((it.collection, it.path, it.digest) for it in others))))

    def _cut(self, collection: Collection) -> Skipped | None:
        from dowse.ingest.sources.budget import cut_of

        return cut_of(self._store.skipped(), collection.name)

    def _parsers(self) -> Workers:
        """Kept from one sync to the next, because they take longer to start than to read a file."""
        from dowse.ingest.workers.pool import Workers
        from dowse.ingest.workers.portions import portions

        if self._workers is None:
            share = portions(self.settings.workers, self.settings.memory_mb)
            self._workers = Workers(
                share.workers,
                self.settings.parse_timeout_s,
                memory_bytes=share.worker_bytes,
                ahead_bytes=share.ahead_bytes,
            )
        return self._workers

    def _embed(
        self,
        report: SyncReport,
        progress: Progress,
        timeout_s: float,
        pause: Callable[[], bool] = never,
        *,
        switch: bool = False,
        quick_only: bool = False,
        behind_questions: bool = False,
    ) -> None:
        with ExitStack() as turn:
            try:
                turn.enter_context(self._store.encoding(timeout_s))
            except IndexBusy:
                report.notes.append("another process makes the vectors now; `dowse status` tells how far they are")
                return
            give_way = self.questions.wait_for_quiet if behind_questions else None
            filled = self._semantics.fill(progress, pause, switch=switch, quick_only=quick_only, give_way=give_way)
        report.embedded, report.reused = filled.encoded, filled.reused
        report.notes.extend(filled.notes)
