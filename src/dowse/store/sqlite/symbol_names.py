"""The names that symbols bear, each once: which of them match, and how well."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from dowse.store.definitions import Wanted
from dowse.store.sqlite.database import Database
from dowse.text.matching import EXACT, compile_regex, nearness, regex_search

_GRAM = 3
_GRAMS = 3  # so many narrow enough; each further one costs more than the names it spares
# What means something else in one text of many lines than in each of them: anchors of the text, switched modes.
_NOT_BY_LINE = re.compile(r"\\[AzQC]|\(\?\w*-")
# A name is one line of the text that regexes scan, so a name with line ends is none of them.
_LINE_END = "\n"


def matching_names(db: Database, wanted: Wanted, all_names: Callable[[], bytes]) -> dict[str, int]:
    """The names that any of the asked ones matches, and how well; `all_names` are the lines of one text."""
    asked = [name.lower() for name in wanted.names]
    if wanted.matching == "exact":
        return dict.fromkeys(asked, EXACT)
    if wanted.matching == "regex":
        found = (name for pattern in wanted.names for name in _by_regex(pattern, all_names()))
        return dict.fromkeys(found, EXACT)
    near = ((name, nearness(name, asked)) for name in set(names_with(db, asked)))
    return {name: level for name, level in near if level is not None}


def names_with(db: Database, parts: Iterable[str]) -> list[str]:
    """The names that hold any of the parts, which are in lower case."""
    return [name for part in parts for name in _with(db, part)]


def _with(db: Database, part: str) -> list[str]:
    if len(part) < _GRAM or "\0" in part:
        rows = db.rows("SELECT name FROM symbol_names WHERE instr(name, ?) > 0", (part,))
    else:
        rows = db.rows(
            "SELECT name FROM symbol_names WHERE id IN (SELECT rowid FROM symbol_grams WHERE symbol_grams MATCH ?) "
            "AND instr(name, ?) > 0",
            (_grams(part), part),
        )
    return [name for (name,) in rows]


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
