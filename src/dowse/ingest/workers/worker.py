"""The process parsers run in: it is told a task on its standard input and answers on its standard output.

A parser in C that crashes takes this process along and nothing else. One that hangs is ended by the system's own timer,
which no lock of the interpreter can hold up, and which works as well when nobody waits for the answer any more.
"""

from __future__ import annotations

import os
import pickle
import resource
import signal
from contextlib import suppress
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple

from dowse.errors import ParserFailed, Unreadable
from dowse.ingest.extract.table import Extractor
from dowse.ingest.prepare import Prepared, Task, prepare

TOO_SLOW = signal.SIGALRM
"""The signal that ends a worker whose time is over."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What a worker is told first; the extractor travels by its name, and is imported there."""

    extract: Extractor
    timeout_s: float
    memory_bytes: int


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
    tasks, answers = _own_streams()
    # The end of the stream is the end of whoever asks: then there is nothing left to do.
    with suppress(EOFError, BrokenPipeError):
        setup: Setup = pickle.load(tasks)
        _confine(setup.memory_bytes)
        send(answers, Ready(os.getpid()))
        while True:
            send(answers, _answer(pickle.load(tasks), setup))


def send(stream: BinaryIO, message: object) -> None:
    pickle.dump(message, stream, pickle.HIGHEST_PROTOCOL)
    stream.flush()


def _own_streams() -> tuple[BinaryIO, BinaryIO]:
    """The two pipes, out of reach of anything a parser may print or read."""
    streams = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1):
        os.dup2(nothing, descriptor)
    os.close(nothing)
    return streams


def _confine(memory_bytes: int) -> None:
    signal.signal(TOO_SLOW, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    most = resource.getrlimit(resource.RLIMIT_AS)[1]
    limit = memory_bytes if most == resource.RLIM_INFINITY else min(memory_bytes, most)
    with suppress(ValueError, OSError):  # not every system has this limit
        resource.setrlimit(resource.RLIMIT_AS, (limit, most))


def _answer(task: Task, setup: Setup) -> Prepared | Refused | Failed:
    signal.setitimer(signal.ITIMER_REAL, setup.timeout_s)
    try:
        return prepare(task, setup.extract)
    except Unreadable as refusal:
        return Refused(str(refusal), refusal.lasting)
    except ParserFailed as failure:
        return Failed(str(failure))
    finally:
        # Not while the answer is sent: whoever reads it may be busy writing.
        signal.setitimer(signal.ITIMER_REAL, 0)
