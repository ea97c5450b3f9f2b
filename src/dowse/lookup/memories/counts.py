"""How many memories there are of each type and status, how large they are, and what they are tagged with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dowse.lookup.memories.tags import tag_graph
from dowse.model import Record

_NS_PER_SECOND = 1_000_000_000


@dataclass(frozen=True, slots=True)
class MemoryCounts:
    """`tags` are ordered, those used most first; `oldest` and `newest` are None where there is no memory."""

    memories: int
    size_bytes: int
    types: Mapping[str, int]
    statuses: Mapping[str, int]
    tags: Sequence[tuple[str, int]]
    oldest: float | None
    newest: float | None


def memory_counts(records: Sequence[Record]) -> MemoryCounts:
    moments = [it.moment_ns / _NS_PER_SECOND for it in records]
    return MemoryCounts(
        memories=len(records),
        size_bytes=sum(it.size for it in records),
        types=Counter(it.facets.get("type", "") for it in records),
        statuses=Counter(it.facets.get("status", "") for it in records),
        tags=tag_graph(records).by_use(),
        oldest=min(moments, default=None),
        newest=max(moments, default=None),
    )
