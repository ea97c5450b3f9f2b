"""The names that symbols bear, each once: which of them match, and how well."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import NamedTuple

from dowse.errors import PartDamaged
from dowse.store.definitions import Wanted
from dowse.store.sqlite.database import Database
from dowse.store.sqlite.health.damage import Damage
from dowse.text.matching import EXACT, PART, PREFIX, lines_with

_GRAM = 3
_GRAMS = 3  # so many narrow enough; each further one costs more than the names it spares


class Name(NamedTuple):
    """A name in the index that was asked for; they sort best first."""

    near: int
    length: int
    text: str


def matching_names(db: Database, damage: Damage, wanted: Wanted, all_names: Callable[[], bytes]) -> list[Name]:
    """The names that any of the asked ones matches, best first; `all_names` are the lines of one text."""
    if wanted.matching == "exact":
        texts: Iterable[str] = (name.lower() for name in wanted.names)
        return _sorted(Name(EXACT, len(text), text) for text in texts)
    if wanted.matching == "regex":
        texts = (text for pattern in wanted.names for text in lines_with(pattern, all_names(), ignore_case=True))
        return _sorted(Name(EXACT, len(text), text) for text in texts)
    return _sorted(name for part in wanted.names for name in names_with(db, damage, part.lower()))


def _sorted(names: Iterable[Name]) -> list[Name]:
    """Each text once, as near as it came."""
    best: dict[str, Name] = {}
    for name in names:
        if name.text not in best or name < best[name.text]:
            best[name.text] = name
    return sorted(best.values())


def names_with(db: Database, damage: Damage, part: str) -> list[Name]:
    """The names that hold the part, which is in lower case."""
    with suppress(PartDamaged), damage.within("names"):
        return _indexed(db, part)
    return [Name(*row) for row in db.rows(*_found(part, "(SELECT DISTINCT folded AS name FROM symbols)"))]


def _found(part: str, names: str) -> tuple[str, tuple[str, ...]]:
    near = f"CASE WHEN name = ? THEN {EXACT} WHEN substr(name, 1, length(?)) = ? THEN {PREFIX} ELSE {PART} END"
    found = f"SELECT {near}, length(name), name FROM {names} WHERE instr(name, ?) > 0"
    return found, (part, part, part, part)


def _indexed(db: Database, part: str) -> list[Name]:
    found, values = _found(part, "symbol_names")
    if len(part) < _GRAM or "\0" in part:
        rows = db.rows(found, values)
    else:
        grams = "id IN (SELECT rowid FROM symbol_grams WHERE symbol_grams MATCH ?)"
        rows = db.rows(f"{found} AND {grams}", (*values, _grams(part)))
    return [Name(*row) for row in rows]


def _grams(part: str) -> str:
    """Some trigrams, spread over the part. Each is quoted, so nothing in it is syntax."""
    last = len(part) - _GRAM
    starts = sorted({round(step * last / (_GRAMS - 1)) for step in range(_GRAMS)})
    return " AND ".join('"' + part[start : start + _GRAM].replace('"', '""') + '"' for start in starts)


def as_lines(db: Database) -> bytes:
    """All names, one in a line; one that holds a line end is not among them."""
    rows = db.rows("SELECT name FROM symbol_names WHERE instr(name, char(10)) = 0")
    return "\n".join(name for (name,) in rows).encode()
