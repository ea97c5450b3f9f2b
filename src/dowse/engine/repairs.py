"""Indexing a few files before an answer, which waits for it only so long."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from dowse.errors import DowseError, IndexBusy

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

Refresh = Callable[[str, tuple[str, ...]], object]


class Repairs:
    """One at a time, in a thread of its own: what takes longer than an answer waits goes on behind it."""

    def __init__(self, refresh: Refresh, elapsed: Callable[[], float]) -> None:
        self._refresh = refresh
        self._elapsed = elapsed
        self._turn = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._running: Future[str] | None = None

    def run(self, wanted: Mapping[str, tuple[str, ...]], wait_s: float) -> str:
        """Index these paths, by collection; says why they are not, or not yet."""
        deadline = self._elapsed() + wait_s
        is_mine = False
        while not is_mine:
            running, is_mine = self._begun(wanted)
            try:
                reason = running.result(max(0.0, deadline - self._elapsed()))
            except TimeoutError:
                return "indexing goes on behind this answer"
        return reason

    def close(self, patience_s: float) -> None:
        """Lets what was begun come to its end, if that is soon."""
        from concurrent.futures import wait

        with self._turn:
            pool, running = self._pool, self._running
            self._pool = None
        if running:
            wait([running], patience_s)
        if pool:
            pool.shutdown(wait=False, cancel_futures=True)

    def _begun(self, wanted: Mapping[str, tuple[str, ...]]) -> tuple[Future[str], bool]:
        """This repair, or another one that is under way and has to end first."""
        from concurrent.futures import ThreadPoolExecutor  # with logging behind it, which few questions need

        with self._turn:
            is_free = self._running is None or self._running.done()
            if self._running is None or is_free:
                self._pool = self._pool or ThreadPoolExecutor(1, thread_name_prefix="dowse-repair")
                self._running = self._pool.submit(self._repair, wanted)
            return self._running, is_free

    def _repair(self, wanted: Mapping[str, tuple[str, ...]]) -> str:
        try:
            for collection, paths in wanted.items():
                self._refresh(collection, paths)
        except IndexBusy:
            return "the index is being written to"
        except (DowseError, OSError) as error:
            return str(error)
        except Exception as error:  # the one who asked may have stopped waiting, and nobody else would be told
            import logging

            logging.getLogger(__name__).exception("files could not be indexed before an answer")
            return f"{type(error).__name__}: {error}"
        return ""
