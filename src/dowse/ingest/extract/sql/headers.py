"""What a CREATE or ALTER defines: its kind, its name, and what is said about it before the name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from dowse.ingest.extract.sql.lexer import GAP, NAME, last_part
from dowse.ingest.extract.sql.lists import behind_list

_KINDS: Final = {
    "proc": "storedProcedure",
    "procedure": "storedProcedure",
    "trigger": "storedProcedure",
    "function": "sqlFunction",
    "table": "table",
    "view": "view",
    "type": "userDefinedType",
    "domain": "userDefinedType",
    "index": "sqlIndex",
    "package": "namespace",
    "typebody": "namespace",
    "record": "userDefinedType",
    "cursor": "variable",
    "variable": "variable",
}
_MODIFIERS: Final = {"trigger": ("trigger",), "package": ("package",), "typebody": ("body",)}
_ROUTINES: Final = frozenset({"proc", "procedure", "trigger", "function"})
_ADJECTIVES = (
    "UNIQUE|CLUSTERED|NONCLUSTERED|COLUMNSTORE|PRIMARY|XML|SPATIAL|FULLTEXT|TEMP|TEMPORARY|GLOBAL|LOCAL|UNLOGGED"
    "|EXTERNAL|FOREIGN|VIRTUAL|MATERIALIZED|RECURSIVE|CONSTRAINT|AGGREGATE"
    "|EDITIONABLE|NONEDITIONABLE|FORCE|NOFORCE"
)
_OF_MYSQL = rf"(?:DEFINER|ALGORITHM){GAP}={GAP}[\w`'@%.]++|SQL{GAP}SECURITY{GAP}\w++"
_HEADER = re.compile(
    rf"(?P<verb>CREATE|ALTER)\b{GAP}(?:OR{GAP}(?:ALTER|REPLACE)\b{GAP})?"
    rf"(?P<adjectives>(?:(?:(?:{_ADJECTIVES})\b|{_OF_MYSQL}){GAP})*+)"
    rf"(?P<noun>PROC(?:EDURE)?|FUNCTION|TRIGGER|TABLE|VIEW|TYPE|DOMAIN|INDEX|PACKAGE)\b{GAP}"
    rf"(?P<body>BODY\b{GAP}(?=[\w\"\[]))?"
    rf"(?:CONCURRENTLY{GAP})?(?:IF{GAP}NOT{GAP}EXISTS{GAP})?(?P<name>{NAME})",
    re.IGNORECASE | re.DOTALL,
)
_EACH_ADJECTIVE = re.compile(rf"\b(?:{_ADJECTIVES})\b", re.IGNORECASE)
# Some dialects alter owners, names and comments; only what these words follow gets a new body.
_NEW_BODY = re.compile(
    rf"{GAP}(?:AS|WITH|RETURNS|FOR|ON\b{GAP}{NAME}{GAP}(?:AFTER|FOR|INSTEAD|WITH|AS))\b", re.IGNORECASE | re.DOTALL
)


def kind_of(noun: str) -> str:
    return _KINDS[noun]


@dataclass(frozen=True, slots=True)
class Header:
    noun: str
    name: str
    modifiers: tuple[str, ...]
    start: int
    end: int  # behind the name

    @property
    def kind(self) -> str:
        return kind_of(self.noun)

    @property
    def is_routine(self) -> bool:
        return self.noun in _ROUTINES

    @property
    def has_columns(self) -> bool:
        return self.noun in ("table", "type", "record")

    @property
    def has_members(self) -> bool:
        return self.noun in ("package", "typebody")


def header_at(text: str, start: int, tokens: re.Pattern[str]) -> Header | None:
    """The definition that begins here, if any: temporary tables and what is only altered are none."""
    found = _HEADER.match(text, start)
    if found is None:
        return None
    noun, name = found["noun"].lower(), last_part(found["name"])
    if found["body"]:
        if noun not in ("package", "type"):
            return None
        noun = "typebody" if noun == "type" else noun
    is_altered = found["verb"].lower() == "alter"
    if (
        not name
        or name[0] in "#@"
        or name.lower() == "on"
        or (is_altered and not _is_new(text, noun, found.end(), tokens))
    ):
        return None
    adjectives = (it.lower() for it in _EACH_ADJECTIVE.findall(found["adjectives"]))
    body = ("body",) if found["body"] and noun == "package" else ()
    modifiers = (*adjectives, *_MODIFIERS.get(noun, ()), *body)
    return Header(noun, name, modifiers, start, found.end())


def _is_new(text: str, noun: str, end: int, tokens: re.Pattern[str]) -> bool:
    if noun not in _ROUTINES and noun != "view":
        return False
    return _NEW_BODY.match(text, behind_list(text, end, tokens)) is not None
