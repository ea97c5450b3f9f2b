"""Files by what they are called without a suffix, laid out once for each state of the index."""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dowse.store.base import Store


class Spot(NamedTuple):
    collection: str
    path: str


def stems(store: Store) -> Mapping[str, Sequence[Spot]]:
    """The files that have a suffix, by their path without it and by the last name of that."""
    return store.remembered("files by stem", lambda: _stems(store))


def _stems(store: Store) -> dict[str, list[Spot]]:
    found: defaultdict[str, list[Spot]] = defaultdict(list)
    for file in store.files():
        stem, suffix = posixpath.splitext(file.path)
        if suffix:
            for name in {stem, posixpath.basename(stem)}:
                found[name].append(Spot(file.collection, file.path))
    return dict(found)
