"""Work of the lowest priority: it returns, raises and stops as if whoever waits for it did it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

import pytest

from dowse.processes import run_at_low_priority


def priority() -> int:
    return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())


def test_only_the_work_and_the_threads_it_starts_have_the_lowest_priority() -> None:
    seen: list[int] = []

    def work(is_stopped: Callable[[], bool]) -> str:
        thread = threading.Thread(target=lambda: seen.append(priority()))
        thread.start()
        thread.join()
        seen.append(priority())
        return "done"

    usual = priority()
    assert run_at_low_priority(work) == "done"
    assert seen == [19, 19] and priority() == usual


def test_what_it_raises_is_raised_where_it_is_waited_for() -> None:
    def work(is_stopped: Callable[[], bool]) -> None:
        raise LookupError("missing")

    with pytest.raises(LookupError, match="missing"):
        run_at_low_priority(work)
