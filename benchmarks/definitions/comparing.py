"""Two lists of the definitions of the same files, compared by file, name and line."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

DEFINED: Final = "types and functions"
HELD: Final = "members and variables"
GROUPS: Final = (DEFINED, HELD)
GOALS: Final = {DEFINED: 0.97, HELD: 0.95}
_LINES_APART: Final = 1


class Tag(NamedTuple):
    """A definition as the other program lists it; `kind` is its word for it."""

    path: str
    name: str
    line: int
    kind: str
    group: str


class Span(NamedTuple):
    """A definition as Dowse has it, from its first line to its last."""

    path: str
    name: str
    start: int
    end: int
    kind: str


@dataclass(frozen=True, slots=True)
class Compared:
    """Of one language: how many the other program lists and how many of them are here, by group; what is missing."""

    listed: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    missing: tuple[Tag, ...] = ()
    here: int = 0
    only_here: tuple[Span, ...] = ()

    def recall(self, group: str) -> float | None:
        """None where the other program lists nothing of the group."""
        return self.found[group] / self.listed[group] if self.listed[group] else None

    def misses(self, group: str) -> list[tuple[str, int, list[Tag]]]:
        """Kinds by the number of missing definitions, each with some of them, no two from one file while others are."""
        by_kind: defaultdict[str, list[Tag]] = defaultdict(list)
        for tag in self.missing:
            if tag.group == group:
                by_kind[tag.kind].append(tag)
        ordered = sorted(by_kind.items(), key=lambda it: (-len(it[1]), it[0]))
        return [(kind, len(tags), list({it.path: it for it in tags}.values())) for kind, tags in ordered]


def compare(tags: Iterable[Tag], spans: Sequence[Span], ignored: Iterable[tuple[str, str]] = ()) -> Compared:
    """`ignored` are files and names that the other program lists and that do not count: they are known, not only here.

    A definition that is listed is here when one of its name begins at most a line away, or spans its line.
    """
    here: defaultdict[tuple[str, str], list[Span]] = defaultdict(list)
    for span in spans:
        here[span.path, span.name].append(span)
    listed: Counter[str] = Counter()
    found: Counter[str] = Counter()
    missing: list[Tag] = []
    known = set(ignored)
    for tag in dict.fromkeys(tags):
        known.add((tag.path, tag.name))
        listed[tag.group] += 1
        if any(_is_at(span, tag.line) for span in here[tag.path, tag.name]):
            found[tag.group] += 1
        else:
            missing.append(tag)
    only_here = tuple(span for span in spans if (span.path, span.name) not in known)
    return Compared(listed, found, tuple(missing), len(spans), only_here)


def _is_at(span: Span, line: int) -> bool:
    return span.start - _LINES_APART <= line <= max(span.end, span.start + _LINES_APART)
