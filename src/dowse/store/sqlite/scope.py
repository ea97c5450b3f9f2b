"""Scopes as SQL conditions, and the records inside them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from json import loads
from typing import Any, TypeVar

from dowse.model import EVERYTHING, FacetFilter, LinkFilter, Scope
from dowse.store.sqlite.database import Database, LruCache
from dowse.store.sqlite.rows import RECORDS_SQL, to_json
from dowse.text.globs import compile_globs, directory_of_tree_glob, literal_prefix
from dowse.text.unicode import is_valid_name

# --------------------------------------------------------------------------------------------------
# The records that match facet and link conditions, computed once per state of the records.
#
# Globs and substrings cannot be looked up in an index. So distinct targets and values are compared once, and the ids of
# their records are cached.

Ids = frozenset[int]
MembersValue = TypeVar("MembersValue")

_MEMBER_CACHE_ENTRIES, _MEMBER_CACHE_BYTES = 96, 96_000_000
_TRANSIENT_CACHE_ENTRIES, _TRANSIENT_CACHE_BYTES = 16, 24_000_000
_MAX_CHARACTER = "\U0010ffff"  # the highest code point
_AFTER_SLASH = "0"  # the character after "/"
_MIN_RECORDS_PER_VALUE = 4  # records per distinct value that make caching the values worthwhile
_LINK_TARGETS_SQL = "SELECT DISTINCT target FROM links"
_RECORDS_BELOW_SQL = "SELECT json_group_array(DISTINCT record) FROM links WHERE target > ? AND target < ?"


class ScopeMembers:
    """Valid for one state of the records, with a small LRU cache.

    Results that are hardly ever requested again have a separate cache, for other steps of the same query.
    """

    def __init__(self, db: Database) -> None:
        self._db = db
        self._cache = LruCache(_MEMBER_CACHE_ENTRIES, _MEMBER_CACHE_BYTES)
        self._transient_cache = LruCache(_TRANSIENT_CACHE_ENTRIES, _TRANSIENT_CACHE_BYTES)

    def record_ids(self, facets: Sequence[FacetFilter], links: Sequence[LinkFilter]) -> Ids:
        """Return the records with at least one facet of each name, and at least one of the links, if any are given."""
        if len(facets) + len(links) > 1:
            return self.cached(("having", facets, links), lambda: self._intersect_ids(facets, links))
        return self._intersect_ids(facets, links)

    def ids_json(self, facets: Sequence[FacetFilter], links: Sequence[LinkFilter]) -> str:
        """Return the ids of `record_ids` as a JSON list for SQLite."""
        return self.cached(("ids json", facets, links), lambda: to_json(sorted(self.record_ids(facets, links))))

    def _intersect_ids(self, facets: Sequence[FacetFilter], links: Sequence[LinkFilter]) -> Ids:
        names = dict.fromkeys(it.name for it in facets)
        sets = [_union([self._cached_facet_ids(it) for it in facets if it.name == name]) for name in names]
        sets += [_union([self._cached_link_ids(it) for it in links])] if links else []
        return frozenset.intersection(*sets)

    def _cached_facet_ids(self, facet: FacetFilter) -> Ids:
        return self.cached(facet, lambda: self._facet_ids(facet))

    def _cached_link_ids(self, condition: LinkFilter) -> Ids:
        return self.cached(condition, lambda: self._link_ids(condition))

    def _link_ids(self, condition: LinkFilter) -> Ids:
        matches = compile_globs((condition.glob,))
        kind, kinds = (" AND kind = ?", [condition.kind]) if condition.kind else ("", [])
        if tree := directory_of_tree_glob(condition.glob):
            return self._link_ids_below(tree, kind, kinds)
        targets = [target for target in self._targets(literal_prefix(condition.glob), kind, kinds) if matches(target)]
        rows = self._db.rows(
            f"SELECT DISTINCT record FROM json_each(?) AS named CROSS JOIN links ON target = named.value{kind}",
            (to_json(targets), *kinds),
        )
        return frozenset(key for (key,) in rows)

    def _link_ids_below(self, tree: str, kind: str, kinds: Sequence[str]) -> Ids:
        """Return the records with a target below this directory; every target in the range matches the glob."""
        if not is_valid_name(tree):
            return frozenset()
        ((ids,),) = self._db.rows(f"{_RECORDS_BELOW_SQL}{kind}", (f"{tree}/", f"{tree}{_AFTER_SLASH}", *kinds))
        return frozenset(loads(ids))

    def _targets(self, start: str, kind: str, kinds: Sequence[str]) -> Sequence[str]:
        if not is_valid_name(start):
            return []
        if start:
            within = f"{_LINK_TARGETS_SQL} WHERE target >= ? AND target < ?{kind}"
            return [target for (target,) in self._db.rows(within, (start, start + _MAX_CHARACTER, *kinds))]
        return self.cached("targets", lambda: [target for (target,) in self._db.rows(_LINK_TARGETS_SQL)])

    def _facet_ids(self, facet: FacetFilter) -> Ids:
        condition = facet.value.casefold()
        ids_by_value = self._ids_by_value(facet.name)
        if facet.exact:
            return frozenset(ids_by_value.get(condition, ()))
        return frozenset(key for value, keys in ids_by_value.items() if condition in value for key in keys)

    def _ids_by_value(self, name: str) -> dict[str, list[int]]:
        """Return the record ids of each value in lower case. Mostly unique values are too many to cache."""
        return self.cached(("values", name), lambda: self._load_ids_by_value(name))

    def _load_ids_by_value(self, name: str) -> dict[str, list[int]]:
        rows = self._db.rows(
            "SELECT records.id, facet.value FROM records JOIN json_each(records.facets) AS facet WHERE facet.key = ?",
            (name,),
        )
        found: defaultdict[str, list[int]] = defaultdict(list)
        for key, value in rows:
            found[str(value).casefold()].append(key)
        if len(found) * _MIN_RECORDS_PER_VALUE > len(rows):
            self._cache.drop(("values", name))
        return found

    def cached(self, name: Hashable, make: Callable[[], MembersValue], *, transient: bool = False) -> MembersValue:
        """Return the cached value, computing it with `make` if needed."""
        return (self._transient_cache if transient else self._cache).get_or_make(name, make)


def _union(sets: Sequence[Ids]) -> Ids:
    return sets[0] if len(sets) == 1 else frozenset[int]().union(*sets)  # copying one set would be the slowest step


Value = TypeVar("Value")
_NS_PER_S = 1_000_000_000
_MAX_NS = 2**63 - 1
_MAX_LISTED_IDS = 1_000  # records: up to this many ids are listed in SQL, more are tested by a function
# Records whose chunks are found in the time it takes to look up the record of one match: by time range, and by known
# ids with a further condition.
_TIMED_RECORDS_PER_LOOKUP, _KNOWN_RECORDS_PER_LOOKUP = 2.0, 0.5
_CHUNKS_OF_RECORDS_SQL = (
    "SELECT json_group_array(chunks.id) FROM json_each(?) AS it CROSS JOIN chunks ON record = it.value"
)
_CHUNKS_OF_SCOPE_SQL = "SELECT json_group_array(chunks.id) FROM {} CROSS JOIN chunks ON record = records.id WHERE {}"
_NESTED_PATH_SQL = "(records.collection = (SELECT id FROM collections WHERE name = ?) AND {}(? || '/' || records.path))"

Condition = tuple[str, list[object]]


class ScopeCompiler:
    """`members` returns the facet and link cache of the current records, `kinds` the number of records of each kind."""

    def __init__(
        self, db: Database, members: Callable[[], ScopeMembers], kinds: Callable[[], Mapping[str, int]]
    ) -> None:
        self._db = db
        self._kinds = kinds
        self._members = members

    def simplify(self, scope: Scope) -> Scope:
        """Drop conditions that every record meets: testing each record costs more than finding it."""
        if scope.nested and not (scope.paths or scope.excluded):
            scope = replace(scope, nested=())
        return replace(scope, kinds=()) if scope.kinds and self._kinds().keys() <= {*scope.kinds} else scope

    def share_of_kinds(self, scope: Scope) -> float:
        """Return the share of records with the requested kinds; 0 if the scope has any other condition."""
        counts = self._kinds()
        if scope != Scope(kinds=scope.kinds) or not counts:
            return 0.0
        return sum(counts.get(it, 0) for it in {*scope.kinds}) / sum(counts.values())

    def condition(self, scope: Scope, *, as_they_come: bool = False) -> Condition:
        """Return SQL over `records` and `collections` for the scope; empty if it includes everything.

        It is valid on this thread's connection until the next call. With `as_they_come`, large sets of ids are tested
        by a function instead of listed. This suits queries that find records another way or need only the first ones.
        """
        scope = self._with_kinds(self.simplify(scope))
        parts = [*_column_conditions(scope), *self._id_conditions(scope, as_they_come), *self._path_conditions(scope)]
        parts += [("records.id IN (SELECT value FROM json_each(?))", [self._record_ids(it)]) for it in scope.within]
        return " AND ".join(sql for sql, _ in parts), [value for _, values in parts for value in values]

    def should_collect_first(self, scope: Scope, matches: int) -> bool:
        """Return whether to collect the chunks of the scope before matching words.

        That pays if they are cached, or fewer than the matches. Globs are slowest, so they are tested on matches only.
        """
        if _has_id_filter(scope) and not _is_transient(scope):
            return True
        spared = 0 if scope.paths or scope.excluded else matches
        if _has_id_filter(scope) and len(self._ids(scope)) <= max(_MAX_LISTED_IDS, spared * _KNOWN_RECORDS_PER_LOOKUP):
            return True
        return _has_time_filter(scope) and self._are_at_most_in_time(
            scope, max(_MAX_LISTED_IDS, int(spared * _TIMED_RECORDS_PER_LOOKUP))
        )

    def chunks(self, scope: Scope) -> str:
        """Return the chunk keys of the scope, cached, as a JSON list.

        SQLite produces and accepts JSON faster than it returns one row per key.
        """
        return self.cached("chunks", scope, lambda: self._load_chunk_keys(scope))

    def chunk_set(self, scope: Scope) -> Ids:
        """Return the chunk keys of the scope as a set, for membership tests."""
        return self.cached("chunk set", scope, lambda: frozenset(loads(self.chunks(scope))))

    def _load_chunk_keys(self, scope: Scope) -> str:
        if _has_id_filter(scope) and self.simplify(replace(scope, facets=(), links=())) == EVERYTHING:
            ((keys,),) = self._db.rows(_CHUNKS_OF_RECORDS_SQL, (self._members().ids_json(scope.facets, scope.links),))
        else:
            condition, values = self.condition(scope, as_they_come=self._is_time_narrower(scope))
            records = RECORDS_SQL if scope.collections else "records"
            ((keys,),) = self._db.rows(_CHUNKS_OF_SCOPE_SQL.format(records, condition), values)
        return str(keys)

    def record_places(self, scope: Scope) -> dict[int, tuple[str, str]]:
        """Return collection and path of the records of the scope, cached."""

        def load() -> dict[int, tuple[str, str]]:
            condition, values = self.condition(scope)
            where = f"WHERE {condition}" if condition else ""
            rows = self._db.rows(
                f"SELECT records.id, collections.name, records.path FROM {RECORDS_SQL} {where}", values
            )
            return {key: (collection, path) for key, collection, path in rows}

        return self.cached("record places", scope, load)

    def _record_ids(self, scope: Scope) -> str:
        return self.cached("record ids", scope, lambda: to_json(list(self.record_places(scope))))

    def cached(self, what: str, scope: Scope, make: Callable[[], Value]) -> Value:
        """Return the value of `make` for the current records, cached as long as there is room."""
        return self._members().cached((what, scope), make, transient=_is_transient(scope))

    def _id_conditions(self, scope: Scope, as_they_come: bool) -> Iterator[Condition]:
        if not _has_id_filter(scope):
            return
        if as_they_come and len(ids := self._ids(scope)) > _MAX_LISTED_IDS:
            self._register("is_member", ids.__contains__)
            yield "is_member(records.id)", []
        else:
            ids_json = self._members().ids_json(scope.facets, scope.links)
            yield "records.id IN (SELECT value FROM json_each(?))", [ids_json]

    def _path_conditions(self, scope: Scope) -> Iterator[Condition]:
        for negation, function, globs in (("", "in_paths", scope.paths), ("NOT ", "in_excluded", scope.excluded)):
            if globs:
                self._register_globs(function, globs)
                spelled = [f"{function}(records.path)", *([_NESTED_PATH_SQL.format(function)] * len(scope.nested))]
                yield f"{negation}({' OR '.join(spelled)})", [value for it in scope.nested for value in it]

    def _register_globs(self, name: str, globs: tuple[str, ...]) -> None:
        matches = compile_globs(globs)
        self._register(name, lambda path: int(matches(str(path))))

    def _with_kinds(self, scope: Scope) -> Scope:
        """Add kinds to a scope with time limits, because the time index begins with the kind."""
        return replace(scope, kinds=scope.kinds or tuple(sorted(self._kinds()))) if _has_time_filter(scope) else scope

    def _is_time_narrower(self, scope: Scope) -> bool:
        """Return whether to select records by time and test their ids, instead of the reverse."""
        if not (_has_id_filter(scope) and _has_time_filter(scope)):
            return False
        return self._are_at_most_in_time(
            scope, int(len(self._ids(scope)) * _TIMED_RECORDS_PER_LOOKUP / _KNOWN_RECORDS_PER_LOOKUP)
        )

    def _are_at_most_in_time(self, scope: Scope, limit: int) -> bool:
        """Return whether at most `most` records are in the time range."""
        timed = Scope(kinds=scope.kinds, since=scope.since, until=scope.until)
        parts = list(_column_conditions(self._with_kinds(timed)))
        condition, values = " AND ".join(sql for sql, _ in parts), [value for _, values in parts for value in values]
        return not self._db.rows(f"SELECT 1 FROM records WHERE {condition} LIMIT 1 OFFSET ?", (*values, limit))

    def _ids(self, scope: Scope) -> Ids:
        return self._members().record_ids(scope.facets, scope.links)

    def _register(self, name: str, holds: Any) -> None:  # noqa: ANN401 - SQLite passes values of any type
        self._db.reader().create_scalar_function(name, holds, 1, deterministic=True)


def _has_id_filter(scope: Scope) -> bool:
    """Return whether the scope has facet or link conditions, which are resolved to ids."""
    return bool(scope.facets or scope.links)


def _is_transient(scope: Scope) -> bool:
    """Return whether the scope is hardly ever repeated: "the last week" starts at another time in each query."""
    return _has_time_filter(scope) or bool(scope.paths or scope.excluded)


def _has_time_filter(scope: Scope) -> bool:
    return scope.since is not None or scope.until is not None


def _column_conditions(scope: Scope) -> Iterator[Condition]:
    for column, names in (("collections.name", scope.collections), ("records.kind", scope.kinds)):
        if names:
            yield f"{column} IN (SELECT value FROM json_each(?))", [to_json(list(names))]
    if scope.tags:
        tags = to_json([tag.lower() for tag in scope.tags])
        found = "json_each(records.tags) AS tag WHERE tag.value IN (SELECT value FROM json_each(?))"
        yield f"EXISTS (SELECT 1 FROM {found})", [tags]
    for operator, moment in ((">=", scope.since), ("<=", scope.until)):
        if moment is not None:
            yield f"coalesce(records.at_ns, records.mtime_ns) {operator} ?", [_nanoseconds(moment)]


def _nanoseconds(moment: float) -> int:
    """Convert seconds to nanoseconds, clamped to what a column can hold."""
    return max(-_MAX_NS, min(int(moment * _NS_PER_S), _MAX_NS))
