"""Which process this is, and whether one that was written down is still there."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_PROC: Final = Path("/proc")
_DEAD: Final = ("Z", "X")  # killed, and not waited for by its parent yet
_STOPPED: Final = (["T"], ["t"])
_STATE_AT, _START_AT = 0, 19  # behind the name, which may hold anything, brackets too


@dataclass(frozen=True, slots=True)
class Process:
    """`start` tells it from another that got the same number later; empty where the system does not say."""

    pid: int
    start: str

    def is_alive(self) -> bool:
        if not (_PROC / "self" / "stat").exists():
            return _answers(self.pid)
        status = _status(self.pid)
        return bool(status) and status[_STATE_AT] not in _DEAD and status[_START_AT] == self.start

    def is_stopped(self) -> bool:
        """There, but told to do nothing (SIGSTOP, Ctrl-Z, a debugger)."""
        return self.is_alive() and _status(self.pid)[_STATE_AT : _STATE_AT + 1] in _STOPPED


def this_process() -> Process:
    return process_now(os.getpid())


def process_now(pid: int) -> Process:
    """Whichever has this number now."""
    status = _status(pid)
    return Process(pid, status[_START_AT] if status else "")


def _status(pid: int) -> list[str]:
    try:
        text = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return text.rpartition(") ")[2].split()


def _answers(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # another user's
    return True
