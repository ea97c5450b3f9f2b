"""Exact answers about an indexed history: the commits of a file, who wrote them, which files changed most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from dowse.lookup.history.following import Life, life_of
from dowse.lookup.history.question import AUTHOR, RENAMES, TOUCHES, Activity, Author, History, Sought
from dowse.lookup.history.traces import StoredTraces
from dowse.model import Record
from dowse.store.base import Store

_NS_PER_SECOND = 1_000_000_000


def commits(store: Store, history: str, sought: Sought, limit: int | None = None) -> History:
    """Filters come before the limit; all that fit are counted."""
    life = life_of(StoredTraces(store, history), sought.path) if sought.path else Life(())
    if life.commits is None and not sought.message:
        scope = sought.scope(history, life.names, TOUCHES)
        return History(tuple(store.select(scope, limit)), store.count(scope), life.names)
    return chosen(store.select(sought.scope(history, life.names, TOUCHES, RENAMES)), life, sought, limit)


def chosen(candidates: Iterable[Record], life: Life, sought: Sought, limit: int | None) -> History:
    """Of candidates, newest first, those of the file's life that say what is wanted."""
    fitting = [it for it in candidates if (life.commits is None or it.path in life.commits) and sought.says(it)]
    return History(tuple(fitting[:limit]), len(fitting), life.names)


def authors(found: Sequence[Record]) -> list[Author]:
    """Who wrote the commits, the busiest first."""
    written: dict[str, list[float]] = {}
    for record in found:
        written.setdefault(record.facets.get(AUTHOR, ""), []).append(record.moment_ns / _NS_PER_SECOND)
    people = [Author(*person(who), len(at), min(at), max(at)) for who, at in written.items()]
    return sorted(people, key=lambda it: (-it.commits, it.name, it.email))


def person(facet: str) -> tuple[str, str]:
    """Name and address of `Name <address>`, of which either may be missing."""
    name, _, address = f" {facet}".rpartition(" <")
    return name.removeprefix(" "), address.strip().removesuffix(">")


def activity(store: Store, history: str, sought: Sought) -> Activity:
    """Of all commits that fit, whatever they touched."""
    everywhere = replace(sought, path="")
    fitting = store.linked((TOUCHES,), everywhere.scope(history, ()))
    changed = Counter(path for record, links in fitting if sought.says(record) for path in {it.target for it in links})
    return most_changed(changed, commits(store, history, everywhere, 0).total)


def most_changed(changed: Counter[str], count: int) -> Activity:
    return Activity(tuple(sorted(changed.items(), key=lambda it: (-it[1], it[0]))), count)
