"""What is superseded ranks below what took its place, whichever of them says so."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refine_support import hits, places, put, run_over, scores

from dowse.lookup.memories import follow_links, load_memory_edges, memory_validity
from dowse.model import Link, Scope
from dowse.search.stages.recency import SuccessorBoost
from dowse.store.base import Store
from oracle.dict_store import DictStore

_NAMES = "abcde"


def note(store: Store, name: str, *texts: str, links: dict[str, str] | None = None) -> None:
    """A memory; the links are kinds by name."""
    told = [Link(kind, f"memory:{target}", 1) for target, kind in (links or {}).items()]
    put(store, f"{name}.md", *(texts or (name,)), kind="memory", links=told)


@pytest.mark.parametrize(
    "make",
    [
        lambda store: (note(store, "old"), note(store, "new", links={"old": "supersedes"})),
        lambda store: (note(store, "old", links={"new": "superseded_by"}), note(store, "new")),
    ],
)
def test_said_from_either_end(store: Store, make: Callable[[Store], object]) -> None:
    make(store)
    found = SuccessorBoost()(hits(store, {"old.md": 0.9, "new.md": 0.3}), run_over(store))
    assert places(found) == ["new.md#0", "old.md#0"]
    assert [hit.evidence for hit in found] == [{"succeeds": 1}, {"superseded": 1}]


@pytest.mark.parametrize("written", ["memory:old", "old", "old.md", "./old.md#Why"])
def test_however_the_link_is_written(store: Store, written: str) -> None:
    note(store, "old")
    put(store, "new.md", "new", kind="memory", links=[Link("supersedes", written, 1)])
    found = SuccessorBoost()(hits(store, {"old.md": 0.9, "new.md": 0.3}), run_over(store))
    assert places(found) == ["new.md#0", "old.md#0"]


def test_across_links_of_a_chain_that_were_not_found(store: Store) -> None:
    note(store, "a", links={"b": "superseded_by"})
    note(store, "b")
    note(store, "c", links={"b": "supersedes"})
    found = SuccessorBoost()(hits(store, {"a.md": 0.9, "c.md": 0.1}), run_over(store))
    assert places(found) == ["c.md#0", "a.md#0"]


@pytest.mark.parametrize("joins", [True, False])
def test_what_stands_between_is_lifted_instead_of_pulling_down_what_it_supersedes(store: Store, joins: bool) -> None:
    note(store, "a", links={"b": "superseded_by"})
    note(store, "b", links={"c": "superseded_by"})
    note(store, "c")
    note(store, "other")
    found = {"a.md": 0.8, "other.md": 0.3, "b.md": 1e-8} | ({} if joins else {"c.md": 1e-9})
    ranked = SuccessorBoost()(hits(store, found), run_over(store))
    assert places(ranked) == ["c.md#0", "b.md#0", "a.md#0", "other.md#0"]
    assert [hit.score for hit in ranked] == pytest.approx([0.8, 0.4, 0.4, 0.3])
    assert [hit.matched_hit.stored.record.path for hit in ranked] == ["a.md", "a.md", "a.md", "other.md"]


def test_the_best_of_what_it_supersedes_stands_for_it(store: Store) -> None:
    note(store, "a")
    note(store, "b")
    note(store, "new", links={"a": "supersedes", "b": "supersedes"})
    first, *_ = SuccessorBoost()(hits(store, {"a.md": 0.4, "b.md": 0.7}), run_over(store))
    assert (first.stored.record.path, first.score, first.matched_hit.stored.record.path) == ("new.md", 0.7, "b.md")
    first, *_ = SuccessorBoost()(hits(store, {"a.md": 0.4, "b.md": 0.7, "new.md": 0.8}), run_over(store))
    assert first.matched_hit is first and "succeeds" not in first.evidence


def test_in_a_circle_none_is_superseded_but_by_what_stands_outside(store: Store) -> None:
    note(store, "a", links={"b": "supersedes"})
    note(store, "b", links={"a": "supersedes"})
    circle = {"a.md": 0.9, "b.md": 0.5}
    assert scores(SuccessorBoost()(hits(store, circle), run_over(store))) == {"a.md#0": 0.9, "b.md#0": 0.5}
    note(store, "c", links={"b": "supersedes"})
    found = SuccessorBoost()(hits(store, circle | {"c.md": 0.8}), run_over(store))
    assert scores(found) == {"c.md#0": 0.9, "a.md#0": 0.45, "b.md#0": 0.25}


_LINKS = st.dictionaries(
    st.sampled_from(_NAMES),
    st.dictionaries(st.sampled_from(_NAMES), st.sampled_from(["supersedes", "superseded_by"])),
)


@settings(deadline=None)
@given(_LINKS, st.dictionaries(st.sampled_from(_NAMES), st.floats(0, 1), min_size=1))
def test_below_all_that_can_be_reached_and_does_not_lead_back(
    links: dict[str, dict[str, str]], given_scores: dict[str, float]
) -> None:
    store = DictStore()
    store.writer.add_collection("/work/notes")
    for name in _NAMES:
        note(store, name, links=links.get(name, {}))
    ranked = {f"{name}.md": score for name, score in sorted(given_scores.items(), key=lambda it: -it[1])}
    found = [hit.stored.record.path[0] for hit in SuccessorBoost()(hits(store, ranked), run_over(store))]
    above = {name: _above(links, name) for name in _NAMES}
    for place, name in enumerate(found):
        successors = {it for it in above[name] if name not in above[it]}
        assert successors.isdisjoint(found[place + 1 :])


def _above(links: dict[str, dict[str, str]], start: str) -> set[str]:
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        one = waiting.pop()
        newer = {it for it, told in links.items() if told.get(one) == "supersedes" and it != one}
        newer |= {it for it, kind in links.get(one, {}).items() if kind == "superseded_by" and it != one}
        waiting.extend(newer - seen)
        seen |= newer
    return seen


def test_by_what_is_not_there_any_more_because_it_says_so_itself(store: Store) -> None:
    note(store, "a", links={"gone": "superseded_by"})
    note(store, "b")
    found = SuccessorBoost()(hits(store, {"a.md": 0.9, "b.md": 0.5}), run_over(store))
    assert places(found) == ["b.md#0", "a.md#0"]


def test_not_by_what_may_be_a_file_of_code(store: Store) -> None:
    put(store, "a.md", "a", kind="memory", links=[Link("superseded_by", "src/gone.py", 1)])
    note(store, "b")
    found = SuccessorBoost()(hits(store, {"a.md": 0.9, "b.md": 0.5}), run_over(store))
    assert scores(found) == {"a.md#0": 0.9, "b.md#0": 0.5}


_NAMED = ["a", "A.md", "b", "c", "in/c", "./in/d", "gone", "../gone", "", "#", "\ud800", "[", "a" * 900]
_WRITTEN = [f"{before}{name}" for name in _NAMED for before in ("memory:", "")]
_SAID = st.lists(st.tuples(st.sampled_from(_WRITTEN), st.sampled_from(["supersedes", "superseded_by"])), max_size=4)


@settings(deadline=None)
@given(st.fixed_dictionaries(dict.fromkeys(("a.md", "B.md", "in/c.md", "in/d.markdown"), _SAID)))
def test_the_same_as_standings_tell(said: dict[str, list[tuple[str, str]]]) -> None:
    """But that what stands in a circle is below whatever one of that circle is below."""
    store = DictStore()
    store.writer.add_collection("/work/notes")
    for path, links in said.items():
        put(store, path, path, kind="memory", links=[Link(kind, target, 1) for target, kind in links])
    ranked = SuccessorBoost()(hits(store, dict.fromkeys(said, 0.5)), run_over(store))
    records = {hit.stored.record.path: hit.stored.record for hit in ranked}
    below = {hit.stored.record.path for hit in ranked if "superseded" in hit.evidence}
    among = load_memory_edges(store.view(), Scope(kinds=("memory",)), "supersedes")
    told = {path for path, record in records.items() if memory_validity(record, among, 0.0).superseded_by}
    assert told <= below
    for path in below - told:
        back = follow_links(among, records[path], back=True)
        assert back.circular
        assert not all(among.is_cyclic(edge) for it in back.steps for edge in among.incoming_to(it.edge.source.key))
