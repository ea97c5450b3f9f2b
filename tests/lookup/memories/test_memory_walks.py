"""Following references from memory to memory: both ways, round in circles, and to what is not there."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dowse.lookup import memories as walk
from dowse.lookup.memories import MemoryWalk, follow_links, load_memory_edges
from dowse.model import Link
from dowse.text.memory_notes import MemoryEdge, MemoryEdges, MemoryEnd, build_edges
from memory_notes import SCOPE, memory, store_of, to

_NAMES = [f"{name}.md" for name in "abcdef"]


def told(walk: MemoryWalk) -> list[tuple[str, int]]:
    return [(it.name, it.distance) for it in walk.steps]


def test_both_ways_and_by_way_of_others(tmp_path: Path) -> None:
    a, b, c = memory("a.md"), memory("b.md"), memory("c.md")
    links = [(a, [to("memory:b", "supersedes")]), (b, [to("memory:c.md", "supersedes", 7, "words")]), (c, [])]
    among = load_memory_edges(store_of(tmp_path, links).view(), SCOPE, "supersedes")
    assert told(follow_links(among, a)) == [("b.md", 1), ("c.md", 2)]
    assert told(follow_links(among, c, back=True)) == [("b.md", 1), ("a.md", 2)]
    assert told(follow_links(among, a, far=1)) == [("b.md", 1)]
    assert told(follow_links(among, a, back=True)) == []
    last = follow_links(among, a).steps[-1]
    assert (last.edge.declared_by, last.edge.link.line, last.edge.link.context) == (b, 7, "words")


def test_other_kinds_other_targets_and_other_records_are_no_references(tmp_path: Path) -> None:
    a, b = memory("a.md"), memory("b.md")
    foreign = memory("x.md", collection="elsewhere")
    document = memory("d.md", kind="doc")
    store = store_of(
        tmp_path,
        [
            (a, [to("memory:b", "mentions"), to("src/b.py", "supersedes"), to("memory:a", "supersedes")]),
            (b, []),
            (foreign, [to("memory:b", "supersedes")]),
            (document, [to("memory:b", "supersedes")]),
        ],
    )
    among = load_memory_edges(store.view(), SCOPE, "supersedes")
    assert told(follow_links(among, a)) == told(follow_links(among, b, back=True)) == []
    assert not follow_links(among, a).circular  # what says that it supersedes itself says nothing


def test_a_memory_that_is_not_there_is_told_once(tmp_path: Path) -> None:
    a = memory("a.md")
    store = store_of(tmp_path, [(a, [to("memory:gone", "depends_on", 1), to("memory:gone", "depends_on", 2)])])
    found = follow_links(load_memory_edges(store.view(), SCOPE, "depends_on"), a)
    assert [(it.name, it.record, it.edge.link.line) for it in found.steps] == [("gone", None, 1)]


def test_the_same_may_be_said_from_the_other_end(tmp_path: Path) -> None:
    a, b = memory("a.md"), memory("b.md")
    links = [(a, [to("memory:b", "superseded_by", 4), to("memory:gone", "superseded_by")]), (b, [])]
    among = load_memory_edges(store_of(tmp_path, links).view(), SCOPE, "supersedes")
    assert told(follow_links(among, b)) == [("a.md", 1)]
    found = follow_links(among, a, back=True)
    assert [(it.name, it.record, it.edge.declared_by, it.edge.link.line) for it in found.steps] == [
        ("b.md", b, a, 4),
        ("gone", None, a, 1),
    ]
    assert told(follow_links(load_memory_edges(store_of(tmp_path, []).view(), SCOPE, "depends_on"), a)) == []


def test_a_circle_is_cut_and_said(tmp_path: Path) -> None:
    a, b, c = memory("a.md"), memory("b.md"), memory("c.md")
    links = [
        (a, [to("memory:b", "supersedes")]),
        (b, [to("memory:a", "supersedes")]),
        (c, [to("memory:a", "supersedes")]),
    ]
    among = load_memory_edges(store_of(tmp_path, links).view(), SCOPE, "supersedes")
    assert told(follow_links(among, a)) == [("b.md", 1)]
    assert follow_links(among, a).circular
    assert told(follow_links(among, c)) == [("a.md", 1), ("b.md", 2)]
    assert not follow_links(among, c).circular


def test_a_very_long_chain_is_cut_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk, "MAX_WALK_STEPS", 3)
    among = _edges({f"{n}.md": {f"{n + 1}.md"} for n in range(10)})
    found = follow_links(among, memory("0.md"))
    assert told(found) == [("1.md", 1), ("2.md", 2), ("3.md", 3)]
    assert found.has_more


def test_exactly_as_many_as_are_told_are_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk, "MAX_WALK_STEPS", 3)
    assert not follow_links(_edges({"0.md": {"1.md", "2.md", "3.md"}}), memory("0.md")).has_more


@given(st.dictionaries(st.sampled_from(_NAMES), st.sets(st.sampled_from(_NAMES)), max_size=6), st.booleans())
def test_everything_that_can_be_reached_is_told_once_at_its_shortest_distance(
    graph: dict[str, set[str]], back: bool
) -> None:
    found = follow_links(_edges(graph), memory("a.md"), back=back)
    assert dict(told(found)) == _distances(graph, back)
    assert len(found.steps) == len({it.name for it in found.steps})
    distances = [it.distance for it in found.steps]
    assert distances == sorted(distances)


def _edges(graph: dict[str, set[str]]) -> MemoryEdges:
    outgoing: dict[tuple[str, str], list[MemoryEdge]] = {}
    incoming: dict[tuple[str, str], list[MemoryEdge]] = {}
    for source, targets in graph.items():
        for target in sorted(targets):
            here, there = MemoryEnd("notes", source, memory(source)), MemoryEnd("notes", target, memory(target))
            edge = MemoryEdge(here, there, memory(source), Link("supersedes", f"memory:{target}", 1))
            outgoing.setdefault(here.key, []).append(edge)
            incoming.setdefault(there.key, []).append(edge)
    return build_edges(outgoing, incoming)


def _distances(graph: dict[str, set[str]], back: bool) -> dict[str, int]:
    """Level by level, without any of the code above."""
    pairs = {(b, a) if back else (a, b) for a, targets in graph.items() for b in targets}
    reached, level = {"a.md": 0}, {"a.md"}
    for distance in range(1, len(_NAMES) + 1):
        level = {b for a, b in pairs if a in level and b not in reached}
        reached |= dict.fromkeys(level, distance)
    return {name: distance for name, distance in reached.items() if distance}
