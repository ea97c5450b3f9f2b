"""The paths a file has had, as the renames in a history tell."""

from __future__ import annotations

from typing import NamedTuple

from dowse.model import Record
from dowse.store.base import Catalog

_MOST_NAMES = 10
_LOOKED_AT = 20


class Former(NamedTuple):
    """A path that was the file's until this moment; what happened at that path later is of another file."""

    path: str
    until_ns: int


def paths_of(catalog: Catalog, history: str, path: str) -> list[Former]:
    """The path it has, then those it had, the latest first."""
    names = [Former(path, 2**63 - 1)]
    while len(names) < _MOST_NAMES:
        former = _before(catalog, history, names[-1])
        if former is None or any(it.path == former.path for it in names):
            break
        names.append(former)
    return names


def _before(catalog: Catalog, history: str, current: Former) -> Former | None:
    for record, _ in _renamings(catalog, history, current)[:_LOOKED_AT]:
        for link in catalog.links(record):
            if link.kind == "renames" and link.context == current.path:
                return Former(link.target, record.moment_ns)
    return None


def _renamings(catalog: Catalog, history: str, current: Former) -> list[tuple[Record, str]]:
    touching = catalog.linking([current.path], ("touches",))
    return [
        (record, link.context)
        for record, link in touching
        if link.context == "R" and record.collection == history and record.moment_ns <= current.until_ns
    ]
