"""Indexing as the Rifflux contract has it: locations that are named, or those of the settings behind a search."""

from __future__ import annotations

import stat
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dowse.config import Settings
from dowse.engine import Engine
from dowse.errors import BadInput
from dowse.live.jobs import Job, Jobs, Progress, Task
from dowse.places import checked_root
from dowse.profiles.rifflux_json import backend, if_any, report_json
from dowse.profiles.rifflux_settings import Options
from dowse.text.globs import compile_globs


@dataclass(frozen=True, slots=True)
class Reindexing:
    """One request: what is to be compared with the disk, and how. `several` asks that the answer repeats it."""

    locations: tuple[Path, ...]
    force: bool
    prune_missing: bool
    several: bool

    def done_by(self, engine: Engine, progress: Progress) -> Mapping[str, object]:
        report = engine.index(self.locations, force=self.force, prune=self.prune_missing, progress=progress)
        return {
            **report_json(report),
            **if_any("indexed_paths", [str(it) for it in self.locations] if self.several else []),
            "embedding_model": engine.encoder_name,
            "embedding_backend": backend(engine.encoder_name),
            "git_fingerprint": engine.fingerprint(self.locations),
            "prune_missing": self.prune_missing,
            **if_any("notes", report.notes),
        }

    def submitted(self, kind: str, jobs: Jobs, engine: Callable[[], Engine]) -> Job:
        """Many requests make one run, unless they come when it has begun: it may have passed what they are about."""
        told = ", ".join(map(str, self.locations))

        def work(task: Task) -> Mapping[str, object]:
            return self.done_by(engine(), task.on(told))

        return jobs.submit(kind, work, key=self)


class AutoReindex:
    """Brings the index up to date behind searches, at most once per interval and one at a time."""

    def __init__(
        self, engine: Callable[[], Engine], jobs: Jobs, cwd: Path, options: Options, clock: Callable[[], float]
    ) -> None:
        self._engine = engine
        self._jobs = jobs
        self._cwd = cwd
        self._options = options
        self._clock = clock
        self._turn = threading.Lock()
        self._last: float | None = None

    def ask(self) -> dict[str, object] | None:
        """What the answer to the search says of it; None where it is switched off."""
        if not self._options.auto_reindex:
            return None
        locations = tuple((self._cwd / it).resolve() for it in self._options.auto_reindex_paths)
        with self._turn:
            now = self._clock()
            if self._last is not None and now - self._last < self._options.auto_reindex_min_interval_s:
                return self._throttled()
            asked = Reindexing(locations, force=False, prune_missing=False, several=True)
            job = asked.submitted("auto-reindex", self._jobs, self._engine)
            self._last = now
        return {"enabled": True, "executed": "background", "job_id": job.id, "paths": [str(it) for it in locations]}

    def _throttled(self) -> dict[str, object]:
        return {
            "enabled": True,
            "executed": False,
            "reason": "throttled",
            "min_interval_seconds": self._options.auto_reindex_min_interval_s,
        }


def located(given: str, cwd: Path, settings: Settings, within: Path | None = None) -> Path:
    """The directory or file to index; of anything else, what is wrong with it. `within` is the only root that the index
    may hold, where it is not the client's own."""
    place = checked_root(cwd / given, any_root=settings.any_root)
    if within is not None and not place.is_relative_to(within):
        raise BadInput(
            f"{place} is outside of {within}, the root of this server; start a server of its own for it with "
            f"`dowse mcp --root`"
        )
    mode = place.stat().st_mode
    if stat.S_ISREG(mode) and not _is_included(place, settings.include):
        raise BadInput(f"{place} is not a file this index takes; the include globs are {', '.join(settings.include)}")
    if not stat.S_ISDIR(mode) and not stat.S_ISREG(mode):
        raise BadInput(f"{place} is neither a directory nor a regular file; name one of these")
    return place


def _is_included(file: Path, include: Sequence[str]) -> bool:
    """Whether the globs take it in any of the directories above it: which one is its root is not known here."""
    wanted = compile_globs(include or ("**",))
    return any(wanted("/".join(file.parts[at:])) for at in range(1, len(file.parts)))
