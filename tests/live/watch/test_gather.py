"""Debounce and batches, by numbers alone: the quiet time is 10, so the longest wait is 100."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from dowse.live.watch.debounce import (
    BULK_CHANGE,
    EVENTS_LOST,
    GIT_CHANGED,
    RULES_CHANGED,
    WATCH_STARTED,
    ChangeBatch,
    Debouncer,
    FileEvent,
    WatchTiming,
)
from watching import covers

TIMING = WatchTiming(debounce_s=10, git_debounce_s=50, poll_s=1, bulk_threshold=6)
CAP = 100

paths = st.sampled_from(["a", "b", "c", "d/e", "d/f", "d/g/h", "d", "i/j", "k", "l", "m"])
sights = st.one_of(
    st.builds(FileEvent, st.just("file"), paths),
    st.builds(FileEvent, st.just("tree"), st.sampled_from(["d", "d/g", "i"])),
    st.sampled_from([FileEvent("git"), FileEvent("rules"), FileEvent("lost")]),
)
files = st.builds(FileEvent, st.just("file"), st.sampled_from("abcdef"))


def gather() -> Debouncer:
    return Debouncer("c", TIMING)


@dataclass
class Run:
    """Plays sights at times and takes what is due exactly when it is due."""

    gather: Debouncer = field(default_factory=gather)
    sent: list[tuple[float, ChangeBatch]] = field(default_factory=list)

    def until(self, now: float) -> None:
        while (due := self.gather.due_at()) is not None and due <= now:
            assert self.gather.take_due(due - 0.01) is None, "handed on too early"
            taken = self.gather.take_due(due)
            assert taken is not None, "not handed on when due"
            self.sent.append((due, taken.batch))

    def play(self, steps: Sequence[tuple[int, FileEvent]]) -> float:
        now = 1000.0
        for wait, sight in steps:
            self.until(now := now + wait)
            self.gather.add_events([sight], now)
        return now


@given(st.lists(st.tuples(st.integers(0, 40), sights), max_size=60))
def test_what_was_seen_is_pending_until_it_is_done(steps):
    run, now = Run(), 1000.0
    seen: set[str] = set()
    for wait, sight in steps:
        run.until(now := now + wait)
        run.gather.add_events([sight], now)
        seen |= {sight.path} - {""}
        known = run.gather.pending()
        assert known is None or all(covers(known, path) for path in seen)
    run.until(now + 10_000)
    assert run.gather.due_at() is None
    whole = [batch for _, batch in run.sent if batch.compare_all and batch.why != "git"]
    handed_on = frozenset().union(*(batch.paths for _, batch in run.sent))
    assert whole or all(covers(handed_on, path) for path in seen)
    for _, batch in run.sent:
        run.gather.mark_done(batch)
    assert run.gather.pending() == frozenset()
    assert run.gather.count() == 0


@given(st.lists(st.tuples(st.integers(0, 40), files), max_size=60))
def test_a_file_rests_before_it_is_handed_on_or_has_waited_long(steps):
    run, now = Run(), 1000.0
    first: dict[str, float] = {}
    last: dict[str, float] = {}
    for wait, sight in [*steps, (10_000, FileEvent("file", "a"))]:
        now += wait
        before = len(run.sent)
        run.until(now)
        for at, batch in run.sent[before:]:
            for path in batch.paths:
                assert at - last[path] >= TIMING.debounce_s or at - first[path] >= CAP
                assert at - first.pop(path) <= CAP
        run.gather.add_events([sight], now)
        first.setdefault(sight.path, now)
        last[sight.path] = now
    assert set(first) == {"a"}


@given(st.lists(st.tuples(st.integers(0, 9), files), min_size=1, max_size=6, unique_by=lambda step: step[1]))
def test_a_burst_is_one_batch(steps):
    run = Run()
    run.until(run.play(steps) + CAP)
    assert [batch.paths for _, batch in run.sent] == [frozenset(sight.path for _, sight in steps)]


def test_a_file_rewritten_all_the_time_holds_up_no_other_and_makes_few_batches():
    run = Run()
    steps = [(1, FileEvent("file", "hot")) for _ in range(1000)]
    steps.insert(500, (0, FileEvent("file", "cold")))
    run.play(steps)
    hot = [batch for _, batch in run.sent if "hot" in batch.paths]
    assert 8 <= len(hot) <= 11
    cold = [at for at, batch in run.sent if "cold" in batch.paths]
    assert len(cold) == 1
    assert cold[0] <= 1500 + 2 * TIMING.debounce_s


def test_a_directory_takes_in_what_was_seen_below_it():
    it = gather()
    it.add_events(
        [FileEvent("file", "d/a"), FileEvent("file", "dd"), FileEvent("tree", "d"), FileEvent("file", "d/b")], 5
    )
    assert it.pending() == {"d", "dd"}
    due = it.take_due(15)
    assert due is not None
    assert due.batch.paths == {"d", "dd"}


def test_a_directory_in_a_directory_is_forgotten_with_it():
    it = gather()
    it.add_events([FileEvent("tree", "d/g"), FileEvent("tree", "d")], 0)
    assert it.pending() == {"d"}
    due = it.take_due(10)
    assert due is not None
    it.mark_done(due.batch)
    it.add_events([FileEvent("file", "d/g/h")], 11)
    assert it.pending() == {"d/g/h"}


def test_a_directory_waits_for_what_is_written_below_it():
    it = gather()
    it.add_events([FileEvent("tree", "d")], 0)
    it.add_events([FileEvent("file", "d/b")], 8)
    assert it.due_at() == 18


def test_beyond_the_threshold_everything_is_compared():
    it = gather()
    it.add_events([FileEvent("file", f"{n}") for n in range(6)], 0)
    assert it.pending() is not None
    it.add_events([FileEvent("file", "6")], 3)
    it.add_events([FileEvent("file", "7")], 6)
    assert it.pending() is None
    assert it.due_at() == 16
    due = it.take_due(16)
    assert due is not None
    assert due.batch == ChangeBatch("c", frozenset(), True, BULK_CHANGE.text)
    assert it.pending() is None
    it.add_events([FileEvent("file", "8")], 17)
    it.mark_done(due.batch)
    assert it.pending() == {"8"}


def test_a_storm_without_end_is_compared_after_the_longest_wait():
    it = gather()
    for n in range(100):
        it.add_events([FileEvent("file", f"{n}")], n)
    assert it.due_at() == CAP


def test_git_waits_longer_and_hides_nothing():
    it = gather()
    it.add_events([FileEvent("git"), FileEvent("file", "a")], 0)
    assert it.pending() == {"a"}
    files = it.take_due(10)
    assert files is not None
    assert files.batch == ChangeBatch("c", frozenset("a"), False, "files changed")
    assert it.due_at() == 50
    due = it.take_due(50)
    assert due is not None
    assert due.reasons == (GIT_CHANGED,)
    assert due.batch == ChangeBatch("c", frozenset(), True, "git")
    assert it.pending() == {"a"}
    it.mark_done(files.batch)
    assert it.pending() == frozenset()


def test_reasons_that_are_due_together_are_one_comparison():
    it = gather()
    it.add_events([FileEvent("rules"), FileEvent("lost")], 0)
    due = it.take_due(10)
    assert due is not None
    assert due.reasons == (RULES_CHANGED, EVENTS_LOST)
    assert due.batch.why == "ignore rules, overflow"
    assert it.take_due(10_000) is None


def test_the_first_comparison_does_not_wait():
    it = gather()
    it.compare(WATCH_STARTED, 7)
    assert it.due_at() == 7


def test_of_two_equal_batches_one_may_still_be_on_its_way():
    it = gather()
    batches = []
    for now in (0, 20):
        it.add_events([FileEvent("file", "a")], now)
        due = it.take_due(now + 10)
        assert due is not None
        batches.append(due.batch)
    assert batches[0] == batches[1]
    it.mark_done(batches[0])
    assert it.pending() == {"a"}
    it.mark_done(batches[1])
    assert it.pending() == frozenset()
    it.mark_done(batches[1])  # once too often


def test_what_is_forgotten_does_not_come_back():
    it = gather()
    it.add_events([FileEvent("file", "a"), FileEvent("git"), FileEvent("tree", "d")], 0)
    it.forget()
    assert it.due_at() is None
    it.add_events([FileEvent("file", "d/e")], 1)
    assert it.pending() == {"d/e"}


def test_what_was_given_up_stays_pending_until_all_was_compared():
    run = Run()
    run.gather.add_events([FileEvent("file", "a")], 1000)
    run.until(1010)
    run.gather.mark_missed(run.sent[-1][1], 1010)
    assert run.gather.pending() == {"a"}
    run.gather.add_events([FileEvent("file", "b")], 1011)
    run.until(1021)
    assert run.sent[-1][1].paths == {"b"}, "others do not wait for it"
    run.until(1040)
    again = run.sent[-1]
    assert (again[0], again[1].compare_all, run.gather.pending()) == (1040, True, {"a", "b"})
    run.gather.mark_missed(again[1], 1041)
    assert run.gather.pending() == {"a", "b"}
    run.until(1071)
    run.gather.mark_done(run.sent[-1][1])
    assert run.gather.pending() == {"b"}
    assert run.gather.due_at() is None


def test_a_comparison_that_was_given_up_leaves_nobody_knowing():
    run = Run()
    run.gather.compare(WATCH_STARTED, 1000)
    run.until(1000)
    run.gather.mark_missed(run.sent[-1][1], 1001)
    assert run.gather.pending() is None
    run.until(1031)
    assert run.gather.pending() is None
    run.gather.mark_done(run.sent[-1][1])
    assert run.gather.pending() == set()


def test_what_was_done_or_is_gone_is_not_missed():
    run = Run()
    run.gather.add_events([FileEvent("file", "a")], 1000)
    run.until(1010)
    run.gather.mark_done(run.sent[-1][1])
    run.gather.mark_missed(run.sent[-1][1], 1011)
    assert (run.gather.pending(), run.gather.due_at()) == (set(), None)
    run.gather.compare(WATCH_STARTED, 1020)
    run.until(1020)
    run.gather.mark_missed(run.sent[-1][1], 1021)
    run.gather.forget()
    assert (run.gather.pending(), run.gather.due_at()) == (set(), None)


def test_too_much_that_was_given_up_is_not_remembered_one_by_one():
    run = Run()
    for at, name in enumerate("abcdefg"):
        run.gather.add_events([FileEvent("file", name)], 1000 + 10 * at)
        run.until(1010 + 10 * at)
        run.gather.mark_missed(run.sent[-1][1], 1010 + 10 * at)
    assert run.gather.pending() is None
