"""A Scope as SQL, the one filter of every question: SQLite's own conditions where they will do, else what is worked
out of globs and facets beforehand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from json import loads
from typing import Any, TypeVar

from dowse.model import EVERYTHING, Scope
from dowse.store.sqlite.database import Database
from dowse.store.sqlite.members import Ids, Members
from dowse.store.sqlite.rows import RECORDS, as_json
from dowse.text.globs import compile_globs

Value = TypeVar("Value")
_NS = 1_000_000_000
_FARTHEST_NS = 2**63 - 1
_FEW = 1_000  # records: they are found before all else, more are asked about as they come
# As quick as to look up the record of one match is to find the chunks of so many records of a time, or of so many known
# ones of which something else is asked.
_OF_TIME, _OF_IDS = 2.0, 0.5
_OF_RECORDS = "SELECT json_group_array(chunks.id) FROM json_each(?) AS it CROSS JOIN chunks ON record = it.value"
_OF_SCOPE = "SELECT json_group_array(chunks.id) FROM {} CROSS JOIN chunks ON record = records.id WHERE {}"
_BELOW = "(records.collection = (SELECT id FROM collections WHERE name = ?) AND {}(? || '/' || records.path))"

Condition = tuple[str, list[object]]


class Scopes:
    """`members` gives what is worked out for the records as they are, `kinds` how many there are of each."""

    def __init__(self, db: Database, members: Callable[[], Members], kinds: Callable[[], Mapping[str, int]]) -> None:
        self._db = db
        self._kinds = kinds
        self._members = members

    def narrowed(self, scope: Scope) -> Scope:
        """The same without what lets everything in: to ask of each record costs more than to find it."""
        if scope.below and not (scope.paths or scope.excluded):
            scope = replace(scope, below=())
        return replace(scope, kinds=()) if scope.kinds and self._kinds().keys() <= {*scope.kinds} else scope

    def share_of_kinds(self, scope: Scope) -> float:
        """Which share of the records has the kinds that are asked for; 0 where something else is asked for, too."""
        counts = self._kinds()
        if scope != Scope(kinds=scope.kinds) or not counts:
            return 0.0
        return sum(counts.get(it, 0) for it in {*scope.kinds}) / sum(counts.values())

    def condition(self, scope: Scope, *, as_they_come: bool = False) -> Condition:
        """SQL over `records` and `collections` that is true inside the scope; empty when everything is. It holds for
        this thread's connection until another scope is asked for. `as_they_come` is for those who find records another
        way, or need only the first: many ids are not gathered for them, but asked about."""
        scope = self._by_kind(self.narrowed(scope))
        parts = [*_columns(scope), *self._having(scope, as_they_come), *self._paths(scope)]
        return " AND ".join(sql for sql, _ in parts), [value for _, values in parts for value in values]

    def leads(self, scope: Scope, matches: int) -> bool:
        """Whether to find its chunks before the words that so many have: they are kept, or fewer. What takes longest is
        to match globs, so that only what has the words is asked about."""
        if _is_had(scope) and not _is_passing(scope):
            return True
        spared = 0 if scope.paths or scope.excluded else matches
        if _is_had(scope) and len(self._ids(scope)) <= max(_FEW, spared * _OF_IDS):
            return True
        return _is_timed(scope) and self._are_of_time(scope, max(_FEW, int(spared * _OF_TIME)))

    def chunks(self, scope: Scope) -> str:
        """The keys of what lies inside, worked out once for all who ask: a list as SQLite tells and takes it, because
        to make a row of each takes longer than to find them."""
        return self.once("chunks", scope, lambda: self._chunks(scope))

    def chunk_set(self, scope: Scope) -> Ids:
        """The same, to be asked about one by one."""
        return self.once("chunk set", scope, lambda: frozenset(loads(self.chunks(scope))))

    def _chunks(self, scope: Scope) -> str:
        if _is_had(scope) and self.narrowed(replace(scope, facets=(), links=())) == EVERYTHING:
            ((told,),) = self._db.rows(_OF_RECORDS, (self._members().told(scope.facets, scope.links),))
        else:
            condition, values = self.condition(scope, as_they_come=self._is_led_by_time(scope))
            records = RECORDS if scope.collections else "records"
            ((told,),) = self._db.rows(_OF_SCOPE.format(records, condition), values)
        return str(told)

    def once(self, what: str, scope: Scope, make: Callable[[], Value]) -> Value:
        """What `make` gave for the records as they are, as long as not too much else is kept."""
        return self._members().once((what, scope), make, passing=_is_passing(scope))

    def _having(self, scope: Scope, as_they_come: bool) -> Iterator[Condition]:
        if not _is_had(scope):
            return
        if as_they_come and len(ids := self._ids(scope)) > _FEW:
            self._register("is_member", ids.__contains__)
            yield "is_member(records.id)", []
        else:
            told = self._members().told(scope.facets, scope.links)
            yield "records.id IN (SELECT value FROM json_each(?))", [told]

    def _paths(self, scope: Scope) -> Iterator[Condition]:
        for negation, function, globs in (("", "in_paths", scope.paths), ("NOT ", "in_excluded", scope.excluded)):
            if globs:
                self._register_globs(function, globs)
                spelled = [f"{function}(records.path)", *([_BELOW.format(function)] * len(scope.below))]
                yield f"{negation}({' OR '.join(spelled)})", [value for it in scope.below for value in it]

    def _register_globs(self, name: str, globs: tuple[str, ...]) -> None:
        matches = compile_globs(globs)
        self._register(name, lambda path: int(matches(str(path))))

    def _by_kind(self, scope: Scope) -> Scope:
        """Moments are indexed by kind: where they are asked for, it is asked for, too."""
        return replace(scope, kinds=scope.kinds or tuple(sorted(self._kinds()))) if _is_timed(scope) else scope

    def _is_led_by_time(self, scope: Scope) -> bool:
        """Whether to find the records of its time and ask what they have, not the other way round."""
        if not (_is_had(scope) and _is_timed(scope)):
            return False
        return self._are_of_time(scope, int(len(self._ids(scope)) * _OF_TIME / _OF_IDS))

    def _are_of_time(self, scope: Scope, most: int) -> bool:
        """Whether no more records than so many are of its time."""
        timed = Scope(kinds=scope.kinds, since=scope.since, until=scope.until)
        parts = list(_columns(self._by_kind(timed)))
        condition, values = " AND ".join(sql for sql, _ in parts), [value for _, values in parts for value in values]
        return not self._db.rows(f"SELECT 1 FROM records WHERE {condition} LIMIT 1 OFFSET ?", (*values, most))

    def _ids(self, scope: Scope) -> Ids:
        return self._members().having(scope.facets, scope.links)

    def _register(self, name: str, holds: Any) -> None:  # noqa: ANN401 - of any value, which SQLite chooses
        self._db.reader().create_scalar_function(name, holds, 1, deterministic=True)


def _is_had(scope: Scope) -> bool:
    """Whether it asks for what records have, which is worked out beforehand."""
    return bool(scope.facets or scope.links)


def _is_passing(scope: Scope) -> bool:
    """Whether it is hardly ever asked for again: "the last week" begins at another moment with each question."""
    return _is_timed(scope) or bool(scope.paths or scope.excluded)


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
