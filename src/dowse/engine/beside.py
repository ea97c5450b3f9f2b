"""A thread or two beside the one that asks, so that words and meaning are looked up at the same time; and how work in
the background gives way to questions."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future

Result = TypeVar("Result")

_MOST: Final = 4
_LAST_WORD_S: Final = 2.0
_QUIET_S: Final = 0.5
_MAX_PAUSE_S: Final = 5.0
_LOOK_AGAIN_S: Final = 0.05


def spare_processors() -> int:
    """How many of those this process may use are left beside the one that it asks with."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(usable - 1, _MOST)


class Questions:
    """When the last one was asked, so that long work in the same process gives way to them."""

    def __init__(
        self, elapsed: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._elapsed = elapsed
        self._sleep = sleep
        self._asked_at = float("-inf")

    def note(self) -> None:
        self._asked_at = self._elapsed()

    def wait_for_quiet(self, is_stopped: Callable[[], bool]) -> None:
        """Until none was asked for a moment: one rarely comes alone. Not for long, so that work goes on under any
        load."""
        most = self._elapsed() + _MAX_PAUSE_S
        while self._elapsed() < min(most, self._asked_at + _QUIET_S) and not is_stopped():
            self._sleep(_LOOK_AGAIN_S)


class Beside:
    """Where no thread is free, which is so where others ask as well, the one that asks does it all by itself."""

    def __init__(self, threads: int) -> None:
        self._free = threading.Semaphore(threads)
        self._threads = threads
        self._turn = threading.Lock()
        self._begun: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._running: list[threading.Thread] = []
        self._closed = False
        self.is_contended: Callable[[], bool] = lambda: False
        """Whether others wait for a processor: then handing work to another thread costs more than it gains."""

    def begin(self, work: Callable[[], Result]) -> Callable[[], Result]:
        """Gives what waits for the result, or makes it."""
        if self.is_contended() or not self._free.acquire(blocking=False):
            return work
        from concurrent.futures import Future

        future: Future[Result] = Future()
        with self._turn:
            if self._closed or not self._is_staffed():
                self._free.release()
                return work
            self._begun.put(partial(self._do, work, future))
        return future.result

    def close(self) -> None:
        """What was begun comes to its end, if that is soon: a model that does not answer must hold up nobody's exit."""
        with self._turn:
            self._closed = True
        for _ in self._running:
            self._begun.put(None)
        deadline = time.monotonic() + _LAST_WORD_S
        for thread in self._running:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _is_staffed(self) -> bool:
        """Threads are started as they are needed and stay, because each has a connection of its own to the index; none
        keeps the process from ending. Whether there is one at all: a machine may refuse more."""
        if len(self._running) < self._threads:
            thread = threading.Thread(target=self._work, name="dowse-beside", daemon=True)
            with suppress(RuntimeError):
                thread.start()
                self._running.append(thread)
        return bool(self._running)

    def _work(self) -> None:
        while (work := self._begun.get()) is not None:
            work()

    def _do(self, work: Callable[[], Result], future: Future[Result]) -> None:
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - raised where the result is waited for
            self._free.release()
            future.set_exception(error)
        else:
            self._free.release()
            future.set_result(result)
