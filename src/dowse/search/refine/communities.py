"""Communities of a graph: groups with many links inside and few between, found by the Louvain method."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

Node = TypeVar("Node", bound=tuple[str, ...])


@dataclass(frozen=True, slots=True)
class _Level:
    """A weighted undirected graph of numbered nodes; a loop is the weight inside a node made of several."""

    ties: Sequence[dict[int, int]]
    loops: Sequence[int]


def communities(edges: Iterable[tuple[Node, Node]]) -> dict[Node, int]:
    """Each node's community, numbered by their first nodes in order.

    Weights are whole numbers and nodes are visited in sorted order, so the same edges in any order give the same
    communities. A node without edges to others has none.
    """
    linked = [pair for pair in edges if pair[0] != pair[1]]
    nodes = sorted({node for pair in linked for node in pair})
    number = {node: place for place, node in enumerate(nodes)}
    others: list[set[int]] = [set() for _ in nodes]
    for one, other in linked:
        others[number[one]].add(number[other])
        others[number[other]].add(number[one])
    homes = _settled(_Level([dict.fromkeys(sorted(it), 1) for it in others], [0] * len(nodes)))
    return {node: homes[place] for place, node in enumerate(nodes)}


def _settled(level: _Level) -> list[int]:
    """Nodes move, then the communities they formed move as nodes of a smaller graph, until nothing joins."""
    homes = _renumbered(_moved(level))
    if len(set(homes)) == len(homes):
        return homes
    above = _settled(_merged(level, homes))
    return [above[home] for home in homes]


def _moved(level: _Level) -> list[int]:
    """Each node goes to the neighbouring community that gains most modularity, as long as one gains any."""
    degrees = [sum(ties.values()) + 2 * loop for ties, loop in zip(level.ties, level.loops, strict=True)]
    total, homes, held = sum(degrees), list(range(len(degrees))), list(degrees)
    waiting = OrderedDict.fromkeys(homes)  # a queue in which each node stands once
    while waiting:
        node, _ = waiting.popitem(last=False)
        old, degree = homes[node], degrees[node]
        held[old] -= degree
        homes[node] = _best(old, _towards(level.ties[node], homes), degree, total, held)
        held[homes[node]] += degree
        if homes[node] != old:
            waiting.update((other, None) for other in level.ties[node] if homes[other] != homes[node])
    return homes


def _towards(ties: dict[int, int], homes: Sequence[int]) -> dict[int, int]:
    """How much a node is tied to each community."""
    found: dict[int, int] = defaultdict(int)
    for other, weight in ties.items():
        found[homes[other]] += weight
    return found


def _best(old: int, towards: dict[int, int], degree: int, total: int, held: Sequence[int]) -> int:
    """Whole numbers all the way: each move is a real gain, so moving ends."""
    best, most = old, towards.get(old, 0) * total - degree * held[old]
    for home, weight in towards.items():
        gain = weight * total - degree * held[home]
        if gain > most or (gain == most and best != old and home < best):
            best, most = home, gain
    return best


def _renumbered(homes: Sequence[int]) -> list[int]:
    order = {home: place for place, home in enumerate(dict.fromkeys(homes))}
    return [order[home] for home in homes]


def _merged(level: _Level, homes: Sequence[int]) -> _Level:
    """One node for each community, tied by all that ties their members."""
    count = max(homes) + 1
    ties: list[dict[int, int]] = [defaultdict(int) for _ in range(count)]
    loops = [0] * count
    for node, home in enumerate(homes):
        loops[home] += level.loops[node]
        for other, weight in level.ties[node].items():
            if homes[other] != home:
                ties[home][homes[other]] += weight
            elif other > node:
                loops[home] += weight
    return _Level(ties, loops)
