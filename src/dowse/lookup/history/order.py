"""Commits newest first: of one second, as a rebase makes them, those that follow upon others come before these."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import groupby

from dowse.lookup.history.following import Traces
from dowse.model import Record


def in_order(commits: Iterable[Record], traces: Traces, limit: int | None) -> list[Record]:
    """The first of commits that are in the order of their moments. Only where several are of one moment, the graph is
    asked for, and of it no more than that moment."""
    found: list[Record] = []
    for moment_ns, same in groupby(commits, key=lambda it: it.moment_ns):
        if limit is not None and len(found) >= limit:
            break
        tied = list(same)
        found += _by_descent(tied, traces.parents_at(moment_ns)) if len(tied) > 1 else tied
    return found[:limit]


def _by_descent(commits: list[Record], parents: Mapping[str, tuple[str, ...]]) -> list[Record]:
    generations = _generations(parents)
    return sorted(commits, key=lambda it: (generations.get(it.path, 0), it.path))


def _generations(parents: Mapping[str, tuple[str, ...]]) -> dict[str, int]:
    """How long the longest row of commits is that leads to each from one that none of them follows upon."""
    waiting = Counter(it for followed in parents.values() for it in followed)
    generations: dict[str, int] = {}
    ready = [it for it in parents if not waiting[it]]
    generation = 0
    while ready:
        generations |= dict.fromkeys(ready, generation)
        followed = [it for commit in ready for it in parents[commit] if it in parents]
        waiting.subtract(followed)
        ready = [it for it in dict.fromkeys(followed) if not waiting[it]]
        generation += 1
    return generations
