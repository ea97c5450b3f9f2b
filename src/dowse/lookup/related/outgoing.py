"""Where a thing's own links lead."""

from __future__ import annotations

from collections.abc import Iterator

from dowse.lookup.calls.imports import IMPORT
from dowse.lookup.history.question import TOUCHES
from dowse.lookup.related.meaning import meant
from dowse.lookup.related.question import Edge
from dowse.lookup.why.commits import CHANGES, OF_COMMITS, deed
from dowse.lookup.why.question import Ground, Neighbour, Subject
from dowse.lookup.why.shortened import shortened
from dowse.model import Link, Record
from dowse.text.anchors import ANCHORED

_TEXTLESS = (ANCHORED, IMPORT)  # there the context is a digest, or names


def outgoing(ground: Ground, subject: Subject) -> Iterator[Edge]:
    """Of a definition, the links in its lines; the same target once for each kind."""
    if subject.record is None:
        return
    seen: set[tuple[str, str, str]] = set()
    for link in ground.store.links(subject.record):
        what = (link.kind, link.target, link.context if link.kind == IMPORT else "")
        if what not in seen and _is_of(link, subject):
            seen.add(what)
            yield Edge("out", _neighbour(ground, subject.record, link))


def _is_of(link: Link, subject: Subject) -> bool:
    return subject.definition is None or subject.first_line <= link.line <= subject.last_line


def _neighbour(ground: Ground, record: Record, link: Link) -> Neighbour:
    end = _end(ground, record, link)
    name = shortened(end.record.title) if end.record is not None and end.name == end.record.path else end.name
    if link.kind in OF_COMMITS:
        text = shortened(link.context) if link.kind == CHANGES else ""
        said = "" if end.definition else deed(link)
        how = link.context if link.kind == TOUCHES else said if said != name else ""
        return Neighbour(link.kind, name, end.record, link.line or end.first_line, how, text)
    text = "" if link.kind in _TEXTLESS else shortened(link.context)
    return Neighbour(link.kind, name, end.record, end.first_line, f"line {link.line}" if link.line else "", text)


def _end(ground: Ground, record: Record, link: Link) -> Subject:
    if link.kind != IMPORT:
        return meant(ground, record, link)
    found = ground.calls.imported(record, link)
    return Subject(found.path, found) if found else Subject(link.target)
