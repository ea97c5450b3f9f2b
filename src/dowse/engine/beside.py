"""A thread or two beside the one that asks, so that words and meaning are looked up at the same time."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

Result = TypeVar("Result")

_MOST: Final = 4


def spare_processors() -> int:
    """How many of those this process may use are left beside the one that it asks with."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(usable - 1, _MOST)


class Beside:
    """Where no thread is free, which is so where others ask as well, the one that asks does it all by itself."""

    def __init__(self, threads: int) -> None:
        self._free = threading.Semaphore(threads)
        self._threads = threads
        self._turn = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._closed = False

    def begin(self, work: Callable[[], Result]) -> Callable[[], Result]:
        """Gives what waits for the result, or makes it."""
        if not self._free.acquire(blocking=False):
            return work
        with self._turn:
            pool = None if self._closed else self._opened()
            if pool is None:
                self._free.release()
                return work
            return pool.submit(self._done, work).result

    def close(self) -> None:
        with self._turn:
            self._closed, pool = True, self._pool
        if pool is not None:
            pool.shutdown()

    def _opened(self) -> ThreadPoolExecutor:
        from concurrent.futures import ThreadPoolExecutor

        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._threads, "dowse-beside")
        return self._pool

    def _done(self, work: Callable[[], Result]) -> Result:
        try:
            return work()
        finally:
            self._free.release()
