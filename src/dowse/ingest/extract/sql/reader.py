"""One pass over the tokens of an SQL text: what it defines, from where to where, and what is used in it."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from dowse.ingest.extract.sql.headers import Header, header_at
from dowse.ingest.extract.sql.lexer import GAP, NAME, dialect_of, lexer
from dowse.ingest.extract.sql.lists import behind_list
from dowse.ingest.extract.sql.packages import Package
from dowse.ingest.extract.sql.uses import Uses

_FLAGS = re.IGNORECASE | re.DOTALL
_REST_OF_GO = re.compile(r"[ \t]*+\d*+[ \t]*+\r?(?:\n|\Z)")
_LINE = re.compile(r"[^\n]*+")
_TRANSACTION = re.compile(
    rf"{GAP}(?:TRAN|TRANSACTION|WORK|DISTRIBUTED|DIALOG|CONVERSATION|IMMEDIATE|EXCLUSIVE|DEFERRED|ISOLATION|READ)\b",
    _FLAGS,
)
_AFTER_END = re.compile(rf"{GAP}(?P<word>IF|LOOP|WHILE|REPEAT|FOR|CONVERSATION|CASE|TRY|CATCH)\b", _FLAGS)
_ENDS_NO_BLOCK: Final = frozenset({"if", "loop", "while", "repeat", "for", "conversation"})
_SEMICOLON = re.compile(rf"{GAP};", re.DOTALL)
_AS_BLOCK = re.compile(rf"{GAP}AS\b{GAP}BEGIN\b{GAP}(?!TRAN|TRY)", _FLAGS)
_ON_TABLE = re.compile(rf"[^;()]{{0,300}}?\bON\b{GAP}(?P<name>{NAME})", _FLAGS)
# Without a semicolon a table or an index ends at an empty line, or where a line begins another statement.
_STOP = re.compile(
    r";|\bCREATE\b|\n[ \t]*+(?:\r?\n|(?:GO|ALTER|INSERT|DROP|EXEC|IF|SET|GRANT|PRINT|UPDATE|DELETE|USE|DECLARE)\b)",
    _FLAGS,
)
_MAX_TAIL_CHARS: Final = 2_000
_NEVER: Final = sys.maxsize


@dataclass(slots=True)
class Found:
    """A definition. `end` is -1 until it is known; what is counted stands for how involved a routine is."""

    header: Header
    end: int = -1
    told_until: int = 0  # the end of what its signature says beside the name, where that is no list
    branches: int = 0
    weight: int = 0  # of the branches, by how deep they stand
    deepest: int = 0
    returns: int = 0
    parent: int | None = None  # the number of the definition it stands in


class Reader:
    """Reads a text once, with `read`."""

    def __init__(self, text: str) -> None:
        self.found: list[Found] = []
        self.unfinished = 0  # strings and comments
        self._text = text
        self._dialect = dialect_of(text)
        self.tokens = lexer(self._dialect)
        self.uses = Uses(text, self._dialect)
        self._open: Found | None = None
        self._block_end = -1  # of the one block that is the whole body
        self._is_one_block = False
        self._depth = 0
        self._dollar = ""
        self._resume = 0
        self._known_end = _NEVER
        self._changes: list[tuple[int, int | None]] = []  # in a package: from where on which definition is open
        branch = self._branch
        self._keywords: dict[str, Callable[[int, int], None]] = {
            "create": self._definition,
            "alter": self._definition,
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
            while self._changes and token.start() >= self._changes[-1][0]:
                self._change(self._changes.pop()[1])
            if token.start() >= self._known_end:
                self._close(self._known_end)
            if group == names:
                self._name(token)
            elif group == marks:
                self._mark(token.group(), token.end())
            elif group == dollars:
                self._quoted_body(token.group())
            else:
                self.unfinished += 1
        self._close(len(self._text))

    def _name(self, token: re.Match[str]) -> None:
        word = token.group().lower()
        keyword = self._keywords.get(word)
        if keyword:
            keyword(token.start(), token.end())
            if token.start() < self._resume:
                return
        if further := self.uses.name(word, token):
            self._resume = further

    def _mark(self, mark: str, end: int) -> None:
        self.uses.mark(mark, end)
        if mark == ";" and self._open and not self._changes and self._ends_at_semicolon():
            self._close(end)

    def _ends_at_semicolon(self) -> bool:
        """In T-SQL a routine goes on to the end of its batch."""
        is_routine = self._open is not None and self._open.header.is_routine
        return not self._dollar and not (is_routine and (self._depth or self._dialect == "tsql"))

    def _quoted_body(self, tag: str) -> None:
        """$$ … $$ around the body of a routine: code, in which no semicolon ends the routine."""
        if self._changes:
            return  # `$$name` of PL/SQL
        if not self._dollar:
            self._dollar = tag
        elif tag == self._dollar:
            self._dollar, self._depth = "", 0

    # --- definitions ---

    def _definition(self, start: int, end: int) -> None:
        header = header_at(self._text, start, self.tokens)
        if header is None or self._changes or self._is_inside(header):
            return
        # By its rules a T-SQL batch holds one routine; where another follows in it, the first is over with its block.
        self._close(start if self._block_end < 0 else self._block_end)
        self.uses.end_statement()
        self._open, self._depth = Found(header), 0
        self.uses.owner = len(self.found)
        self.found.append(self._open)
        self._resume = header.end
        if header.has_members:
            self._read_members(header)
            return
        if not header.is_routine and header.noun != "view":
            self._known_end = self._end_of_statement(header)
        if header.noun in ("trigger", "index"):
            self._refer_to_table(header)
        self._is_one_block = header.is_routine and self._is_block(header)

    def _read_members(self, header: Header) -> None:
        """All at once; then what is met in one of them is its own."""
        package, number = Package(self._text, header, self.tokens), len(self.found) - 1
        self.found[number].end = package.end
        # Where several change at one place, inner ones end first, and none begins before others have ended.
        changes: list[tuple[tuple[int, int, int], int | None]] = [((package.end, 0, 1), None)]
        for it in package.members:
            parent = number + 1 + it.parent if it.parent >= 0 else number
            told_until = 0 if it.header.is_routine else it.end - 1
            self.found.append(Found(it.header, it.end, told_until, parent=parent))
            if it.header.is_routine:
                here = len(self.found) - 1
                changes += [((it.header.end, 1, 0), here), ((it.end, 0, -here), parent)]
        changes.sort(key=lambda it: it[0], reverse=True)
        self._changes = [(at, which) for (at, _, _), which in changes]

    def _change(self, number: int | None) -> None:
        self._open = None if number is None else self.found[number]
        self.uses.owner, self._depth = number, 0

    def _is_inside(self, header: Header) -> bool:
        """A routine may make tables, but neither routines nor views, but for those in quotes."""
        makes_table = not header.is_routine and header.noun != "view"
        return bool(self._dollar) or (self._open is not None and self._open.header.is_routine and makes_table)

    def _end_of_statement(self, header: Header) -> int:
        behind = behind_list(self._text, header.end, self.tokens)
        limit = min(behind + _MAX_TAIL_CHARS, len(self._text))
        stop = _STOP.search(self._text, behind, limit)
        return limit if stop is None else stop.end() if stop.group() == ";" else stop.start()

    def _is_block(self, header: Header) -> bool:
        return _AS_BLOCK.match(self._text, behind_list(self._text, header.end, self.tokens)) is not None

    def _refer_to_table(self, header: Header) -> None:
        if found := _ON_TABLE.match(self._text, header.end):
            self.uses.refer(found["name"], found.start("name"))
            self._resume = found.end()
            self.found[-1].told_until = found.end()

    def _close(self, at: int) -> None:
        """Ends what is open, if anything, at its known end or else here."""
        if self._open is None:
            return
        if self._changes:  # ends where that is known
            return
        begin, end = self._open.header.end, min(at, self._known_end)
        self._open.end = begin + len(self._text[begin:end].rstrip())
        self._open, self.uses.owner = None, None
        self._depth, self._block_end, self._is_one_block, self._known_end = 0, -1, False, _NEVER

    def _go(self, start: int, end: int) -> None:
        is_line = not self._text[self._text.rfind("\n", 0, start) + 1 : start].strip()
        if is_line and _REST_OF_GO.match(self._text, end):
            self._close(start)
            self._depth, self._dollar, self._resume = 0, "", end
            self.uses.end_statement()

    def _delimiter(self, start: int, end: int) -> None:
        if self._dialect == "mysql" and (line := _LINE.match(self._text, end)):
            self._close(start)
            self._resume = line.end()

    # --- blocks ---

    def _begin(self, start: int, end: int) -> None:
        """A block, or a transaction: outside of a routine a BEGIN alone is one too."""
        is_alone = self._open is None and _SEMICOLON.match(self._text, end)
        if not is_alone and not _TRANSACTION.match(self._text, end):
            self._deeper()

    def _case(self, start: int, end: int) -> None:
        self._deeper()

    def _deeper(self) -> None:
        self._depth += 1
        if self._open:
            self._open.deepest = max(self._open.deepest, self._depth)

    def _end(self, start: int, end: int) -> None:
        after = _AFTER_END.match(self._text, end)
        self._resume = after.end() if after else end
        if after and after["word"].lower() in _ENDS_NO_BLOCK:
            return
        self._depth = max(0, self._depth - 1)
        if self._depth == 0 and self._open and not self._changes and self._open.header.is_routine and not self._dollar:
            self._end_of_block(self._resume)

    def _end_of_block(self, end: int) -> None:
        """The end of a T-SQL routine if it is nothing but this block, and of any other."""
        semicolon = _SEMICOLON.match(self._text, end)
        end = semicolon.end() if semicolon else end
        if self._dialect == "tsql":
            self._block_end = end if self._is_one_block and self._block_end < 0 else self._block_end
        else:
            self._close(end)

    def _branch(self, start: int, end: int) -> None:
        if self._open:
            self._open.branches += 1
            self._open.weight += max(1, self._depth)

    def _return(self, start: int, end: int) -> None:
        tells_type = self._changes and not self._depth  # FUNCTION f RETURN NUMBER
        if self._open and not tells_type:
            self._open.returns += 1
