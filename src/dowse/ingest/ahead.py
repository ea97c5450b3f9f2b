"""Work done ahead of its turn by several threads, handed on in order and in batches."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future

Result = TypeVar("Result")

# What is done but not handed on yet is held in memory, at several times the size of what it was made from.
MOST_BYTES: Final = 8_000_000
# What is handed on at once is written at once, and takes several times its size in the log of the index.
MOST_BYTES_AT_ONCE: Final = 4_000_000
MOST_AT_ONCE: Final = 200
LONGEST_WAIT_S: Final = 2.0


def in_batches(
    work: Iterable[tuple[Callable[[], Result], int]],
    threads: int,
    arrived: Callable[[], None],
    most_bytes: int = MOST_BYTES,
    most: int = MOST_AT_ONCE,
) -> Iterator[list[Result]]:
    """The results of work of known size, in its order: as many at a time as came within two seconds, and at most so
    many.

    `arrived` is called for each of them as soon as it is known; `most_bytes` of it are held at a time.
    """
    batch: list[Result] = []
    most_at_once = min(most_bytes, MOST_BYTES_AT_ONCE)
    room, due = most_at_once, 0.0
    for future, size in _in_order(work, threads, most_bytes):
        if batch and (room < size or len(batch) >= most or not _is_done(future, due)):
            yield batch
            batch, room = [], most_at_once
        batch.append(future.result())
        arrived()
        room -= size
        due = due if len(batch) > 1 else time.monotonic() + LONGEST_WAIT_S
    if batch:
        yield batch


def _is_done(future: Future[Result], due: float) -> bool:
    from concurrent.futures import wait

    remaining_s = due - time.monotonic()
    return remaining_s > 0 and bool(wait([future], remaining_s).done)


def _in_order(
    work: Iterable[tuple[Callable[[], Result], int]], threads: int, most_bytes: int
) -> Iterator[tuple[Future[Result], int]]:
    """Only so much is begun that what waits for its turn stays small."""
    from concurrent.futures import ThreadPoolExecutor  # with logging behind it, which a search has no need for

    pool = ThreadPoolExecutor(threads, thread_name_prefix="dowse-reading")
    waiting: deque[tuple[Future[Result], int]] = deque()
    ahead = 0
    try:
        for do, size in work:
            while waiting and (ahead + size > most_bytes or len(waiting) >= 2 * MOST_AT_ONCE):
                ahead -= waiting[0][1]
                yield waiting.popleft()
            waiting.append((pool.submit(do), size))
            ahead += size
        yield from waiting
    finally:
        # Whoever stops before the end does not wait for what was begun.
        pool.shutdown(wait=False, cancel_futures=True)
