"""The end of a server: on a signal, or when whoever started it is gone, within seconds whatever it is doing."""

from __future__ import annotations

import os
import select
import signal
import threading
from collections.abc import Callable
from typing import NoReturn

_LAST_WORK_S = 1.5  # for jobs to come to an end; every write is a transaction, so that cutting one off does no harm
_LOOK_AT_PARENT_S = 0.5


class Leaving:
    """Leaves at once, without waiting for threads: one that is blocked would keep an ordinary exit waiting."""

    def __init__(self, on_exit: Callable[[], None]) -> None:
        self._on_exit = on_exit
        self._begun = threading.Lock()
        self._parent = os.getppid()

    def watch(self) -> None:
        """From the main thread. Another one waits for signals, because the main one may be held up by anything."""
        told, tell = os.pipe()
        os.set_blocking(tell, False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: None)
        signal.set_wakeup_fd(tell, warn_on_full_buffer=False)
        threading.Thread(target=self._wait, args=(told,), name="dowse-leaving", daemon=True).start()

    def _wait(self, told: int) -> None:
        """For a signal, or for another parent: some other process may hold our input open for ever."""
        while not select.select([told], [], [], _LOOK_AT_PARENT_S)[0] and os.getppid() == self._parent:
            pass
        self.now()

    def within(self, seconds: float) -> None:
        """Leave after this time, unless that has happened before."""
        timer = threading.Timer(seconds, self.now)
        timer.daemon = True
        timer.start()

    def now(self) -> NoReturn:
        if not self._begun.acquire(blocking=False):
            threading.Event().wait()  # another thread is about to end everything
        last = threading.Thread(target=self._on_exit, name="dowse-last-work", daemon=True)
        last.start()
        last.join(_LAST_WORK_S)
        os._exit(0)
