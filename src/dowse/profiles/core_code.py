"""The native tools that answer exactly: lines, definitions and calls."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Annotated, Literal

from dowse.engine import Engine
from dowse.errors import BadInput
from dowse.lookup.calls.question import MAX_DEPTH, CallQuery, Confidence
from dowse.lookup.grep.question import Excerpt, Lines
from dowse.lookup.symbols.question import SymbolAnswer, Wanted
from dowse.model import CHARS_PER_TOKEN, IN_FILES, Scope
from dowse.profiles.call_trees import tree_json, tree_text
from dowse.profiles.code_json import body_text, definition_text, symbols_json
from dowse.profiles.core_grep import Around, ShownFile, grep_json, grep_sentence, shown_files, stale_sentence
from dowse.profiles.pending import pending_text
from dowse.profiles.tool import Param, Reply, Tool

_PLACE = re.compile(r"(?P<path>.+):(?P<line>\d{1,9})", re.DOTALL)
_LINE_CHARS = 300  # of a line that is shown; generated ones have thousands
_LINE_COST = 8  # what a number and a mark beside a line take up
_BODY_LINE_CHARS = 40

Globs = Annotated[list[str] | None, Param("Only files matching these globs, e.g. src/** or *.py")]
NotGlobs = Annotated[list[str] | None, Param("No files matching these globs")]
Budget = Annotated[int, Param("About how long the answer may be", ge=50, le=100_000)]


class CodeTools:
    """Bound to the engine of one server."""

    def __init__(self, engine: Callable[[], Engine]) -> None:
        self._engine = engine

    def tools(self) -> tuple[Tool, ...]:
        return (
            Tool(self.grep, "Find lines"),
            Tool(self.symbols, "Find definitions"),
            Tool(self.calls, "Who calls it, what it calls"),
        )

    def grep(
        self,
        pattern: Annotated[str, Param("A regex of a line (RE2), or what `manner` says")],
        manner: Annotated[
            Literal["regex", "word", "substring", "phrase"],
            Param("regex of a line; a whole word; text as it is; words in a row, also across lines"),
        ] = "regex",
        also: Annotated[list[str] | None, Param("Only files in which each of these is found too")] = None,
        case_sensitive: Annotated[bool, Param("Whether case counts")] = False,
        paths: Globs = None,
        not_paths: NotGlobs = None,
        context: Annotated[int, Param("Lines to show around each line found", ge=0, le=50)] = 0,
        limit: Annotated[int, Param("How many files at most", ge=1, le=1000)] = 20,
        budget_tokens: Budget = 3000,
    ) -> Reply:
        """Find every line that holds a pattern, in the index: exact, complete, the files with the best matches first,
        with line numbers and totals. For what something means or where it is explained, use `search`."""
        engine = self._engine()
        asked = Lines(
            terms=(pattern, *(also or ())),
            manner=manner,
            every=bool(also),
            case_sensitive=case_sensitive,
            scope=Scope(kinds=IN_FILES, paths=tuple(paths or ()), excluded=tuple(not_paths or ())),
            limit=limit,
        )
        answer = engine.grep(asked)
        shown = list(_fitting(shown_files(engine, answer, Around(context, context)), budget_tokens * CHARS_PER_TOKEN))
        left = len(answer.files) - len(shown)
        answer = replace(answer, cut=answer.cut or (f"{left:,} more files do not fit the budget" if left else ""))
        completeness = engine.completeness(answer.seen)
        lines = [
            grep_sentence(answer, completeness),
            stale_sentence(shown),
            *(line for it in shown for line in _lines(it)),
        ]
        return Reply(grep_json(answer, shown, completeness), "\n".join(filter(None, lines)) + "\n")

    def symbols(
        self,
        name: Annotated[str, Param("Part of the name, several with commas; empty: the other filters decide")] = "",
        kinds: Annotated[list[str] | None, Param("e.g. class, interface, method, function, property, table")] = None,
        base: Annotated[str, Param("Only what extends or implements this type")] = "",
        attribute: Annotated[str, Param("Only what has this attribute, annotation or decorator")] = "",
        parent: Annotated[str, Param("Only what is defined inside something so named")] = "",
        modifiers: Annotated[list[str] | None, Param("Only with all of these, e.g. public, static, async")] = None,
        at: Annotated[str, Param("path:line: the definitions that hold this line, innermost first")] = "",
        exact: Annotated[bool, Param("The whole name instead of a part of it")] = False,
        body: Annotated[bool, Param("Also the source of each, as far as it fits")] = False,
        paths: Globs = None,
        not_paths: NotGlobs = None,
        limit: Annotated[int, Param("How many at most", ge=1, le=1000)] = 20,
        budget_tokens: Budget = 3000,
    ) -> Reply:
        """Find definitions: classes, functions, methods, fields, tables … with path, lines, signature, bases and how
        involved they are. Filters are combined; the best names come first."""
        engine = self._engine()
        wanted = Wanted(
            names=tuple(part.strip() for part in name.split(",") if part.strip()),
            matching="exact" if exact else "part",
            kinds=tuple(kinds or ()),
            attribute=attribute,
            base=base,
            parent=parent,
            modifiers=tuple(modifiers or ()),
            scope=Scope(paths=tuple(paths or ()), excluded=tuple(not_paths or ())),
            limit=limit,
        )
        answer = _at(engine, at) if at else engine.symbols(wanted)
        most_lines = max(1, budget_tokens * CHARS_PER_TOKEN // _BODY_LINE_CHARS)
        bodies = engine.bodies(answer.definitions, max_lines=most_lines, total_lines=most_lines) if body else []
        lines = [f"{answer.total:,} definitions; {engine.completeness(answer.seen).sentence(0).partition('; ')[2]}"]
        for place, it in enumerate(answer.definitions):
            lines += [definition_text(it), *(body_text(bodies[place]) if bodies else ())]
        return Reply(symbols_json(answer, bodies), "\n".join(lines) + "\n")

    def calls(
        self,
        name: Annotated[
            str, Param("A function or class, with its class before it if need be (Repo.save), or path:line")
        ],
        direction: Annotated[Literal["callers", "callees"], Param("Who calls it, or what it calls")] = "callers",
        depth: Annotated[int, Param("How many levels", ge=1, le=MAX_DEPTH)] = 2,
        width: Annotated[int, Param("How many branches at a place", ge=1, le=1000)] = 10,
        nodes: Annotated[int, Param("How many altogether", ge=1, le=5000)] = 60,
        confidence: Annotated[
            Confidence,
            Param(
                "exact: types say so; virtual: also what may run behind a base; possible: also where only names agree"
            ),
        ] = "virtual",
        unresolved: Annotated[bool, Param("Also list the calls that could not be told")] = False,
        paths: Globs = None,
        not_paths: NotGlobs = None,
    ) -> Reply:
        """The tree of callers or callees of a function, each with path and line, how sure it is and why. A class stands
        for its constructors."""
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
        )
        engine = self._engine()
        tree = engine.calls(query)
        text = tree_text(tree, with_unresolved=unresolved) if tree.roots else _nothing(name, engine)
        return Reply(tree_json(tree), "\n".join(filter(None, (text, pending_text(tree.seen)))) + "\n")


def _nothing(name: str, engine: Engine) -> str:
    searched = engine.completeness().sentence(0).partition("; ")[2]
    return f"nothing that can be called is named {name!r}; {searched}"


def _at(engine: Engine, text: str) -> SymbolAnswer:
    place = _PLACE.fullmatch(text)
    if place is None:
        raise BadInput(f"`at` wants path:line, such as src/app.py:12, not {text[:200]!r}")
    found = engine.containing(place["path"], int(place["line"]))
    return SymbolAnswer(tuple(found), len(found), len(found), 1, len(found))


def _fitting(shown: Iterable[ShownFile], room: int) -> Iterator[ShownFile]:
    """Whole files as long as they fit; the first one in part if need be."""
    first = True
    for it in shown:
        excerpts = [_short(excerpt) for excerpt in it.excerpts]
        cost = len(it.found.path) + sum(len(line) + _LINE_COST for excerpt in excerpts for line in excerpt.lines)
        if cost > room:
            if first:
                yield _in_part(it, excerpts, room)
            return
        yield replace(it, excerpts=tuple(excerpts))
        room, first = room - cost, False


def _short(excerpt: Excerpt) -> Excerpt:
    lines = tuple(line if len(line) <= _LINE_CHARS else f"{line[:_LINE_CHARS]}…" for line in excerpt.lines)
    return replace(excerpt, lines=lines)


def _in_part(shown: ShownFile, excerpts: Sequence[Excerpt], room: int) -> ShownFile:
    """The first lines, at least one of them."""
    kept: list[Excerpt] = []
    for excerpt in excerpts:
        costs = accumulate(len(line) + _LINE_COST for line in excerpt.lines)
        rows = max(sum(cost <= room for cost in costs), 0 if kept else 1)
        if rows:
            matches = tuple(row for row in excerpt.matches if row < rows)
            kept.append(replace(excerpt, lines=excerpt.lines[:rows], matches=matches))
        if rows < len(excerpt.lines):
            break
        room -= sum(len(line) + _LINE_COST for line in excerpt.lines)
    lines = tuple(it.start_line + row for it in kept for row in it.matches)
    hidden = len(shown.found.lines) - len(lines)
    return replace(shown, excerpts=tuple(kept), found=shown.found._replace(lines=lines), hidden=hidden)


def _lines(shown: ShownFile) -> Iterator[str]:
    yield shown.found.path
    for excerpt in shown.excerpts:
        matches = set(excerpt.matches)
        for row, text in enumerate(excerpt.lines):
            yield f"  {excerpt.start_line + row}{':' if row in matches else '-'} {text}"
    if shown.hidden:
        yield f"  … {shown.hidden:,} more lines"
