"""SQL: tables, views, routines and packages, their members and uses."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Final

from dowse.ingest.extract.code.chunks import split_along_definitions
from dowse.ingest.extract.code.extract import split_unparsed_code
from dowse.ingest.extract.markdown import LineNumbers
from dowse.ingest.extract.sql_reader import (
    SqlDefinition,
    SqlReader,
    SqlUse,
    parse_columns,
    parse_parameter_types,
    parse_return_type,
    sql_symbol_kind,
)
from dowse.model import Call, Extraction, FunctionMetrics, Item, Symbol
from dowse.text.receiver_expressions import UNKNOWN_ROOT, instance_root
from dowse.text.unicode import decode

# --------------------------------------------------------------------------------------------------
# Turn an SQL file into text blocks, definitions and calls.

_MAX_SIGNATURE_CHARS: Final = 300
_EXPRESSION_SYNTAX = re.compile(r"[.()\[\]!|:;]")
"""Characters of names that would be syntax in an expression."""


def extract_sql(item: Item, data: bytes) -> Extraction:
    text = decode(data)
    reader = SqlReader(text)
    reader.read()
    built = _SymbolBuilder(text, reader)
    return Extraction(
        "code",
        PurePosixPath(item.path).name,
        text,
        split_along_definitions(text, built.symbols, built.undivided) if built.symbols else split_unparsed_code(text),
        symbols=built.symbols,
        calls=built.calls,
        facets=_facets(text, reader),
    )


def _facets(text: str, reader: SqlReader) -> Mapping[str, str]:
    facets = {"language": "sql"}
    if not reader.definitions:
        has_words = any(token.lastgroup == "name" for token in reader.tokens.finditer(text))
        facets["empty"] = "only statements" if has_words else "only comments" if text.strip() else "nothing but blanks"
    if reader.unterminated:
        facets["errors"] = str(reader.unterminated)
    return MappingProxyType(facets)


class _SymbolBuilder:
    """The symbols and calls of a file; each table is followed by its columns."""

    def __init__(self, text: str, reader: SqlReader) -> None:
        self._text, self._tokens, self._lines = text, reader.tokens, LineNumbers(text)
        uses = reader.uses.all_uses()
        calls_made = Counter(use.owner for use in uses if use.kind == "call")
        symbols: list[Symbol] = []
        symbol_indexes: list[int] = []
        for number, definition in enumerate(reader.definitions):
            parent = None if definition.parent is None else symbol_indexes[definition.parent]
            level = 0 if parent is None else symbols[parent].level + 1
            symbol_indexes.append(len(symbols))
            symbols.append(self._symbol(definition, calls_made[number])._replace(parent=parent, level=level))
            symbols.extend(self._columns(definition, symbol_indexes[-1], level))
        self.symbols = tuple(symbols)
        self.undivided = frozenset(
            at for at, definition in enumerate(symbols) if definition.level and _is_undivided(definition, symbols)
        )
        self.calls = tuple(self._call(use, symbol_indexes) for use in uses)

    def _symbol(self, definition: SqlDefinition, calls_made: int) -> Symbol:
        header = definition.header
        types, end = (
            parse_parameter_types(self._text, header.end, self._tokens) if header.is_routine else ((), header.end)
        )
        returns, end = parse_return_type(self._text, end) if header.noun == "function" else ("", end)
        return Symbol(
            header.name,
            header.kind,
            self._lines.at(header.start),
            self._lines.at(max(header.start, definition.end - 1)),
            signature=self._one_line(header.start, max(end, definition.signature_end)),
            value_expression=instance_root(returns) if returns else "",
            parameters=types,
            modifiers=header.modifiers,
            stats=_stats(definition, len(types), calls_made) if header.is_routine else None,
        )

    def _columns(self, definition: SqlDefinition, parent: int, level: int) -> Iterator[Symbol]:
        if not definition.header.has_columns:
            return
        for column in parse_columns(
            self._text, definition.header.end, self._tokens, of_type=definition.header.noun == "type"
        ):
            yield Symbol(
                column.name,
                "column" if column.noun == "column" else sql_symbol_kind(column.noun),
                self._lines.at(column.start),
                self._lines.at(max(column.start, column.end - 1)),
                level=level + 1,
                parent=parent,
                signature=self._one_line(column.start, column.end),
                value_expression=instance_root(column.type) if column.type else "",
            )

    def _call(self, use: SqlUse, symbol_indexes: list[int]) -> Call:
        owner = None if use.owner is None else symbol_indexes[use.owner]
        callee = UNKNOWN_ROOT if _EXPRESSION_SYNTAX.search(use.name) else use.name
        return Call(use.name, callee, self._lines.at(use.start), owner, use.arguments, use.kind)

    def _one_line(self, start: int, end: int) -> str:
        return " ".join(self._text[start : min(end, start + 4 * _MAX_SIGNATURE_CHARS)].split())[:_MAX_SIGNATURE_CHARS]


def _is_undivided(symbol: Symbol, symbols: list[Symbol]) -> bool:
    """Variables and types of a package, and the fields of these types, are too small to start a block."""
    in_package = symbol.parent is not None and symbols[symbol.parent].level > 0
    return symbol.kind in ("variable", "userDefinedType") or (symbol.kind == "column" and in_package)


def _stats(definition: SqlDefinition, arity: int, calls_made: int) -> FunctionMetrics:
    return FunctionMetrics(
        1 + definition.branches,
        definition.cognitive,
        max(0, definition.max_depth - 1),
        arity,
        definition.returns,
        calls_made,
    )
