"""Process identity, liveness and priority."""

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

WorkResult = TypeVar("WorkResult")

_PROC_DIRECTORY: Final = Path("/proc")
_POWER_SUPPLY_DIRECTORY: Final = Path("/sys/class/power_supply")
_PMSET_TIMEOUT_S: Final = 2.0
_GC_THRESHOLD: Final = 20_000
_MAX_NICE: Final = 19  # the highest nice value
_IOPRIO_SET: Final = {"x86_64": 251, "aarch64": 30, "riscv64": 30}  # system call numbers
_IOPRIO_THIS_PROCESS, _IOPRIO_IDLE = 1, 3 << 13
_DEAD_STATES: Final = ("Z", "X")  # zombies: killed, but not yet reaped by their parent
_STOPPED_STATES: Final = (["T"], ["t"])
_STATE_FIELD, _START_TIME_FIELD = 0, 19  # fields after the process name, which may contain anything, even parentheses


@dataclass(frozen=True, slots=True)
class Process:
    """A process. `start` distinguishes it from a later one with the same pid; empty if the system has none."""

    pid: int
    start: str

    def is_alive(self) -> bool:
        if not (_PROC_DIRECTORY / "self" / "stat").exists():
            return _pid_exists(self.pid)
        status = _read_stat(self.pid)
        return bool(status) and status[_STATE_FIELD] not in _DEAD_STATES and status[_START_TIME_FIELD] == self.start

    def is_stopped(self) -> bool:
        """Return whether the process is suspended (SIGSTOP, Ctrl-Z, a debugger)."""
        return self.is_alive() and _read_stat(self.pid)[_STATE_FIELD : _STATE_FIELD + 1] in _STOPPED_STATES


def collect_garbage_rarely() -> None:
    """Tune garbage collection for a long-running server; call this after all imports.

    Reference counting frees nearly everything. A full collection would stop every client for 0.1 s and more.
    """
    gc.freeze()
    gc.set_threshold(_GC_THRESHOLD, 10, 10)


def thread_cpu_s(native_id: int) -> float | None:
    """Return the CPU seconds used by a thread of this process; None if the system does not report them."""
    try:
        return int((_PROC_DIRECTORY / "self" / "task" / str(native_id) / "schedstat").read_text().split()[0]) / 1e9
    except (OSError, ValueError, IndexError):
        return None


def this_process() -> Process:
    return process_by_pid(os.getpid())


def process_by_pid(pid: int) -> Process:
    """Return the process that has this pid now."""
    status = _read_stat(pid)
    return Process(pid, status[_START_TIME_FIELD] if status else "")


def _read_stat(pid: int) -> list[str]:
    try:
        text = (_PROC_DIRECTORY / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return text.rpartition(") ")[2].split()


def _pid_exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # it belongs to another user
    return True


# --- priority ---


def lower_thread_priority() -> None:
    """Give this thread, and those it starts from now on, the lowest priority. Only Linux has priorities per thread."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _MAX_NICE)


def lower_process_priority() -> None:
    """Give this process and its children the lowest CPU and disk priority, permanently."""
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, _MAX_NICE)
    if sys.platform == "linux":
        # With autogroup scheduling, nice values apply only within a session.
        with suppress(OSError):
            (_PROC_DIRECTORY / "self" / "autogroup").write_text(str(_MAX_NICE))
        if number := _IOPRIO_SET.get(os.uname().machine):
            import ctypes

            ctypes.CDLL(None).syscall(number, _IOPRIO_THIS_PROCESS, 0, _IOPRIO_IDLE)


def run_at_low_priority(work: Callable[[Callable[[], bool]], WorkResult]) -> WorkResult:
    """Run the work in a thread with the lowest priority, and return or raise its outcome.

    The work gets a function that returns true once the caller was interrupted.
    """
    outcome: list[Callable[[], WorkResult]] = []
    stopping = threading.Event()

    def run() -> None:
        lower_thread_priority()
        try:
            result = work(stopping.is_set)
            outcome.append(lambda: result)
        except BaseException as error:  # noqa: BLE001 - raised where the result is waited for
            outcome.append(partial(_raise, error))

    # A daemon thread: an encoder server that does not answer must not block the exit.
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
    """Return whether the machine runs on battery; False if unknown."""
    if sys.platform == "darwin":
        return _is_on_battery_by_pmset()
    try:
        supplies = [(_read_stripped(it / "type"), it) for it in _POWER_SUPPLY_DIRECTORY.iterdir()]
    except OSError:
        return False
    if any(kind in ("Mains", "USB") and _read_stripped(it / "online") == "1" for kind, it in supplies):
        return False
    # Ignore the batteries of devices such as a mouse: their scope is a device, not the system.
    batteries = [it for kind, it in supplies if kind == "Battery" and _read_stripped(it / "scope") != "Device"]
    return any(_read_stripped(it / "status") == "Discharging" for it in batteries)


def _read_stripped(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _is_on_battery_by_pmset() -> bool:
    import subprocess

    try:
        output = subprocess.run(
            ["/usr/bin/pmset", "-g", "batt"], capture_output=True, timeout=_PMSET_TIMEOUT_S, check=False
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return False
    return b"'Battery Power'" in output
