"""A tolerant SQL reader: lexer, statements, column lists, packages and references."""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, NamedTuple

# --------------------------------------------------------------------------------------------------
# Tokenize SQL of any dialect with one regex: names and a few marks; everything else is skipped.
#
# Every alternative is possessive and takes an unterminated comment or string to the end, so that matching takes linear
# time on any text. Strings also end at a `GO` line, because a batch separator is never inside one.

SqlDialect = Literal["tsql", "postgres", "mysql", "plsql", "other"]

# The groups without a name match only where a string or comment is unterminated. MySQL executes the text inside
# /*!50003 … */, so these two marks are skipped and the text between them is not.
_EXECUTABLE_COMMENT = r"/\*!\d{5,6}|\*/"
_LINE_COMMENT = r"--[^\n]*+"
_COMMENT = r"/\*[^*]*+(?:\*(?!/)[^*]*+)*+(?:\*/|(\Z))"
_INNER = r"/\*[^*/]*+(?:(?:\*(?!/)|/(?!\*))[^*/]*+)*+\*/"
_NESTED_COMMENT = rf"/\*[^*/]*+(?:(?:\*(?!/)|/(?!\*)|{_INNER})[^*/]*+)*+(?:\*/|(\Z))"
_STRING = r"'[^'\n]*+(?:(?:''|\n(?!GO[ \t]*+\r?+(?:\n|\Z)))[^'\n]*+)*+(?:'|((?=\n)|\Z))"
_ESCAPED_STRING = r"'[^'\\]*+(?:(?:''|\\.)[^'\\]*+)*+(?:'|(\\?\Z))"
_DOUBLE_STRING = r'"[^"\\]*+(?:(?:""|\\.)[^"\\]*+)*+(?:"|(\\?\Z))'
# q'[it's]' of PL/SQL, with any of these delimiters.
_QUOTED_STRING = (
    r"(?=[nNqQ])[nN]?[qQ]'(?:"
    + "|".join(
        rf"{first}[^{last}]*+(?:{last}(?!')[^{last}]*+)*+(?:{last}'|(\Z))"
        for first, last in ((r"\[", r"\]"), ("{", "}"), (r"\(", r"\)"), ("<", ">"), ("!", "!"), (r"\|", r"\|"))
    )
    + ")"
)
_NUMBER = r"\d[\w.]*+"

# END$$ and END$ are an END followed by MySQL's delimiter.
_PLAIN = r"[^\W\d](?:[\w@#]|\$(?=\w)|(?<!\b(?i:END))\$(?!\$))*+|[@#][\w@#$]++"
# Names have at most 128 characters; the limit keeps a stray quote from scanning the rest of the text.
_QUOTED = r'\[(?:[^\]\n]|\]\]){1,128}+\]|"(?:[^"\n]|""){1,128}+"|`[^`\n]{1,128}+`'
_PART = rf"(?:{_PLAIN}|{_QUOTED})"

SQL_NAME: Final = rf"{_PART}(?:\s*+\.\s*+(?:\.\s*+)?{_PART})*+"
"""A qualified name: `dbo.[Order Lines]`, `db..t`."""
SQL_GAP: Final = rf"(?:\s++|{_LINE_COMMENT}|{_EXECUTABLE_COMMENT}|{_COMMENT})*+"
"""Anything allowed between two words: blanks and comments."""

_MAX_DETECTION_CHARS: Final = 200_000
_PART_PATTERN = re.compile(_PART)
_DIALECTS: tuple[tuple[SqlDialect, re.Pattern[str]], ...] = (
    ("mysql", re.compile(r"^[ \t]*+DELIMITER[ \t]|\bENGINE\s*+=|`\w+`|/\*!\d{5}", re.IGNORECASE | re.MULTILINE)),
    ("plsql", re.compile(r"\$IF\b", re.IGNORECASE)),  # here $$name is a compiler setting and opens no string
    ("postgres", re.compile(r"\$\w*+\$|\bLANGUAGE\s++'?(?:plpgsql|sql)\b|::\w", re.IGNORECASE)),
    (
        "tsql",
        re.compile(
            r"^[ \t]*+GO[ \t]*+\r?$|\bdbo\]?\.|\[\w++\]\.|\bEXEC\b|\bPROC(?:EDURE)?\s++[\w.\[\]]++\s*+\(?\s*+@\w",
            re.IGNORECASE | re.MULTILINE,
        ),
    ),
)


def detect_dialect(text: str) -> SqlDialect:
    """Detect the dialect from the first construct unique to one; it decides where strings and routines end."""
    matches = ((marks.search(text, 0, _MAX_DETECTION_CHARS), name) for name, marks in _DIALECTS)
    return min(((mark.start(), name) for mark, name in matches if mark), default=(0, "other"))[1]


@lru_cache(maxsize=5)
def token_pattern(dialect: SqlDialect) -> re.Pattern[str]:
    """Return a regex for tokens in the groups `name`, `dollar` and `mark`; a match without group is skipped text, one
    in another group is unterminated."""
    if dialect == "mysql":
        skipped = [_LINE_COMMENT, r"#[^\n]*+", _EXECUTABLE_COMMENT, _COMMENT, _ESCAPED_STRING, _DOUBLE_STRING, _NUMBER]
    else:
        skipped = [
            _LINE_COMMENT,
            _EXECUTABLE_COMMENT,
            _NESTED_COMMENT,
            _COMMENT,
            _QUOTED_STRING,
            _STRING,
            rf"[eE]{_ESCAPED_STRING}",
            _NUMBER,
            *([r"\$(?i:END)\b"] if dialect == "plsql" else []),
        ]
    dollar = r"(?P<dollar>(?!))" if dialect in ("mysql", "plsql") else r"(?P<dollar>\$\w*+\$)"
    return re.compile("|".join([*skipped, dollar, rf"(?P<name>{SQL_NAME})", r"(?P<mark>[();,])"]), re.DOTALL)


def split_sql_name(name: str) -> list[str]:
    """Return the parts of a name, unquoted."""
    return [_unquote(part) for part in _PART_PATTERN.findall(name)]


def last_sql_name_part(name: str) -> str:
    name_parts = split_sql_name(name)
    return name_parts[-1] if name_parts else ""


def _unquote(part: str) -> str:
    if part[0] == "[":
        return part[1:-1].replace("]]", "]")
    if part[0] in '"`':
        return part[1:-1].replace(part[0] * 2, part[0])
    return part


