"""Whose call runs next: connections take turns, and a call that waits for something keeps nobody from theirs."""

from __future__ import annotations

import sys
import time
from collections.abc import Awaitable, Callable
from threading import Event

import anyio
import pytest

from dowse.server.mcp import CallScheduler, ScheduledCall

FOR_EVER_S = 3600.0


def run_all(
    turns: CallScheduler, calls: list[tuple[str, Callable[[], object]]], then: Callable[[], Awaitable[None]]
) -> None:
    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            for connection, work in calls:
                tasks.start_soon(turns.run, connection, work)
                await anyio.wait_all_tasks_blocked()
            await then()

    anyio.run(main)


def test_connections_take_turns_however_much_each_has_asked() -> None:
    gate, order = Event(), []
    calls: list[tuple[str, Callable[[], object]]] = [("first", gate.wait)]
    calls += [("greedy", lambda number=number: order.append(f"greedy {number}")) for number in range(4)]
    calls += [("modest", lambda: order.append("modest")), ("third", lambda: order.append("third"))]

    async def open_gate() -> None:
        gate.set()

    run_all(CallScheduler(1, FOR_EVER_S), calls, open_gate)
    assert order == ["greedy 0", "modest", "third", "greedy 1", "greedy 2", "greedy 3"]


def test_a_call_that_takes_long_keeps_no_other_from_its_turn() -> None:
    gate, answered = Event(), Event()
    run_all(
        CallScheduler(1, 0.01),
        [("a", gate.wait), ("b", answered.set)],
        lambda: anyio.to_thread.run_sync(wait(answered, gate)),
    )
    assert answered.is_set()


@pytest.mark.skipif(sys.platform != "linux", reason="no other system tells the processor time of a thread")
def test_a_call_that_computes_keeps_its_turn_until_it_has_had_its_share_of_a_processor() -> None:
    begun = time.thread_time()

    def compute() -> tuple[bool, bool, bool]:
        while time.thread_time() - begun < 0.1:
            pass
        return call.is_computing(0.2, 3.0), call.is_computing(0.2, 0.01), call.is_computing(30.0, 3.0)

    call = ScheduledCall(compute, lambda: None)
    call.run()
    assert call.outcome == (True, False, False)  # at work; for long enough; mostly waiting


def wait(answered: Event, gate: Event) -> Callable[[], None]:
    def until_answered() -> None:
        assert answered.wait(60)
        gate.set()

    return until_answered


@pytest.mark.parametrize("cancelled", [0, 1])
def test_one_who_does_not_want_its_turn_any_more_leaves_it_to_the_next(cancelled: int) -> None:
    gate, order = Event(), []

    async def main() -> None:
        turns = CallScheduler(1, FOR_EVER_S)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(turns.run, "a", gate.wait)
            await anyio.wait_all_tasks_blocked()
            scopes = []
            for number in range(2):
                scopes.append(anyio.CancelScope())
                tasks.start_soon(run_in, scopes[-1], turns, lambda number=number: order.append(number))
                await anyio.wait_all_tasks_blocked()
            scopes[cancelled].cancel()
            await anyio.wait_all_tasks_blocked()
            gate.set()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(turns.run, "b", lambda: order.append("last"))

    async def run_in(scope: anyio.CancelScope, turns: CallScheduler, work: Callable[[], object]) -> None:
        with scope:
            await turns.run("b", work)

    anyio.run(main)
    assert order == [1 - cancelled, "last"]
