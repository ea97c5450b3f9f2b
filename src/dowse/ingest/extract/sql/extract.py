"""An SQL file becomes blocks of text, definitions, and what these use."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Final

from dowse.ingest.extract.along_definitions import blocks_along
from dowse.ingest.extract.code.blocks import text_blocks
from dowse.ingest.extract.spans import Lines
from dowse.ingest.extract.sql.headers import kind_of
from dowse.ingest.extract.sql.lists import columns, parameters, result
from dowse.ingest.extract.sql.reader import Found, Reader
from dowse.ingest.extract.sql.uses import Use
from dowse.model import Call, Extract, Item, Stats, Symbol
from dowse.text.decode import decode
from dowse.text.expressions import UNKNOWN, instance

_MAX_SIGNATURE_CHARS: Final = 300
_SIGNIFICANT = re.compile(r"[.()\[\]!|:;]")
"""What an expression could not hold as a part of a name."""


def extract_sql(item: Item, data: bytes) -> Extract:
    text = decode(data)
    reader = Reader(text)
    reader.read()
    drafts = _Symbols(text, reader)
    return Extract(
        "code",
        PurePosixPath(item.path).name,
        text,
        blocks_along(text, drafts.symbols, drafts.undivided) if drafts.symbols else text_blocks(text),
        symbols=drafts.symbols,
        calls=drafts.calls,
        facets=_facets(text, reader),
    )


def _facets(text: str, reader: Reader) -> Mapping[str, str]:
    facets = {"language": "sql"}
    if not reader.found:
        has_words = any(token.lastgroup == "name" for token in reader.tokens.finditer(text))
        facets["empty"] = "only statements" if has_words else "only comments" if text.strip() else "nothing but blanks"
    if reader.unfinished:
        facets["errors"] = str(reader.unfinished)
    return MappingProxyType(facets)


class _Symbols:
    """The symbols and calls of a file: each definition with its columns behind it."""

    def __init__(self, text: str, reader: Reader) -> None:
        self._text, self._tokens, self._lines = text, reader.tokens, Lines(text)
        uses = reader.uses.found()
        calls_made = Counter(use.owner for use in uses if use.kind == "call")
        found: list[Symbol] = []
        places: list[int] = []
        for number, it in enumerate(reader.found):
            parent = None if it.parent is None else places[it.parent]
            level = 0 if parent is None else found[parent].level + 1
            places.append(len(found))
            found.append(self._symbol(it, calls_made[number])._replace(parent=parent, level=level))
            found.extend(self._columns(it, places[-1], level))
        self.symbols = tuple(found)
        self.undivided = frozenset(at for at, it in enumerate(found) if it.level and _is_held(it, found))
        self.calls = tuple(self._call(use, places) for use in uses)

    def _symbol(self, it: Found, calls_made: int) -> Symbol:
        header = it.header
        types, end = parameters(self._text, header.end, self._tokens) if header.is_routine else ((), header.end)
        given, end = result(self._text, end) if header.noun == "function" else ("", end)
        return Symbol(
            header.name,
            header.kind,
            self._lines.at(header.start),
            self._lines.at(max(header.start, it.end - 1)),
            signature=self._one_line(header.start, max(end, it.told_until)),
            holds=instance(given) if given else "",
            parameters=types,
            modifiers=header.modifiers,
            stats=_stats(it, len(types), calls_made) if header.is_routine else None,
        )

    def _columns(self, it: Found, parent: int, level: int) -> Iterator[Symbol]:
        if not it.header.has_columns:
            return
        for column in columns(self._text, it.header.end, self._tokens, of_type=it.header.noun == "type"):
            yield Symbol(
                column.name,
                "column" if column.noun == "column" else kind_of(column.noun),
                self._lines.at(column.start),
                self._lines.at(max(column.start, column.end - 1)),
                level=level + 1,
                parent=parent,
                signature=self._one_line(column.start, column.end),
                holds=instance(column.type) if column.type else "",
            )

    def _call(self, use: Use, places: list[int]) -> Call:
        owner = None if use.owner is None else places[use.owner]
        callee = UNKNOWN if _SIGNIFICANT.search(use.name) else use.name
        return Call(use.name, callee, self._lines.at(use.start), owner, use.arguments, use.kind)

    def _one_line(self, start: int, end: int) -> str:
        return " ".join(self._text[start : min(end, start + 4 * _MAX_SIGNATURE_CHARS)].split())[:_MAX_SIGNATURE_CHARS]


def _is_held(it: Symbol, symbols: list[Symbol]) -> bool:
    """Variables and types of a package, with the fields of these, are no places to cut."""
    in_package = it.parent is not None and symbols[it.parent].level > 0
    return it.kind in ("variable", "userDefinedType") or (it.kind == "column" and in_package)


def _stats(it: Found, arity: int, calls_made: int) -> Stats:
    return Stats(1 + it.branches, it.weight, max(0, it.deepest - 1), arity, it.returns, calls_made)
