"""Compute the numbers of headings and list items that Word writes but does not store."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from dowse.ingest.extract.documents.archive import attribute, find, parse_integer
from dowse.ingest.extract.documents.ooxml import Package

_ROMAN: Final = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"),
    (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip
_UNNUMBERED: Final = frozenset(("bullet", "none", ""))
_MAX_NUMBER: Final = 100_000
LEVELS: Final = 9


@dataclass(slots=True)
class _NumberingLevel:
    format: str = ""
    pattern: str = ""
    start: int = 1


@dataclass(slots=True)
class _List:
    """The levels of one numbering; several lists may share the counters of one abstract numbering."""

    abstract_id: str
    levels: list[_NumberingLevel]
    restarts: dict[int, int] = field(default_factory=dict)


class Numbering:
    """The lists of a document with their current numbers."""

    def __init__(self, lists: dict[str, _List]) -> None:
        self._lists = lists
        self._counters: dict[str, list[int | None]] = {}
        self._started: set[tuple[str, int]] = set()

    def count(self, list_id: str, level: int) -> str:
        """Advance a list by one item and return its number as the document shows it, like `2.3.1`; "" for a bullet."""
        found = self._lists.get(list_id)
        if found is None or not 0 <= level < LEVELS:
            return ""
        counters = self._counters.setdefault(found.abstract_id, [None] * LEVELS)
        if level in found.restarts and (list_id, level) not in self._started:
            counters[level] = found.restarts[level]
        else:
            current = counters[level]
            counters[level] = found.levels[level].start if current is None else min(current + 1, _MAX_NUMBER)
        self._started.add((list_id, level))
        counters[level + 1 :] = [None] * (LEVELS - level - 1)
        return _format(found.levels, counters, level)


def _format(levels: list[_NumberingLevel], counters: list[int | None], level: int) -> str:
    if levels[level].format in _UNNUMBERED:
        return ""
    text = levels[level].pattern
    for index in range(level + 1):
        number = counters[index]
        if number is None:
            number = counters[index] = levels[index].start
        text = text.replace(f"%{index + 1}", format_number(number, levels[index].format))
    return text.strip()


def format_number(number: int, style: str) -> str:
    """Return a number in a style of Word: decimal, decimalZero, lowerLetter, upperLetter, lowerRoman, upperRoman."""
    if style in ("lowerLetter", "upperLetter") and number > 0:
        letters = chr(ord("a") + (number - 1) % 26) * min((number - 1) // 26 + 1, 10)
        return letters.upper() if style == "upperLetter" else letters
    if style in ("lowerRoman", "upperRoman") and 0 < number < 5000:
        roman = ""
        for value, sign in _ROMAN:
            roman += sign * (number // value)
            number %= value
        return roman.upper() if style == "upperRoman" else roman
    return f"{number:02d}" if style == "decimalZero" else str(number)


def read_numbering(package: Package, part: str) -> Numbering:
    """Return the lists that a document defines."""
    abstract: dict[str, list[_NumberingLevel]] = {}
    lists: dict[str, _List] = {}
    for name in package.related(part, "numbering"):
        root = package.read(name)
        for node in root.findall("w:abstractNum"):
            levels = [_NumberingLevel() for _ in range(LEVELS)]
            for level in node.findall("w:lvl"):
                levels[parse_integer(level.get("w:ilvl", ""), 0, high=LEVELS - 1)] = _NumberingLevel(
                    attribute(level.find("w:numFmt"), "w:val", "decimal"),
                    attribute(level.find("w:lvlText"), "w:val"),
                    parse_integer(attribute(level.find("w:start"), "w:val"), 1, high=_MAX_NUMBER),
                )
            abstract[node.get("w:abstractNumId", "")] = levels
        for node in root.findall("w:num"):
            abstract_id = attribute(node.find("w:abstractNumId"), "w:val")
            if abstract_id not in abstract:
                continue
            found = lists[node.get("w:numId", "")] = _List(abstract_id, abstract[abstract_id])
            for override in node.findall("w:lvlOverride"):
                if (start := find(override, "w:startOverride")) is not None:
                    index = parse_integer(override.get("w:ilvl", ""), 0, high=LEVELS - 1)
                    found.restarts[index] = parse_integer(start.get("w:val", ""), 1, high=_MAX_NUMBER)
    return Numbering(lists)
