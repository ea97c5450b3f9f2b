"""Which commits belong to the life of one file, whatever it was called; another file of the same name is another."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Protocol


class Traces(Protocol):
    """What a history knows of names; commits are told by their hashes."""

    def touching(self, name: str) -> AbstractSet[str]:
        """The commits that made, changed or deleted a file of this name, or gave a file this name."""
        ...

    def arrivals(self, name: str) -> Mapping[str, str]:
        """The commits that gave a file this name, each with the name it had before."""
        ...

    def departures(self, name: str) -> AbstractSet[str]:
        """The commits that gave the file of this name another one."""
        ...

    def parents(self) -> Mapping[str, tuple[str, ...]]:
        """All commits, each with those it followed upon."""
        ...

    def parents_at(self, moment_ns: int) -> Mapping[str, tuple[str, ...]]:
        """The same of the commits of one moment."""
        ...


@dataclass(frozen=True, slots=True)
class Life:
    """The names of a file, the newest first, and the commits that shaped it (None: all that have one of the names)."""

    names: tuple[str, ...]
    commits: frozenset[str] | None = None

    def has(self, commit: str) -> bool:
        return self.commits is None or commit in self.commits


@dataclass(frozen=True, slots=True)
class _Name:
    touching: AbstractSet[str]
    arrivals: Mapping[str, str]
    departures: AbstractSet[str]


def life_of(traces: Traces, path: str) -> Life:
    names = _names(traces, path)
    if len(names) == 1 and not names[path].departures:
        return Life((path,))
    parents = traces.parents()
    found = _walk(names, path, parents, through=False) or _walk(names, path, parents, through=True)
    return Life(tuple(it for it in names if it in found.values()) or (path,), frozenset(found))


def _names(traces: Traces, path: str) -> dict[str, _Name]:
    """The path and every name that a file which came to be called so may have had."""
    names: dict[str, _Name] = {}
    pending = [path]
    while pending:
        name = pending.pop(0)
        if name not in names:
            names[name] = _Name(traces.touching(name), traces.arrivals(name), traces.departures(name))
            pending += sorted(set(names[name].arrivals.values()))
    return names


def _walk(
    names: Mapping[str, _Name], path: str, parents: Mapping[str, tuple[str, ...]], *, through: bool
) -> dict[str, str]:
    """From every end of the history backwards, with the name the file has at each point.

    Where a file was given another name, its old name belongs to it and not to the file that is looked for: the walk
    stops there. Unless `through`: then nothing has the name any more, and the file that left it is meant.
    """
    found: dict[str, str] = {}
    seen: dict[str, set[str]] = {name: set() for name in names}
    pending = {path: _tips(parents)}
    while pending:
        name, commits = pending.popitem()
        known, passed = names[name], seen[name]
        while commits:  # nothing but sets and lists in here, because there may be a hundred thousand
            commit = commits.pop()
            if commit in passed or (commit in known.departures and not through):
                continue
            passed.add(commit)
            if commit in known.touching or commit in known.departures:
                found[commit] = name
            before = known.arrivals.get(commit)
            (commits if before is None else pending.setdefault(before, [])).extend(parents.get(commit, ()))
    return found


def _tips(parents: Mapping[str, tuple[str, ...]]) -> list[str]:
    inner = {it for followed in parents.values() for it in followed}
    return [it for it in parents if it not in inner]
