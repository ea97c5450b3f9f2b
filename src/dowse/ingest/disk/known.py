"""What an index holds of a collection, laid out for comparing it with the disk."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass

from dowse.ingest.sources.doors import ancestors_and_self
from dowse.model import Version
from dowse.store.base import Catalog


@dataclass(frozen=True, slots=True)
class Known:
    """`names` are those of records by their directory; directories that only lead to others are there, too."""

    versions: Mapping[str, Version]
    names: Mapping[str, Set[str]]


def known_of(store: Catalog, collection: str) -> Known:
    """Made once for each state of the records."""
    return store.remembered(f"known of {collection}", lambda: _laid_out(store.versions(collection)))


def _laid_out(versions: Mapping[str, Version]) -> Known:
    names: dict[str, set[str]] = {}
    for path in versions:
        directory, _, name = path.rpartition("/")
        if directory not in names:
            for place in ancestors_and_self(directory):
                names.setdefault(place, set())
            names.setdefault(directory, set())
        names[directory].add(name)
    return Known(versions, names)
