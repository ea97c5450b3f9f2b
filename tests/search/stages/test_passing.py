"""What passes: records that fade, hold for some time only, or are superseded; and what of several families is shown."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refine_support import DAY, NOW, hits, places, put, run_over

from dowse.model import Link, Query, Scope
from dowse.search.stages.recency import AgeDecay, DecayWithinGroup, SuccessorBoost, Validity
from dowse.search.stages.scores import Quotas
from dowse.store.base import Store
from oracle.dict_store import DictStore

# --- fading ---


@pytest.mark.parametrize(
    ("kind", "type", "age_days", "left"),
    [
        ("memory", "journal", 0, 1.0), ("memory", "journal", 1, 0.9), ("memory", "journal", 10, 0.9**10),
        ("memory", "journal", 100, 0.1), ("memory", "plan", 2, 0.85**2), ("memory", "plan", 100, 0.1),
        ("memory", "fact", 10, 0.98**10), ("memory", "fact", 1000, 0.2), ("memory", "observation", 3, 0.92**3),
        ("memory", "observation", 1000, 0.15), ("memory", "reflection", 5, 0.95**5), ("memory", "reflection", 999, 0.2),
        ("memory", "odd", 1, 0.9), ("memory", "", 1, 0.9), ("memory", "journal", -5, 1.0),
        ("commit", "", 365, 0.5), ("commit", "", 100_000, 0.3), ("doc", "journal", 100, 1.0), ("code", "", 9999, 1.0),
    ],
)  # fmt: skip
def test_each_kind_fades_at_its_pace(memory: DictStore, kind: str, type: str, age_days: float, left: float) -> None:
    put(memory, "a", "text", kind=kind, age_days=age_days, facets={"type": type})
    (hit,) = AgeDecay()(hits(memory, {"a": 0.5}), run_over(memory))
    assert hit.score == pytest.approx(0.5 * left)
    assert hit.evidence.get("decay", 1.0) == pytest.approx(left)
    (hit,) = AgeDecay(0.5)(hits(memory, {"a": 0.5}), run_over(memory))
    assert hit.score == pytest.approx(0.5 * (1 + left) / 2)


def test_the_moment_a_record_is_about_counts(memory: DictStore) -> None:
    put(memory, "a", "text", kind="memory", age_days=0, at_ns=int((NOW - 7 * DAY) * 10**9), facets={"type": "journal"})
    (hit,) = AgeDecay()(hits(memory, {"a": 1.0}), run_over(memory))
    assert hit.score == pytest.approx(0.9**7)


def test_the_old_gives_way_to_its_own_family_only(memory: DictStore) -> None:
    put(memory, "old", "text", kind="memory", age_days=500, facets={"type": "journal"})
    put(memory, "new", "text", kind="memory", age_days=0, facets={"type": "journal"})
    for number, kind in enumerate(("doc", "code", "commit")):
        put(memory, f"{kind}", "text", kind=kind, age_days=number)
    scores = {"old": 0.9, "doc": 0.89, "new": 0.88, "code": 0.87, "commit": 0.1}
    found = DecayWithinGroup(0.1)(hits(memory, scores), run_over(memory))
    assert places(found) == ["new#0", "doc#0", "old#0", "code#0", "commit#0"]
    assert [hit.score for hit in found] == [0.9, 0.89, 0.88, 0.87, 0.1]
    assert found[2].evidence["decay"] == pytest.approx(1 - 0.1 * 0.9)


@given(st.lists(st.tuples(st.sampled_from(["doc", "memory", "commit"]), st.integers(0, 3), st.integers(0, 900))))
def test_no_family_wins_or_loses_a_place_by_age(drawn: list[tuple[str, int, int]]) -> None:
    store = DictStore()
    store.writer.add_collection("/notes")
    for number, (kind, _, age) in enumerate(drawn):
        put(store, f"{number}", "text", kind=kind, age_days=age)
    before = hits(store, {f"{number}": float(score) for number, (_, score, _) in enumerate(drawn)})
    after = DecayWithinGroup(0.3)(before, run_over(store))
    ranked = sorted(before, key=lambda hit: -hit.score)
    assert [(hit.stored.record.kind, hit.score) for hit in after] == [
        (hit.stored.record.kind, hit.score) for hit in ranked
    ]
    assert sorted(places(after)) == sorted(places(before))


# --- validity ---


def day(offset: float) -> str:
    return datetime.fromtimestamp(NOW + offset * DAY, UTC).strftime("%Y-%m-%d")


@pytest.mark.parametrize(
    ("facets", "evidence"),
    [
        ({}, {}), ({"valid_until": day(1)}, {}), ({"valid_until": day(0)}, {}), ({"valid_from": day(0)}, {}),
        ({"valid_until": day(-1)}, {"expired": 0.5}), ({"valid_from": day(1)}, {"not_yet_valid": 0.5}),
        ({"valid_from": day(-5), "valid_until": day(5)}, {}), ({"valid_from": day(5), "valid_until": day(-5)},
        {"not_yet_valid": 0.5}), ({"valid_until": "no time"}, {}), ({"valid_from": ""}, {}),
        ({"status": "active"}, {}), ({"status": "archived"}, {"archived": 0.5}),
        ({"status": "archived", "valid_until": day(-1)}, {"expired": 0.5}),
    ],
)  # fmt: skip
def test_validity(memory: DictStore, facets: dict[str, str], evidence: dict[str, float]) -> None:
    put(memory, "a", "text", kind="memory", facets=facets)
    (hit,) = Validity()(hits(memory, {"a": 0.8}), run_over(memory))
    assert hit.evidence == evidence
    assert hit.score == pytest.approx(0.4 if evidence else 0.8)


# --- superseded ---


def note(store: Store, path: str, *over: str) -> None:
    put(store, path, "text", kind="memory", links=[Link("supersedes", it, 1) for it in over])


def test_below_its_successors_however_far_along(store: Store) -> None:
    note(store, "v1.md")
    note(store, "v2.md", "memory:v1")
    note(store, "v3.md", "v2.md")
    found = hits(store, {"v1.md": 0.9, "v2.md": 0.5, "v3.md": 0.1})
    judged = SuccessorBoost()(found, run_over(store))
    assert places(judged) == ["v3.md#0", "v2.md#0", "v1.md#0"]
    assert [hit.evidence.get("superseded", 0) for hit in judged] == [0, 1, 2]


def test_a_successor_takes_the_place_whether_it_was_found_or_not(store: Store) -> None:
    note(store, "old.md")
    note(store, "between.md", "old")
    note(store, "new.md", "between")
    note(store, "other.md")
    for found in ({"old.md": 0.8, "other.md": 0.5}, {"old.md": 0.8, "other.md": 0.5, "new.md": 0.1}):
        judged = SuccessorBoost()(hits(store, found), run_over(store))
        assert [(hit.stored.record.path, hit.score) for hit in judged] == [
            ("new.md", 0.8),
            ("other.md", 0.5),
            ("old.md", 0.4),
        ]
        assert judged[0].evidence == {"succeeds": 1}


def test_a_successor_outside_of_the_scope_stays_there(store: Store) -> None:
    note(store, "old.md")
    note(store, "new.md", "old")
    asked = run_over(store, Scope(excluded=("new.md",)))
    judged = SuccessorBoost()(hits(store, {"old.md": 0.8}), asked)
    assert [(hit.stored.record.path, hit.score) for hit in judged] == [("old.md", 0.4)]


def test_a_circle_supersedes_nobody_in_it(store: Store) -> None:
    note(store, "a.md", "b")
    note(store, "b.md", "c", "b")
    note(store, "c.md", "a", "d")
    note(store, "d.md")
    found = hits(store, {"d.md": 0.9, "a.md": 0.5, "b.md": 0.4, "c.md": 0.3})
    assert places(SuccessorBoost()(found, run_over(store))) == ["c.md#0", "a.md#0", "b.md#0", "d.md#0"]


def test_other_kinds_are_not_looked_at(store: Store) -> None:
    put(store, "a.md", "text", links=[Link("supersedes", "b", 1)])
    put(store, "b.md", "text")
    found = hits(store, {"b.md": 0.9, "a.md": 0.5})
    assert SuccessorBoost()(found, run_over(store)) == found


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=10),
    st.lists(st.sampled_from([-1.0, 0.0, 0.1, 0.5, 1.0]), min_size=6, max_size=6),
)
def test_nothing_ranks_above_what_supersedes_it_alone(edges: list[tuple[int, int]], scores: list[float]) -> None:
    store = DictStore()
    store.writer.add_collection("/work/notes")
    for number in range(6):
        note(store, f"{number}.md", *(f"{below}" for above, below in edges if above == number))
    ranked = sorted(range(6), key=lambda it: -scores[it])
    judged = SuccessorBoost()(hits(store, {f"{it}.md": scores[it] for it in ranked}), run_over(store))
    order = [int(it.stored.record.path[0]) for it in judged]
    for above, below in edges:
        if not _reaches(below, above, edges):
            assert order.index(above) < order.index(below)
    assert sorted(order) == list(range(6))


def _reaches(start: int, end: int, edges: list[tuple[int, int]]) -> bool:
    seen, waiting = {start}, [start]
    while waiting:
        here = waiting.pop()
        found = {below for above, below in edges if above == here} - seen
        seen |= found
        waiting.extend(found)
    return end in seen


# --- quotas ---


def shown(counts: dict[str, list[float]], limit: int, scope: Scope = Scope()) -> tuple[list[str], list[str]]:  # noqa: B008
    """The kinds of what is shown of hits with these scores, and what was noted."""
    store = DictStore()
    store.writer.add_collection("/work/notes")
    ranked = sorted(((score, kind) for kind, all_of in counts.items() for score in all_of), reverse=True)
    for number, (_, kind) in enumerate(ranked):
        put(store, f"{number}", "text", kind=kind)
    run = run_over(store, scope)
    run.query = Query("x", scope, limit)
    found = Quotas()(hits(store, {f"{number}": score for number, (score, _) in enumerate(ranked)}), run)[:limit]
    return [it.stored.record.kind for it in found], run.notes


def many(score: float, count: int) -> list[float]:
    return [score - place / 1000 for place in range(count)]


def test_no_family_takes_more_than_its_share() -> None:
    kinds, notes = shown({"commit": many(1.0, 30), "doc": many(0.5, 6), "code": many(0.4, 6)}, 8)
    assert kinds == ["commit", "commit", *["doc"] * 6]
    assert notes == ["6 commits dropped by quota"]


def test_a_record_has_one_place_of_a_share() -> None:
    store = DictStore()
    store.writer.add_collection("/work/notes")
    put(store, "long", *["text"] * 3, kind="commit")
    for path, kind in (("other", "commit"), *((f"{number}.md", "doc") for number in range(9))):
        put(store, path, "text", kind=kind)
    run = run_over(store)
    run.query = Query("x", limit=8)
    scores = {"long": 1.0, "long#1": 0.9, "long#2": 0.8, "other": 0.7, **{f"{n}.md": 0.6 for n in range(9)}}
    found = Quotas()(hits(store, scores), run)
    assert [it.stored.record.path for it in found[:3]] == ["long", "other", "0.md"]
    assert len(found) == 8


def test_no_place_stays_empty() -> None:
    kinds, _ = shown({"commit": many(1.0, 30), "doc": many(0.5, 2)}, 8)
    assert sorted(kinds) == ["commit"] * 6 + ["doc"] * 2
    assert shown({"commit": many(1.0, 3)}, 8)[0] == ["commit"] * 3


def test_what_is_worth_it_gets_one_place() -> None:
    kinds, _ = shown({"doc": many(1.0, 30), "commit": [0.7], "memory": [0.1]}, 8)
    assert kinds == ["doc"] * 7 + ["commit"]
    assert shown({"doc": many(1.0, 30), "commit": [0.7]}, 3)[0] == ["doc"] * 3


def test_who_names_kinds_gets_them_as_they_come() -> None:
    scope = Scope(kinds=("commit", "doc"))
    assert shown({"commit": many(1.0, 30), "doc": many(0.5, 6)}, 8, scope)[0] == ["commit"] * 8


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["doc", "code", "commit", "memory"]),
        st.lists(st.sampled_from([1.0, 0.9, 0.5, 0.1]), max_size=9),
    ),
    st.integers(1, 9),
)
def test_as_many_as_there_are(counts: dict[str, list[float]], limit: int) -> None:
    kinds, _ = shown(counts, limit)
    assert len(kinds) == min(limit, sum(map(len, counts.values())))
    others = sum(len(counts.get(kind, ())) for kind in ("doc", "code"))
    if others >= limit:
        assert kinds.count("commit") <= max(1, limit // 4)
        assert kinds.count("memory") <= max(1, limit // 4)