# --------------------------------------------------------------------------------------------------
# Parse the lists in definitions: parameters of routines and columns of tables.

_OPTIONS = rf"(?:FORCE\b{SQL_GAP})?(?:AUTHID\b{SQL_GAP}\w++{SQL_GAP})?"
_LIST_START = re.compile(
    rf"{SQL_GAP}{_OPTIONS}(?:(?:AS|IS)\b{SQL_GAP}(?:(?:TABLE|OBJECT)\b{SQL_GAP})?|UNDER\b{SQL_GAP}{SQL_NAME}{SQL_GAP})?\(",
    re.IGNORECASE | re.DOTALL,
)
_AS = re.compile(rf"{SQL_GAP}{_OPTIONS}(?:AS|IS|UNDER)\b", re.IGNORECASE | re.DOTALL)
_ONLY_NAME = re.compile(rf"{SQL_GAP}@[\w@#$]++{SQL_GAP}", re.DOTALL)
_BARE_LIST = re.compile(rf"{SQL_GAP}(?=@)", re.DOTALL)
_ENDS_BARE: Final = frozenset({"as", "with", "for", "begin", "returns", "go"})
_TYPE = rf"{SQL_NAME}(?:{SQL_GAP}(?:PRECISION|VARYING)\b)?(?:{SQL_GAP}\([^()]*+\))?"
_COLUMN = re.compile(rf"{SQL_GAP}(?P<name>{SQL_NAME})(?:{SQL_GAP}(?P<type>{_TYPE}))?", re.IGNORECASE | re.DOTALL)
_PARAMETER = re.compile(
    rf"{SQL_GAP}(?:(?:IN|OUT|INOUT|VARIADIC)\b{SQL_GAP})?(?P<name>{SQL_NAME}(?:{SQL_GAP}\([^()]*+\))?)"
    rf"(?:{SQL_GAP}(?:AS\b{SQL_GAP})?(?P<type>(?!DEFAULT\b){_TYPE}))?",
    re.IGNORECASE | re.DOTALL,
)
_RESULT = re.compile(
    rf"{SQL_GAP}RETURNS\b{SQL_GAP}(?:SETOF\b{SQL_GAP})?(?:@\w++{SQL_GAP})?(?P<type>{_TYPE})", re.IGNORECASE | re.DOTALL
)
_CONSTRAINTS = (
    "as check constraint exclude for foreign fulltext index key like period primary references spatial unique"
)
_METHOD = re.compile(
    rf"{SQL_GAP}(?:\w++{SQL_GAP}){{0,5}}?\b(?P<noun>PROCEDURE|FUNCTION)\b{SQL_GAP}(?P<name>{SQL_NAME})", re.IGNORECASE
)
_NOT_COLUMNS: Final = frozenset(_CONSTRAINTS.split())
# An unclosed list ends at the next statement, so that reading it never costs more than its length.
_NEVER_INSIDE: Final = frozenset({"create", "alter"})
_MAX_TYPE_CHARS: Final = 80


class SqlColumn(NamedTuple):
    name: str
    type: str
    start: int
    end: int
    noun: str = "column"  # or procedure, function: a method of an object type


class SqlListSpans(NamedTuple):
    """The spans of a list's items; `end` is after the whole list."""

    items: list[tuple[int, int]]
    end: int


def parse_parameter_types(text: str, start: int, tokens: re.Pattern[str]) -> tuple[tuple[str, ...], int]:
    """Return the types of the parameters after a routine's name, and where the list ends."""
    spans = _list_after(text, start, tokens, bare=True)
    types = (_parameter_type(text[begin:end]) for begin, end in spans.items)
    return tuple(it for it in types if it is not None), spans.end


def list_end(text: str, start: int, tokens: re.Pattern[str]) -> int:
    """Return where an optional list at `start` ends."""
    return _list_after(text, start, tokens, bare=True).end


def _parameter_type(text: str) -> str | None:
    match = _PARAMETER.match(text)
    if match is None:
        return None
    is_nameless = match["type"] is None and match["name"][0] != "@"
    return _clean_type(match["name"] if is_nameless else match["type"] or "")


def parse_return_type(text: str, start: int) -> tuple[str, int]:
    """Return the type after RETURNS, and where it ends."""
    match = _RESULT.match(text, start)
    return (_clean_type(match["type"]), match.end()) if match else ("", start)


def parse_columns(text: str, start: int, tokens: re.Pattern[str], *, of_type: bool) -> Iterator[SqlColumn]:
    """Yield the columns in the parentheses after a table's name; for a type they must follow AS, otherwise they are
    options."""
    if of_type and not _AS.match(text, start):
        return
    for begin, end in _list_after(text, start, tokens, bare=False).items:
        match = _COLUMN.match(text, begin, end)
        if match is None or (match["name"].lower() in _NOT_COLUMNS and not _is_typed_key(match)):
            continue
        if of_type and (method := _METHOD.match(text, begin, end)):
            yield SqlColumn(last_sql_name_part(method["name"]), "", method.start("noun"), end, method["noun"].lower())
            continue
        is_computed = (match["type"] or "").lower().startswith("as")
        yield SqlColumn(
            last_sql_name_part(match["name"]),
            "" if is_computed else _clean_type(match["type"] or ""),
            match.start("name"),
            end,
        )


def _is_typed_key(match: re.Match[str]) -> bool:
    """Recognize columns named `key` or `period`: unlike constraints with these keywords, they have a type."""
    name, declared_type = match["name"].lower(), (match["type"] or "(").lower()
    return (name == "key" and "(" not in declared_type) or (
        name == "period" and declared_type[:1].isalpha() and declared_type != "for"
    )


def _list_after(text: str, start: int, tokens: re.Pattern[str], *, bare: bool) -> SqlListSpans:
    if opening := _LIST_START.match(text, start):
        return _split_list(text, opening.end(), tokens, is_bare=False)
    if bare and (first := _BARE_LIST.match(text, start)):
        return _split_list(text, first.end(), tokens, is_bare=True)
    return SqlListSpans([], start)


