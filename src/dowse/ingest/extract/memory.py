"""A memory: a Markdown note whose front matter says what it is, and whose links say how it stands to their targets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Final

from dowse.ingest.extract.markdown import MAX_FACET_CHARS, read_markdown
from dowse.ingest.extract.memory_links import relations
from dowse.model import Extract, Item, Link
from dowse.text.anchors import ANCHORED, ANCHORS, parse_anchor
from dowse.text.decode import decode
from dowse.text.frontmatter import Value, front_matter, scalar, strings
from dowse.text.memory_facts import ACTIVE, JOURNAL, STATUSES, TYPES
from dowse.text.times import iso, moment_of

MAX_ANCHORS: Final = 200
PROBLEM: Final = "front_matter_problem"
_CREATED_AT: Final = "created_at"
_TIMES = (_CREATED_AT, "valid_from", "valid_until")
_FARTHEST_S: Final = 2**63 // 10**9  # in the year 2262: more nanoseconds than that fit nowhere
_NO_MAPPING = re.compile(r"---[ \t]*\r?\n(?:(?!\r?\n)[^\n]*\n)+?---[ \t]*\r?(?:\n|\Z)")


def extract_memory(item: Item, data: bytes) -> Extract:
    text = decode(data)
    front = front_matter(text)
    note = read_markdown(item, text, front, partial(relations, text, front.end))
    problems: list[str] = []
    if not front.end and not front.problem and _NO_MAPPING.match(text):
        problems.append("what stands before the text is no mapping of keys to values, and was read as text")
    times = {name: _time(front.values, name, problems) for name in _TIMES}
    own = {
        "type": _one_of(front.values, "type", TYPES, JOURNAL, problems),
        "status": _one_of(front.values, "status", STATUSES, ACTIVE, problems),
        **{name: iso(moment) for name, moment in times.items() if moment is not None},
    }
    anchors = _anchors(front.values, problems)
    if anchors:
        own[ANCHORS] = str(len(anchors))  # so that who reads the record knows whether to look for them
    created = times[_CREATED_AT]
    return replace(
        note,
        kind="memory",
        links=(*anchors, *note.links),
        facets=_facets(note.facets, own, problems),
        at_ns=None if created is None else int(created * 1e9),
    )


def _one_of(values: Mapping[str, Value], name: str, known: tuple[str, ...], default: str, problems: list[str]) -> str:
    written = scalar(values, name).lower()
    if written in known:
        return written
    if name in values:
        problems.append(f"{name} {_shown(values[name])} is none of {', '.join(known)}, and was read as {default}")
    return default


def _time(values: Mapping[str, Value], name: str, problems: list[str]) -> float | None:
    if name not in values:
        return None
    moment = moment_of(scalar(values, name), last=name == "valid_until")
    if moment is None or (name == _CREATED_AT and abs(moment) >= _FARTHEST_S):
        problems.append(f"{name} {_shown(values[name])} is no time")
        return None
    return moment


def _anchors(values: Mapping[str, Value], problems: list[str]) -> list[Link]:
    written = strings(values, ANCHORS)
    parsed = [(it, parse_anchor(it)) for it in written[:MAX_ANCHORS]]
    problems += [f"{_shown(it)} is no anchor" for it, anchor in parsed if anchor is None]
    if len(written) > MAX_ANCHORS:
        problems.append(f"only the first {MAX_ANCHORS} anchors were read")
    return [Link(ANCHORED, anchor.target, 1, anchor.digest) for _, anchor in parsed if anchor is not None]


def _facets(given: Mapping[str, str], own: Mapping[str, str], problems: list[str]) -> Mapping[str, str]:
    """What else the front matter says stays; of times that are none only the problem is kept."""
    others = {name: value for name, value in given.items() if name not in (*_TIMES, ANCHORS, PROBLEM)}
    told = "; ".join(filter(None, [given.get(PROBLEM, ""), *problems]))[:MAX_FACET_CHARS]
    return MappingProxyType({**others, **own, **({PROBLEM: told} if told else {})})


def _shown(value: Value) -> str:
    return repr(value if isinstance(value, str) else list(value))[:40]
