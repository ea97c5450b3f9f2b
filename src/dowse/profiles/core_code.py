"""The native tools that answer exactly: lines, definitions and calls."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Literal

from dowse.engine import Engine
from dowse.errors import BadInput
from dowse.lookup.calls.question import MAX_DEPTH, CallQuery, Confidence
from dowse.lookup.grep.question import Lines
from dowse.lookup.symbols.question import SymbolAnswer, Wanted
from dowse.model import IN_FILES, Scope
from dowse.profiles.call_trees import COUNTED, tree_reply
from dowse.profiles.code_json import symbols_reply
from dowse.profiles.codesearch_words import listed
from dowse.profiles.core_asking import Budget, Globs, NotGlobs
from dowse.profiles.core_compact import DEFAULT_TOKENS, index_state, room_of
from dowse.profiles.core_grep import grep_reply
from dowse.profiles.tool import Param, Reply, Tool

_PLACE = re.compile(r"(?P<path>.+):(?P<line>\d{1,9})", re.DOTALL)
_NODES = 60
_LEAST_ROW_CHARS = 60  # of a definition
_LEAST_LINE_CHARS = 8  # of a line of its source


class CodeTools:
    """Bound to the engine of one server."""

    def __init__(self, engine: Callable[[], Engine]) -> None:
        self._engine = engine

    def tools(self) -> tuple[Tool, ...]:
        return (
            Tool(self.grep, "Find lines", brief=True),
            Tool(self.symbols, "Find definitions", brief=True),
            Tool(self.calls, "Callers and callees", brief=True),
        )

    def grep(
        self,
        pattern: Annotated[str, Param("")],
        manner: Annotated[Literal["regex", "word", "substring", "phrase"], Param("")] = "regex",
        also: Annotated[list[str] | None, Param("")] = None,
        case_sensitive: Annotated[bool, Param("")] = False,
        paths: Globs = None,
        not_paths: NotGlobs = None,
        context: Annotated[int, Param("", ge=0, le=50)] = 0,
        limit: Annotated[int, Param("", ge=1, le=1000)] = 20,
        budget_tokens: Budget = DEFAULT_TOKENS,
    ) -> Reply:
        """Every line with a pattern, exact totals. `regex` is RE2, by line; a `phrase` may span lines; `also`: patterns
        the file must hold too."""
        engine = self._engine()
        asked = Lines(
            terms=(pattern, *(also or ())),
            manner=manner,
            every=bool(also),
            case_sensitive=case_sensitive,
            scope=Scope(kinds=IN_FILES, paths=tuple(paths or ()), excluded=tuple(not_paths or ())),
            limit=limit,
        )
        return grep_reply(engine, asked, engine.grep(asked), context, budget_tokens)

    def symbols(
        self,
        name: Annotated[str, Param("")] = "",
        kinds: Annotated[list[str] | None, Param("")] = None,
        base: Annotated[str, Param("")] = "",
        attribute: Annotated[str, Param("")] = "",
        parent: Annotated[str, Param("")] = "",
        modifiers: Annotated[list[str] | None, Param("")] = None,
        at: Annotated[str, Param("")] = "",
        exact: Annotated[bool, Param("")] = False,
        body: Annotated[bool, Param("")] = False,
        paths: Globs = None,
        not_paths: NotGlobs = None,
        limit: Annotated[int, Param("", ge=1, le=1000)] = 20,
        budget_tokens: Budget = DEFAULT_TOKENS,
    ) -> Reply:
        """Definitions. `name`: part of it, several with commas; `kinds`: class, method, table …; `base`: what it
        extends; `attribute`: or decorator; `at`: path:line; `body`: with source."""
        engine = self._engine()
        wanted = Wanted(
            names=listed(name),
            matching="exact" if exact else "part",
            kinds=tuple(kinds or ()),
            attribute=attribute,
            base=base,
            parent=parent,
            modifiers=tuple(modifiers or ()),
            scope=Scope(paths=tuple(paths or ()), excluded=tuple(not_paths or ())),
            limit=limit,
        )
        answer = _at(engine, at) if at else engine.symbols(wanted, structural=True)
        definitions = answer.definitions[: room_of(budget_tokens) // _LEAST_ROW_CHARS]
        most_lines = room_of(budget_tokens) // _LEAST_LINE_CHARS
        bodies = engine.bodies(definitions, max_lines=most_lines, total_lines=0) if body else []
        state = index_state(engine.completeness(answer.seen), answer.total)
        return symbols_reply(replace(answer, definitions=definitions), bodies, state, budget_tokens)

    def calls(
        self,
        name: Annotated[str, Param("")],
        direction: Annotated[Literal["callers", "callees"], Param("")] = "callers",
        depth: Annotated[int, Param("", ge=1, le=MAX_DEPTH)] = 2,
        width: Annotated[int, Param("", ge=1, le=1000)] = 10,
        nodes: Annotated[int, Param("", ge=1, le=5000)] = _NODES,
        confidence: Annotated[Confidence, Param("")] = "virtual",
        unresolved: Annotated[bool, Param("")] = False,
        paths: Globs = None,
        not_paths: NotGlobs = None,
    ) -> Reply:
        """Tree of callers or callees of `name` (save, Repo.save, path:line); for a class, of its constructor.
        `virtual`: also through a base; `possible`: also by name only."""
        place = _PLACE.fullmatch(name)
        owner, _, last = name.rpartition(".") if place is None and "." in name.strip(".") else ("", "", name)
        query = CallQuery(
            "" if place else last,
            owner,
            "up" if direction == "callers" else "down",
            depth,
            width,
            nodes,
            confidence,
            scope=Scope(paths=tuple(paths or ()), excluded=tuple(not_paths or ())),
            at=(place["path"], int(place["line"])) if place else None,
            counted=COUNTED,
        )
        engine = self._engine()
        tree = engine.calls(query)
        if not tree.roots:
            return _nothing(name, index_state(engine.completeness(tree.seen), 0))
        return tree_reply(tree, with_unresolved=unresolved, scale=max(1.0, nodes / _NODES))


def _nothing(name: str, state: str) -> Reply:
    note = f"no function or class named {name[:200]!r} ({state})"
    return Reply({"definitions": [], "notes": [note]}, f"{note}\n")


def _at(engine: Engine, text: str) -> SymbolAnswer:
    place = _PLACE.fullmatch(text)
    if place is None:
        raise BadInput(f"`at` wants path:line, such as src/app.py:12, not {text[:200]!r}")
    found = engine.containing(place["path"], int(place["line"]))
    return SymbolAnswer(tuple(found), len(found), len(found), 1, len(found))
