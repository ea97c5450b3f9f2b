"""Links between documents as they resolve: which record each means, worked out once for each state of the index."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dowse.model import FILES, Link, Record, Scope
from dowse.store.base import Catalog
from dowse.text.targets import DOCUMENT_LINKS, Targets, targets

MARKDOWN_LINKS = (*DOCUMENT_LINKS, "image")


class Reference(NamedTuple):
    """A link, and the record it stands in."""

    record: Record
    link: Link


@dataclass(frozen=True, slots=True)
class References:
    """Links of files, resolved within their own collection."""

    known: Mapping[str, Targets]
    incoming: Mapping[tuple[str, str], Sequence[Reference]]

    def to(self, record: Record) -> Sequence[Reference]:
        """The links of other records that mean this one."""
        return self.incoming.get((record.collection, record.path), ())

    def path_meant(self, record: Record, link: Link) -> str | None:
        """The path that a link of this record means; None for a ghost."""
        known = self.known.get(record.collection)
        return known.resolve(link.target, record.path) if known and link.kind in MARKDOWN_LINKS else None


def references_of(catalog: Catalog) -> References:
    return catalog.remembered("references", lambda: _references(catalog))


def _references(catalog: Catalog) -> References:
    files = tuple(it.name for it in catalog.collections() if it.source == FILES)
    entries = catalog.linked(MARKDOWN_LINKS, Scope(collections=files)) if files else []
    by_collection: dict[str, list[Record]] = defaultdict(list)
    for record, _ in entries:
        by_collection[record.collection].append(record)
    known = {name: targets(records) for name, records in by_collection.items()}
    incoming: dict[tuple[str, str], list[Reference]] = defaultdict(list)
    for record, links in entries:
        for link in links:
            path = known[record.collection].resolve(link.target, record.path)
            if path is not None and path != record.path:
                incoming[record.collection, path].append(Reference(record, link))
    return References(known, dict(incoming))
