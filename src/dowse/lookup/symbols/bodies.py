"""The lines of definitions, within budgets."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from dowse.errors import BadInput
from dowse.lookup.symbols.question import Body, Definition
from dowse.model import Record


@dataclass(frozen=True, slots=True)
class TextLines:
    """The text of a file to take lines from; `changed`: as it was indexed, because the file is not so any more."""

    lines: tuple[str, ...]
    changed: bool = False
    problem: str = ""


def text_lines(text: str, *, changed: bool = False) -> TextLines:
    return TextLines(tuple(line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")), changed)


def bodies(
    definitions: Iterable[Definition],
    read: Callable[[Record], TextLines],
    *,
    max_lines: int = 100,
    total_lines: int = 500,
) -> list[Body]:
    """The body of each, cut at `max_lines`, until `total_lines` are used up; 0 is no limit."""
    if max_lines < 0 or total_lines < 0:
        raise BadInput("a number of lines must be 0 (no limit) or more")
    sources: dict[tuple[str, str], TextLines] = {}
    found: list[Body] = []
    used = 0
    for it in definitions:
        room = total_lines - used if total_lines else None
        if room == 0:
            found.append(Body(it.symbol.start_line, (), truncated=True, omitted=True))
            continue
        key = it.record.collection, it.record.path
        if key not in sources:
            sources[key] = read(it.record)
        body = _body(it, sources[key], _least(max_lines or None, room))
        used += len(body.lines)
        found.append(body)
    return found


def _body(definition: Definition, source: TextLines, room: int | None) -> Body:
    first, last = definition.symbol.start_line, definition.symbol.end_line
    lines = source.lines[first - 1 : last]
    problem = source.problem
    if not lines and not problem:
        problem = f"the file has {len(source.lines):,} lines by now; line {first:,} is beyond its end"
    return Body(first, lines[:room], len(lines) > len(lines[:room]), source.changed, problem=problem)


def _least(left: int | None, right: int | None) -> int | None:
    given = [it for it in (left, right) if it is not None]
    return min(given, default=None)
