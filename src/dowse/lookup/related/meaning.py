"""Which record a link means, whatever kind of record it stands in."""

from __future__ import annotations

from dowse.lookup.references import MARKDOWN_LINKS, references_of
from dowse.lookup.why.memory_links import MemoryLinks
from dowse.lookup.why.question import Ground, Subject
from dowse.lookup.why.target import definition, qualified, subject_of
from dowse.model import COMMITS, FILES, MEMORIES, Link, Record
from dowse.store.base import Store
from dowse.store.chains import chains_of


def meant(ground: Ground, record: Record, link: Link) -> Subject:
    """The subject; without a record where nothing indexed is meant, or more than one thing."""
    source = {it.name: it.source for it in ground.store.collections()}[record.collection]
    path, _, name = link.target.partition("#")
    if source == COMMITS:
        found = ground.file_of(record.collection, path)
        return _part(ground.store, found, name) if found else Subject(link.target)
    if source == FILES and link.kind in MARKDOWN_LINKS:
        place = references_of(ground.store).path_meant(record, link)
        records = ground.store.records(place, record.collection) if place is not None else []
        return Subject(records[0].path, records[0]) if records else Subject(link.target)
    if source != MEMORIES:
        return Subject(link.target)
    told = MemoryLinks.of(ground.store)
    records = told.meant(record, link.target)
    part = told.place(record, link.target).part
    return _part(ground.store, records[0], part) if len(records) == 1 else Subject(link.target)


def _part(store: Store, record: Record, name: str) -> Subject:
    """The definition of this name in the record, or the only one whose name ends so; else the record, and what is said
    to be in it."""
    if not name:
        return Subject(record.path, record)
    chains = chains_of(store, record)
    found = [definition(record, chains, it) for it in chains.named(name)]
    whole = [it for it in found if qualified(it) == name]
    if whole or len({qualified(it) for it in found}) == 1:
        return subject_of((whole or found)[0])
    return Subject(f"{record.path}#{name}", record)
