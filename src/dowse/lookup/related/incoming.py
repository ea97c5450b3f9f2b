"""What links to a thing: from documents, memories and commits, each in its own spelling."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dowse.lookup.called import COMMIT, MEMORY
from dowse.lookup.references import references_of
from dowse.lookup.related.question import Edge
from dowse.lookup.why.commits import CHANGES, OF_COMMITS, deed
from dowse.lookup.why.memory_links import MemoryLinks
from dowse.lookup.why.mentions import linked
from dowse.lookup.why.question import Ground, Neighbour, Subject
from dowse.lookup.why.spellings import names_of, speaks_of, spellings
from dowse.model import COMMITS, FILES, MEMORIES, Link, Record

_LEAST_HASH = 4


def incoming(ground: Ground, subject: Subject) -> Iterator[Edge]:
    for record, link in _links(ground, subject):
        if record != subject.record:
            yield Edge("in", _neighbour(record, link))


def _links(ground: Ground, subject: Subject) -> Iterator[tuple[Record, Link]]:
    """Each link once, newest records first."""
    store, record = ground.store, subject.record
    sources = {it.name: it.source for it in store.collections()}
    own = sources[record.collection] if record else ""
    for writer, link in store.linking(_spellings(ground, subject, own)):
        source = sources[writer.collection]
        # Links of documents and commits are resolved below: a path in them counts from elsewhere.
        is_resolved = record is not None and source in (FILES, COMMITS) and own == FILES
        if source != MEMORIES and not is_resolved and speaks_of(store, writer.collection, record):
            yield writer, link
    yield from MemoryLinks.of(store).to(subject)
    if record is not None:
        yield from _of_documents(ground, subject, record)
        yield from _of_commits(ground, subject, record)


def _spellings(ground: Ground, subject: Subject, source: str) -> list[str]:
    name = subject.name
    if source == COMMITS:
        return [f"{COMMIT}{name[:length]}" for length in range(_LEAST_HASH, len(name) + 1)]
    if source == MEMORIES and subject.record:
        path = subject.record.path
        names = (path, path.rpartition(".")[0] or path)
        return list(dict.fromkeys(f"{MEMORY}{it}" for it in names))
    return spellings(ground.store, subject)


def _of_documents(ground: Ground, subject: Subject, record: Record) -> Iterator[tuple[Record, Link]]:
    """Links to a file are not links to one of many definitions in it."""
    if subject.definition is None:
        yield from references_of(ground.store).to(record)


def _of_commits(ground: Ground, subject: Subject, record: Record) -> Iterator[tuple[Record, Link]]:
    home = ground.history_of(record)
    if home is None:
        return
    history, path = home
    targets = [f"{path}#{name}" for name in names_of(ground.store, subject)] or [path]
    for writer, link in ground.store.linking(targets):
        if writer.collection == history.name:
            yield writer, link


def _neighbour(record: Record, link: Link) -> Neighbour:
    if link.kind not in OF_COMMITS:
        return linked(record, link)
    return replace(linked(record, link), line=0, how=deed(link), text=link.context if link.kind == CHANGES else "")
