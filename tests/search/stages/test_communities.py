"""Communities: known partitions, and the same ones in whatever order edges come."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dowse.search.stages.graph import detect_communities

Edges = list[tuple[tuple[str], tuple[str]]]
NAMES = st.sampled_from("abcdefghijkl").map(lambda name: (name,))
EDGES = st.lists(st.tuples(NAMES, NAMES), max_size=40)


def edges(text: str) -> Edges:
    """`ab bc` is an edge from a to b and one from b to c."""
    return [((pair[0],), (pair[1],)) for pair in text.split()]


def clique(names: str) -> str:
    return " ".join("".join(pair) for pair in combinations(names, 2))


def groups(found: dict[tuple[str], int]) -> list[str]:
    return ["".join(node[0] for node in found if found[node] == number) for number in range(len(set(found.values())))]


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        ("", []),
        ("aa", []),
        ("ab", ["ab"]),
        ("ab cd", ["ab", "cd"]),
        ("ab bc ca", ["abc"]),
        ("ba ab ab", ["ab"]),
        (f"{clique('abcd')} {clique('efgh')} de", ["abcd", "efgh"]),
        (f"{clique('abc')} {clique('def')} {clique('ghi')} cd fg ia", ["abc", "def", "ghi"]),
        ("ab ac ad ae af ag", ["abcdefg"]),  # a hub with its spokes
        (f"{clique('acegik')} {clique('bdfhjl')} ab cd", ["acegik", "bdfhjl"]),
    ],
)
def test_groups(graph: str, expected: list[str]) -> None:
    assert groups(detect_communities(edges(graph))) == expected


def test_communities_of_communities() -> None:
    """Thirty cliques in a ring: small ones are found first, and neighbours joined where that is better."""
    ring = [
        ((f"{one:02}", f"{place}"), (f"{one:02}", f"{other}")) for one in range(30) for place in range(5)
        for other in range(place)
    ]  # fmt: skip
    ring += [((f"{one:02}", "0"), (f"{(one + 1) % 30:02}", "1")) for one in range(30)]
    found = detect_communities(ring)
    whole = {number for name in range(30) for number in {found[f"{name:02}", f"{place}"] for place in range(5)}}
    assert all(len({found[f"{name:02}", f"{place}"] for place in range(5)}) == 1 for name in range(30))
    assert 10 <= len(whole) <= 15


def test_as_good_as_the_best_partition_nearly_always() -> None:
    """Against every partition there is of small graphs; the method is a greedy one and may end just below."""
    random, reached = Random(1), 0
    for _ in range(60):
        pairs = [pair for pair in combinations("abcdefg", 2) if random.random() < 0.4]
        graph = edges(" ".join(map("".join, pairs)))
        found = detect_communities(graph)
        best = max(modularity(graph, each) for each in partitions(list(found)))
        assert modularity(graph, found) >= best - 0.06
        reached += modularity(graph, found) >= best - 1e-9
    assert reached >= 54


def partitions(nodes: list[tuple[str]]) -> Iterator[dict[tuple[str], int]]:
    """Every way to put the nodes into groups."""
    if not nodes:
        yield {}
        return
    for others in partitions(nodes[1:]):
        for group in range(max(others.values(), default=-1) + 2):
            yield {nodes[0]: group, **others}


@given(EDGES, st.randoms(use_true_random=False))
def test_neither_order_nor_direction_matters(graph: Edges, random: object) -> None:
    mixed = [(other, one) for one, other in graph]
    random.shuffle(mixed)  # type: ignore[attr-defined]
    assert detect_communities(mixed) == detect_communities(graph)


@given(EDGES)
def test_every_linked_node_has_one_community_and_none_is_split(graph: Edges) -> None:
    found = detect_communities(graph)
    linked = [pair for pair in graph if pair[0] != pair[1]]
    assert set(found) == {node for pair in linked for node in pair}
    assert sorted(set(found.values())) == list(range(len(set(found.values()))))
    assert modularity(linked, found) >= max(modularity(linked, dict.fromkeys(found, 0)), 0) - 1e-9


def modularity(graph: Edges, found: dict[tuple[str], int]) -> float:
    """By its definition: the share of edges inside, less what chance would put there."""
    pairs = {frozenset(pair) for pair in graph}
    if not pairs:
        return 0.0
    inside = sum(len({found[node] for node in pair}) == 1 for pair in pairs) / len(pairs)
    degrees: dict[int, int] = {}
    for pair in pairs:
        for node in pair:
            degrees[found[node]] = degrees.get(found[node], 0) + 1
    return inside - sum((degree / (2 * len(pairs))) ** 2 for degree in degrees.values())
