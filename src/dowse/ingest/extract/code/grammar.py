"""Parsers and queries, made when a language is first met and kept for the life of the process."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Query, Tree

_PROBLEMS = "\n(ERROR) @error\n(MISSING) @error\n"
# What patterns of a few nodes have in flight stays far below; the limit bounds what a hostile file may cost.
_MATCHES_IN_FLIGHT = 10_000


@dataclass(frozen=True, slots=True)
class Grammar:
    parser: Parser
    query: Query

    def parse(self, data: bytes) -> Tree:
        return self.parser.parse(data)

    def captures(self, root: Node) -> dict[str, list[Node]]:
        """Every node the query names, by the name it gives it."""
        from tree_sitter import QueryCursor

        return QueryCursor(self.query, match_limit=_MATCHES_IN_FLIGHT).captures(root)


@lru_cache(maxsize=64)
def grammar(name: str, query: str) -> Grammar:
    """`name` is the grammar's module, with `:function` behind it where that is not called `language`."""
    from tree_sitter import Language, Parser, Query

    module, _, function = name.partition(":")
    language = Language(getattr(importlib.import_module(module), function or "language")())
    return Grammar(Parser(language), Query(language, query + _PROBLEMS))
