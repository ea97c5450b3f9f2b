"""Find commits by text, author, path and time, following renames."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Protocol

from dowse.model import FacetFilter, Link, LinkFilter, Record, RecordSummary, Scope
from dowse.store.view import StoreView
from dowse.text.globs import escape_glob

# --------------------------------------------------------------------------------------------------
# Commits of one file across renames, without those of other files that once had the same name.


class RenameHistory(Protocol):
    """The renames and changes recorded in one history; commits are identified by hash."""

    def commits_touching(self, name: str) -> AbstractSet[str]:
        """Return the commits that created, changed or deleted a file of this name, or renamed a file to it."""
        ...

    def arrivals(self, name: str) -> Mapping[str, str]:
        """Return the commits that renamed a file to this name, each with the previous name."""
        ...

    def departures(self, name: str) -> AbstractSet[str]:
        """Return the commits that renamed a file away from this name."""
        ...

    def parents(self) -> Mapping[str, tuple[str, ...]]:
        """Return the parents of every commit."""
        ...

    def parents_at(self, moment_ns: int) -> Mapping[str, tuple[str, ...]]:
        """Return the parents of the commits with this timestamp."""
        ...


@dataclass(frozen=True, slots=True)
class FileHistory:
    """The names of a file, newest first, and its commits (None: every commit that touches one of the names)."""

    names: tuple[str, ...]
    commits: frozenset[str] | None = None

    def has(self, commit: str) -> bool:
        return self.commits is None or commit in self.commits


@dataclass(frozen=True, slots=True)
class _NameRecord:
    commits: AbstractSet[str]
    arrivals: Mapping[str, str]
    departures: AbstractSet[str]


def follow_renames(traces: RenameHistory, path: str) -> FileHistory:
    names = _earlier_names(traces, path)
    if len(names) == 1 and not names[path].departures:
        return FileHistory((path,))
    parents = traces.parents()
    found = _walk_history(names, path, parents, through=False) or _walk_history(names, path, parents, through=True)
    return FileHistory(tuple(it for it in names if it in found.values()) or (path,), frozenset(found))


def _earlier_names(traces: RenameHistory, path: str) -> dict[str, _NameRecord]:
    """Return the path and every earlier name that renames lead back to."""
    names: dict[str, _NameRecord] = {}
    pending = [path]
    while pending:
        name = pending.pop(0)
        if name not in names:
            names[name] = _NameRecord(traces.commits_touching(name), traces.arrivals(name), traces.departures(name))
            pending += sorted(set(names[name].arrivals.values()))
    return names


def _walk_history(
    names: Mapping[str, _NameRecord], path: str, parents: Mapping[str, tuple[str, ...]], *, through: bool
) -> dict[str, str]:
    """Walk from every tip of the history backwards and return each commit with the file's name at that point.

    A commit that renames a file away ends the walk for the old name, because that name belonged to another file. With
    `through` the walk goes on: no file has the name now, so the file that last had it is meant.
    """
    found: dict[str, str] = {}
    seen: dict[str, set[str]] = {name: set() for name in names}
    pending = {path: _tips(parents)}
    while pending:
        name, commits = pending.popitem()
        known, visited = names[name], seen[name]
        while commits:  # only sets and lists in this loop: a history may have a hundred thousand commits
            commit = commits.pop()
            if commit in visited or (commit in known.departures and not through):
                continue
            visited.add(commit)
            if commit in known.commits or commit in known.departures:
                found[commit] = name
            before = known.arrivals.get(commit)
            (commits if before is None else pending.setdefault(before, [])).extend(parents.get(commit, ()))
    return found


def _tips(parents: Mapping[str, tuple[str, ...]]) -> list[str]:
    inner = {it for followed in parents.values() for it in followed}
    return [it for it in parents if it not in inner]


# --------------------------------------------------------------------------------------------------
# Order of commits, newest first; those with equal timestamps, as after a rebase, by descent.


def order_commits(commits: Iterable[Record], traces: RenameHistory, limit: int | None) -> list[Record]:
    """Return the first commits in order; parents are read only for commits that share a timestamp."""
    found: list[Record] = []
    for moment_ns, same in groupby(commits, key=lambda it: it.timestamp_ns):
        if limit is not None and len(found) >= limit:
            break
        tied = list(same)
        found += _order_by_descent(tied, traces.parents_at(moment_ns)) if len(tied) > 1 else tied
    return found[:limit]


def _order_by_descent(commits: list[Record], parents: Mapping[str, tuple[str, ...]]) -> list[Record]:
    generations = _generations(parents)
    return sorted(commits, key=lambda it: (generations.get(it.path, 0), it.path))


def _generations(parents: Mapping[str, tuple[str, ...]]) -> dict[str, int]:
    """Return the length of the longest path to each commit from a commit without children in this set."""
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


# --------------------------------------------------------------------------------------------------
# History queries and answers; commits are ordinary records.

TOUCHES_LINK, RENAMES_LINK = "touches", "renames"
"""Link kinds from a commit to the paths it changed, and to the old names of files it renamed."""
COMMIT_KIND = "commit"
AUTHOR_FACET, MESSAGE_FACET, PARENTS_FACET, PROBLEM_FACET = "author", "message", "parents", "problem"
"""Facets of a commit record."""
_NS_PER_SECOND = 1_000_000_000
_HALF_SECOND = 0.5


@dataclass(frozen=True, slots=True)
class HistoryQuery:
    """A filter for commits.

    `path` is a file, under all its names, or a directory; empty means any. `author` and `message` match substrings,
    ignoring case.
    """

    path: str = ""
    since: float | None = None
    until: float | None = None
    author: str = ""
    message: str = ""

    def matches_message(self, title: str, message: str) -> bool:
        """Return whether title or message contains the wanted text; a scope cannot filter by either."""
        if not self.message:
            return True
        wanted = self.message.casefold()
        return wanted in title.casefold() or wanted in message.casefold()

    def scope(self, history: str, names: tuple[str, ...], *kinds: str) -> Scope:
        """Return the scope of commits with links of these kinds to a name or to a path below it."""
        return Scope(
            collections=(history,),
            kinds=(COMMIT_KIND,),
            since=self.since,
            until=self.until,
            facets=(FacetFilter(AUTHOR_FACET, self.author, exact=False),) if self.author else (),
            links=tuple(LinkFilter(kind, f"/{escape_glob(name)}") for name in names for kind in kinds),
        )


def at_timestamp(scope: Scope, moment_ns: int) -> Scope:
    """Narrow a scope to one timestamp; half a second either way is exact, because commits have whole seconds."""
    at = moment_ns / _NS_PER_SECOND
    return replace(scope, since=at - _HALF_SECOND, until=at + _HALF_SECOND)


@dataclass(frozen=True, slots=True)
class HistoryAnswer:
    """The first of `total` commits, newest first; `names` are the file's names in them, newest first."""

    commits: tuple[Record, ...]
    total: int
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AuthorActivity:
    name: str
    email: str
    commits: int
    first_at: float
    last_at: float


