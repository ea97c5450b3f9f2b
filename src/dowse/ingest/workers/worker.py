"""The process parsers run in: it is told a task on its standard input and answers on its standard output.

A parser in C that crashes takes this process along and nothing else. One that hangs is ended by the system itself, by
signals that no lock of the interpreter can hold up: when its time is over, and when nobody waits for it any more.
"""

from __future__ import annotations

import fcntl
import os
import pickle
import resource
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import NamedTuple

from dowse.errors import ParserFailed, Unreadable
from dowse.ingest.extract.table import Extractor
from dowse.ingest.prepare import Task, prepare
from dowse.ingest.workers.packing import Packed, packed
from dowse.ingest.workers.wire import receive, send

TOO_SLOW = signal.SIGALRM
"""The signal that ends a worker whose time is over."""
_LEFT_ALONE = signal.SIGIO


@dataclass(frozen=True, slots=True)
class Setup:
    """What a worker is told first; the extractor travels by its name, and is imported there."""

    extract: Extractor
    timeout_s: float
    memory_bytes: int  # 0 is no limit


class Ready(NamedTuple):
    pid: int


class Refused(NamedTuple):
    """The item is not to be indexed."""

    reason: str
    lasting: bool


class Failed(NamedTuple):
    """The parser could not make anything of it."""

    reason: str


def main() -> None:
    tasks, answers = _own_pipes()
    # The end of the pipe is the end of whoever asks: then there is nothing left to do.
    with suppress(EOFError, BrokenPipeError):
        setup: Setup = pickle.loads(receive(tasks))
        _confine(setup.memory_bytes)
        _watch(tasks)
        send(answers, Ready(os.getpid()))
        while True:
            task = pickle.loads(receive(tasks))
            with _bounded(tasks, setup.timeout_s):
                answer = _answer(task, setup.extract)
            send(answers, answer)


def _own_pipes() -> tuple[int, int]:
    """Both, out of reach of anything a parser may print or read."""
    pipes = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1):
        os.dup2(nothing, descriptor)
    os.close(nothing)
    return pipes


def _confine(memory_bytes: int) -> None:
    signal.signal(TOO_SLOW, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if not memory_bytes:
        return
    most = resource.getrlimit(resource.RLIMIT_AS)[1]
    limit = memory_bytes if most == resource.RLIM_INFINITY else min(memory_bytes, most)
    with suppress(ValueError, OSError):  # not every system has this limit
        resource.setrlimit(resource.RLIMIT_AS, (limit, most))


def _watch(tasks: int) -> None:
    """Have the system send a signal when anything happens to the pipe."""
    fcntl.fcntl(tasks, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(tasks, fcntl.F_SETFL, fcntl.fcntl(tasks, fcntl.F_GETFL) | os.O_ASYNC)
    signal.signal(_LEFT_ALONE, signal.SIG_IGN)


@contextmanager
def _bounded(tasks: int, timeout_s: float) -> Iterator[None]:
    """Ends the process when its time is over, or when whoever asked is gone: nothing else comes by the pipe now."""
    signal.setitimer(signal.ITIMER_REAL, timeout_s)
    signal.signal(_LEFT_ALONE, signal.SIG_DFL)
    if _is_closed(tasks):
        raise EOFError  # before the signal could tell
    try:
        yield
    finally:
        # Not while the answer is sent: whoever reads it may be busy writing.
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(_LEFT_ALONE, signal.SIG_IGN)


def _is_closed(tasks: int) -> bool:
    poll = select.poll()
    poll.register(tasks, 0)
    return bool(poll.poll(0))


def _answer(task: Task, extract: Extractor) -> Packed | Refused | Failed:
    try:
        return packed(prepare(task, extract))
    except Unreadable as refusal:
        return Refused(str(refusal), refusal.lasting)
    except ParserFailed as failure:
        return Failed(str(failure))
