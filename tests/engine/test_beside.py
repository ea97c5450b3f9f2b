"""Work beside the thread that asks: begun where a thread is free, else done when it is asked for."""

from __future__ import annotations

import threading

import pytest

from dowse.engine.core import QueryActivity, SpareThreads, count_spare_processors


@pytest.fixture
def beside() -> SpareThreads:
    return SpareThreads(1)


def test_work_goes_on_beside(beside: SpareThreads) -> None:
    met = threading.Barrier(2)
    result = beside.begin(lambda: (met.wait(30), threading.current_thread().name))
    met.wait(30)
    assert result()[1].startswith("dowse-beside")
    beside.close()


def test_where_no_thread_is_free_it_is_done_by_whoever_asks(beside: SpareThreads) -> None:
    release = threading.Event()
    first = beside.begin(lambda: release.wait(30))
    second = beside.begin(threading.current_thread)
    assert second() is threading.current_thread()
    release.set()
    assert first()
    beside.close()


def test_a_thread_is_free_again_whatever_became_of_its_work(beside: SpareThreads) -> None:
    def fails() -> None:
        raise ValueError("no")

    for _ in range(3):
        result = beside.begin(fails)
        with pytest.raises(ValueError, match="no"):
            result()
    assert beside.begin(threading.current_thread)() is not threading.current_thread()
    beside.close()


@pytest.mark.parametrize("threads", [0, 1])
def test_without_threads_or_closed_everything_is_done_in_place(threads: int) -> None:
    beside = SpareThreads(threads)
    if threads:
        beside.begin(int)()
        beside.close()
        beside.close()
    assert beside.begin(threading.current_thread)() is threading.current_thread()


def test_closing_waits_for_what_was_begun(beside: SpareThreads) -> None:
    done: list[int] = []
    release = threading.Event()

    def work() -> None:
        release.wait(30)
        done.append(1)

    beside.begin(work)
    threading.Timer(0.05, release.set).start()
    beside.close()
    assert done == [1]


def test_there_are_never_more_than_a_few() -> None:
    assert 0 <= count_spare_processors() <= 4


def test_work_that_does_not_end_keeps_nobody_from_closing(
    beside: SpareThreads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dowse.engine.core._THREADS_CLOSE_WAIT_S", 0.05)
    never = threading.Event()
    beside.begin(never.wait)
    beside.close()
    (blocked,) = beside._running
    assert blocked.daemon
    never.set()
    blocked.join(30)


def test_a_machine_that_refuses_more_threads_is_no_failure(
    beside: SpareThreads, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refused)
        assert beside.begin(threading.current_thread)() is threading.current_thread()
    assert beside.begin(threading.current_thread)() is not threading.current_thread()
    beside.close()


class Time:
    """Goes on only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 100.0

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def questions(self) -> QueryActivity:
        return QueryActivity(lambda: self.now, self.sleep)


def test_work_in_the_background_waits_for_half_a_second_without_questions() -> None:
    time = Time()
    questions = time.questions()
    questions.wait_for_quiet(lambda: False)
    assert time.now == 100.0  # nobody has asked
    questions.note()
    questions.wait_for_quiet(lambda: False)
    assert time.now == pytest.approx(100.5, abs=0.06)


def test_it_goes_on_now_and_then_however_much_is_asked() -> None:
    time = Time()
    questions = QueryActivity(lambda: time.now, lambda seconds: (time.sleep(seconds), questions.note())[0])
    questions.note()
    questions.wait_for_quiet(lambda: False)
    assert time.now == pytest.approx(105.0, abs=0.06)


def test_whoever_has_to_stop_does_not_wait() -> None:
    time = Time()
    questions = time.questions()
    questions.note()
    questions.wait_for_quiet(lambda: True)
    assert time.now == 100.0