@dataclass(frozen=True, slots=True)
class AuthorsAnswer:
    """Authors by number of commits, most active first; `commits` is the sum."""

    people: tuple[AuthorActivity, ...]
    commits: int


@dataclass(frozen=True, slots=True)
class ActivityAnswer:
    """Paths with the number of commits that touched each, most touched first."""

    files: tuple[tuple[str, int], ...]
    commits: int


# --------------------------------------------------------------------------------------------------
# Rename and change data of one history, read from the store.

_RENAME_STATUS = "R"


class StoredRenameHistory:
    """Implementation of the protocol on a store, with a cache. Create one per query."""

    def __init__(self, view: StoreView, history: str) -> None:
        self._view = view
        self._history = history
        self._scope = Scope(collections=(history,), kinds=(COMMIT_KIND,))
        self._read: dict[str, list[tuple[Record, Link]]] = {}

    def commits_touching(self, name: str) -> AbstractSet[str]:
        return {record.path for record, link in self._links(name) if link.kind == TOUCHES_LINK}

    def arrivals(self, name: str) -> Mapping[str, str]:
        found = ((record, self._name_before(record, name)) for record, link in self._links(name) if _is_rename(link))
        return {record.path: before for record, before in found if before}

    def departures(self, name: str) -> AbstractSet[str]:
        return {record.path for record, link in self._links(name) if link.kind == RENAMES_LINK}

    def parents(self) -> Mapping[str, tuple[str, ...]]:
        """Return the parents of every commit, cached per index revision: a long history takes a while to read."""
        return self._view.cached_by_revision(f"parents in {self._history}", lambda: self._parents(self._scope))

    def parents_at(self, moment_ns: int) -> Mapping[str, tuple[str, ...]]:
        return self._parents(at_timestamp(self._scope, moment_ns))

    def _parents(self, scope: Scope) -> Mapping[str, tuple[str, ...]]:
        return {it.path: tuple(it.facets[0].split()) for it in self._view.summaries(scope, (PARENTS_FACET,))}

    def _links(self, name: str) -> list[tuple[Record, Link]]:
        if name not in self._read:
            found = self._view.links_to((name,), (TOUCHES_LINK, RENAMES_LINK))
            self._read[name] = [(record, link) for record, link in found if record.collection == self._history]
        return self._read[name]

    def _name_before(self, record: Record, name: str) -> str:
        links = self._view.links(record)
        return next((it.target for it in links if it.kind == RENAMES_LINK and it.context == name), "")


