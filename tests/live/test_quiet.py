"""When it is time to act on what changes: after it was left alone, and again after a while if nothing came of it."""

from __future__ import annotations

from dowse.live.maintenance import GitDebouncer


def test_it_is_due_when_nothing_moved_for_so_long() -> None:
    quiet = GitDebouncer(5.0, 30.0, timer=lambda: 0.0)
    assert not quiet.is_due(dict, 0.0)
    assert not quiet.is_due(lambda: {"a": "1"}, 1.0)
    assert not quiet.is_due(lambda: {"a": "2"}, 4.0)
    assert not quiet.is_due(lambda: {"a": "2"}, 8.9)
    assert quiet.is_due(lambda: {"a": "2"}, 9.0)


def test_what_was_acted_on_is_due_again_after_a_while_or_when_it_moves() -> None:
    quiet = GitDebouncer(5.0, 30.0, timer=lambda: 0.0)
    times = [at for at in range(100) if quiet.is_due(lambda: {"a": "1"}, float(at))]
    assert times == [5, 35, 65, 95]
    assert not quiet.is_due(lambda: {"a": "2"}, 100.0)
    assert quiet.is_due(lambda: {"a": "2"}, 105.0)


def test_a_look_that_takes_long_is_made_seldom() -> None:
    clock = iter(range(1000))
    looks: list[float] = []
    quiet = GitDebouncer(0.0, 30.0, timer=lambda: float(next(clock)))
    for at in range(60):
        quiet.is_due(lambda at=at: looks.append(at) or {}, float(at))
    assert looks == [0, 20, 40]