def _split_list(text: str, start: int, tokens: re.Pattern[str], *, is_bare: bool) -> SqlListSpans:
    """Split at commas up to the closing parenthesis; without parentheses, up to a word that ends the list."""
    items: list[tuple[int, int]] = []
    depth, begin = 0, start
    for token in tokens.finditer(text, start):
        mark = token["mark"]
        if token["name"] and _ends_list(token, text, begin, is_bare=is_bare and depth == 0):
            return SqlListSpans([*items, (begin, token.start())], token.start())
        if mark == ";" or (mark == ")" and depth == 0):
            return SqlListSpans([*items, (begin, token.start())], token.end())
        if mark == "," and depth == 0:
            items.append((begin, token.start()))
            begin = token.end()
        elif mark:
            depth += 1 if mark == "(" else -1 if mark == ")" else 0
    return SqlListSpans([*items, (begin, len(text))], len(text))


def _ends_list(token: re.Match[str], text: str, begin: int, *, is_bare: bool) -> bool:
    """`AS` ends a bare parameter list, except between a parameter and its type."""
    word = token["name"].lower()
    if word in _NEVER_INSIDE:
        return True
    return is_bare and word in _ENDS_BARE and not (word == "as" and _ONLY_NAME.fullmatch(text, begin, token.start()))


def _clean_type(type_text: str) -> str:
    return " ".join(type_text.split())[:_MAX_TYPE_CHARS]


# --------------------------------------------------------------------------------------------------
# Parse CREATE and ALTER headers: kind, name and the adjectives before the name.

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
_MYSQL_OPTIONS = rf"(?:DEFINER|ALGORITHM){SQL_GAP}={SQL_GAP}[\w`'@%.]++|SQL{SQL_GAP}SECURITY{SQL_GAP}\w++"
_HEADER = re.compile(
    rf"(?P<verb>CREATE|ALTER)\b{SQL_GAP}(?:OR{SQL_GAP}(?:ALTER|REPLACE)\b{SQL_GAP})?"
    rf"(?P<adjectives>(?:(?:(?:{_ADJECTIVES})\b|{_MYSQL_OPTIONS}){SQL_GAP})*+)"
    rf"(?P<noun>PROC(?:EDURE)?|FUNCTION|TRIGGER|TABLE|VIEW|TYPE|DOMAIN|INDEX|PACKAGE)\b{SQL_GAP}"
    rf"(?P<body>BODY\b{SQL_GAP}(?=[\w\"\[]))?"
    rf"(?:CONCURRENTLY{SQL_GAP})?(?:IF{SQL_GAP}NOT{SQL_GAP}EXISTS{SQL_GAP})?(?P<name>{SQL_NAME})",
    re.IGNORECASE | re.DOTALL,
)
_ADJECTIVE = re.compile(rf"\b(?:{_ADJECTIVES})\b", re.IGNORECASE)
# ALTER may only change an owner, a name or a comment; the words below introduce a new body.
_NEW_BODY = re.compile(
    rf"{SQL_GAP}(?:AS|WITH|RETURNS|FOR|ON\b{SQL_GAP}{SQL_NAME}{SQL_GAP}(?:AFTER|FOR|INSTEAD|WITH|AS))\b",
    re.IGNORECASE | re.DOTALL,
)


def sql_symbol_kind(noun: str) -> str:
    return _KINDS[noun]


@dataclass(frozen=True, slots=True)
class SqlHeader:
    noun: str
    name: str
    modifiers: tuple[str, ...]
    start: int
    end: int  # after the name

    @property
    def kind(self) -> str:
        return sql_symbol_kind(self.noun)

    @property
    def is_routine(self) -> bool:
        return self.noun in _ROUTINES

    @property
    def has_columns(self) -> bool:
        return self.noun in ("table", "type", "record")

    @property
    def has_members(self) -> bool:
        return self.noun in ("package", "typebody")


def parse_header(text: str, start: int, tokens: re.Pattern[str]) -> SqlHeader | None:
    """Parse the definition at `start`, if any; temporary tables and ALTERs without a new body are ignored."""
    match = _HEADER.match(text, start)
    if match is None:
        return None
    noun, name = match["noun"].lower(), last_sql_name_part(match["name"])
    if match["body"]:
        if noun not in ("package", "type"):
            return None
        noun = "typebody" if noun == "type" else noun
    is_altered = match["verb"].lower() == "alter"
    if (
        not name
        or name[0] in "#@"
        or name.lower() == "on"
        or (is_altered and not _has_new_body(text, noun, match.end(), tokens))
    ):
        return None
    adjectives = (it.lower() for it in _ADJECTIVE.findall(match["adjectives"]))
    body = ("body",) if match["body"] and noun == "package" else ()
    modifiers = (*adjectives, *_MODIFIERS.get(noun, ()), *body)
    return SqlHeader(noun, name, modifiers, start, match.end())


def _has_new_body(text: str, noun: str, end: int, tokens: re.Pattern[str]) -> bool:
    if noun not in _ROUTINES and noun != "view":
        return False
    return _NEW_BODY.match(text, list_end(text, end, tokens)) is not None


# --------------------------------------------------------------------------------------------------
# Parse the members of a PL/SQL package or type body: routines, also nested ones, types, cursors and variables.

_PACKAGE_FLAGS = re.IGNORECASE | re.DOTALL
_PACKAGE_START = re.compile(rf"{SQL_GAP}(?:AUTHID{SQL_GAP}\w++{SQL_GAP})?(?:IS|AS)\b", _PACKAGE_FLAGS)
_ROUTINE = re.compile(rf"(?P<noun>PROCEDURE|FUNCTION)\b{SQL_GAP}(?P<name>{SQL_NAME})", _PACKAGE_FLAGS)
_NAMED_MEMBER = re.compile(rf"(?P<noun>CURSOR|SUBTYPE|TYPE)\b{SQL_GAP}(?P<name>{SQL_NAME})", _PACKAGE_FLAGS)
_RECORD = re.compile(rf"{SQL_GAP}IS{SQL_GAP}RECORD\b", _PACKAGE_FLAGS)
_VARIABLE = re.compile(rf"(?P<name>{SQL_NAME}){SQL_GAP}(?:CONSTANT\b{SQL_GAP})?{SQL_NAME}", _PACKAGE_FLAGS)
_EXTERNAL_BODY = re.compile(rf"{SQL_GAP}(?:LANGUAGE|EXTERNAL)\b", _PACKAGE_FLAGS)
_END_IF_OR_LOOP = re.compile(rf"{SQL_GAP}(?:IF|LOOP)\b", _PACKAGE_FLAGS)
_END_CASE = re.compile(rf"{SQL_GAP}CASE\b", _PACKAGE_FLAGS)
_TO_SEMICOLON = re.compile(rf"{SQL_GAP}(?:{SQL_NAME}{SQL_GAP})?;", _PACKAGE_FLAGS)
_BEFORE_ROUTINES: Final = frozenset(
    {"member", "static", "constructor", "map", "order", "final", "overriding", "not", "instantiating"}
)
_NOT_VARIABLES: Final = frozenset({"pragma", "end", "begin", "is", "as", "declare", "exception", "form", "language"})


