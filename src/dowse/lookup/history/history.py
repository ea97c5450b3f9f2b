"""Exact answers about an indexed history: the commits of a file, who wrote them, which files changed most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from dowse.lookup.history.following import Life, Traces, life_of
from dowse.lookup.history.order import in_order
from dowse.lookup.history.question import (
    AUTHOR,
    MESSAGE,
    RENAMES,
    TOUCHES,
    Activity,
    Author,
    Authors,
    History,
    Sought,
    of_moment,
)
from dowse.lookup.history.traces import StoredTraces
from dowse.model import Glance, Record, Scope
from dowse.store.base import Store

_NS_PER_SECOND = 1_000_000_000
# What left a directory has touched it, too; of a file that never had another name there is no such link.
_KINDS = (TOUCHES, RENAMES)


def commits(store: Store, history: str, sought: Sought, limit: int | None = None) -> History:
    """Filters come before the limit; all that fit are counted."""
    traces = StoredTraces(store, history)
    life = life_of(traces, sought.path) if sought.path else Life(())
    scope = sought.scope(history, life.names, *_KINDS)
    if life.commits is None and not sought.message:
        newest = in_order(_newest(store, scope, limit), traces, limit)
        return History(tuple(newest), store.count(scope), life.names)
    return chosen(store.select(scope), life, sought, traces, limit)


def _newest(store: Store, scope: Scope, limit: int | None) -> list[Record]:
    """So many, and all others of the same moment as the last of them: one of these may come before it."""
    found = store.select(scope, limit)
    if limit is None or not found or len(found) < limit:
        return found
    last_ns = found[-1].moment_ns
    newer = [it for it in found if it.moment_ns != last_ns]
    return [*newer, *store.select(of_moment(scope, last_ns))]


def chosen(candidates: Iterable[Record], life: Life, sought: Sought, traces: Traces, limit: int | None) -> History:
    """Of candidates, in the order of their moments, those of the file's life that say what is wanted."""
    fitting = [it for it in candidates if life.has(it.path) and sought.says(it.title, it.facets.get(MESSAGE, ""))]
    return History(tuple(in_order(fitting, traces, limit)), len(fitting), life.names)


def authors(store: Store, history: str, sought: Sought) -> Authors:
    return written((who, it.moment_ns) for it in _fitting(store, history, sought) for who in it.facets[:1])


def written(commits: Iterable[tuple[str, int]]) -> Authors:
    """Of commits told by their authors and moments."""
    moments: dict[str, list[float]] = {}
    for who, at_ns in commits:
        moments.setdefault(who, []).append(at_ns / _NS_PER_SECOND)
    people = [Author(*person(who), len(at), min(at), max(at)) for who, at in moments.items()]
    ranked = sorted(people, key=lambda it: (-it.commits, it.name, it.email))
    return Authors(tuple(ranked), sum(it.commits for it in people))


def person(facet: str) -> tuple[str, str]:
    """Name and address of `Name <address>`, of which either may be missing."""
    name, _, address = f" {facet}".rpartition(" <")
    return name.removeprefix(" "), address.strip().removesuffix(">")


def activity(store: Store, history: str, sought: Sought) -> Activity:
    """Of all commits that fit, whatever else they touched."""
    touched = store.targets((TOUCHES,), sought.scope(history, ()))
    if not (sought.path or sought.message):
        return most_changed(Counter(path for _, path in touched), commits(store, history, sought, 0).total)
    fitting = {it.path for it in _fitting(store, history, sought)}
    return most_changed(Counter(path for commit, path in touched if commit in fitting), len(fitting))


def _fitting(store: Store, history: str, sought: Sought) -> list[Glance]:
    """The commits that fit, with authors and messages: to make records of a hundred thousand takes seconds."""
    life = life_of(StoredTraces(store, history), sought.path) if sought.path else Life(())
    found = store.glances(sought.scope(history, life.names, *_KINDS), (AUTHOR, MESSAGE))
    return [it for it in found if life.has(it.path) and sought.says(it.title, it.facets[1])]


def most_changed(changed: Counter[str], count: int) -> Activity:
    return Activity(tuple(sorted(changed.items(), key=lambda it: (-it[1], it[0]))), count)
