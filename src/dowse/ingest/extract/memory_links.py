"""How a memory stands to what it links to: the words around a link decide."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from dowse.ingest.extract.events import Reference

MENTIONS: Final = "mentions"
NEAR_CHARS: Final = 60

_WORDS = {
    "replaced": "(?:superseded|replaced) by",
    "replacing": "(?:supersedes|replaces|obsoletes) (?:this|it)",
    "supersedes": "supersed(?:es?|ed|ing)|replaces|obsoletes",
    "depends_on": "depend(?:s|ed|ing|ent|ency|encies)? (?:up)?on|dependenc(?:y|ies)|requires|relies on|builds on",
    "contradicts": "contradict(?:s|ed|ing|ion|ions)?|conflicts? with|disagrees with",
    "refactors": "refactor(?:s|ed|ing)?|rewrit(?:es?|ten|ing)|rewrote|mov(?:es?|ed|ing)|renam(?:es?|ed|ing)",
    "implements": "implement(?:s|ed|ing|ation|ations)?",
    "tests": "test(?:s|ed|ing)?",
    "fixes": "fix(?:es|ed|ing)?|debug(?:s|ged|ging)?|bug",
    "plans": "plan(?:s|ned|ning)?|will|todo|to do|next",
}
_RELATION = re.compile(
    "|".join(rf"\b(?P<{kind}>{words})\b".replace(" ", r"[\s:_-]+") for kind, words in _WORDS.items()),
    re.IGNORECASE,
)
# "superseded by [[x]]" is about this memory, "[[x]] is superseded by" about the other one.
_BEFORE = {"replaced": "superseded_by", "replacing": "supersedes"}
_BEHIND = {"replaced": "supersedes", "replacing": "superseded_by"}
_SENTENCE_END = re.compile(r"[.!?;](?=\s)|\n[ \t]*\r?\n|\n[ \t]*[-*+][ \t]")
_STOP = re.compile(r"[.!?;]\s")
# What makes one memory count less, or ties it to another, has to be said of the link; other words may stand before.
_OF_ITS_SENTENCE: Final = frozenset({"supersedes", "superseded_by", "contradicts", "depends_on"})
_NEGATED = re.compile(
    r"(?:(?:\b(?:not(?!\s+(?:only|just|merely)\b)|never|nor|neither|without|cannot|no\s+longer)\b|n['\u2019]t\b)"
    r"(?:\s+(?!(?:and|but|so|it|this|which)\b)\w+){0,2}|\bno)\s+\Z",
    re.IGNORECASE,
)
_LISTING = re.compile(r"[\s,;/&+*-]*(?:and|or)?[\s,;/&+*-]*", re.IGNORECASE)


class _Said(NamedTuple):
    """What words say of a link, and how far from it they stand."""

    kind: str
    distance: int


def relations(text: str, start: int, references: Sequence[Reference]) -> list[str]:
    """The relation of each of the links, which stand in this order in `text[start:]`.

    What stands between two links in one sentence is said of the second: "x supersedes y". In a list of links, all are
    what the first is.
    """
    ends = [start, *(each.end for each in references)]
    starts = [*(each.start for each in references), len(text)]
    kinds: list[str] = []
    for place, each in enumerate(references):
        gap = text[ends[place] : each.start][-NEAR_CHARS * 2 :]
        if kinds and _LISTING.fullmatch(gap):
            kinds.append(kinds[-1])
            continue
        following = text[each.end : min(starts[place + 1], each.end + NEAR_CHARS)]
        is_last = starts[place + 1] - each.end > NEAR_CHARS or place + 1 == len(references)
        said = [*_before(gap, first=not kinds), *_behind(following, alone=is_last)]
        kinds.append(min(said, key=lambda it: it.distance).kind if said else MENTIONS)
    return kinds


def _before(gap: str, *, first: bool) -> Iterator[_Said]:
    """The last words before the link; behind another link, of its own sentence."""
    near = gap[-NEAR_CHARS:]
    if not first:
        near = _SENTENCE_END.split(near)[-1]
    for match in _positive(near, gap[: len(gap) - len(near)]):
        kind = _kind(match, _BEFORE)
        if kind not in _OF_ITS_SENTENCE or not _STOP.search(near, match.end()):
            yield _Said(kind, len(near) - match.end())


def _behind(following: str, *, alone: bool) -> Iterator[_Said]:
    """The first words behind the link, of its sentence; where another link follows in that, they are about that."""
    sentence, *others = _SENTENCE_END.split(following, maxsplit=1)
    match = next(_positive(sentence), None) if alone or others else None
    if match:
        yield _Said(_kind(match, _BEHIND), match.start())


def _positive(text: str, before: str = "") -> Iterator[re.Match[str]]:
    """The words that relate, but for those that are denied; what stands `before` the text may do that, too."""
    for match in _RELATION.finditer(text):
        if not _NEGATED.search(before + text[: match.start()]):
            yield match


def _kind(match: re.Match[str], read_as: dict[str, str]) -> str:
    name = match.lastgroup or MENTIONS
    return read_as.get(name, name)
