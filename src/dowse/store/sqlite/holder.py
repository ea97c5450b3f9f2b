"""Who holds the write lock of an index, as its holder wrote it into the lock file, checked against the processes."""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from dowse.processes import Process, this_process

_LONGEST_NOTE = 1_000  # bytes


@dataclass(frozen=True, slots=True)
class Holder:
    """`started` tells the process from a later one of the same number; `since` is when it got the lock, in seconds."""

    pid: int
    started: str
    what: str
    since: float
    stopped: bool = False

    @property
    def is_this_process(self) -> bool:
        return self.pid == os.getpid()

    def told(self) -> str:
        """For the beginning of a sentence."""
        who = "another job of this process" if self.is_this_process else f"process {self.pid}"
        for_s = max(0.0, time.time() - self.since)  # the clock may have been set back
        return f"{who} ({self.what}, since {for_s:.0f} s{', stopped' if self.stopped else ''})"


def lock_file(index: Path) -> Path:
    return Path(f"{index}.lock")


def holder_of(index: Path) -> Holder | None:
    """Whoever holds the write lock of the index at this path; None if nobody does, or it can not be told."""
    try:
        with open(lock_file(index), "rb") as file:
            note = _parsed(file.read(_LONGEST_NOTE))
    except OSError:
        return None
    process = note and Process(note.pid, note.started)
    if note is None or not process or not process.is_alive():
        return None  # it is gone; the system has dropped its lock
    return Holder(note.pid, note.started, note.what, note.since, process.is_stopped())


def sign(descriptor: int, what: str) -> None:
    """Write into a lock file that this process holds it."""
    process = this_process()
    note = Holder(process.pid, process.start, what, time.time())
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, json.dumps(asdict(note)).encode(), 0)


def _parsed(content: bytes) -> Holder | None:
    """A lock file may hold anything: that of an older Dowse is empty, that of a full disk is cut."""
    try:
        note = Holder(**json.loads(content))
    except (ValueError, TypeError):
        return None
    texts = isinstance(note.started, str) and isinstance(note.what, str)
    numbers = isinstance(note.since, int | float) and isinstance(note.pid, int) and note.pid > 0
    return note if texts and numbers else None
