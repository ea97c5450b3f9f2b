"""Things that lead to each other, against what can be reached from each."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dowse.text.code_names import strongly_connected_components

_GRAPHS = st.dictionaries(st.integers(0, 7), st.sets(st.integers(0, 7)), max_size=8)


@given(_GRAPHS, st.lists(st.integers(0, 7), max_size=4))
def test_what_leads_to_each_other_stands_together_behind_what_it_leads_to(
    graph: dict[int, set[int]], starts: list[int]
) -> None:
    found = list(strongly_connected_components(starts, lambda it: graph.get(it, ())))
    every = {it for start in starts for it in _reached(graph, start)} | set(starts)
    assert sorted(it for circle in found for it in circle) == sorted(every)
    place = {it: number for number, circle in enumerate(found) for it in circle}
    for one in every:
        for other in _reached(graph, one):
            assert place[other] <= place[one]
            assert (place[one] == place[other]) == (one == other or one in _reached(graph, other))


def test_a_long_chain() -> None:
    assert list(strongly_connected_components([0], lambda it: [it + 1] if it < 100_000 else [])) == [
        [it] for it in range(100_000, -1, -1)
    ]


def _reached(graph: dict[int, set[int]], start: int) -> set[int]:
    seen: set[int] = set()
    waiting = [start]
    while waiting:
        new = graph.get(waiting.pop(), set()) - seen
        seen |= new
        waiting.extend(new)
    return seen
