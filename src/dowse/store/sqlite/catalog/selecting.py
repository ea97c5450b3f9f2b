"""Which records there are, in SQLite: within a scope, by their links, by version; and how many of what."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from dowse.errors import IndexDamaged
from dowse.model import EVERYTHING, Counts, Glance, Link, Record, Scope, Version
from dowse.store.sqlite.catalog.base import CatalogBase
from dowse.store.sqlite.database import Row
from dowse.store.sqlite.rows import RECORD_COLUMNS, RECORDS, UNENCODED_CHUNKS, as_json, record_of
from dowse.text.surrogates import is_text

_NEWEST_FIRST = "ORDER BY coalesce(records.at_ns, records.mtime_ns) DESC, collections.name, records.path"
_VERSIONS = "SELECT records.path, size, mtime_ns, digest, chunking, settled"
# One by one, because each of the two finds its rows by the index of paths.
_AT_OR_BELOW = tuple(
    f" FROM json_each(?) AS place CROSS JOIN collections CROSS JOIN records WHERE collections.name = ? "
    f"AND records.collection = collections.id AND {condition}"
    for condition in (
        "records.path = place.value",
        "records.path > place.value || '/' AND records.path < place.value || '0'",  # what follows a slash
    )
)


class Selecting(CatalogBase):
    def versions(self, collection: str, under: Iterable[str] | None = None) -> dict[str, Version]:
        if under is None:
            rows = self.db.rows(f"{_VERSIONS} FROM {RECORDS} WHERE collections.name = ?", (collection,))
        else:
            places = as_json([place.removesuffix("/") for place in under if is_text(place)])
            rows = [row for way in _AT_OR_BELOW for row in self.db.rows(_VERSIONS + way, (places, collection))]
        return {
            path: Version(size, mtime_ns, digest, chunking, bool(settled))
            for path, size, mtime_ns, digest, chunking, settled in rows
        }

    def kinds(self) -> frozenset[str]:
        return frozenset(self._records_by_kind())

    def _records_by_kind(self) -> dict[str, int]:
        return dict(self._remembered("SELECT kind, count(*) FROM records GROUP BY kind"))

    def faceted(self, name: str) -> list[tuple[str, str, str]]:
        statement = (
            f"SELECT collections.name, records.path, found.value FROM {RECORDS} "
            "JOIN json_each(records.facets) AS found WHERE found.key = ? ORDER BY collections.id, records.path"
        )
        return self.db.remembered(f"facet {name}", lambda: self.db.rows(statement, (name,)))

    def select(self, scope: Scope, limit: int | None = None) -> list[Record]:
        with self.db.reader():  # all kinds are of one state
            kinds = dict.fromkeys(scope.kinds) or self.kinds()
            rows = [row for kind in kinds for row in self._newest(replace(scope, kinds=()), kind, limit)]
        return list(self._damage.sound(sorted(rows, key=_by_moment)[:limit], record_of))

    def _newest(self, scope: Scope, kind: str, limit: int | None) -> list[Row]:
        """Of one kind, because that is how the index of moments has them."""
        condition, values = self._scopes.condition(scope, as_they_come=limit is not None)
        return self.db.rows(
            f"SELECT {RECORD_COLUMNS} FROM records CROSS JOIN collections ON collections.id = records.collection "
            f"WHERE records.kind = ? AND {condition or 'true'} {_NEWEST_FIRST} LIMIT ?",
            (kind, *values, -1 if limit is None else limit),
        )

    def glances(self, scope: Scope, facets: Sequence[str]) -> list[Glance]:
        wanted = "".join(", coalesce(json_extract(records.facets, ?), '')" for _ in facets)
        with self.db.reader():
            condition, values = self._scopes.condition(scope)
            rows = self.db.rows(
                f"SELECT records.path, title, coalesce(records.at_ns, records.mtime_ns){wanted} FROM {RECORDS} "
                f"WHERE {condition or 'true'} {_NEWEST_FIRST}",
                (*(f'$."{it}"' for it in facets), *values),
            )
        return [Glance(path, title, moment_ns, tuple(held)) for path, title, moment_ns, *held in rows]

    def targets(self, kinds: Sequence[str], scope: Scope) -> list[tuple[str, str]]:
        with self.db.reader():  # both questions see one state
            condition, values = self._scopes.condition(scope)
            inside = f"FROM {RECORDS} WHERE {condition or 'true'}"
            paths: dict[int, str] = dict(self.db.rows(f"SELECT records.id, records.path {inside}", values))
            rows = self.db.rows(
                f"SELECT DISTINCT record, target FROM links WHERE record IN (SELECT records.id {inside}) "
                "AND kind IN (SELECT value FROM json_each(?))",
                (*values, as_json(list(kinds))),
            )
        return [(paths[record], target) for record, target in rows]

    def count(self, scope: Scope) -> int:
        with self.db.reader():
            condition, values = self._scopes.condition(scope)
            ((found,),) = self.db.rows(f"SELECT count(*) FROM {RECORDS} WHERE {condition or 'true'}", values)
        return int(found)

    def linking(self, targets: Sequence[str], kinds: Sequence[str] = ()) -> list[tuple[Record, Link]]:
        rows = self.db.rows(
            f"SELECT links.kind, target, line, context, {RECORD_COLUMNS} FROM json_each(?) AS wanted "
            "CROSS JOIN links ON links.target = wanted.value JOIN records ON records.id = links.record "
            "JOIN collections ON collections.id = records.collection "
            "WHERE (? = '[]' OR links.kind IN (SELECT value FROM json_each(?))) "
            f"{_NEWEST_FIRST}, links.ordinal",
            (as_json(sorted({it for it in targets if is_text(it)})), *[as_json(list(kinds))] * 2),
        )
        return list(self._damage.sound(rows, lambda row: (record_of(row[4:]), Link(*row[:4]))))

    def parts_named(self, name: str, kinds: Sequence[str]) -> list[str]:
        if not is_text(name):
            return []
        end = f"#{name}"
        rows = self.db.rows(
            "SELECT DISTINCT target FROM links WHERE substr(target, ?) = ? "
            "AND kind IN (SELECT value FROM json_each(?)) ORDER BY target",
            (-len(end), end, as_json(list(kinds))),
        )
        return [target for (target,) in rows]

    def linked(self, kinds: Sequence[str], scope: Scope = EVERYTHING) -> list[tuple[Record, list[Link]]]:
        with self.db.reader():  # all questions see one state
            condition, values = self._scopes.condition(scope)
            within = f"record IN (SELECT records.id FROM {RECORDS} WHERE {condition})" if condition else "true"
            rows = self.db.rows(
                f"SELECT record, kind, target, line, context FROM links WHERE {within} "
                "AND kind IN (SELECT value FROM json_each(?)) ORDER BY record, ordinal",
                (*values, as_json(list(kinds))),
            )
            linking = "SELECT collection FROM records WHERE id IN (SELECT value FROM json_each(?))"
            records = self.db.rows(
                f"SELECT records.id, {RECORD_COLUMNS} FROM {RECORDS} WHERE collections.id IN ({linking}) "
                f"AND {condition or 'true'} ORDER BY collections.name, records.path",
                (as_json(list({row[0] for row in rows})), *values),
            )
        links: defaultdict[int, list[Link]] = defaultdict(list)
        for key, *link in rows:
            links[key].append(Link(*link))
        return list(self._damage.sound(records, lambda row: (record_of(row[1:]), links[row[0]])))

    def sizes(self) -> dict[str, int]:
        return dict(
            self._remembered(
                "SELECT collections.name, (SELECT count(*) FROM records WHERE collection = collections.id) "
                "FROM collections ORDER BY id"
            )
        )

    def counts(self, scope: Scope = EVERYTHING) -> Counts:
        scope = self._scopes.narrowed(scope)
        if scope == EVERYTHING:
            return self.db.remembered("counts", self._count)
        return self.db.remembered(f"counts of {scope}", lambda: self._count_within(scope))

    def _count_within(self, scope: Scope) -> Counts:
        condition, values = self._scopes.condition(scope)
        records = f"SELECT records.id FROM {RECORDS} WHERE {condition}"
        chunks = f"SELECT id FROM chunks WHERE record IN ({records})"
        parts = [
            f"records WHERE id IN ({records})",
            *(f"{table} WHERE record IN ({records})" for table in ("chunks", "symbols", "links", "calls")),
            *(f"{table} WHERE chunk IN ({chunks})" for table in ("vectors", "next_vectors")),
            f"{UNENCODED_CHUNKS} AND record IN ({records})",
        ]
        return Counts(*(int(self.db.rows(f"SELECT count(*) FROM {it}", values)[0][0]) for it in parts))

    def _count(self) -> Counts:
        tables = ("records", "chunks", "symbols", "links", "calls", "vectors", "next_vectors")
        return Counts(*map(self._count_of_rows, (*tables, UNENCODED_CHUNKS)))

    def _count_of_rows(self, table: str) -> int:
        try:
            return int(self.db.rows(f"SELECT count(*) FROM {table}")[0][0])
        except IndexDamaged as error:
            self._damage.note("catalog", str(error.__cause__))
            return 0


def _by_moment(row: Row) -> tuple[int, str, str]:
    """The order of _NEWEST_FIRST, for rows of several kinds."""
    name, path, mtime_ns, at_ns = row[0], row[1], row[5], row[12]
    return -(mtime_ns if at_ns is None else at_ns), name, path