class PackageMember(NamedTuple):
    """A member; `parent` is the index of the enclosing member, -1 for the package. `end` is after the member."""

    header: SqlHeader
    parent: int
    end: int


class _OpenRoutine:
    """An open package or routine. `blocks` has the words that await an END: BEGIN or CASE."""

    __slots__ = ("blocks", "is_body", "number")

    def __init__(self, number: int, *, is_body: bool) -> None:
        self.number = number
        self.is_body = is_body
        self.blocks: list[str] = []


class SqlPackage:
    """Parses the package after `header`: its `members`, parents first, and its `end`."""

    def __init__(self, text: str, header: SqlHeader, tokens: re.Pattern[str]) -> None:
        self.members: list[PackageMember] = []
        self.end = len(text)
        self._text, self._tokens = text, tokens
        begins = _PACKAGE_START.match(text, header.end)
        self._open = [_OpenRoutine(-1, is_body=True)]
        self._at_statement_start = True  # at the start of a statement
        self._resume = begins.end() if begins else header.end
        self._parens = 0
        self._awaiting_semicolon = -1  # index of the member that waits for its semicolon
        if begins:
            self._read(self._resume)
        else:
            self.end = self._resume

    def _read(self, start: int) -> None:
        for token in self._tokens.finditer(self._text, start):
            if token.start() < self._resume or token.lastgroup not in ("name", "mark"):
                continue
            if token.lastgroup == "mark":
                self._handle_mark(token.group(), token.end())
            elif self._parens == 0:
                self._handle_word(token.group().lower(), token.start(), token.end())
            if not self._open:
                return
        self._finish(len(self._text))

    def _handle_mark(self, mark: str, end: int) -> None:
        self._parens = max(0, self._parens + {"(": 1, ")": -1}.get(mark, 0))
        if mark == ";":
            self._parens = 0
            self._at_statement_start = True
            if self._awaiting_semicolon >= 0:
                self.members[self._awaiting_semicolon] = self.members[self._awaiting_semicolon]._replace(end=end)
                self._awaiting_semicolon = -1
            if not self._open[-1].is_body:  # a forward declaration
                self._close(end)

    def _handle_word(self, word: str, start: int, end: int) -> None:
        if self._text[start - 1] == "$":  # $IF … $END of conditional compilation
            self._at_statement_start = True
            return
        top, at_start = self._open[-1], self._at_statement_start or word in ("procedure", "function")
        self._at_statement_start = word in ("begin", "declare") or (at_start and word in _BEFORE_ROUTINES)
        if word == "create" and at_start and parse_header(self._text, start, self._tokens) is not None:
            self._finish(start)
        elif word in ("is", "as") and not top.is_body:
            top.is_body, self._at_statement_start = _EXTERNAL_BODY.match(self._text, end) is None, True
        elif word in ("begin", "case"):
            top.blocks.append(word)
        elif word == "end":
            self._end(top, end)
        elif at_start and not top.blocks and top.is_body and word not in _BEFORE_ROUTINES:
            self._read_declaration(word, start)

    def _end(self, top: _OpenRoutine, end: int) -> None:
        if _END_IF_OR_LOOP.match(self._text, end):
            return
        ended = top.blocks.pop() if top.blocks else "begin"
        if ended == "case":
            self._resume = max(end, _skip_case(self._text, end))
        elif not top.blocks:
            closing = _TO_SEMICOLON.match(self._text, end)
            self._close(closing.end() if closing else end)
            self._resume, self._at_statement_start = closing.end() if closing else end, True

    def _read_declaration(self, word: str, start: int) -> None:
        if match := _ROUTINE.match(self._text, start) if word in ("procedure", "function") else None:
            self._add(match, match["noun"].lower())
            self._open.append(_OpenRoutine(len(self.members) - 1, is_body=False))
            self._resume = list_end(self._text, match.end(), self._tokens)
        elif len(self._open) > 1 or word in _NOT_VARIABLES:
            return  # inside a routine, only nested routines are members
        elif match := _NAMED_MEMBER.match(self._text, start) if word in ("cursor", "type", "subtype") else None:
            self._add(match, "cursor" if match["noun"].lower() == "cursor" else "type")
            self._resume = match.end()
            if record := _RECORD.match(self._text, match.end()):
                self.members[-1] = self.members[-1]._replace(
                    header=_record_header(self.members[-1].header, record.end())
                )
        elif match := _VARIABLE.match(self._text, start):
            self._add(match, "variable")

    def _add(self, match: re.Match[str], noun: str) -> None:
        header = SqlHeader(noun, last_sql_name_part(match["name"]), (), match.start(), match.end("name"))
        self._awaiting_semicolon = -1 if noun in ("procedure", "function") else len(self.members)
        self.members.append(PackageMember(header, self._open[-1].number, match.end()))

    def _close(self, end: int) -> None:
        closed = self._open.pop()
        if closed.number >= 0:
            self.members[closed.number] = self.members[closed.number]._replace(end=end)
        else:
            self.end = end

    def _finish(self, end: int) -> None:
        while self._open:
            self._close(end)


def _skip_case(text: str, end: int) -> int:
    match = _END_CASE.match(text, end)
    return match.end() if match else end


def _record_header(header: SqlHeader, end: int) -> SqlHeader:
    """Move the header's end to the fields of a record, where `columns` expects those of a table."""
    return SqlHeader("record", header.name, header.modifiers, header.start, end)


# --------------------------------------------------------------------------------------------------
# SQL keywords and built-in functions, which never name a definition of a file.

