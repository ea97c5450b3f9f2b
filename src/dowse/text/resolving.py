"""Links of records as they resolve: which record of its own collection each one means.

Whoever follows links between documents starts here, so that no two parts of Dowse read a link differently; they
differ in what they keep of it:

- the link graph of a search (`search/refine/links.py`) is about company: every collection, each pair of records once
  for a kind of link, both ways, without images, because what shows a picture is not about what it depicts;
- references (`lookup/references.py`) are about places: every link with its line, images too, of files only, because
  what memories and commits link to may lie outside their collection and is found by other rules.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dowse.model import Link, Record
from dowse.text.targets import Targets, targets

Entries = Sequence[tuple[Record, Sequence[Link]]]


class Resolved(NamedTuple):
    """A link, the record it stands in, and the path it means there."""

    record: Record
    link: Link
    path: str


@dataclass(frozen=True, slots=True)
class Meanings:
    """What may be meant in each collection."""

    known: Mapping[str, Targets]

    def path_meant(self, record: Record, link: Link) -> str | None:
        """The path that a link of this record means in its collection; None for a ghost."""
        known = self.known.get(record.collection)
        return known.resolve(link.target, record.path) if known else None

    def resolved(self, entries: Entries) -> Iterator[Resolved]:
        """Each link in the order given; ghosts and links to oneself are left out."""
        for record, links in entries:
            for link in links:
                path = self.path_meant(record, link)
                if path is not None and path != record.path:
                    yield Resolved(record, link, path)


def meanings(entries: Entries) -> Meanings:
    """Over these records: what is not among them is a ghost."""
    by_collection: dict[str, list[Record]] = defaultdict(list)
    for record, _ in entries:
        by_collection[record.collection].append(record)
    return Meanings({name: targets(records) for name, records in by_collection.items()})
