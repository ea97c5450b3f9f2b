"""Stop a server when its client or parent process is gone."""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from collections.abc import Callable
from typing import NoReturn

from dowse.server import parent

_LAST_WORK_SECONDS = 1.5  # for jobs to end; every write is a transaction, so cutting one off does no harm
_PARENT_CHECK_SECONDS = 0.5


class ShutdownGuard:
    """Exits without waiting for threads, because a blocked thread would delay an ordinary exit."""

    def __init__(self, on_exit: Callable[[], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._on_exit = on_exit
        self._clock = clock
        self._lock = threading.Lock()
        self._deadline: float | None = None  # deadline for the work in progress; None while the server runs
        self._work_ended = threading.Event()

    def watch(self) -> None:
        """Start watching, from the main thread; another thread waits for signals, because anything may block the main
        one."""
        read_end, write_end = os.pipe()
        os.set_blocking(write_end, False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: None)
        signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
        threading.Thread(target=self._wait_for_signal, args=(read_end,), name="dowse-leaving", daemon=True).start()

    def _wait_for_signal(self, wakeup: int) -> None:
        """Wait for a signal or a change of the parent process."""
        while not select.select([wakeup], [], [], _PARENT_CHECK_SECONDS)[0] and not parent.parent_exited():
            pass
        self.exit_now()

    def exit_within(self, seconds: float) -> None:
        """End the work in progress now, and exit after this time unless that has happened before."""
        self._start_ending_work()
        timer = threading.Timer(seconds, self.exit_now)
        timer.daemon = True
        timer.start()

    def exit_now(self) -> NoReturn:
        self._work_ended.wait(self._start_ending_work() - self._clock())
        os._exit(0)

    def _start_ending_work(self) -> float:
        """Start to end the work, once and on its own thread; return its deadline."""
        with self._lock:
            if self._deadline is None:
                self._deadline = self._clock() + _LAST_WORK_SECONDS
                try:
                    threading.Thread(target=self._run_on_exit, name="dowse-last-work", daemon=True).start()
                except RuntimeError:  # no more threads available: the work is cut off
                    self._work_ended.set()
            return self._deadline

    def _run_on_exit(self) -> None:
        try:
            self._on_exit()
        finally:
            self._work_ended.set()
