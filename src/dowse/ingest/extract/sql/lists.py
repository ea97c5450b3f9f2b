"""Lists in definitions, taken apart: the parameters of a routine, the columns of a table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from dowse.ingest.extract.sql.lexer import GAP, NAME, last_part

_OPTIONS = rf"(?:FORCE\b{GAP})?(?:AUTHID\b{GAP}\w++{GAP})?"
_OPENING = re.compile(
    rf"{GAP}{_OPTIONS}(?:(?:AS|IS)\b{GAP}(?:(?:TABLE|OBJECT)\b{GAP})?|UNDER\b{GAP}{NAME}{GAP})?\(",
    re.IGNORECASE | re.DOTALL,
)
_AS = re.compile(rf"{GAP}{_OPTIONS}(?:AS|IS|UNDER)\b", re.IGNORECASE | re.DOTALL)
_ONLY_NAME = re.compile(rf"{GAP}@[\w@#$]++{GAP}", re.DOTALL)
_BARE = re.compile(rf"{GAP}(?=@)", re.DOTALL)
_ENDS_BARE: Final = frozenset({"as", "with", "for", "begin", "returns", "go"})
_TYPE = rf"{NAME}(?:{GAP}(?:PRECISION|VARYING)\b)?(?:{GAP}\([^()]*+\))?"
_COLUMN = re.compile(rf"{GAP}(?P<name>{NAME})(?:{GAP}(?P<type>{_TYPE}))?", re.IGNORECASE | re.DOTALL)
_PARAMETER = re.compile(
    rf"{GAP}(?:(?:IN|OUT|INOUT|VARIADIC)\b{GAP})?(?P<name>{NAME}(?:{GAP}\([^()]*+\))?)"
    rf"(?:{GAP}(?:AS\b{GAP})?(?P<type>(?!DEFAULT\b){_TYPE}))?",
    re.IGNORECASE | re.DOTALL,
)
_RESULT = re.compile(
    rf"{GAP}RETURNS\b{GAP}(?:SETOF\b{GAP})?(?:@\w++{GAP})?(?P<type>{_TYPE})", re.IGNORECASE | re.DOTALL
)
_CONSTRAINTS = (
    "as check constraint exclude for foreign fulltext index key like period primary references spatial unique"
)
_METHOD = re.compile(rf"{GAP}(?:\w++{GAP}){{0,5}}?\b(?P<noun>PROCEDURE|FUNCTION)\b{GAP}(?P<name>{NAME})", re.IGNORECASE)
_NO_COLUMNS: Final = frozenset(_CONSTRAINTS.split())
# An unclosed list ends where the next statement begins, so that reading one never costs more than its own length.
_NEVER_INSIDE: Final = frozenset({"create", "alter"})
_MAX_TYPE_CHARS: Final = 80


class Column(NamedTuple):
    name: str
    type: str
    start: int
    end: int
    noun: str = "column"  # or procedure, function: a method of an object


class Listed(NamedTuple):
    """`end` is behind the whole list."""

    items: list[tuple[int, int]]
    end: int


def parameters(text: str, start: int, tokens: re.Pattern[str]) -> tuple[tuple[str, ...], int]:
    """The types of the parameters that follow a routine's name, and where they end."""
    found = _after(text, start, tokens, bare=True)
    types = (_parameter(text[begin:end]) for begin, end in found.items)
    return tuple(it for it in types if it is not None), found.end


def behind_list(text: str, start: int, tokens: re.Pattern[str]) -> int:
    """Where a list of any kind that may stand here has ended."""
    return _after(text, start, tokens, bare=True).end


def _parameter(text: str) -> str | None:
    found = _PARAMETER.match(text)
    if found is None:
        return None
    is_nameless = found["type"] is None and found["name"][0] != "@"
    return _tidy(found["name"] if is_nameless else found["type"] or "")


def result(text: str, start: int) -> tuple[str, int]:
    """The type that stands after RETURNS, and where it ends."""
    found = _RESULT.match(text, start)
    return (_tidy(found["type"]), found.end()) if found else ("", start)


def columns(text: str, start: int, tokens: re.Pattern[str], *, of_type: bool) -> Iterator[Column]:
    """The columns in the parentheses that follow a table's name; those of a type follow an AS, others are options."""
    if of_type and not _AS.match(text, start):
        return
    for begin, end in _after(text, start, tokens, bare=False).items:
        found = _COLUMN.match(text, begin, end)
        if found is None or (found["name"].lower() in _NO_COLUMNS and not _is_typed_key(found)):
            continue
        if of_type and (method := _METHOD.match(text, begin, end)):
            yield Column(last_part(method["name"]), "", method.start("noun"), end, method["noun"].lower())
            continue
        is_computed = (found["type"] or "").lower().startswith("as")
        yield Column(
            last_part(found["name"]), "" if is_computed else _tidy(found["type"] or ""), found.start("name"), end
        )


def _is_typed_key(found: re.Match[str]) -> bool:
    """A column may be called `key` or `period`, as constraints are: it has a type behind it, these have not."""
    name, written = found["name"].lower(), (found["type"] or "(").lower()
    return (name == "key" and "(" not in written) or (name == "period" and written[:1].isalpha() and written != "for")


def _after(text: str, start: int, tokens: re.Pattern[str], *, bare: bool) -> Listed:
    if opening := _OPENING.match(text, start):
        return _cut(text, opening.end(), tokens, is_bare=False)
    if bare and (first := _BARE.match(text, start)):
        return _cut(text, first.end(), tokens, is_bare=True)
    return Listed([], start)


def _cut(text: str, start: int, tokens: re.Pattern[str], *, is_bare: bool) -> Listed:
    """What commas separate, up to the closing parenthesis, or without parentheses up to a word that ends the list."""
    items: list[tuple[int, int]] = []
    depth, begin = 0, start
    for token in tokens.finditer(text, start):
        mark = token["mark"]
        if token["name"] and _ends_list(token, text, begin, is_bare=is_bare and depth == 0):
            return Listed([*items, (begin, token.start())], token.start())
        if mark == ";" or (mark == ")" and depth == 0):
            return Listed([*items, (begin, token.start())], token.end())
        if mark == "," and depth == 0:
            items.append((begin, token.start()))
            begin = token.end()
        elif mark:
            depth += 1 if mark == "(" else -1 if mark == ")" else 0
    return Listed([*items, (begin, len(text))], len(text))


def _ends_list(token: re.Match[str], text: str, begin: int, *, is_bare: bool) -> bool:
    """`AS` ends bare parameters, but not between a parameter and its type."""
    word = token["name"].lower()
    if word in _NEVER_INSIDE:
        return True
    return is_bare and word in _ENDS_BARE and not (word == "as" and _ONLY_NAME.fullmatch(text, begin, token.start()))


def _tidy(type_text: str) -> str:
    return " ".join(type_text.split())[:_MAX_TYPE_CHARS]
