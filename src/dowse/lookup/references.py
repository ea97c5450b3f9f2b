"""Links between documents as they resolve: which record each means, worked out once for each state of the index."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dowse.model import FILES, Link, Record, Scope
from dowse.store.base import Catalog
from dowse.text.resolving import Meanings, meanings
from dowse.text.targets import DOCUMENT_LINKS

MARKDOWN_LINKS = (*DOCUMENT_LINKS, "image")


class Reference(NamedTuple):
    """A link, and the record it stands in."""

    record: Record
    link: Link


@dataclass(frozen=True, slots=True)
class References:
    """Links of files, resolved within their own collection."""

    meant: Meanings
    incoming: Mapping[tuple[str, str], Sequence[Reference]]

    def to(self, record: Record) -> Sequence[Reference]:
        """The links of other records that mean this one."""
        return self.incoming.get((record.collection, record.path), ())

    def path_meant(self, record: Record, link: Link) -> str | None:
        """The path that a link of this record means; None for a ghost."""
        return self.meant.path_meant(record, link) if link.kind in MARKDOWN_LINKS else None


def references_of(catalog: Catalog) -> References:
    return catalog.remembered("references", lambda: _references(catalog))


def _references(catalog: Catalog) -> References:
    files = tuple(it.name for it in catalog.collections() if it.source == FILES)
    entries = catalog.linked(MARKDOWN_LINKS, Scope(collections=files)) if files else []
    meant = meanings(entries)
    incoming: dict[tuple[str, str], list[Reference]] = defaultdict(list)
    for record, link, path in meant.resolved(entries):
        incoming[record.collection, path].append(Reference(record, link))
    return References(meant, dict(incoming))