def _is_rename(link: Link) -> bool:
    return link.kind == TOUCHES_LINK and link.context.startswith(_RENAME_STATUS)


# --------------------------------------------------------------------------------------------------
# Exact queries on an indexed history: commits of a file, their authors, and the most changed files.

# A rename out of a directory touches it, too; a file that was never renamed has no such link.
_PATH_LINKS = (TOUCHES_LINK, RENAMES_LINK)


def find_commits(view: StoreView, history: str, query: HistoryQuery, limit: int | None = None) -> HistoryAnswer:
    """Return the newest matching commits; `total` counts all matches, before the limit."""
    traces = StoredRenameHistory(view, history)
    file_history = follow_renames(traces, query.path) if query.path else FileHistory(())
    scope = query.scope(history, file_history.names, *_PATH_LINKS)
    if file_history.commits is None and not query.message:
        newest = order_commits(_newest_with_ties(view, scope, limit), traces, limit)
        return HistoryAnswer(tuple(newest), view.count(scope), file_history.names)
    return filter_commits(view.select(scope), file_history, query, traces, limit)


def _newest_with_ties(view: StoreView, scope: Scope, limit: int | None) -> list[Record]:
    """Return the newest commits, including all with the timestamp of the last one, whose order is not decided yet."""
    found = view.select(scope, limit)
    if limit is None or not found or len(found) < limit:
        return found
    last_ns = found[-1].timestamp_ns
    newer = [it for it in found if it.timestamp_ns != last_ns]
    return [*newer, *view.select(at_timestamp(scope, last_ns))]


def filter_commits(
    candidates: Iterable[Record],
    file_history: FileHistory,
    query: HistoryQuery,
    traces: RenameHistory,
    limit: int | None,
) -> HistoryAnswer:
    """Filter candidates, sorted by time, by the file's commits and the message."""
    fitting = [
        it
        for it in candidates
        if file_history.has(it.path) and query.matches_message(it.title, it.facets.get(MESSAGE_FACET, ""))
    ]
    return HistoryAnswer(tuple(order_commits(fitting, traces, limit)), len(fitting), file_history.names)


def count_authors(view: StoreView, history: str, query: HistoryQuery) -> AuthorsAnswer:
    return aggregate_authors(
        (who, it.timestamp_ns) for it in _matching_commits(view, history, query) for who in it.facets[:1]
    )


def aggregate_authors(commits: Iterable[tuple[str, int]]) -> AuthorsAnswer:
    """Aggregate pairs of author and timestamp."""
    moments: dict[str, list[float]] = {}
    for who, at_ns in commits:
        moments.setdefault(who, []).append(at_ns / _NS_PER_SECOND)
    people = [AuthorActivity(*split_author(who), len(at), min(at), max(at)) for who, at in moments.items()]
    ranked = sorted(people, key=lambda it: (-it.commits, it.name, it.email))
    return AuthorsAnswer(tuple(ranked), sum(it.commits for it in people))


def split_author(facet: str) -> tuple[str, str]:
    """Split `Name <address>`; either part may be missing."""
    name, _, address = f" {facet}".rpartition(" <")
    return name.removeprefix(" "), address.strip().removesuffix(">")


def count_changes(view: StoreView, history: str, query: HistoryQuery) -> ActivityAnswer:
    """Count the changed files of all matching commits, including files outside the queried path."""
    touched = view.targets((TOUCHES_LINK,), query.scope(history, ()))
    if not (query.path or query.message):
        return rank_changed_files(Counter(path for _, path in touched), find_commits(view, history, query, 0).total)
    fitting = {it.path for it in _matching_commits(view, history, query)}
    return rank_changed_files(Counter(path for commit, path in touched if commit in fitting), len(fitting))


def _matching_commits(view: StoreView, history: str, query: HistoryQuery) -> list[RecordSummary]:
    """Return the matching commits without full records, which would take seconds for a hundred thousand."""
    file_history = follow_renames(StoredRenameHistory(view, history), query.path) if query.path else FileHistory(())
    found = view.summaries(query.scope(history, file_history.names, *_PATH_LINKS), (AUTHOR_FACET, MESSAGE_FACET))
    return [it for it in found if file_history.has(it.path) and query.matches_message(it.title, it.facets[1])]


def rank_changed_files(changed: Counter[str], count: int) -> ActivityAnswer:
    return ActivityAnswer(tuple(sorted(changed.items(), key=lambda it: (-it[1], it[0]))), count)
