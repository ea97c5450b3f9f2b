"""Who holds the write lock of an index, as its holder wrote it into the lock file, checked against the processes."""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path

_LONGEST_NOTE = 1_000  # bytes


@dataclass(frozen=True, slots=True)
class Holder:
    """`started` tells the process from a later one of the same number; `since` is when it got the lock, in seconds."""

    pid: int
    started: int
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
    process = note and _process(note.pid)
    if note is None or not process or process.started != note.started:
        return None  # it is gone; the system has dropped its lock
    return Holder(note.pid, note.started, note.what, note.since, process.stopped)


def sign(descriptor: int, what: str) -> None:
    """Write into a lock file that this process holds it."""
    process = _process(os.getpid())
    note = Holder(os.getpid(), process.started if process else 0, what, time.time())
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, json.dumps(asdict(note)).encode(), 0)


def _parsed(content: bytes) -> Holder | None:
    """A lock file may hold anything: that of an older Dowse is empty, that of a full disk is cut."""
    try:
        note = Holder(**json.loads(content))
    except (ValueError, TypeError):
        return None
    numbers = all(isinstance(it, int | float) for it in (note.pid, note.started, note.since))
    return note if numbers and isinstance(note.pid, int) and note.pid > 0 and isinstance(note.what, str) else None


@dataclass(frozen=True, slots=True)
class _Process:
    started: int
    stopped: bool = False


def _process(pid: int) -> _Process | None:
    try:
        # The name, in brackets, may hold anything.
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return _without_proc(pid)
    return None if fields[0] in "ZX" else _Process(int(fields[19]), fields[0] in "Tt")


def _without_proc(pid: int) -> _Process | None:
    """Where the system tells nothing else: whether there is such a process."""
    if Path("/proc/self/stat").exists():
        return None
    try:
        os.kill(pid, 0)
    except PermissionError:
        return _Process(0)
    except OSError:
        return None
    return _Process(0)
