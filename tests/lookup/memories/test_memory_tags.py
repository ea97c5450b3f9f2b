"""Tags: counted, paired and followed as a naive count over the memories would."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dowse.lookup import memories as tags
from dowse.lookup.memories import RelatedTag, build_tag_graph, cluster_by_tag, memory_counts, normalize_tag
from dowse.model import Record
from memory_notes import memory

_TAGS = list("abcdef")
_memories = st.lists(st.lists(st.sampled_from(_TAGS), max_size=4), max_size=8).map(
    lambda many: [memory(f"{at}.md", tags=each) for at, each in enumerate(many)]
)


@given(_memories)
def test_every_tag_and_every_pair_is_counted_once_for_each_memory(records: list[Record]) -> None:
    graph = build_tag_graph(records)
    sets = [set(it.tags) for it in records]
    assert dict(graph.counts) == {tag: n for tag in _TAGS if (n := sum(tag in it for it in sets))}
    pairs = {pair: n for pair in combinations(_TAGS, 2) if (n := sum(set(pair) <= it for it in sets))}
    assert dict(graph.pairs) == pairs
    assert graph.memories == len(records)


@given(_memories, st.sampled_from(_TAGS))
def test_related_tags_are_those_of_the_same_memories(records: list[Record], tag: str) -> None:
    found = build_tag_graph(records).related(tag)
    with_tag = [set(it.tags) for it in records if tag in it.tags]
    assert {it.tag: it.shared_memories for it in found} == {
        other: n for other in _TAGS if other != tag and (n := sum(other in it for it in with_tag))
    }
    for it in found:
        either = sum(bool({tag, it.tag} & set(record.tags)) for record in records)
        assert it.share == it.shared_memories / either
    assert found == sorted(found, key=lambda it: (-it.shared_memories, -it.share, it.tag))


@given(_memories, st.sampled_from(_TAGS), st.integers(1, 3))
def test_a_cluster_goes_from_tag_to_tag(records: list[Record], tag: str, depth: int) -> None:
    found = {it.record.path: it.distance for it in cluster_by_tag(records, tag, depth)}
    expected: dict[str, int] = {}
    known = {tag}
    for distance in range(1, depth + 1):
        near = [it for it in records if known & set(it.tags) and it.path not in expected]
        expected |= {it.path: distance for it in near}
        known = known.union(*(it.tags for it in near))
    assert found == expected


def test_of_one_distance_the_most_tags_come_first_then_the_order_given() -> None:
    records = [memory("new.md", tags=["x"]), memory("old.md", tags=["x"]), memory("both.md", tags=["x", "y", "z"])]
    start = memory("start.md", tags=["t", "x", "y"])
    found = cluster_by_tag([*records, start], "#T", 2)
    assert [(it.record.path, it.distance, it.tags) for it in found] == [
        ("start.md", 1, ("t",)),
        ("both.md", 2, ("x", "y")),
        ("new.md", 2, ("x",)),
        ("old.md", 2, ("x",)),
    ]


@pytest.mark.parametrize(
    ("written", "tag"), [("#Auth", "auth"), (" auth ", "auth"), ("#", ""), ("##Auth", "auth"), ("c#", "c#")]
)
def test_a_tag_is_written_in_many_ways(written: str, tag: str) -> None:
    assert normalize_tag(written) == tag


def test_a_tag_of_no_memory_leads_nowhere() -> None:
    assert cluster_by_tag([memory("a.md", tags=["x"])], "y", 3) == []
    assert build_tag_graph([memory("a.md", tags=["x"])]).related("y") == []


def test_a_memory_with_ten_thousand_tags_is_not_paired_whole() -> None:
    graph = build_tag_graph([memory("a.md", tags=[f"t{n:05}" for n in range(10_000)]), memory("b.md", tags=["x", "y"])])
    assert len(graph.counts) == 10_002
    assert len(graph.pairs) == tags.MAX_PAIRED_TAGS * (tags.MAX_PAIRED_TAGS - 1) // 2 + 1
    assert graph.unpaired == 1
    assert graph.related("x") == [RelatedTag("y", 1, 1.0)]


def test_what_is_used_most_comes_first() -> None:
    graph = build_tag_graph([memory("1", tags=["b", "c"]), memory("2", tags=["c", "b"]), memory("3", tags=["a", "c"])])
    assert graph.by_use() == [("c", 3), ("b", 2), ("a", 1)]
    assert graph.by_pairing() == [(("b", "c"), 2), (("a", "c"), 1)]


def test_memories_are_counted_by_type_and_status() -> None:
    records = [
        memory("a.md", tags=["x"], at=30, size=3, type="fact", status="active"),
        memory("b.md", tags=["x", "y"], at=10, size=4, type="fact", status="archived"),
        memory("c.md", at=20, size=5),
    ]
    counts = memory_counts(records)
    assert (counts.memories, counts.size_bytes) == (3, 12)
    assert dict(counts.types) == {"fact": 2, "": 1}
    assert dict(counts.statuses) == {"active": 1, "archived": 1, "": 1}
    assert list(counts.tags) == [("x", 2), ("y", 1)]
    assert (counts.oldest, counts.newest) == (10.0, 30.0)


def test_no_memories_are_counted_too() -> None:
    counts = memory_counts([])
    assert (counts.memories, counts.size_bytes, counts.oldest, counts.newest) == (0, 0, None, None)
