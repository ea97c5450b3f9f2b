"""A Scope as SQL, the one filter of every question: SQLite's own conditions where they will do, else what is worked
out of globs and facets beforehand."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sized
from dataclasses import replace
from typing import TypeVar

from dowse.model import EVERYTHING, Scope
from dowse.store.sqlite.database import Database
from dowse.store.sqlite.members import Ids, Members
from dowse.store.sqlite.rows import RECORDS, as_json
from dowse.text.globs import compile_globs

Value = TypeVar("Value", bound=Sized)
_NS = 1_000_000_000
_FARTHEST_NS = 2**63 - 1
_FEW = 1_000  # records of a time: they are found before all else, more are asked about as they come
_OF_RECORDS = "SELECT json_group_array(chunks.id) FROM json_each(?) AS it CROSS JOIN chunks ON record = it.value"
_OF_SCOPE = "SELECT json_group_array(chunks.id) FROM {} CROSS JOIN chunks ON record = records.id WHERE {}"

Condition = tuple[str, list[object]]


class Scopes:
    """`members` gives what is worked out for the records as they are, `kinds` how many there are of each."""

    def __init__(self, db: Database, members: Callable[[], Members], kinds: Callable[[], Mapping[str, int]]) -> None:
        self._db = db
        self._kinds = kinds
        self._members = members

    def narrowed(self, scope: Scope) -> Scope:
        """The same without what lets everything in: to ask of each record costs more than to find it."""
        return replace(scope, kinds=()) if scope.kinds and self._kinds().keys() <= {*scope.kinds} else scope

    def share_of_kinds(self, scope: Scope) -> float:
        """Which share of the records has the kinds that are asked for; 0 where something else is asked for, too."""
        counts = self._kinds()
        if scope != Scope(kinds=scope.kinds) or not counts:
            return 0.0
        return sum(counts.get(it, 0) for it in {*scope.kinds}) / sum(counts.values())

    def condition(self, scope: Scope) -> Condition:
        """SQL over `records` and `collections` that is true inside the scope; empty when everything is. It holds for
        this thread's connection until another scope is asked for."""
        scope = self._by_kind(self.narrowed(scope))
        ids = self._ids(scope)
        parts = [*_columns(scope), *self._paths(scope), *([] if ids is None else [_among(ids)])]
        return " AND ".join(sql for sql, _ in parts), [value for _, values in parts for value in values]

    def leads(self, scope: Scope) -> bool:
        """Whether its records are found without asking each of all of them."""
        return bool(scope.facets or scope.links) or (_is_timed(scope) and self._in_time(scope) <= _FEW)

    def chunks(self, scope: Scope) -> str:
        """The keys of what lies inside, worked out once for all who ask: a list as SQLite tells and takes it, because
        to make a row of each takes longer than to find them."""
        return self.once(("chunks", scope), lambda: self._chunks(scope))

    def _chunks(self, scope: Scope) -> str:
        ids = self._ids(scope)
        if ids is not None and self.narrowed(replace(scope, facets=(), links=())) == EVERYTHING:
            ((told,),) = self._db.rows(_OF_RECORDS, (as_json(sorted(ids)),))
        else:
            condition, values = self.condition(scope)
            records = RECORDS if scope.collections else "records"
            ((told,),) = self._db.rows(_OF_SCOPE.format(records, condition), values)
        return str(told)

    def once(self, name: Hashable, make: Callable[[], Value]) -> Value:
        """What `make` gave for the records as they are, as long as not too much else is kept."""
        return self._members().once(name, make)

    def _paths(self, scope: Scope) -> Iterator[Condition]:
        for negation, function, globs in (("", "in_paths", scope.paths), ("NOT ", "in_excluded", scope.excluded)):
            if globs:
                self._register_globs(function, globs)
                yield f"{negation}{function}(records.path)", []

    def _register_globs(self, name: str, globs: tuple[str, ...]) -> None:
        matches = compile_globs(globs)
        self._register(name, lambda path: matches(str(path)))

    def _by_kind(self, scope: Scope) -> Scope:
        """Moments are indexed by kind: where they are asked for, it is asked for, too."""
        return replace(scope, kinds=scope.kinds or tuple(sorted(self._kinds()))) if _is_timed(scope) else scope

    def _in_time(self, scope: Scope) -> int:
        """How many records are of the time that is asked for; no more are counted than matter."""
        timed = Scope(kinds=scope.kinds, since=scope.since, until=scope.until)
        parts = list(_columns(self._by_kind(timed)))
        condition, values = " AND ".join(sql for sql, _ in parts), [value for _, values in parts for value in values]
        counted = f"SELECT count(*) FROM (SELECT 1 FROM records WHERE {condition} LIMIT ?)"
        ((count,),) = self._db.rows(counted, (*values, _FEW + 1))
        return int(count)

    def _ids(self, scope: Scope) -> Ids | None:
        """The records that have the facets and links; None where none are asked for."""
        sets = [self._members().holding([it for it in scope.facets if it.name == name]) for name in _names(scope)]
        sets += [self._members().linked(scope.links)] if scope.links else []
        return frozenset.intersection(*sets) if sets else None

    def _register(self, name: str, holds: Callable[[object], bool]) -> None:
        function = lambda *values: int(holds(values[0]))  # noqa: E731 - SQLite calls it with all arguments
        self._db.reader().create_scalar_function(name, function, 1, deterministic=True)


def _among(ids: Ids) -> Condition:
    return "records.id IN (SELECT value FROM json_each(?))", [as_json(sorted(ids))]


def _names(scope: Scope) -> Iterable[str]:
    return dict.fromkeys(it.name for it in scope.facets)


def _is_timed(scope: Scope) -> bool:
    return scope.since is not None or scope.until is not None


def _columns(scope: Scope) -> Iterator[Condition]:
    for column, wanted in (("collections.name", scope.collections), ("records.kind", scope.kinds)):
        if wanted:
            yield f"{column} IN (SELECT value FROM json_each(?))", [as_json(list(wanted))]
    if scope.tags:
        tags = as_json([tag.lower() for tag in scope.tags])
        found = "json_each(records.tags) AS tag WHERE tag.value IN (SELECT value FROM json_each(?))"
        yield f"EXISTS (SELECT 1 FROM {found})", [tags]
    for operator, moment in ((">=", scope.since), ("<=", scope.until)):
        if moment is not None:
            yield f"coalesce(records.at_ns, records.mtime_ns) {operator} ?", [_nanoseconds(moment)]


def _nanoseconds(moment: float) -> int:
    """A day long before or after all others is beyond what a column can hold, and what it can hold will do."""
    return max(-_FARTHEST_NS, min(int(moment * _NS), _FARTHEST_NS))
