"""Headings become sections: their trails, their symbols and the blocks below them."""

from __future__ import annotations

from collections.abc import Sequence

from dowse.ingest.extract.events import Edge, Heading
from dowse.ingest.extract.spans import Lines, line_end, line_start
from dowse.model import Block, Symbol

Trail = tuple[str, ...]


def trails(headings: Sequence[Heading]) -> list[Trail]:
    """The names above and including each heading; the first entry is the text before any heading.

    A heading without words ends the sections it would end anyway, but adds no name.
    """
    found: list[Trail] = [()]
    above: list[Heading] = []
    for heading in headings:
        while above and above[-1].level >= heading.level:
            above.pop()
        above.append(heading)
        found.append(tuple(each.name for each in above if each.name))
    return found


def symbols(headings: Sequence[Heading], lines: Lines, length: int) -> tuple[Symbol, ...]:
    """One symbol per heading with words, in order; each ends where the next of its level or above begins."""
    ends = _section_ends(headings, lines, lines.at(max(length - 1, 0)))
    above: list[tuple[int, int]] = []  # level and index among the symbols
    found: list[Symbol] = []
    for heading, end in zip(headings, ends, strict=True):
        while above and above[-1][0] >= heading.level:
            above.pop()
        if heading.name:
            parent = above[-1][1] if above else None
            start = lines.at(heading.offset)
            above.append((heading.level, len(found)))
            found.append(Symbol(heading.name, "heading", start, end, heading.level, parent))
    return tuple(found)


def _section_ends(headings: Sequence[Heading], lines: Lines, last_line: int) -> list[int]:
    ends = [last_line] * len(headings)
    unfinished: list[int] = []
    for index, heading in enumerate(headings):
        while unfinished and headings[unfinished[-1]].level >= heading.level:
            ends[unfinished.pop()] = lines.at(heading.offset) - 1
        unfinished.append(index)
    return ends


def blocks(text: str, start: int, edges: Sequence[Edge], below: Sequence[Trail]) -> tuple[Block, ...]:
    """Blocks without gaps from `start` to the end of `text`, cut at the edges, below the given trails."""
    if start == len(text):
        return ()
    places = _places(text, start, edges)
    ends = [*(offset for offset, _ in places[1:]), len(text)]
    return tuple(
        Block(offset, end, below[edge.section], edge.whole) for (offset, edge), end in zip(places, ends, strict=True)
    )


def _places(text: str, start: int, edges: Sequence[Edge]) -> list[tuple[int, Edge]]:
    """The edges that begin a block, each at the start of a line.

    What is blank belongs to the block before it, so an edge with nothing but space after it begins none.
    """
    places: list[tuple[int, Edge]] = []
    offset, edge = start, Edge(start, 0, opens=False, whole=False)
    for following in edges:
        until = max(offset, _snapped(text, following))
        if until > offset and (edge.opens or text[offset:until].strip()):
            places.append((offset, edge))
        offset, edge = until if places else start, following
    if edge.opens or not places or text[offset:].strip():
        places.append((offset, edge))
    return places


def _snapped(text: str, edge: Edge) -> int:
    return line_start(text, edge.offset) if edge.opens else line_end(text, edge.offset)
