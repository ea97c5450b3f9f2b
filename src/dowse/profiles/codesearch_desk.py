"""What every tool of the code search contract shares: the engine once it is ready, the directory, how answers end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dowse.engine import Engine
from dowse.errors import BadInput
from dowse.live.jobs import Job, Jobs, Task
from dowse.model import NOT_LOOKED, Seen, SyncReport
from dowse.profiles.codesearch_cap import as_text, capped, size_of
from dowse.profiles.codesearch_territory import Territory, located, territory_of
from dowse.profiles.codesearch_words import Keep, has_extension, listed
from dowse.profiles.core_json import report_json
from dowse.profiles.pending import if_pending
from dowse.profiles.tool import Reply

BUILDING = "Content index is currently being built in the background. Please retry in a few seconds."
ALREADY_BUILDING = "Index is already being built in the background. Please wait for it to finish."

_INDEX = "index"
_MAIN_BRANCHES = ("main", "master")
_BYTES_PER_TOKEN = 4
_METRICS_BYTES = 64  # what the two figures may take themselves


@dataclass(frozen=True, slots=True)
class Options:
    """`extensions`: of the files that are asked about where a question names none; empty is all of them."""

    extensions: tuple[str, ...] = ()
    max_response_kb: int = 16
    metrics: bool = False


class Desk:
    """One directory, its engine and its jobs."""

    def __init__(
        self,
        engine: Callable[[], Engine],
        jobs: Jobs,
        directory: Path,
        options: Options,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.engine = engine
        self.directory = directory
        self.options = options
        self.now = clock
        self._jobs = jobs
        self._turn = threading.Lock()
        self._was_built = False

    # --- the index ---

    def ready(self) -> Engine:
        """The engine, unless there is nothing to ask it about yet."""
        if not self.is_built():
            raise BadInput(self._failure() or BUILDING)
        return self.engine()

    def is_built(self) -> bool:
        """Whether the directory was indexed to its end once; an index that was may be asked while it is renewed."""
        if not self._was_built:
            places = {self.directory, *self.directory.parents}
            self._was_built = any(it.synced_at and Path(it.root) in places for it in self.engine().collections())
        return self._was_built

    def _failure(self) -> str:
        last = self._jobs.last(_INDEX)
        return f"Indexing failed: {last.error}. search_reindex tries it again." if last and last.error else ""

    def start_indexing(self, place: Path | None = None) -> Job:
        """Bring what lies there in line with the disk, behind the answers; one run at a time."""
        with self._turn:
            if any(self._jobs.running(kind) for kind in (_INDEX, "reconcile")):
                raise BadInput(ALREADY_BUILDING)
            return self._jobs.submit(_INDEX, lambda task: report_json(self._indexed(place or self.directory, task)))

    def _indexed(self, place: Path, task: Task) -> SyncReport:
        # A part of a directory that was never indexed whole would become a root of its own.
        # Nothing here is compared by meaning: vectors are left to those who ask for them.
        root = place if self.is_built() else self.directory
        return self.engine().index([root], vectors=False, progress=task.on(str(root)))

    def reindex(self, place: Path) -> Mapping[str, object]:
        """The same, waited for: what was done."""
        job = self.start_indexing(place)
        self._jobs.wait(job)
        if job.error:
            raise BadInput(job.error)
        return job.result or {}

    # --- the question ---

    def place(self, directory: str) -> Path:
        return located(directory, self.directory)

    def territory(self, directory: str = "", excluded: Sequence[str] = ()) -> Territory:
        return territory_of(self.place(directory), self.engine().collections()).without(excluded)

    def extension(self, ext: str) -> Keep | None:
        return has_extension(listed(ext) or self.options.extensions)

    # --- the answer ---

    def ms_since(self, started: float) -> float:
        return round((self.now() - started) * 1000, 2)

    def summary(self, started: float, seen: Seen = NOT_LOOKED, **values: object) -> dict[str, Any]:
        """The values with how long it took, what is pending, and a warning on any branch but the usual ones."""
        summary: dict[str, Any] = {**values, "searchTimeMs": self.ms_since(started), **if_pending(seen)}
        branch = self.engine().branch(self.directory)
        if branch is not None and branch not in _MAIN_BRANCHES:
            summary["branchWarning"] = f"The work tree is on branch '{branch}', so this is not what main or master has."
        return summary

    def reply(self, data: Mapping[str, Any]) -> Reply:
        metrics = self.options.metrics
        limit = self.options.max_response_kb * 1024
        short = capped(data, max(1, limit - _METRICS_BYTES) if limit and metrics else limit)
        if metrics and isinstance(short.get("summary"), dict):
            size = size_of(short)
            figures = {"responseBytes": size, "estimatedTokens": size // _BYTES_PER_TOKEN}
            short["summary"] = {**short["summary"], **figures}
        return Reply(short, as_text(short))