_KEYWORDS = """
    add after all alter and any apply array as asc atomic auto before begin between bigint binary bit blob boolean
    by call case cast catch char character check clob clustered collate column commit conflict constraint create
    cross cube current cursor date datetime datetime2 datetimeoffset decimal declare default delete deny desc
    distinct do domain double drop each else elseif elsif end enum escape except exception_init exec execute exists
    exit explain explicit fetch fillfactor filter float for foreign from full function geography geometry global go
    goto grant group grouping handler hash having identity if ignore image immediate in include index inner inout
    insert instead int integer intersect interval into is iterate join json jsonb key language lateral leave left
    like limit local loop matched materialized max mediumint merge min money national natural nchar next nocheck
    nonclustered not nowait ntext null number numeric nvarchar of off offset on only open option or order out outer
    output over overlay own partition partitions path percent perform pivot pls_integer pragma precision primary
    print proc procedure raise raiserror range raw read real record recursive references repeat replace return
    returning returns revoke right rollback rollup row rows rowset rowversion schema select sequence set setof sets
    show signal smalldatetime smallint smallmoney some sql start statement statistics stored sum table tablesample
    temp temporary text then throw time timestamp timestamptz tinyint tinytext to top tran transaction trigger
    truncate try type union unique uniqueidentifier unlogged unpivot until update use using values varbinary
    varchar varchar2 varying view waitfor when where while window with within work xml year zone
"""

_BUILT_IN = """
    abs acos adddate array_agg array_append array_length array_to_string ascii asin atan atan2 avg binary_checksum
    cast ceil ceiling changes char char_length charindex checksum choose coalesce col_length col_name columnproperty
    compress concat concat_ws convert cos cot count count_big crypt_gen_random cume_dist curdate current_date
    current_setting current_time current_timestamp current_user currval curtime database databaseproperty
    databasepropertyex datalength date date_add date_format date_part date_sub date_trunc dateadd datediff
    datefromparts datename datepart datetime datetimefromparts day db_id db_name decompress degrees dense_rank
    eomonth error_line error_message error_number error_procedure error_severity error_state exp extract
    fileproperty first_value floor format formatmessage found_rows from_unixtime gen_random_uuid generate_series
    getdate getutcdate glob greatest group_concat grouping_id has_dbaccess hashbytes hex host_name hour
    ident_current if ifnull iif index_col initcap insert instr is_member is_srvrolemember isdate isjson isnull
    isnumeric json_agg json_array json_build_object json_extract json_object json_query json_value
    jsonb_build_object julianday lag last_day last_insert_id last_insert_rowid last_value lcase lead least left len
    length likely ln localtimestamp locate log log10 lower lpad ltrim makedate max md5 microsecond min minute mod
    month nchar newid newsequentialid nextval now nth_value ntile nullif object_definition object_id object_name
    object_schema_name objectproperty objectpropertyex octet_length openjson openquery openrowset openxml
    original_login parse parsename patindex percent_rank pi position pow power print printf quotename radians rand
    random rank regexp_matches regexp_replace regexp_split_to_array replace replicate reverse right round row_count
    row_number row_to_json rpad rtrim schema_id schema_name scope_identity second serverproperty session_user setval
    sign sin soundex space split_part sql_variant_property sqrt square stats_date stddev stdev str str_to_date
    strftime string_agg string_escape string_split string_to_array strpos stuff subdate substr substring sum
    suser_id suser_name suser_sid suser_sname switchoffset sysdatetime sysdatetimeoffset system_user sysutcdatetime
    tan time time_format timediff timefromparts timestampadd timestampdiff to_char to_date to_number to_timestamp
    todatetimeoffset total translate trigger_nestlevel trim trunc try_cast try_convert try_parse type_id type_name
    typeof ucase unhex unicode unix_timestamp unnest updating upper user user_id user_name uuid values var variance
    varp week weekday xact_state zeroblob
"""
SQL_KEYWORDS: Final = frozenset(_KEYWORDS.split())
SQL_BUILTINS: Final = frozenset(_BUILT_IN.split())

XML_METHODS: Final = frozenset({"exist", "modify", "nodes", "query", "value"})
"""Methods of an XML column or variable in T-SQL: `x.value('…', 'int')` calls no function of a schema `x`."""


def may_be_user_function(parts: list[str]) -> bool:
    """Check whether a name before a parenthesis may be a user-defined function."""
    name = parts[-1].lower()
    if name[:1] in ("@", "#", ""):
        return False
    if len(parts) > 1:
        return name not in XML_METHODS and parts[-2][:1] not in ("@", "#")
    return name not in SQL_KEYWORDS and name not in SQL_BUILTINS


# --------------------------------------------------------------------------------------------------
# Collect what statements use: procedures and functions called, tables read and written.

_USE_FLAGS = re.IGNORECASE | re.DOTALL
_TABLE = re.compile(
    rf"{SQL_GAP}(?:(?:ONLY|INTO|TABLE)\b{SQL_GAP})?(?:TOP\b{SQL_GAP}\([^()]*+\){SQL_GAP})?(?P<name>{SQL_NAME})",
    _USE_FLAGS,
)
_ALIAS = re.compile(rf"{SQL_GAP}(?:AS\b{SQL_GAP})?(?P<name>{SQL_NAME})", _USE_FLAGS)
_COMMA = re.compile(rf"{SQL_GAP},", re.DOTALL)
_PAREN_OR_AS = re.compile(r"\s*+(?:(?P<paren>\()|AS\b)", re.IGNORECASE)
_OPEN_PAREN = re.compile(rf"{SQL_GAP}\(", re.DOTALL)
_CLOSE_PAREN = re.compile(rf"{SQL_GAP}\)", re.DOTALL)
_PROCEDURE = re.compile(
    rf"{SQL_GAP}(?:@\w++{SQL_GAP}={SQL_GAP})?(?:(?:FUNCTION|PROCEDURE)\b{SQL_GAP})?(?P<name>{SQL_NAME})", _USE_FLAGS
)
_ARGUMENT = re.compile(rf"{SQL_GAP}(?:[@'\"\d+-]|N'|NULL\b|DEFAULT\b)", _USE_FLAGS)
_CTE_QUERY = re.compile(
    rf"{SQL_GAP}(?:\([^()]{{0,1000}}+\){SQL_GAP})?AS\b{SQL_GAP}(?:(?:NOT{SQL_GAP})?MATERIALIZED\b{SQL_GAP})?\(",
    _USE_FLAGS,
)
_ROWS = re.compile(r"(?:\s*+\((?:[^()'\"`/#\\-]++|'[^'\\]*+'|-(?!-))*+\)\s*+,?+)++")
_CURSOR = re.compile(rf"{SQL_GAP}(?:(?:NEXT|PRIOR|FIRST|LAST)\b{SQL_GAP})?(?:FROM\b{SQL_GAP})?{SQL_NAME}", _USE_FLAGS)

