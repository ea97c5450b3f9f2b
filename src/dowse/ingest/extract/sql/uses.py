"""What statements use: procedures and functions they call, tables they read and write."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from dowse.ingest.extract.sql.lexer import GAP, NAME, Dialect, last_part, parts
from dowse.ingest.extract.sql.words import RESERVED, is_callable

_FLAGS = re.IGNORECASE | re.DOTALL
_TABLE = re.compile(rf"{GAP}(?:(?:ONLY|INTO|TABLE)\b{GAP})?(?:TOP\b{GAP}\([^()]*+\){GAP})?(?P<name>{NAME})", _FLAGS)
_ALIAS = re.compile(rf"{GAP}(?:AS\b{GAP})?(?P<name>{NAME})", _FLAGS)
_COMMA = re.compile(rf"{GAP},", re.DOTALL)
_NEXT = re.compile(r"\s*+(?:(?P<paren>\()|AS\b)", re.IGNORECASE)
_OPENING = re.compile(rf"{GAP}\(", re.DOTALL)
_EMPTY = re.compile(rf"{GAP}\)", re.DOTALL)
_PROCEDURE = re.compile(rf"{GAP}(?:@\w++{GAP}={GAP})?(?:(?:FUNCTION|PROCEDURE)\b{GAP})?(?P<name>{NAME})", _FLAGS)
_ARGUMENT = re.compile(rf"{GAP}(?:[@'\"\d+-]|N'|NULL\b|DEFAULT\b)", _FLAGS)
_QUERY = re.compile(rf"{GAP}(?:\([^()]{{0,1000}}+\){GAP})?AS\b{GAP}(?:(?:NOT{GAP})?MATERIALIZED\b{GAP})?\(", _FLAGS)
_ROWS = re.compile(r"(?:\s*+\((?:[^()'\"`/#\\-]++|'[^'\\]*+'|-(?!-))*+\)\s*+,?+)++")
_CURSOR = re.compile(rf"{GAP}(?:(?:NEXT|PRIOR|FIRST|LAST)\b{GAP})?(?:FROM\b{GAP})?{NAME}", _FLAGS)

_NO_WRITING_AFTER: Final = frozenset({"for", "on", "after", "before", "of", "key", "do", "or", "instead"})
_INTO_AFTER: Final = frozenset({"insert", "merge", "replace", "ignore", "overwrite", "delayed"})
_NO_CALL_AFTER: Final = frozenset(
    {
        "as",
        "key",
        "index",
        "constraint",
        "unique",
        "table",
        "into",
        "view",
        "type",
        "with",
        "recursive",
        ")",
        "procedure",
        "function",
        "cursor",
    }
)


@dataclass(slots=True)
class Use:
    """`owner` is the definition it stands in, by number."""

    name: str
    start: int
    owner: int | None
    kind: str
    arguments: int = 0


@dataclass(slots=True)
class _Frame:
    """An open parenthesis: `use` is what is called with what it holds."""

    use: Use | None
    after_name: bool
    has_query: bool = False


class Uses:
    """Told every name and mark in order. Keywords answer with where to go on, names before that being read."""

    def __init__(self, text: str, dialect: Dialect) -> None:
        self.owner: int | None = None
        self._text, self._dialect = text, dialect
        self._found: list[Use] = []
        self._frames: list[_Frame] = []
        self._words: defaultdict[int | None, set[str]] = defaultdict(set)  # aliases, queries with a name
        self._last = ""  # the last name, in lower case, or a mark
        self._called: Use | None = None  # by the name that was just read
        self._listing: Use | None = None  # a procedure whose arguments stand there without parentheses
        self._merging = False
        self._keywords: dict[str, Callable[[int, str], int]] = {
            "from": self._from,
            "join": self._join,
            "using": self._using,
            "references": self._reference,
            "update": self._written,
            "delete": self._written,
            "merge": self._merge,
            "into": self._into,
            "table": self._whole_table,
            "exec": self._procedure,
            "execute": self._procedure,
            "call": self._procedure,
            "select": self._query,
            "values": self._rows,
            "fetch": self._cursor,
        }

    def found(self) -> list[Use]:
        """In order; without what only looked like a table because it is another name for one, or for a query."""
        return [it for it in self._found if it.kind != "refer" or it.name.lower() not in self._words[it.owner]]

    def name(self, word: str, token: re.Match[str]) -> int:
        """Told a name, also in lower case; where to go on, if not behind it."""
        last, self._last, self._called = self._last, word, None
        keyword = self._keywords.get(word)
        if keyword:
            self._listing = None
            return keyword(token.end(), last)
        if word not in RESERVED and (following := _NEXT.match(self._text, token.end())):
            self._plain(token, last, is_before_paren=following["paren"] is not None)
        return 0

    def mark(self, mark: str, end: int) -> None:
        if mark == "(":
            after_name = self._last not in ("", "(", ")", ",", ";")
            self._frames.append(_Frame(self._called, after_name))
            if self._called and not _EMPTY.match(self._text, end):
                self._called.arguments = 1
        elif mark == ")" and self._frames:
            self._frames.pop()
        elif mark == ",":
            use = self._frames[-1].use if self._frames else self._listing
            if use:
                use.arguments += 1
        elif mark == ";":
            self.end_statement()
        self._called, self._last = None, mark

    def end_statement(self) -> None:
        self._frames.clear()
        self._listing, self._called, self._merging, self._last = None, None, False, ""

    def refer(self, written: str, start: int) -> None:
        """A table, unless it is temporary, a variable or a keyword."""
        them = parts(written)
        if len(them) == 1 and written[0] not in '["`' and them[0].lower() in RESERVED:
            return
        if them and them[-1] and them[-1][0] not in "@#":
            self._found.append(Use(them[-1], start, self.owner, "refer"))

    def _plain(self, token: re.Match[str], last: str, *, is_before_paren: bool) -> None:
        """Not a keyword, and before a parenthesis or AS."""
        if last in ("with", "recursive", ",") and _QUERY.match(self._text, token.end()):
            self._words[self.owner].add(last_part(token.group()).lower())
        elif is_before_paren and last not in _NO_CALL_AFTER and is_callable(parts(token.group())):
            self._called = Use(last_part(token.group()), token.start(), self.owner, "call")
            self._found.append(self._called)

    def _query(self, end: int, last: str) -> int:
        if self._frames:
            self._frames[-1].has_query = True
        return 0

    def _from(self, end: int, last: str) -> int:
        """Not that of EXTRACT(YEAR FROM x), nor of IS DISTINCT FROM."""
        inside = self._frames[-1] if self._frames else None
        if last == "distinct" or (inside and inside.after_name and not inside.has_query):
            return 0
        return self._sources(end)

    def _join(self, end: int, last: str) -> int:
        return self._sources(end)

    def _reference(self, end: int, last: str) -> int:
        return self._one_table(end)

    def _sources(self, end: int) -> int:
        """Tables with their aliases, as many as commas join."""
        while found := _TABLE.match(self._text, end):
            if self._is_keyword(found["name"]) or _OPENING.match(self._text, found.end()):
                return found.start("name")
            self.refer(found["name"], found.start("name"))
            end = self._alias(found["name"], found.end())
            comma = _COMMA.match(self._text, end)
            if comma is None:
                return end
            end = comma.end()
        return end

    def _alias(self, table: str, end: int) -> int:
        found = _ALIAS.match(self._text, end)
        if found is None or self._is_keyword(found["name"]):
            return end
        if parts(found["name"])[-1].lower() != parts(table)[-1].lower():
            self._words[self.owner].add(parts(found["name"])[-1].lower())
        return found.end()

    def _one_table(self, end: int) -> int:
        found = _TABLE.match(self._text, end)
        if found is None or self._is_keyword(found["name"]):
            return 0
        self.refer(found["name"], found.start("name"))
        return self._alias(found["name"], found.end())

    def _using(self, end: int, last: str) -> int:
        return self._one_table(end) if self._merging else 0

    def _merge(self, end: int, last: str) -> int:
        self._merging = True
        return self._one_table(end)

    def _written(self, end: int, last: str) -> int:
        return 0 if last in _NO_WRITING_AFTER else self._one_table(end)

    def _into(self, end: int, last: str) -> int:
        """In T-SQL a query may make a table; elsewhere it is a variable that it fills."""
        return self._one_table(end) if last in _INTO_AFTER or self._dialect == "tsql" else 0

    def _whole_table(self, end: int, last: str) -> int:
        return self._one_table(end) if last in ("truncate", "alter") else 0

    def _procedure(self, end: int, last: str) -> int:
        found = _PROCEDURE.match(self._text, end)
        if found is None or self._is_keyword(found["name"]) or found["name"][0] == "@":
            return 0
        use = Use(parts(found["name"])[-1], found.start("name"), self.owner, "call")
        self._found.append(use)
        self._called = self._listing = use
        if _ARGUMENT.match(self._text, found.end()):
            use.arguments = 1
        return found.end()

    def _rows(self, end: int, last: str) -> int:
        """Rows of plain values are skipped in one step: files with nothing else are large."""
        rows = _ROWS.match(self._text, end)
        return rows.end() if rows else 0

    def _cursor(self, end: int, last: str) -> int:
        found = _CURSOR.match(self._text, end)
        return found.end() if found else 0

    @staticmethod
    def _is_keyword(name: str) -> bool:
        return name.lower() in RESERVED
