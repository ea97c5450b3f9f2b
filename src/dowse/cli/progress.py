"""Progress bars on a terminal, lines elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import click

from dowse.cli.terminal import raw_stderr
from dowse.ingest.embed import ProgressCallback
from dowse.live.job import ProgressRate

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

PROGRESS_LINE_SECONDS = 10.0
_PHASE_TITLES = {
    "reading": "Reading files",
    "history": "Reading git history",
    "quick encoding": "Preparing semantic search",
    "encoding": "Encoding for semantic search",
}


@dataclass(slots=True)
class ProgressPhase:
    """One stage of the work; each of its parts counts from zero to its own total."""

    name: str
    done: int = 0
    total: int = 0
    _before: int = 0  # total of the finished parts
    _part: tuple[int, int] = (0, 0)

    def note(self, done: int, total: int) -> None:
        if done < self._part[0]:
            self._before += self._part[1]
        self._part = done, total
        self.done, self.total = self._before + done, self._before + total


@contextmanager
def progress_bar() -> Iterator[ProgressCallback]:
    if sys.stderr.isatty():
        with _make_bars() as bars:
            yield _PhaseDisplay(lambda phase: _add_bar(bars, phase)).note
    else:
        with _print_progress_lines() as note:
            yield _PhaseDisplay(lambda phase: note).note


@dataclass(slots=True)
class _PhaseDisplay:
    """The phases so far, each with the function that displays it."""

    begin: Callable[[ProgressPhase], Callable[[ProgressPhase], None]]
    _phases: dict[str, tuple[ProgressPhase, Callable[[ProgressPhase], None]]] = field(default_factory=dict)

    def note(self, stage: str, done: int, total: int) -> None:
        known = self._phases.get(stage)
        phase = ProgressPhase(_PHASE_TITLES.get(stage, stage.capitalize())) if known is None else known[0]
        phase.note(done, total)
        if known is None:
            known = self._phases[stage] = phase, self.begin(phase)
        known[1](phase)


def _make_bars() -> Bars:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    # A finished phase shows its elapsed time: no time remains for the phase, but the work may go on.
    times = TimeRemainingColumn(elapsed_when_finished=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), times)
    # Other output bypasses the bars: through them it would reach the terminal unescaped.
    console = Console(file=raw_stderr())
    return Bars(*columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False)


def _add_bar(bars: Bars, phase: ProgressPhase) -> Callable[[ProgressPhase], None]:
    """Add a bar that starts at the work already done, which must not count as speed."""
    task: TaskID = bars.add_task(phase.name, total=phase.total, completed=phase.done)
    return lambda now: bars.update(task, completed=now.done, total=now.total)


@contextmanager
def _print_progress_lines() -> Iterator[Callable[[ProgressPhase], None]]:
    """Print nothing for short work, then a line at intervals, even during a long step."""
    rate, ended = ProgressRate(), threading.Event()

    def print_lines() -> None:
        while not ended.wait(PROGRESS_LINE_SECONDS):
            if rate.stage:
                eta_s = rate.eta_s if rate.done < rate.total else None
                left = "" if eta_s is None else f", about {format_duration(eta_s)} left"
                click.echo(f"{rate.stage}: {rate.done:,} of {rate.total:,}{left}", err=True)

    thread = threading.Thread(target=print_lines, name="dowse-progress", daemon=True)
    thread.start()
    try:
        yield lambda phase: rate.note(phase.name, phase.done, phase.total, time.monotonic())
    finally:
        ended.set()
        thread.join()


def format_duration(seconds: float) -> str:
    """Format a duration as briefly as possible."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 100 else f"{minutes / 60:.0f} h"