_NO_WRITE_AFTER: Final = frozenset({"for", "on", "after", "before", "of", "key", "do", "or", "instead"})
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
class SqlUse:
    """A call or table reference; `owner` is the index of the enclosing definition."""

    name: str
    start: int
    owner: int | None
    kind: str
    arguments: int = 0


@dataclass(slots=True)
class _Frame:
    """An open parenthesis; `use` is the call whose arguments it contains."""

    use: SqlUse | None
    after_name: bool
    has_query: bool = False


class SqlUseCollector:
    """Collects uses from names and marks, which it receives in order. Keyword handlers return where to resume, after
    the names they consumed."""

    def __init__(self, text: str, dialect: SqlDialect) -> None:
        self.owner: int | None = None
        self._text, self._dialect = text, dialect
        self._uses: list[SqlUse] = []
        self._frames: list[_Frame] = []
        self._local_names: defaultdict[int | None, set[str]] = defaultdict(set)  # aliases and CTE names
        self._previous = ""  # the previous name in lower case, or mark
        self._call: SqlUse | None = None  # the call made by the name just read
        self._bare_call: SqlUse | None = None  # a procedure whose arguments have no parentheses
        self._in_merge = False
        self._keywords: dict[str, Callable[[int, str], int]] = {
            "from": self._from,
            "join": self._join,
            "using": self._using,
            "references": self._reference,
            "update": self._write,
            "delete": self._write,
            "merge": self._merge,
            "into": self._into,
            "table": self._table,
            "exec": self._procedure,
            "execute": self._procedure,
            "call": self._procedure,
            "select": self._mark_query,
            "values": self._skip_rows,
            "fetch": self._skip_cursor,
        }

    def all_uses(self) -> list[SqlUse]:
        """Return the uses in order, without references to aliases and CTEs."""
        return [it for it in self._uses if it.kind != "refer" or it.name.lower() not in self._local_names[it.owner]]

    def add_name(self, word: str, token: re.Match[str]) -> int:
        """Handle a name (`word` is its lower case); return where to resume, 0 to continue after it."""
        previous, self._previous, self._call = self._previous, word, None
        keyword = self._keywords.get(word)
        if keyword:
            self._bare_call = None
            return keyword(token.end(), previous)
        if word not in SQL_KEYWORDS and (following := _PAREN_OR_AS.match(self._text, token.end())):
            self._add_plain_name(token, previous, is_before_paren=following["paren"] is not None)
        return 0

    def add_mark(self, mark: str, end: int) -> None:
        if mark == "(":
            after_name = self._previous not in ("", "(", ")", ",", ";")
            self._frames.append(_Frame(self._call, after_name))
            if self._call and not _CLOSE_PAREN.match(self._text, end):
                self._call.arguments = 1
        elif mark == ")" and self._frames:
            self._frames.pop()
        elif mark == ",":
            use = self._frames[-1].use if self._frames else self._bare_call
            if use:
                use.arguments += 1
        elif mark == ";":
            self.end_statement()
        self._call, self._previous = None, mark

    def end_statement(self) -> None:
        self._frames.clear()
        self._bare_call, self._call, self._in_merge, self._previous = None, None, False, ""

    def add_table(self, name: str, start: int) -> None:
        """Record a table reference, except to a temporary table, a variable or a keyword."""
        name_parts = split_sql_name(name)
        if len(name_parts) == 1 and name[0] not in '["`' and name_parts[0].lower() in SQL_KEYWORDS:
            return
        if name_parts and name_parts[-1] and name_parts[-1][0] not in "@#":
            self._uses.append(SqlUse(name_parts[-1], start, self.owner, "refer"))

    def _add_plain_name(self, token: re.Match[str], previous: str, *, is_before_paren: bool) -> None:
        """Handle a name before a parenthesis or AS: the name of a CTE, or a call."""
        if previous in ("with", "recursive", ",") and _CTE_QUERY.match(self._text, token.end()):
            self._local_names[self.owner].add(last_sql_name_part(token.group()).lower())
        elif is_before_paren and previous not in _NO_CALL_AFTER and may_be_user_function(split_sql_name(token.group())):
            self._call = SqlUse(last_sql_name_part(token.group()), token.start(), self.owner, "call")
            self._uses.append(self._call)

    def _mark_query(self, end: int, previous: str) -> int:
        if self._frames:
            self._frames[-1].has_query = True
        return 0

    def _from(self, end: int, previous: str) -> int:
        """Read tables after FROM, except in EXTRACT(YEAR FROM x) and IS DISTINCT FROM."""
        inside = self._frames[-1] if self._frames else None
        if previous == "distinct" or (inside and inside.after_name and not inside.has_query):
            return 0
        return self._read_tables(end)

    def _join(self, end: int, previous: str) -> int:
        return self._read_tables(end)

    def _reference(self, end: int, previous: str) -> int:
        return self._read_table(end)

    def _read_tables(self, end: int) -> int:
        """Read a comma-separated list of tables with their aliases."""
        while match := _TABLE.match(self._text, end):
            if self._is_keyword(match["name"]) or _OPEN_PAREN.match(self._text, match.end()):
                return match.start("name")
            self.add_table(match["name"], match.start("name"))
            end = self._read_alias(match["name"], match.end())
            comma = _COMMA.match(self._text, end)
            if comma is None:
                return end
            end = comma.end()
        return end

    def _read_alias(self, table: str, end: int) -> int:
        match = _ALIAS.match(self._text, end)
        if match is None or self._is_keyword(match["name"]):
            return end
        if split_sql_name(match["name"])[-1].lower() != split_sql_name(table)[-1].lower():
            self._local_names[self.owner].add(split_sql_name(match["name"])[-1].lower())
        return match.end()

    def _read_table(self, end: int) -> int:
        match = _TABLE.match(self._text, end)
        if match is None or self._is_keyword(match["name"]):
            return 0
        self.add_table(match["name"], match.start("name"))
        return self._read_alias(match["name"], match.end())

    def _using(self, end: int, previous: str) -> int:
        return self._read_table(end) if self._in_merge else 0

    def _merge(self, end: int, previous: str) -> int:
        self._in_merge = True
        return self._read_table(end)

    def _write(self, end: int, previous: str) -> int:
        return 0 if previous in _NO_WRITE_AFTER else self._read_table(end)

    def _into(self, end: int, previous: str) -> int:
        """SELECT INTO creates a table in T-SQL; in other dialects it fills a variable."""
        return self._read_table(end) if previous in _INTO_AFTER or self._dialect == "tsql" else 0

    def _table(self, end: int, previous: str) -> int:
        return self._read_table(end) if previous in ("truncate", "alter") else 0

    def _procedure(self, end: int, previous: str) -> int:
        match = _PROCEDURE.match(self._text, end)
        if match is None or self._is_keyword(match["name"]) or match["name"][0] == "@":
            return 0
        use = SqlUse(split_sql_name(match["name"])[-1], match.start("name"), self.owner, "call")
        self._uses.append(use)
        self._call = self._bare_call = use
        if _ARGUMENT.match(self._text, match.end()):
            use.arguments = 1
        return match.end()

    def _skip_rows(self, end: int, previous: str) -> int:
        """Skip rows of plain values in one step: files of nothing else are large."""
        rows = _ROWS.match(self._text, end)
        return rows.end() if rows else 0

    def _skip_cursor(self, end: int, previous: str) -> int:
        match = _CURSOR.match(self._text, end)
        return match.end() if match else 0

    @staticmethod
    def _is_keyword(name: str) -> bool:
        return name.lower() in SQL_KEYWORDS


