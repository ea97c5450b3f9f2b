"""Documents and memories that speak of something: by a link, or by its name in their text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from dowse.lookup.grep.excerpts import excerpts
from dowse.lookup.grep.grep import grep
from dowse.lookup.grep.question import Lines, Manner
from dowse.lookup.references import references_of
from dowse.lookup.symbols.question import Wanted
from dowse.lookup.why.found import Found
from dowse.lookup.why.judged import MEMORY, judged
from dowse.lookup.why.memory_links import MemoryLinks
from dowse.lookup.why.question import Ground, Neighbour, Subject
from dowse.lookup.why.shortened import shortened
from dowse.lookup.why.spellings import speaks_of, spellings
from dowse.lookup.why.target import qualified
from dowse.model import COMMITS, FILES, Link, Record, Scope
from dowse.store.base import Store
from dowse.text.anchors import ANCHORED
from dowse.text.frontmatter import front_matter
from dowse.text.regexes import escaped

DOCUMENT = "doc"

_FILES = 100
_DEADLINE_S = 1.0
_MOST_WRITTEN = 2_000  # escaped, it takes up to twice that, which is what a regex may have
_UNSOUGHT = ("texts were not searched for its name: it is too long",)
_TELLING = re.compile(r"_|\d|[a-z][A-Z]|[A-Z]{2}|\.")  # a name that is no word of prose


def mentions(ground: Ground, subject: Subject, room: int) -> tuple[Found, Found]:
    """Documents, and memories; each record once, by its best evidence: a link before a name."""
    # A file may be called a blank, and have the end of a line in its name, which no line has.
    wordings = [it for it in _wordings(ground.store, subject) if it.term.strip() and "\n" not in it.term]
    written = [it for it in wordings if len(it.term) <= _MOST_WRITTEN]
    found = [*_linking(ground, subject), *_naming(ground.store, written)]
    best: dict[tuple[str, str], Neighbour] = {}
    for it in found:
        assert it.record is not None
        if it.record != subject.record:
            best.setdefault((it.record.collection, it.record.path), it)
    memories = [(it, it.record) for it in best.values() if it.record and it.record.kind == MEMORY]
    documents = tuple(it for it in best.values() if it.record and it.record.kind != MEMORY)
    unsought = _UNSOUGHT if len(written) < len(wordings) else ()
    return Found(documents, unsought), Found(tuple(judged(ground, memories, room)))


# --- by links ---


def _linking(ground: Ground, subject: Subject) -> Iterator[Neighbour]:
    """The most particular links first, then the newest; those of memories before those of documents."""
    store = ground.store
    wanted = spellings(store, subject)
    for record, link in MemoryLinks.of(store).to(subject):
        yield linked(record, link)
    sources = {it.name: it.source for it in store.collections()}
    found = [it for it in store.linking(wanted) if sources[it[0].collection] == FILES]
    for record, link in sorted(found, key=lambda it: wanted.index(it[1].target)):
        # What documents link to is resolved below, where one path may be written in many ways.
        is_resolved = subject.record and link.target == subject.record.path
        if not is_resolved and link.kind != "import" and speaks_of(store, record.collection, subject.record):
            yield linked(record, link)
    for record, link in references_of(store).to(subject.record) if subject.record else ():
        yield linked(record, link)


def linked(record: Record, link: Link) -> Neighbour:
    """The end of a link that it comes from; `how` is its target as it is written there."""
    text = "" if link.kind == ANCHORED else link.context  # there it is a digest
    return Neighbour(link.kind, shortened(record.title), record, link.line, link.target, shortened(text))


# --- by words ---


class _Wording(NamedTuple):
    """How a text would write it, and which texts would mean it by that."""

    term: str
    manner: Manner
    collections: tuple[str, ...]
    sure: str = ""


def _naming(store: Store, wordings: Iterable[_Wording]) -> Iterator[Neighbour]:
    for wording in wordings:
        scope = Scope(collections=wording.collections, kinds=(DOCUMENT, MEMORY))
        terms = (wording.term,)
        asked = Lines(terms, wording.manner, case_sensitive=True, scope=scope, limit=_FILES, deadline_s=_DEADLINE_S)
        for it in grep(store, asked).files:
            for record in store.records(it.path, it.collection):
                if lines := _told_in(store, record, it.lines):
                    yield _named_in(store, record, lines, wording.sure)


def _told_in(store: Store, record: Record, lines: Sequence[int]) -> Sequence[int]:
    """Without those of a memory's front matter: what it is anchored to is read from there, and is no text."""
    if record.kind != MEMORY:
        return lines
    text = store.text(record)
    above = text.count("\n", 0, front_matter(text).end)
    return [it for it in lines if it > above]


def _named_in(store: Store, record: Record, lines: Sequence[int], sure: str) -> Neighbour:
    shown = excerpts(store, record.collection, record.path, lines[:1])
    text = shortened(shown[0].lines[0] if shown else "")
    how = "names it" if len(lines) == 1 else f"names it in {len(lines):,} lines"
    how += ", or another of this name" if sure else ""
    return Neighbour("names", shortened(record.title), record, lines[0], how, text, sure)


def _wordings(store: Store, subject: Subject) -> Iterator[_Wording]:
    """The full name, the path, and the name where it can be no other word, or is written as code."""
    if subject.record is None:
        return
    here, path = _nearby(store, subject.record), subject.record.path
    if subject.definition is not None and subject.record.kind != DOCUMENT:
        name, full = subject.definition.symbol.name, qualified(subject.definition)
        if full != name:
            yield _Wording(full, "substring", here)
        if _is_only_one(store, name):
            yield _Wording(_as_code(name), "regex", ())
        else:
            yield _Wording(path, "substring", here)
            yield _Wording(_as_code(name), "regex", here, "possible")
    yield _Wording(path, "substring", here)


def _as_code(name: str) -> str:
    word = rf"\b{escaped(name)}\b" if name.isidentifier() else escaped(name)
    # Without blanks: between two pieces of code there is prose.
    return word if _TELLING.search(name) else rf"`[^`\s]*{word}[^`\s]*`|{word}\("


def _nearby(store: Store, record: Record) -> tuple[str, ...]:
    """The record's own collection, and those of memories that may speak of its root."""
    others = (it.name for it in store.collections() if it.source not in (COMMITS, FILES))
    return (record.collection, *(it for it in others if it != record.collection and speaks_of(store, it, record)))


def _is_only_one(store: Store, name: str) -> bool:
    return store.definitions(Wanted(names=(name,), matching="exact", limit=2)).total == 1
