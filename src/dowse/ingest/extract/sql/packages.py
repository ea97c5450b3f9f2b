"""What stands in a package of PL/SQL, or in the body of a type: routines, also inside of each other, types, cursors,
variables."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from dowse.ingest.extract.sql.headers import Header, header_at
from dowse.ingest.extract.sql.lexer import GAP, NAME, last_part
from dowse.ingest.extract.sql.lists import behind_list

_FLAGS = re.IGNORECASE | re.DOTALL
_BEGINS = re.compile(rf"{GAP}(?:AUTHID{GAP}\w++{GAP})?(?:IS|AS)\b", _FLAGS)
_ROUTINE = re.compile(rf"(?P<noun>PROCEDURE|FUNCTION)\b{GAP}(?P<name>{NAME})", _FLAGS)
_NAMED = re.compile(rf"(?P<noun>CURSOR|SUBTYPE|TYPE)\b{GAP}(?P<name>{NAME})", _FLAGS)
_RECORD = re.compile(rf"{GAP}IS{GAP}RECORD\b", _FLAGS)
_VARIABLE = re.compile(rf"(?P<name>{NAME}){GAP}(?:CONSTANT\b{GAP})?{NAME}", _FLAGS)
_CALLED_OUT = re.compile(rf"{GAP}(?:LANGUAGE|EXTERNAL)\b", _FLAGS)
_AFTER_END = re.compile(rf"{GAP}(?:IF|LOOP)\b", _FLAGS)
_END_CASE = re.compile(rf"{GAP}CASE\b", _FLAGS)
_TO_SEMICOLON = re.compile(rf"{GAP}(?:{NAME}{GAP})?;", _FLAGS)
_BEFORE_ROUTINES: Final = frozenset(
    {"member", "static", "constructor", "map", "order", "final", "overriding", "not", "instantiating"}
)
_NO_VARIABLES: Final = frozenset({"pragma", "end", "begin", "is", "as", "declare", "exception", "form", "language"})


class Member(NamedTuple):
    """`parent` is the number of the member it stands in, -1 for the package itself. `end` is behind it."""

    header: Header
    parent: int
    end: int


class _Open:
    """What is being read: a package or a routine. `blocks` are the words that an END belongs to: BEGIN or CASE."""

    __slots__ = ("blocks", "is_body", "number")

    def __init__(self, number: int, *, is_body: bool) -> None:
        self.number = number
        self.is_body = is_body
        self.blocks: list[str] = []


class Package:
    """Reads the package behind `header` once: its `members`, each behind what it stands in, and its `end`."""

    def __init__(self, text: str, header: Header, tokens: re.Pattern[str]) -> None:
        self.members: list[Member] = []
        self.end = len(text)
        self._text, self._tokens = text, tokens
        begins = _BEGINS.match(text, header.end)
        self._open = [_Open(-1, is_body=True)]
        self._fresh = True  # a statement begins here
        self._resume = begins.end() if begins else header.end
        self._parens = 0
        self._unended = -1  # the member whose semicolon is awaited
        if begins:
            self._read(self._resume)
        else:
            self.end = self._resume

    def _read(self, start: int) -> None:
        for token in self._tokens.finditer(self._text, start):
            if token.start() < self._resume or token.lastgroup not in ("name", "mark"):
                continue
            if token.lastgroup == "mark":
                self._mark(token.group(), token.end())
            elif self._parens == 0:
                self._word(token.group().lower(), token.start(), token.end())
            if not self._open:
                return
        self._finish(len(self._text))

    def _mark(self, mark: str, end: int) -> None:
        self._parens = max(0, self._parens + {"(": 1, ")": -1}.get(mark, 0))
        if mark == ";":
            self._parens = 0
            self._fresh = True
            if self._unended >= 0:
                self.members[self._unended] = self.members[self._unended]._replace(end=end)
                self._unended = -1
            if not self._open[-1].is_body:  # only announced
                self._close(end)

    def _word(self, word: str, start: int, end: int) -> None:
        if self._text[start - 1] == "$":  # $IF … $END, which the compiler reads
            self._fresh = True
            return
        top, fresh = self._open[-1], self._fresh or word in ("procedure", "function")
        self._fresh = word in ("begin", "declare") or (fresh and word in _BEFORE_ROUTINES)
        if word == "create" and fresh and header_at(self._text, start, self._tokens) is not None:
            self._finish(start)
        elif word in ("is", "as") and not top.is_body:
            top.is_body, self._fresh = _CALLED_OUT.match(self._text, end) is None, True
        elif word in ("begin", "case"):
            top.blocks.append(word)
        elif word == "end":
            self._end(top, end)
        elif fresh and not top.blocks and top.is_body and word not in _BEFORE_ROUTINES:
            self._declaration(word, start)

    def _end(self, top: _Open, end: int) -> None:
        if _AFTER_END.match(self._text, end):
            return
        ended = top.blocks.pop() if top.blocks else "begin"
        if ended == "case":
            self._resume = max(end, _behind_case(self._text, end))
        elif not top.blocks:
            closing = _TO_SEMICOLON.match(self._text, end)
            self._close(closing.end() if closing else end)
            self._resume, self._fresh = closing.end() if closing else end, True

    def _declaration(self, word: str, start: int) -> None:
        if found := _ROUTINE.match(self._text, start) if word in ("procedure", "function") else None:
            self._add(found, found["noun"].lower())
            self._open.append(_Open(len(self.members) - 1, is_body=False))
            self._resume = behind_list(self._text, found.end(), self._tokens)
        elif len(self._open) > 1 or word in _NO_VARIABLES:
            return  # of a routine, only routines are members
        elif found := _NAMED.match(self._text, start) if word in ("cursor", "type", "subtype") else None:
            self._add(found, "cursor" if found["noun"].lower() == "cursor" else "type")
            self._resume = found.end()
            if record := _RECORD.match(self._text, found.end()):
                self.members[-1] = self.members[-1]._replace(header=_of_record(self.members[-1].header, record.end()))
        elif found := _VARIABLE.match(self._text, start):
            self._add(found, "variable")

    def _add(self, found: re.Match[str], noun: str) -> None:
        header = Header(noun, last_part(found["name"]), (), found.start(), found.end("name"))
        self._unended = -1 if noun in ("procedure", "function") else len(self.members)
        self.members.append(Member(header, self._open[-1].number, found.end()))

    def _close(self, end: int) -> None:
        closed = self._open.pop()
        if closed.number >= 0:
            self.members[closed.number] = self.members[closed.number]._replace(end=end)
        else:
            self.end = end

    def _finish(self, end: int) -> None:
        while self._open:
            self._close(end)


def _behind_case(text: str, end: int) -> int:
    found = _END_CASE.match(text, end)
    return found.end() if found else end


def _of_record(header: Header, end: int) -> Header:
    """The fields of a record follow its header as columns follow that of a table."""
    return Header("record", header.name, header.modifiers, header.start, end)
