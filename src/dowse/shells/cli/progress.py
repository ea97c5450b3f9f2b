"""A progress bar on a terminal; silence anywhere else."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from dowse.ingest.embed import Progress
from dowse.shells.cli.streams import raw_stderr

_WORDS = {"reading": "Reading files", "history": "Reading git history", "encoding": "Encoding for semantic search"}


@contextmanager
def progress_bar() -> Iterator[Progress]:
    if not sys.stderr.isatty():
        yield lambda stage, done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    # What else is printed meanwhile goes its own way: through the bars it would reach the terminal unescaped.
    console = Console(file=raw_stderr())
    with Bars(*columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False) as bars:
        tasks: dict[str, object] = {}

        def show(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(_WORDS.get(stage, stage), total=total)
            bars.update(tasks[stage], completed=done, total=total)  # type: ignore[arg-type]

        yield show
