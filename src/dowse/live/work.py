"""What the jobs of a server do: verbs of the engine, each with what it tells when it is done."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from dowse.config import Settings
from dowse.engine import Engine
from dowse.errors import Cancelled
from dowse.live.healing import heal
from dowse.live.jobs import Task
from dowse.live.watch import Batch
from dowse.model import SyncReport
from dowse.places import is_stored_root

Told = Mapping[str, object]

log = logging.getLogger("dowse.upkeep")


@dataclass(frozen=True, slots=True)
class Index:
    """Compare whole roots with the disk; all that are indexed, if none is named."""

    engine: Callable[[], Engine]
    roots: tuple[Path, ...]
    force: bool
    then: Callable[[], object]

    def joined(self, other: Index) -> Index:
        return replace(other, force=self.force or other.force)

    def __call__(self, task: Task) -> Told:
        engine = self.engine()
        roots = self.roots or tuple(Path(it.root) for it in engine.collections())
        there = [it for it in roots if self.roots or is_stored_root(it)]
        task.on(", ".join(map(str, there)))
        report = engine.index(there, force=self.force, vectors=False, progress=task)
        report.notes += [f"{it} is not there now; what was indexed of it was kept" for it in roots if it not in there]
        engine.warm()
        self.then()
        return asdict(report)


@dataclass(frozen=True, slots=True)
class Follow:
    """Bring in what the watcher has seen change in one collection; all of it, where that is too much or not known."""

    engine: Callable[[], Engine]
    collection: str
    bulk_threshold: int
    batches: tuple[Batch, ...]
    then: Callable[[Sequence[Batch]], object]

    def joined(self, other: Follow) -> Follow:
        return replace(other, batches=(*self.batches, *other.batches))

    def __call__(self, task: Task) -> Told:
        whys = sorted({it.why for it in self.batches if it.why})
        report = self._followed(task)
        self.then(self.batches)
        return {**asdict(report), "why": ", ".join(whys)}

    def _followed(self, task: Task) -> SyncReport:
        engine = self.engine()
        root = next((it.root for it in engine.collections() if it.name == self.collection), None)
        if root is None or not is_stored_root(Path(root)):
            return SyncReport(notes=[f"{root or self.collection} is not there now; what was indexed of it was kept"])
        paths = frozenset().union(*(it.paths for it in self.batches))
        task.on(root)
        if any(it.whole for it in self.batches) or len(paths) > self.bulk_threshold:
            report = engine.index([Path(root)], vectors=False, progress=task)
            engine.warm()
            return report
        return engine.refresh(self.collection, sorted(paths), progress=task)


@dataclass(frozen=True, slots=True)
class ReadHistory:
    """Bring the histories of the repositories in line, until other work waits."""

    engine: Callable[[], Engine]
    again: Callable[[], object]
    then: Callable[[], object]

    def __call__(self, task: Task) -> Told:
        engine = self.engine()
        task.on(", ".join(it.root for it in engine.histories()))
        report = engine.index_history(pause=task.wanted, progress=task)
        if task.wanted():
            self.again()
        else:
            self.then()
        return asdict(report)


@dataclass(frozen=True, slots=True)
class Encode:
    """Make the vectors that are missing, until other work waits: histories, too, which have words to be found by.
    `quick_only`: as many as answers need."""

    engine: Callable[[], Engine]
    again: Callable[[], object]
    has_history_waiting: Callable[[], bool] = lambda: False
    quick_only: bool = False

    def __call__(self, task: Task) -> Told:
        def is_wanted() -> bool:
            return task.wanted() or self.has_history_waiting()

        report = self.engine().encode(progress=task, pause=is_wanted, quick_only=self.quick_only, behind_questions=True)
        if is_wanted():
            self.again()
        return asdict(report)


@dataclass(frozen=True, slots=True)
class Heal:
    """Make anew whatever is damaged: parts from the catalog, the catalog from the files."""

    settings: Settings
    index: Path
    root: Path
    then: Callable[[], object]

    def __call__(self, task: Task) -> Told:
        healed = heal(self.settings, self.index, self.root, task.on(str(self.index)))
        for sentence in healed:
            log.warning("%s: %s", self.index, sentence)
        self.then()
        return {"mended": list(healed)}


@dataclass(frozen=True, slots=True)
class Check:
    """The same when nothing is known to be damaged: it reads everything to find out, unless other work waits."""

    heal: Heal

    def __call__(self, task: Task) -> Told:
        def step(stage: str, done: int, total: int) -> None:
            if task.wanted():
                raise Cancelled("other work waits; it will be looked at later")
            task(stage, done, total)

        return self.heal(replace(task, step=step))
