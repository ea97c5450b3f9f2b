"""What a command leaves to be done (histories, vectors) is finished by a process of its own in the background.

That process lives as long as its work, apart from every server: a shared server would keep a model in memory for
minutes, with the settings of a command line that its next clients may not share, and its priority cannot be lowered
without slowing down their answers.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

import click

from dowse.engine import Engine
from dowse.ingest.upgrade import MUCH
from dowse.live.history import INTERRUPTED, KEPT_JOBS, History
from dowse.live.lead import leader_of
from dowse.live.past import PastJob
from dowse.processes import is_on_battery, lower_process_priority
from dowse.shells.sharing.place import try_lock
from dowse.shells.sharing.reach import setting_words
from dowse.shells.workspace import Workspace

SUFFIX: Final = ".background"
"""Behind the name of the index: the file that the one such process of an index holds a lock on."""
_REST_S: Final = 600.0  # after a try that was stopped or came to nothing, and before few chunks are worth a process
_LOOK_S: Final = 1.0
_LAST_STEP_S: Final = 30.0  # of one that nobody waits for
_TAKE_OVER_S: Final = 3.0
_FIGURES: Final = ("indexed", "embedded", "reused")


def leave_to_background(workspace: Workspace, engine: Engine) -> None:
    """Have what is left of this index finished as soon as the command has ended, if that is due."""
    context = click.get_current_context(silent=True)
    if context and is_due(_last_try(workspace.index), engine.lacking_vectors(), time.time()):
        context.call_on_close(partial(_start, workspace))


def is_due(last: PastJob | None, lacking: int, now: float) -> bool:
    """Whether to try again after the last job, with so many chunks that have no vector."""
    if last is None or last.state == INTERRUPTED or now - last.at > _REST_S:
        return True
    was_of_use = last.state == "completed" and any(last.result and last.result.get(it) for it in _FIGURES)
    return was_of_use and lacking > MUCH


def _last_try(index: Path) -> PastJob | None:
    return next((it for it in History(index).recent(KEPT_JOBS) if it.kind in ("history", "encode")), None)


def _start(workspace: Workspace) -> None:
    """Nothing of it may keep a terminal, a pipe or a descriptor of this process."""
    if leader_of(workspace.index) is not None or is_on_battery():
        return
    command = [sys.executable, "-P", "-m", "dowse", "index", "--finish", f"--root={workspace.root}"]
    nothing = subprocess.DEVNULL
    with suppress(OSError):  # a machine that starts no more processes has better things to do
        subprocess.Popen(
            [*command, *setting_words(workspace.flags)],
            stdin=nothing,
            stdout=nothing,
            stderr=nothing,
            start_new_session=True,
        )


def stop_background(index: Path) -> None:
    """End the process that finishes this index: whoever waits does the rest sooner. On a busy machine it may be too
    slow to end by itself; every write is a transaction, so that ending it does no harm."""
    holder = _holder(index)
    for number in (signal.SIGTERM, signal.SIGKILL):
        if holder is None:
            return
        with suppress(OSError):
            os.kill(holder, number)
        deadline = time.monotonic() + _TAKE_OVER_S
        while _holder(index) == holder and time.monotonic() < deadline:
            time.sleep(0.02)
        holder = _holder(index)


def _lease(index: Path) -> Path:
    return index.with_name(index.name + SUFFIX)


def _holder(index: Path) -> int | None:
    try:
        lock = try_lock(_lease(index)) if _lease(index).exists() else None
        if lock is not None:
            os.close(lock)
            return None
        return int(_lease(index).read_text())
    except (OSError, ValueError):
        return None


def finish(workspace: Workspace) -> None:
    """In the process itself: read what is left of the histories, then make the vectors, both as jobs that are written
    down. Ends when that is done, on SIGTERM, on battery, and when a server begins to do the same."""
    from dowse.live.jobs import Jobs
    from dowse.live.requests import Requests

    lock = try_lock(_lease(workspace.index))
    if lock is None:
        return
    os.ftruncate(lock, 0)
    os.pwrite(lock, str(os.getpid()).encode(), 0)
    lower_process_priority()
    ending = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ending.set())
    with workspace.open(create=False, heals=False) as engine:
        jobs = Jobs(history=History(workspace.index))
        requests = Requests(lambda: engine, jobs, workspace.settings, workspace.index, vectors=True)
        requests.take([workspace.root])
        if requests.read_history() is None:
            requests.encode()
        why = ""
        while not why and (job := jobs.running()) is not None:
            jobs.wait(job, _LOOK_S)
            why = _reason_to_stop(workspace, ending.is_set)
        jobs.close(_LAST_STEP_S, 0.0, why=why or "nothing is left to do")
    os._exit(0)  # a step that takes long keeps nobody here; every write is a transaction


def _reason_to_stop(workspace: Workspace, is_ending: Callable[[], bool]) -> str:
    if is_ending():
        return "the process was told to end"
    if is_on_battery():
        return "the machine runs on battery; a later command goes on"
    if (server := leader_of(workspace.index)) is not None:
        return f"process {server} serves this index and goes on"
    return ""
