"""Which process this is, whether one that was written down is still there, and how much of the machine one takes."""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, NoReturn, TypeVar

Result = TypeVar("Result")

_PROC: Final = Path("/proc")
_POWER: Final = Path("/sys/class/power_supply")
_PMSET_S: Final = 2.0
_MANY_OBJECTS: Final = 20_000
_LOWEST: Final = 19  # of nice
_IOPRIO_SET: Final = {"x86_64": 251, "aarch64": 30, "riscv64": 30}  # the number of the system call
_IOPRIO_THIS_PROCESS, _IOPRIO_IDLE = 1, 3 << 13
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


def collect_garbage_rarely() -> None:
    """For a process that answers for long, called once everything is imported. Reference counts free nearly all of what
    an answer needs; looking at all objects for the rest stops every client for 0.1 s and more."""
    gc.freeze()
    gc.set_threshold(_MANY_OBJECTS, 10, 10)


def thread_cpu_s(native_id: int) -> float | None:
    """Seconds of processor time that a thread of this process has used; None where the system does not say."""
    try:
        return int((_PROC / "self" / "task" / str(native_id) / "schedstat").read_text().split()[0]) / 1e9
    except (OSError, ValueError, IndexError):
        return None


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


# --- how much of the machine it takes ---


def lower_thread_priority() -> None:
    """Give this thread, and those that it starts from now on, the lowest priority. Only Linux has one by thread."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _LOWEST)


def lower_process_priority() -> None:
    """Give this process, and those that it starts, the lowest priority for processor and disk, for good."""
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, _LOWEST)
    if sys.platform == "linux":
        # Where the scheduler divides the processor among sessions, nice counts inside of one only.
        with suppress(OSError):
            (_PROC / "self" / "autogroup").write_text(str(_LOWEST))
        if number := _IOPRIO_SET.get(os.uname().machine):
            import ctypes

            ctypes.CDLL(None).syscall(number, _IOPRIO_THIS_PROCESS, 0, _IOPRIO_IDLE)


def run_at_low_priority(work: Callable[[Callable[[], bool]], Result]) -> Result:
    """What the work returns or raises, from a thread of the lowest priority. The work is given a function that says
    whether it must stop: whoever waits for it was interrupted."""
    outcome: list[Callable[[], Result]] = []
    stopping = threading.Event()

    def run() -> None:
        lower_thread_priority()
        try:
            result = work(stopping.is_set)
            outcome.append(lambda: result)
        except BaseException as error:  # noqa: BLE001 - raised where the result is waited for
            outcome.append(partial(_raise, error))

    # A daemon: an encoder server that does not answer must hold up nobody's exit.
    thread = threading.Thread(target=run, name="dowse-encoding", daemon=True)
    thread.start()
    try:
        thread.join()
    except BaseException:
        stopping.set()
        thread.join()
        raise
    return outcome[0]()


def _raise(error: BaseException) -> NoReturn:
    raise error


def is_on_battery() -> bool:
    """Whether the machine runs on its battery now; False where that cannot be told."""
    if sys.platform == "darwin":
        return _is_on_battery_by_pmset()
    try:
        known = [(_line(it / "type"), it) for it in _POWER.iterdir()]
    except OSError:
        return False
    if any(kind in ("Mains", "USB") and _line(it / "online") == "1" for kind, it in known):
        return False
    # A mouse has a battery, too: its scope is a device, not the system.
    own = [it for kind, it in known if kind == "Battery" and _line(it / "scope") != "Device"]
    return any(_line(it / "status") == "Discharging" for it in own)


def _line(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _is_on_battery_by_pmset() -> bool:
    import subprocess

    try:
        told = subprocess.run(
            ["/usr/bin/pmset", "-g", "batt"], capture_output=True, timeout=_PMSET_S, check=False
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return False
    return b"'Battery Power'" in told
