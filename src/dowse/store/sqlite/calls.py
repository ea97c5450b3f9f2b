"""What the call graph is worked out from, in SQLite: definitions, imports and calls, found by name in batches."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from sys import intern
from typing import TypeVar

from dowse.model import Link
from dowse.store.call_facts import Facts, FileName, Named, Place, Site
from dowse.store.sqlite.database import Database, Row
from dowse.store.sqlite.health.damage import Damage
from dowse.store.sqlite.rows import RECORD_COLUMNS, RECORDS, SYMBOL_COLUMNS, record_of, symbol_of

Value = TypeVar("Value")

_LISTED = "IN (SELECT value FROM json_each(?))"
# As in the index records_name: only an expression written alike is looked up there.
_LAST_NAME = "replace(path, rtrim(path, replace(path, '/', '')), '')"
_JOINT = "\x1f"
_TRAIL = (
    "(WITH RECURSIVE above (name, parent, height) AS ("
    "SELECT up.name, up.parent, 1 FROM symbols AS up WHERE up.record = symbols.record AND up.ordinal = symbols.parent "
    "UNION ALL SELECT up.name, up.parent, height + 1 FROM symbols AS up JOIN above ON up.ordinal = above.parent "
    "WHERE up.record = symbols.record AND height < 100) "
    "SELECT group_concat(name, char(31)) FROM (SELECT name FROM above ORDER BY height DESC))"
)
_NAMED = f"symbols.record, symbols.ordinal, symbols.name, symbols.kind, {_TRAIL}, collections.name, records.path"
_SITE = "calls.record, calls.ordinal, calls.name, callee, line, symbol, arguments, calls.kind"
_OF_RECORD = f"JOIN records ON records.id = %s.record JOIN {RECORDS.removeprefix('records JOIN ')}"


class SqliteCalls:
    db: Database
    _damage: Damage

    def moment(self) -> AbstractContextManager[None]:
        return self.db.moment()

    def stamps(self, keys: Sequence[int]) -> dict[int, str]:
        rows = self.db.rows(
            f"SELECT id, collection || '/' || path || ' ' || digest || ' ' || chunking || ' ' || mtime_ns "
            f"FROM records WHERE id {_LISTED}",
            (_listed(list(keys)),),
        )
        return dict(rows)

    def facts(self, keys: Sequence[int]) -> list[Facts]:
        wanted = (_listed(list(keys)),)
        records = self.db.rows(f"SELECT records.id, {RECORD_COLUMNS} FROM {RECORDS} WHERE records.id {_LISTED}", wanted)
        symbols = self.db.rows(
            f"SELECT record, {SYMBOL_COLUMNS} FROM symbols WHERE record {_LISTED} ORDER BY record, ordinal", wanted
        )
        imports = self.db.rows(
            f"SELECT record, kind, target, line, context FROM links WHERE record {_LISTED} AND kind = 'import' "
            "ORDER BY record, ordinal",
            wanted,
        )
        symbols_of = _grouped((row[0], symbol_of(row[1:])) for row in symbols)
        imports_of = _grouped((row[0], Link(*row[1:])) for row in imports)
        return list(
            self._damage.sound(
                records, lambda row: Facts(row[0], record_of(row[1:]), symbols_of[row[0]], imports_of[row[0]])
            )
        )

    def files_named(self, name: str) -> list[FileName]:
        rows = self.db.rows(
            f"SELECT records.id, collections.name, root, path FROM {RECORDS} WHERE {_LAST_NAME} = ? "
            "ORDER BY collections.name, path",
            (name,),
        )
        return [FileName(*row) for row in rows]

    def named(
        self,
        names: Sequence[str],
        *,
        kinds: Sequence[str] = (),
        within: Sequence[int] | None = None,
        modifier: str = "",
        limit: int = 0,
    ) -> list[Named]:
        conditions = [f"symbols.folded {_LISTED}"]
        values: list[object] = [_listed([name.lower() for name in names])]
        for column, wanted in (("symbols.kind", kinds or None), ("symbols.record", within)):
            if wanted is not None:
                conditions.append(f"{column} {_LISTED}")
                values.append(_listed(list(wanted)))
        if modifier:
            conditions.append("instr(symbols.modifiers, ?) > 0")
            values.append(_listed(modifier))
        rows = self.db.rows(
            f"SELECT {_NAMED} FROM symbols {_OF_RECORD % 'symbols'} WHERE {' AND '.join(conditions)} "
            "ORDER BY collections.name, records.path, symbols.ordinal LIMIT ?",
            (*values, limit or -1),
        )
        return list(map(_named_of, rows))

    def extending(self, names: Sequence[str]) -> list[Named]:
        rows = self.db.rows(
            f"SELECT DISTINCT {_NAMED} FROM traits JOIN symbols ON symbols.record = traits.record "
            f"AND symbols.ordinal = traits.symbol {_OF_RECORD % 'traits'} "
            f"WHERE traits.kind = 'base' AND traits.value {_LISTED} "
            "ORDER BY collections.name, records.path, symbols.ordinal",
            (_listed([name.lower() for name in names]),),
        )
        return list(map(_named_of, rows))

    def imported_as(self, targets: Sequence[str], member: str) -> list[str]:
        rows = self.db.rows(
            "SELECT DISTINCT substr(context, 1, instr(context, '=') - 1) FROM links WHERE kind = 'import' "
            f"AND target {_LISTED} AND substr(context, instr(context, '=') + 1) = ? ORDER BY 1",
            (_listed(list(targets)), member),
        )
        return [local for (local,) in rows]

    def sites(self, names: Sequence[str], limit: int) -> list[Site]:
        rows = self.db.rows(
            f"SELECT {_SITE} FROM calls {_OF_RECORD % 'calls'} WHERE calls.name {_LISTED} "
            "ORDER BY collections.name, records.path, line, calls.ordinal LIMIT ?",
            (_listed(list(names)), limit),
        )
        return list(map(_site_of, rows))

    def sites_in(self, key: int, *, kind: str = "", having: str = "") -> list[Site]:
        conditions = ["record = ?"]
        values: list[object] = [key]
        for condition, value in (("kind = ?", kind), ("instr(callee, ?) > 0", having)):
            if value:
                conditions.append(condition)
                values.append(value)
        rows = self.db.rows(
            f"SELECT {_SITE} FROM calls WHERE {' AND '.join(conditions)} ORDER BY line, ordinal", tuple(values)
        )
        return list(map(_site_of, rows))


def _site_of(row: Row) -> Site:
    record, ordinal, name, written, line, symbol, arguments, kind = row
    callee, _, passed = written.partition("\t")
    # Many sites share a name and a kind, and many sites are kept.
    return Site(record, ordinal, intern(name), callee, line, symbol, arguments, intern(kind), passed)


def _listed(value: object) -> str:
    """As JSON in plain ASCII: a name may hold what UTF-8 can not."""
    return json.dumps(value)


def _named_of(row: Row) -> Named:
    record, ordinal, name, kind, trail, collection, path = row
    return Named(Place(record, ordinal), name, kind, tuple(trail.split(_JOINT)) if trail else (), collection, path)


def _grouped(pairs: Iterable[tuple[int, Value]]) -> defaultdict[int, tuple[Value, ...]]:
    lists: defaultdict[int, list[Value]] = defaultdict(list)
    for key, value in pairs:
        lists[key].append(value)
    return defaultdict(tuple, {key: tuple(values) for key, values in lists.items()})
