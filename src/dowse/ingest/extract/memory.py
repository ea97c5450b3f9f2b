"""Notes: front matter, sections, and links with their relation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Final, NamedTuple

from dowse.ingest.extract.markdown import MAX_FACET_CHARS, MarkdownReference, extract_parsed_markdown
from dowse.model import Extraction, Item, Link
from dowse.text.frontmatter import FrontMatterValue, list_value, parse_front_matter, text_value
from dowse.text.memory_notes import ACTIVE, JOURNAL, MEMORY_STATUSES, MEMORY_TYPES
from dowse.text.references import ANCHORED_LINK, ANCHORS_KEY, parse_anchor
from dowse.text.times import format_iso, parse_timestamp
from dowse.text.unicode import decode

# --------------------------------------------------------------------------------------------------
# Classify the links of a memory by the words around them.

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
# "superseded by [[x]]" is about this memory, "[[x]] is superseded by" is about the other one.
_MEANING_BEFORE = {"replaced": "superseded_by", "replacing": "supersedes"}
_MEANING_AFTER = {"replaced": "supersedes", "replacing": "superseded_by"}
_SENTENCE_END = re.compile(r"[.!?;](?=\s)|\n[ \t]*\r?\n|\n[ \t]*[-*+][ \t]")
_STOP = re.compile(r"[.!?;]\s")
# These relations lower a memory's rank or tie it to another, so the words must be in the link's sentence. Other
# relations may be stated earlier.
_SAME_SENTENCE_ONLY: Final = frozenset({"supersedes", "superseded_by", "contradicts", "depends_on"})
_NEGATED = re.compile(
    r"(?:(?:\b(?:not(?!\s+(?:only|just|merely)\b)|never|nor|neither|without|cannot|no\s+longer)\b|n['\u2019]t\b)"
    r"(?:\s+(?!(?:and|but|so|it|this|which)\b)\w+){0,2}|\bno)\s+\Z",
    re.IGNORECASE,
)
_LISTING = re.compile(r"[\s,;/&+*-]*(?:and|or)?[\s,;/&+*-]*", re.IGNORECASE)


class _NearbyRelation(NamedTuple):
    """A relation found near a link, and its distance in characters."""

    kind: str
    distance: int


def classify_memory_links(text: str, start: int, references: Sequence[MarkdownReference]) -> list[str]:
    """Return the relation of each link, in the order of `text[start:]`.

    Words between two links of one sentence apply to the second: "x supersedes y". In a list, every link gets the
    relation of the first.
    """
    ends = [start, *(reference.end for reference in references)]
    starts = [*(reference.start for reference in references), len(text)]
    kinds: list[str] = []
    for index, reference in enumerate(references):
        gap = text[ends[index] : reference.start][-NEAR_CHARS * 2 :]
        if kinds and _LISTING.fullmatch(gap):
            kinds.append(kinds[-1])
            continue
        following = text[reference.end : min(starts[index + 1], reference.end + NEAR_CHARS)]
        is_last = starts[index + 1] - reference.end > NEAR_CHARS or index + 1 == len(references)
        nearby = [*_relations_before(gap, first=not kinds), *_relations_after(following, alone=is_last)]
        kinds.append(min(nearby, key=lambda it: it.distance).kind if nearby else MENTIONS)
    return kinds


def _relations_before(gap: str, *, first: bool) -> Iterator[_NearbyRelation]:
    """Yield the relations stated before the link; after another link, only those of the same sentence."""
    near = gap[-NEAR_CHARS:]
    if not first:
        near = _SENTENCE_END.split(near)[-1]
    for match in _affirmed_matches(near, gap[: len(gap) - len(near)]):
        kind = _relation_kind(match, _MEANING_BEFORE)
        if kind not in _SAME_SENTENCE_ONLY or not _STOP.search(near, match.end()):
            yield _NearbyRelation(kind, len(near) - match.end())


def _relations_after(following: str, *, alone: bool) -> Iterator[_NearbyRelation]:
    """Yield the first relation after the link in its sentence, unless another link follows there, which it then applies
    to."""
    sentence, *others = _SENTENCE_END.split(following, maxsplit=1)
    match = next(_affirmed_matches(sentence), None) if alone or others else None
    if match:
        yield _NearbyRelation(_relation_kind(match, _MEANING_AFTER), match.start())


def _affirmed_matches(text: str, before: str = "") -> Iterator[re.Match[str]]:
    """Yield the relation words that are not negated; a negation may also be in the text `before`."""
    for match in _RELATION.finditer(text):
        if not _NEGATED.search(before + text[: match.start()]):
            yield match


def _relation_kind(match: re.Match[str], read_as: dict[str, str]) -> str:
    name = match.lastgroup or MENTIONS
    return read_as.get(name, name)


MAX_ANCHORS: Final = 200
FRONT_MATTER_PROBLEM: Final = "front_matter_problem"
_CREATED_AT: Final = "created_at"
_TIMES = (_CREATED_AT, "valid_from", "valid_until")
_MAX_ABS_SECONDS: Final = 2**63 // 10**9  # year 2262: larger values overflow 64-bit nanoseconds
_NON_MAPPING = re.compile(r"---[ \t]*\r?\n(?:(?!\r?\n)[^\n]*\n)+?---[ \t]*\r?(?:\n|\Z)")


def extract_memory(item: Item, data: bytes) -> Extraction:
    text = decode(data)
    front = parse_front_matter(text)
    note = extract_parsed_markdown(item, text, front, partial(classify_memory_links, text, front.end))
    problems: list[str] = []
    if not front.end and not front.problem and _NON_MAPPING.match(text):
        problems.append("the front matter is not a mapping of keys to values; it was read as text")
    times = {name: _time(front.values, name, problems) for name in _TIMES}
    memory_facets = {
        "type": _one_of(front.values, "type", MEMORY_TYPES, JOURNAL, problems),
        "status": _one_of(front.values, "status", MEMORY_STATUSES, ACTIVE, problems),
        **{name: format_iso(moment) for name, moment in times.items() if moment is not None},
    }
    anchors = _anchors(front.values, problems)
    if anchors:
        memory_facets[ANCHORS_KEY] = str(len(anchors))  # so that readers of the record know whether to look for anchors
    created = times[_CREATED_AT]
    return replace(
        note,
        kind="memory",
        links=(*anchors, *note.links),
        facets=_merge_facets(note.facets, memory_facets, problems),
        at_ns=None if created is None else int(created * 1e9),
    )


def _one_of(
    values: Mapping[str, FrontMatterValue], name: str, known: tuple[str, ...], default: str, problems: list[str]
) -> str:
    value = text_value(values, name).lower()
    if value in known:
        return value
    if name in values:
        problems.append(f"{name} {_quote(values[name])} is not one of {', '.join(known)}; using {default}")
    return default


def _time(values: Mapping[str, FrontMatterValue], name: str, problems: list[str]) -> float | None:
    if name not in values:
        return None
    moment = parse_timestamp(text_value(values, name), last=name == "valid_until")
    if moment is None or (name == _CREATED_AT and abs(moment) >= _MAX_ABS_SECONDS):
        problems.append(f"{name} {_quote(values[name])} is not a valid time")
        return None
    return moment


def _anchors(values: Mapping[str, FrontMatterValue], problems: list[str]) -> list[Link]:
    texts = list_value(values, ANCHORS_KEY)
    parsed = [(text, parse_anchor(text)) for text in texts[:MAX_ANCHORS]]
    problems += [f"{_quote(text)} is not a valid anchor" for text, anchor in parsed if anchor is None]
    if len(texts) > MAX_ANCHORS:
        problems.append(f"only the first {MAX_ANCHORS} anchors were read")
    return [Link(ANCHORED_LINK, anchor.target, 1, anchor.digest) for _, anchor in parsed if anchor is not None]


def _merge_facets(
    note_facets: Mapping[str, str], memory_facets: Mapping[str, str], problems: list[str]
) -> Mapping[str, str]:
    """Merge the facets. Invalid times are dropped, only the problem is kept."""
    others = {
        name: value for name, value in note_facets.items() if name not in (*_TIMES, ANCHORS_KEY, FRONT_MATTER_PROBLEM)
    }
    problem = "; ".join(filter(None, [note_facets.get(FRONT_MATTER_PROBLEM, ""), *problems]))[:MAX_FACET_CHARS]
    return MappingProxyType({**others, **memory_facets, **({FRONT_MATTER_PROBLEM: problem} if problem else {})})


def _quote(value: FrontMatterValue) -> str:
    return repr(value if isinstance(value, str) else list(value))[:40]
