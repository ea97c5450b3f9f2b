"""A question for definitions as SQL: which tables, in which order, under which conditions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import apsw

from dowse.model import EVERYTHING
from dowse.store.definitions import HEADING, Wanted
from dowse.store.sqlite.database import fetch
from dowse.store.sqlite.rows import as_json
from dowse.store.sqlite.scopes import Condition
from dowse.text.names import last_name

_SYMBOLS_PER_NAME = 3  # about as many bear the same name
_COUNTED = 10_000  # from here on it does not matter how many more there are
_LARGEST = 2**62  # SQLite's integers end

MEASURES: Mapping[str, str] = {
    "cyclomatic": "symbols.cyclomatic",
    "cognitive": "symbols.cognitive",
    "nesting": "symbols.nesting",
    "parameters": "symbols.arity",
    "returns": "symbols.returns",
    "calls": "symbols.calls_made",
    "lambdas": "symbols.lambdas",
    "lines": "(symbols.end_line - symbols.start_line + 1)",
}


@dataclass(frozen=True, slots=True)
class _Part:
    """A table or a condition, with the values of its placeholders."""

    sql: str
    values: tuple[object, ...] = ()


@dataclass(frozen=True, slots=True)
class Candidates:
    """`FROM … WHERE …` over `symbols`. SQLite keeps the order of tables that are joined by CROSS JOIN: the most
    selective leads, and the others are looked up by their keys."""

    tables: tuple[_Part, ...]
    conditions: tuple[_Part, ...]

    @property
    def sql(self) -> str:
        conditions = " AND ".join(it.sql for it in self.conditions)
        return f"FROM {' CROSS JOIN '.join(it.sql for it in self.tables)} WHERE {conditions}"

    @property
    def values(self) -> tuple[object, ...]:
        return tuple(value for it in (*self.tables, *self.conditions) for value in it.values)


_SYMBOLS = _Part("symbols")
_OWNER = _Part("symbols AS owner")
_RECORDS = (_Part("records"), _Part("collections"))


def candidates(
    connection: apsw.Connection,
    wanted: Wanted,
    names: Sequence[str] | None,
    owners: Callable[[], Sequence[str]],
    within: Condition,
) -> Candidates:
    """`names` are those in the index that match, best first, None for any: `named.key` is the place of each.
    `owners` gives the names of what may be around; `within` is the scope."""
    traits = _traits(connection, wanted)
    conditions = [_Part("symbols.kind != ?", (HEADING,)), *_own_conditions(wanted)]
    conditions += [_trait_condition(kind, value) for _, kind, value in traits]
    tables = [_Part(f"traits AS {kind}") for _, kind, _ in traits]
    if names is not None:
        leads = not traits or _SYMBOLS_PER_NAME * len(names) < traits[0][0]
        # A limit, though it limits nothing, keeps it a table of its own, which SQLite gives an index.
        named = "json_each(?) AS named" if leads else "(SELECT key, value FROM json_each(?) LIMIT -1) AS named"
        tables.insert(0 if leads else len(tables), _Part(named, (as_json(names),)))
        conditions.append(_Part("symbols.folded = named.value"))
    return _joined(connection, wanted, tables, conditions, owners, within)


def _trait_condition(kind: str, value: str) -> _Part:
    return _Part(
        f"{kind}.kind = ? AND {kind}.value = ? AND {kind}.record = symbols.record AND {kind}.symbol = symbols.ordinal",
        (kind, value),
    )


def _joined(
    connection: apsw.Connection,
    wanted: Wanted,
    leading: Sequence[_Part],
    conditions: list[_Part],
    owners: Callable[[], Sequence[str]],
    within: Condition,
) -> Candidates:
    """Symbols come second; what is around them leads where nothing else does, then the files."""
    has_files = wanted.scope != EVERYTHING or wanted.wanted is not None
    tables = [*leading[:1], _SYMBOLS, *leading[1:]]
    if wanted.parent:
        conditions.append(_owner_condition(wanted.parent))
    if wanted.parent and not leading:
        tables = [_Part("json_each(?) AS owning", (as_json(owners()),)), _OWNER, _SYMBOLS]
        conditions.append(_Part("owner.folded = owning.value"))
    elif wanted.parent:
        tables.append(_OWNER)
    if has_files:
        conditions += _file_conditions(connection, wanted, within)
        leads = not leading and not wanted.parent
        tables = [*_RECORDS, *tables] if leads else [*tables, *_RECORDS]
    return Candidates(tuple(tables), tuple(conditions))


def _traits(connection: apsw.Connection, wanted: Wanted) -> list[tuple[int, str, str]]:
    """What it extends and is marked with: how many have it (roughly), the kind of trait, its value; rarest first."""
    asked = [(kind, last_name(text)) for kind, text in (("base", wanted.base), ("attribute", wanted.attribute)) if text]
    return sorted((_count(connection, kind, value), kind, value) for kind, value in asked)


def _count(connection: apsw.Connection, kind: str, value: str) -> int:
    rows = fetch(
        connection,
        "SELECT count(*) FROM (SELECT 1 FROM traits WHERE kind = ? AND value = ? LIMIT ?)",
        (kind, value, _COUNTED),
    )
    return int(rows[0][0])


def _own_conditions(wanted: Wanted) -> Iterator[_Part]:
    if wanted.kinds:
        yield _Part("symbols.kind IN (SELECT value FROM json_each(?))", (as_json(wanted.kinds),))
    for modifier in wanted.modifiers:
        # Quoted as in the list: far quicker than to take the list apart.
        yield _Part("instr(lower(symbols.modifiers), ?) > 0", (as_json(modifier.lower()),))
    for name, bound in wanted.least.items():
        yield _Part(f"{MEASURES[name]} >= ?", (max(-_LARGEST, min(bound, _LARGEST)),))


def _owner_condition(parent: str) -> _Part:
    return _Part(
        "owner.record = symbols.record AND owner.ordinal = symbols.parent AND owner.ordinal < symbols.ordinal "
        "AND instr(owner.folded, ?) > 0",
        (parent.lower(),),
    )


def _file_conditions(connection: apsw.Connection, wanted: Wanted, within: Condition) -> Iterable[_Part]:
    yield _Part("records.id = symbols.record AND collections.id = records.collection")
    condition, values = within
    if condition:
        yield _Part(condition, tuple(values))
    if wanted.wanted is not None:
        is_wanted = wanted.wanted
        connection.create_scalar_function(
            "is_wanted", lambda *path: int(is_wanted(str(path[0]))), 1, deterministic=True
        )
        yield _Part("is_wanted(records.path)")