_FLAGS = re.IGNORECASE | re.DOTALL
_REST_OF_GO = re.compile(r"[ \t]*+\d*+[ \t]*+\r?(?:\n|\Z)")
_LINE = re.compile(r"[^\n]*+")
_TRANSACTION = re.compile(
    rf"{SQL_GAP}(?:TRAN|TRANSACTION|WORK|DISTRIBUTED|DIALOG|CONVERSATION|IMMEDIATE|EXCLUSIVE|DEFERRED|ISOLATION|READ)\b",
    _FLAGS,
)
_AFTER_END = re.compile(rf"{SQL_GAP}(?P<word>IF|LOOP|WHILE|REPEAT|FOR|CONVERSATION|CASE|TRY|CATCH)\b", _FLAGS)
_ENDS_NO_BLOCK: Final = frozenset({"if", "loop", "while", "repeat", "for", "conversation"})
_SEMICOLON = re.compile(rf"{SQL_GAP};", re.DOTALL)
_AS_BLOCK = re.compile(rf"{SQL_GAP}AS\b{SQL_GAP}BEGIN\b{SQL_GAP}(?!TRAN|TRY)", _FLAGS)
_ON_TABLE = re.compile(rf"[^;()]{{0,300}}?\bON\b{SQL_GAP}(?P<name>{SQL_NAME})", _FLAGS)
# Without a semicolon, a table or index ends at an empty line or where a line begins another statement.
_STOP = re.compile(
    r";|\bCREATE\b|\n[ \t]*+(?:\r?\n|(?:GO|ALTER|INSERT|DROP|EXEC|IF|SET|GRANT|PRINT|UPDATE|DELETE|USE|DECLARE)\b)",
    _FLAGS,
)
_MAX_TAIL_CHARS: Final = 2_000
_NEVER: Final = sys.maxsize


@dataclass(slots=True)
class SqlDefinition:
    """A definition. `end` is -1 until known; the counters measure the complexity of a routine."""

    header: SqlHeader
    end: int = -1
    signature_end: int = 0  # end of the signature, if it is not a parameter list
    branches: int = 0
    cognitive: int = 0  # of the branches, by nesting depth
    max_depth: int = 0
    returns: int = 0
    parent: int | None = None  # index of the enclosing definition


