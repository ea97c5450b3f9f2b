"""The end of a server: on a signal, or when whoever started it is gone, within seconds whatever it is doing."""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from collections.abc import Callable
from typing import NoReturn

from dowse.shells import parent

_LAST_WORK_S = 1.5  # for jobs to come to an end; every write is a transaction, so that cutting one off does no harm
_LOOK_AT_PARENT_S = 0.5


class Leaving:
    """Leaves at once, without waiting for threads: one that is blocked would keep an ordinary exit waiting."""

    def __init__(self, on_exit: Callable[[], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._on_exit = on_exit
        self._clock = clock
        self._turn = threading.Lock()
        self._until: float | None = None  # for as long the work in hand may take to end; None: it goes on
        self._ended = threading.Event()

    def watch(self) -> None:
        """From the main thread. Another one waits for signals, because the main one may be held up by anything."""
        told, tell = os.pipe()
        os.set_blocking(tell, False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: None)
        signal.set_wakeup_fd(tell, warn_on_full_buffer=False)
        threading.Thread(target=self._wait, args=(told,), name="dowse-leaving", daemon=True).start()

    def _wait(self, told: int) -> None:
        """For a signal, or for another parent."""
        while not select.select([told], [], [], _LOOK_AT_PARENT_S)[0] and not parent.is_gone():
            pass
        self.now()

    def within(self, seconds: float) -> None:
        """End the work in hand at once, and leave after this time, unless that has happened before."""
        self._end_work()
        timer = threading.Timer(seconds, self.now)
        timer.daemon = True
        timer.start()

    def now(self) -> NoReturn:
        self._ended.wait(self._end_work() - self._clock())
        os._exit(0)

    def _end_work(self) -> float:
        """Once, on a thread of its own; until when it may go on."""
        with self._turn:
            if self._until is None:
                self._until = self._clock() + _LAST_WORK_S
                try:
                    threading.Thread(target=self._last_work, name="dowse-last-work", daemon=True).start()
                except RuntimeError:  # the system gives no more threads: the work is cut off
                    self._ended.set()
            return self._until

    def _last_work(self) -> None:
        try:
            self._on_exit()
        finally:
            self._ended.set()
