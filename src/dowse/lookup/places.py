"""Which records a path means, however it is written: from their collection, from a root around that, or absolute."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from dowse.lookup.below import below
from dowse.model import FILES, Record, normal_path
from dowse.store.base import Catalog

_Reading = tuple[str | None, str]


def records_at(catalog: Catalog, path: str, collection: str | None = None) -> list[Record]:
    """Of the first way to read it that means anything; where several collections have it, of all of them."""
    for way in (_absolute, _plain, _below):
        found = [record for name, inside in way(catalog, path, collection) for record in catalog.records(inside, name)]
        if found:
            return found
    return []


def _absolute(catalog: Catalog, path: str, collection: str | None) -> Iterator[_Reading]:
    for it in catalog.collections():
        if path.startswith(f"{it.root}/") and collection in (None, it.name):
            yield it.name, posixpath.normpath(path.removeprefix(f"{it.root}/"))


def _plain(catalog: Catalog, path: str, collection: str | None) -> Iterator[_Reading]:
    inside = posixpath.normpath(normal_path(path))
    if ".." not in path.replace("\\", "/").split("/"):
        yield collection, inside
        return
    for it in catalog.collections():  # what leads up again counts from a root: out of a folder in it, say
        if it.source == FILES and collection in (None, it.name):
            yield it.name, inside


def _below(catalog: Catalog, path: str, collection: str | None) -> Iterator[_Reading]:
    """What lies in a collection of its own below a root, a memory say, by its path from there."""
    inside = posixpath.normpath(normal_path(path))
    for name, way in below(catalog.collections()):
        if collection in (None, name) and inside.startswith(f"{way}/"):
            yield name, inside.removeprefix(f"{way}/")