class SqlReader:
    """Reads a text once, with `read`."""

    def __init__(self, text: str) -> None:
        self.definitions: list[SqlDefinition] = []
        self.unterminated = 0  # strings and comments
        self._text = text
        self._dialect = detect_dialect(text)
        self.tokens = token_pattern(self._dialect)
        self.uses = SqlUseCollector(text, self._dialect)
        self._current: SqlDefinition | None = None
        self._block_end = -1  # end of the block that is the whole body
        self._is_one_block = False
        self._depth = 0
        self._dollar_tag = ""
        self._resume = 0
        self._known_end = _NEVER
        # In a package: from which offset on which definition is open.
        self._owner_changes: list[tuple[int, int | None]] = []
        branch = self._branch
        self._keywords: dict[str, Callable[[int, int], None]] = {
            "create": self._start_definition,
            "alter": self._start_definition,
            "go": self._go,
            "delimiter": self._delimiter,
            "begin": self._begin,
            "case": self._case,
            "end": self._end,
            "return": self._return,
            **dict.fromkeys(("if", "elseif", "elsif", "while", "when", "catch"), branch),
        }

    def read(self) -> None:
        dollars, names, marks = (self.tokens.groupindex[it] for it in ("dollar", "name", "mark"))
        for token in self.tokens.finditer(self._text):
            group = token.lastindex
            if group is None or token.start() < self._resume:
                continue
            while self._owner_changes and token.start() >= self._owner_changes[-1][0]:
                self._set_current(self._owner_changes.pop()[1])
            if token.start() >= self._known_end:
                self._close(self._known_end)
            if group == names:
                self._handle_name(token)
            elif group == marks:
                self._handle_mark(token.group(), token.end())
            elif group == dollars:
                self._toggle_quoted_body(token.group())
            else:
                self.unterminated += 1
        self._close(len(self._text))

    def _handle_name(self, token: re.Match[str]) -> None:
        word = token.group().lower()
        keyword = self._keywords.get(word)
        if keyword:
            keyword(token.start(), token.end())
            if token.start() < self._resume:
                return
        if resume := self.uses.add_name(word, token):
            self._resume = resume

    def _handle_mark(self, mark: str, end: int) -> None:
        self.uses.add_mark(mark, end)
        if mark == ";" and self._current and not self._owner_changes and self._ends_at_semicolon():
            self._close(end)

    def _ends_at_semicolon(self) -> bool:
        """A semicolon ends no T-SQL routine: that continues to the end of its batch."""
        is_routine = self._current is not None and self._current.header.is_routine
        return not self._dollar_tag and not (is_routine and (self._depth or self._dialect == "tsql"))

    def _toggle_quoted_body(self, tag: str) -> None:
        """Track $$ … $$ around the body of a routine: code in which no semicolon ends the routine."""
        if self._owner_changes:
            return  # `$$name` of PL/SQL
        if not self._dollar_tag:
            self._dollar_tag = tag
        elif tag == self._dollar_tag:
            self._dollar_tag, self._depth = "", 0

    # --- definitions ---

    def _start_definition(self, start: int, end: int) -> None:
        header = parse_header(self._text, start, self.tokens)
        if header is None or self._owner_changes or self._is_inside(header):
            return
        # T-SQL allows one routine per batch; if another follows anyway, the first ends with its block.
        self._close(start if self._block_end < 0 else self._block_end)
        self.uses.end_statement()
        self._current, self._depth = SqlDefinition(header), 0
        self.uses.owner = len(self.definitions)
        self.definitions.append(self._current)
        self._resume = header.end
        if header.has_members:
            self._read_members(header)
            return
        if not header.is_routine and header.noun != "view":
            self._known_end = self._statement_end(header)
        if header.noun in ("trigger", "index"):
            self._refer_to_table(header)
        self._is_one_block = header.is_routine and self._has_block_body(header)

    def _read_members(self, header: SqlHeader) -> None:
        """Read all members at once, and schedule where each becomes the open definition."""
        package, number = SqlPackage(self._text, header, self.tokens), len(self.definitions) - 1
        self.definitions[number].end = package.end
        # At equal offsets inner members end first, and none begins before the others have ended.
        changes: list[tuple[tuple[int, int, int], int | None]] = [((package.end, 0, 1), None)]
        for member in package.members:
            parent = number + 1 + member.parent if member.parent >= 0 else number
            signature_end = 0 if member.header.is_routine else member.end - 1
            self.definitions.append(SqlDefinition(member.header, member.end, signature_end, parent=parent))
            if member.header.is_routine:
                index = len(self.definitions) - 1
                changes += [((member.header.end, 1, 0), index), ((member.end, 0, -index), parent)]
        changes.sort(key=lambda member: member[0], reverse=True)
        self._owner_changes = [(at, which) for (at, _, _), which in changes]

    def _set_current(self, number: int | None) -> None:
        self._current = None if number is None else self.definitions[number]
        self.uses.owner, self._depth = number, 0

    def _is_inside(self, header: SqlHeader) -> bool:
        """Check whether a definition is part of the open routine: routines may create tables, but routines and views
        only in quotes."""
        makes_table = not header.is_routine and header.noun != "view"
        return bool(self._dollar_tag) or (self._current is not None and self._current.header.is_routine and makes_table)

    def _statement_end(self, header: SqlHeader) -> int:
        list_stop = list_end(self._text, header.end, self.tokens)
        limit = min(list_stop + _MAX_TAIL_CHARS, len(self._text))
        stop = _STOP.search(self._text, list_stop, limit)
        return limit if stop is None else stop.end() if stop.group() == ";" else stop.start()

    def _has_block_body(self, header: SqlHeader) -> bool:
        return _AS_BLOCK.match(self._text, list_end(self._text, header.end, self.tokens)) is not None

    def _refer_to_table(self, header: SqlHeader) -> None:
        if match := _ON_TABLE.match(self._text, header.end):
            self.uses.add_table(match["name"], match.start("name"))
            self._resume = match.end()
            self.definitions[-1].signature_end = match.end()

    def _close(self, at: int) -> None:
        """Close the open definition, if any, at its known end or else at `at`."""
        if self._current is None:
            return
        if self._owner_changes:  # members of a package have known ends
            return
        begin, end = self._current.header.end, min(at, self._known_end)
        self._current.end = begin + len(self._text[begin:end].rstrip())
        self._current, self.uses.owner = None, None
        self._depth, self._block_end, self._is_one_block, self._known_end = 0, -1, False, _NEVER

    def _go(self, start: int, end: int) -> None:
        is_line = not self._text[self._text.rfind("\n", 0, start) + 1 : start].strip()
        if is_line and _REST_OF_GO.match(self._text, end):
            self._close(start)
            self._depth, self._dollar_tag, self._resume = 0, "", end
            self.uses.end_statement()

    def _delimiter(self, start: int, end: int) -> None:
        if self._dialect == "mysql" and (line := _LINE.match(self._text, end)):
            self._close(start)
            self._resume = line.end()

    # --- blocks ---

    def _begin(self, start: int, end: int) -> None:
        """Open a block, unless BEGIN starts a transaction; outside of a routine, a bare `BEGIN;` does."""
        is_alone = self._current is None and _SEMICOLON.match(self._text, end)
        if not is_alone and not _TRANSACTION.match(self._text, end):
            self._nest()

    def _case(self, start: int, end: int) -> None:
        self._nest()

    def _nest(self) -> None:
        self._depth += 1
        if self._current:
            self._current.max_depth = max(self._current.max_depth, self._depth)

    def _end(self, start: int, end: int) -> None:
        after = _AFTER_END.match(self._text, end)
        self._resume = after.end() if after else end
        if after and after["word"].lower() in _ENDS_NO_BLOCK:
            return
        self._depth = max(0, self._depth - 1)
        if (
            self._depth == 0
            and self._current
            and not self._owner_changes
            and self._current.header.is_routine
            and not self._dollar_tag
        ):
            self._end_block(self._resume)

    def _end_block(self, end: int) -> None:
        """Close the routine; in T-SQL, only remember the end if the body is this one block."""
        semicolon = _SEMICOLON.match(self._text, end)
        end = semicolon.end() if semicolon else end
        if self._dialect == "tsql":
            self._block_end = end if self._is_one_block and self._block_end < 0 else self._block_end
        else:
            self._close(end)

    def _branch(self, start: int, end: int) -> None:
        if self._current:
            self._current.branches += 1
            self._current.cognitive += max(1, self._depth)

    def _return(self, start: int, end: int) -> None:
        is_result_type = self._owner_changes and not self._depth  # FUNCTION f RETURN NUMBER
        if self._current and not is_result_type:
            self._current.returns += 1
