"""How far long work is, on stderr: a bar for each phase on a terminal, elsewhere a line every ten seconds."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import click

from dowse.ingest.embed import Progress
from dowse.live.job import Pace
from dowse.shells.cli.streams import raw_stderr

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

LINE_EVERY_S = 10.0
_WORDS = {
    "reading": "Reading files",
    "history": "Reading git history",
    "quick encoding": "Preparing semantic search",
    "encoding": "Encoding for semantic search",
}


@dataclass(slots=True)
class Phase:
    """One stage of the work, however many parts it has: each part counts from its own beginning to its own total."""

    name: str
    done: int = 0
    total: int = 0
    _before: int = 0  # what the parts that are over had in all
    _part: tuple[int, int] = (0, 0)

    def note(self, done: int, total: int) -> None:
        if done < self._part[0]:
            self._before += self._part[1]
        self._part = done, total
        self.done, self.total = self._before + done, self._before + total


@contextmanager
def progress_bar() -> Iterator[Progress]:
    if sys.stderr.isatty():
        with _bars() as bars:
            yield _Shown(lambda phase: _bar(bars, phase)).note
    else:
        with _lines() as note:
            yield _Shown(lambda phase: note).note


@dataclass(slots=True)
class _Shown:
    """Every phase that was begun, each with what shows it."""

    begin: Callable[[Phase], Callable[[Phase], None]]
    _phases: dict[str, tuple[Phase, Callable[[Phase], None]]] = field(default_factory=dict)

    def note(self, stage: str, done: int, total: int) -> None:
        known = self._phases.get(stage)
        phase = Phase(_WORDS.get(stage, stage.capitalize())) if known is None else known[0]
        phase.note(done, total)
        if known is None:
            known = self._phases[stage] = phase, self.begin(phase)
        known[1](phase)


def _bars() -> Bars:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    # A phase that is over shows how long it took: nothing is left of it, but of the work there may be.
    times = TimeRemainingColumn(elapsed_when_finished=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), times)
    # What else is printed meanwhile goes its own way: through the bars it would reach the terminal unescaped.
    console = Console(file=raw_stderr())
    return Bars(*columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False)


def _bar(bars: Bars, phase: Phase) -> Callable[[Phase], None]:
    """Begins at what is done already, which says nothing about the speed."""
    task: TaskID = bars.add_task(phase.name, total=phase.total, completed=phase.done)
    return lambda now: bars.update(task, completed=now.done, total=now.total)


@contextmanager
def _lines() -> Iterator[Callable[[Phase], None]]:
    """Nothing for work that is over soon, then a line every now and then, also while a step takes long."""
    pace, ended = Pace(), threading.Event()

    def tell() -> None:
        while not ended.wait(LINE_EVERY_S):
            if pace.stage:
                eta_s = pace.eta_s if pace.done < pace.total else None
                left = "" if eta_s is None else f", about {duration_text(eta_s)} left"
                click.echo(f"{pace.stage}: {pace.done:,} of {pace.total:,}{left}", err=True)

    thread = threading.Thread(target=tell, name="dowse-progress", daemon=True)
    thread.start()
    try:
        yield lambda phase: pace.note(phase.name, phase.done, phase.total, time.monotonic())
    finally:
        ended.set()
        thread.join()


def duration_text(seconds: float) -> str:
    """A length of time, as short as it can be told."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 100 else f"{minutes / 60:.0f} h"
