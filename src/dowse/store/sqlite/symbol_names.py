"""The names that symbols bear, each once: which of them match, and how well."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from dowse.store.definitions import Wanted
from dowse.store.sqlite.database import Database
from dowse.text.matching import EXACT, PART, PREFIX, compile_regex, regex_search

_GRAM = 3
_GRAMS = 3  # so many narrow enough; each further one costs more than the names it spares
# What means something else in one text of many lines than in each of them: anchors of the text, switched modes.
_NOT_BY_LINE = re.compile(r"\\[AzQC]|\(\?\w*-")
# A name is one line of the text that regexes scan, so a name with line ends is none of them.
_LINE_END = "\n"


class Name(NamedTuple):
    """A name in the index that was asked for; they sort best first."""

    near: int
    length: int
    text: str


def matching_names(db: Database, wanted: Wanted, all_names: Callable[[], bytes]) -> list[Name]:
    """The names that any of the asked ones matches, best first; `all_names` are the lines of one text."""
    if wanted.matching == "exact":
        texts: Iterable[str] = (name.lower() for name in wanted.names)
        return _sorted(Name(EXACT, len(text), text) for text in texts)
    if wanted.matching == "regex":
        texts = (text for pattern in wanted.names for text in _by_regex(pattern, all_names()))
        return _sorted(Name(EXACT, len(text), text) for text in texts)
    return _sorted(name for part in wanted.names for name in names_with(db, part.lower()))


def _sorted(names: Iterable[Name]) -> list[Name]:
    """Each text once, as near as it came."""
    best: dict[str, Name] = {}
    for name in names:
        if name.text not in best or name < best[name.text]:
            best[name.text] = name
    return sorted(best.values())


def names_with(db: Database, part: str) -> list[Name]:
    """The names that hold the part, which is in lower case."""
    near = f"CASE WHEN name = ? THEN {EXACT} WHEN substr(name, 1, length(?)) = ? THEN {PREFIX} ELSE {PART} END"
    found = f"SELECT {near}, length(name), name FROM symbol_names WHERE instr(name, ?) > 0"
    values = (part, part, part, part)
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


def _by_regex(pattern: str, lines: bytes) -> list[str]:
    """One scan over all names is eight times quicker than a search in each of them."""
    search = regex_search(pattern, ignore_case=True)
    if _NOT_BY_LINE.search(pattern):
        return [name for name in lines.decode().split(_LINE_END) if search(name)]
    scan = compile_regex(f"(?m)^.*?(?:{pattern}).*$", ignore_case=True, by_line=True)
    return [line.decode() for line in scan.findall(lines)]


def as_lines(db: Database) -> bytes:
    rows = db.rows("SELECT name FROM symbol_names")
    return _LINE_END.join(name for (name,) in rows if _LINE_END not in name).encode()
