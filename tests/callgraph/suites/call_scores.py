"""How right a call graph is: what the engine answers for each case of the suite, beside what a reader would name."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from call_cases import MODULE, Case, Edge, Tree
from call_names import told_apart

from dowse.callgraph.facts import CallNode, CallQuery, CallTree
from dowse.config import Settings
from dowse.engine import Engine
from dowse.model import Record, Symbol
from dowse.store.base import Store
from dowse.store.sqlite import SqliteStore
from dowse.store.types import Definition
from support import shared_workers

Direction = Literal["up", "down"]
DIRECTIONS: tuple[Direction, ...] = ("down", "up")

# What can call or be called; the rest of the symbols are never asked about.
_ENDS = frozenset({"class", "interface", "struct", "record", "enum", "method", "constructor", "property", "function"})


_TYPES = frozenset({"class", "interface", "struct", "enum", "delegate"})
_WITH_LITERALS = frozenset({"go", "rust"})  # where objects are written down, and no constructor is called


@dataclass(frozen=True, slots=True)
class Score:
    """Edges that count: `right` and `invented` of those found, `missed` of those expected."""

    right: int = 0
    met: int = 0
    invented: tuple[Edge, ...] = ()
    missed: tuple[Edge, ...] = ()

    def __add__(self, other: Score) -> Score:
        return Score(
            self.right + other.right, self.met + other.met, self.invented + other.invented, self.missed + other.missed
        )

    @property
    def precision(self) -> float:
        found = self.right + len(self.invented)
        return self.right / found if found else 1.0

    @property
    def recall(self) -> float:
        expected = self.met + len(self.missed)
        return self.met / expected if expected else 1.0


def judged(case: Case, found: Iterable[Edge], direction: Direction) -> Score:
    """Asked downwards, code outside of any definition has no name to ask for, and is not expected."""
    expected = [any_of for any_of in case.calls if direction == "up" or not _of_module(any_of)]
    wanted = {edge for any_of in case.calls for edge in any_of}
    tolerated = case.may | {(caller, callee.rpartition(".")[0]) for caller, callee in wanted if _constructor(callee)}
    edges = set(found)
    return Score(
        right=len(edges & wanted),
        met=sum(1 for any_of in expected if any_of & edges),
        invented=tuple(sorted(edges - wanted - tolerated)),
        missed=tuple(min(any_of) for any_of in expected if not any_of & edges),
    )


def _of_module(edges: Iterable[Edge]) -> bool:
    return any(caller.endswith(f":{MODULE}") for caller, _ in edges)


def _constructor(callee: str) -> bool:
    """Whoever names the class in place of its constructor is not wrong, but did not find it either."""
    *_, owner, name = ["", "", *callee.partition("(")[0].partition(":")[2].split(".")]
    return name in ("__init__", "constructor", owner)


class Graph:
    """The calls of one case as an engine tells them."""

    def __init__(self, case: Case, engine: Engine, store: Store) -> None:
        self._case, self._engine, self._store = case, engine, store

    def edges(self, direction: Direction) -> set[Edge]:
        asked = {(symbol.name, owner) for symbol, owner in self._ends()}
        trees = (
            self._engine.calls(CallQuery(name, owner, direction, depth=1, width=0, nodes=0)) for name, owner in asked
        )
        found = {
            (node.edge.callee.symbol.kind, self._edge(node))
            for tree in trees
            for node in tree.nodes
            if node.edge.callee
        }
        is_literal = self._case.language in _WITH_LITERALS
        return {edge for kind, edge in found if not is_literal or kind not in _TYPES}

    def chains(self, tree: Tree) -> set[tuple[str, ...]]:
        """Every way from the definition upwards, the longest and all of their beginnings."""
        name, owner = next(
            (symbol.name, owner) for full, (symbol, owner) in self._named() if full == tree.of and symbol.kind in _ENDS
        )
        answer = self._engine.calls(CallQuery(name, owner, "up", depth=tree.depth, width=0, nodes=0))
        return {
            chain
            for node in answer.nodes
            if self._is_about(node, answer, tree.of)
            for chain in self._upwards(node, (tree.of,))
        }

    def _is_about(self, node: CallNode, answer: CallTree, asked: str) -> bool:
        """Not about another of the definitions that the same question means, such as an overload."""
        others = {self._name(root) for root in answer.roots} - {asked}
        return node.edge.callee is None or self._name(node.edge.callee) not in others

    def _upwards(self, node: CallNode, below: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        chain = (*below, self._edge(node)[0])
        yield chain
        for branch in node.branches:
            yield from self._upwards(branch, chain)

    def _edge(self, node: CallNode) -> Edge:
        edge = node.edge
        caller = self._name(edge.caller) if edge.caller else f"{edge.record.path}:{MODULE}"
        return caller, self._name(edge.callee) if edge.callee else ""

    def _name(self, definition: Definition) -> str:
        return self._names[definition.record.path][definition.ordinal]

    def _ends(self) -> Iterator[tuple[Symbol, str]]:
        return (end for _, end in self._named() if end[0].kind in _ENDS)

    def _named(self) -> Iterator[tuple[str, tuple[Symbol, str]]]:
        for path, symbols in self._symbols.items():
            for full, symbol in zip(self._names[path], symbols, strict=True):
                owner = "" if symbol.parent is None else symbols[symbol.parent]
                name = owner.name if isinstance(owner, Symbol) and owner.kind != "namespace" else ""
                if path.endswith(".go") and "extension" in symbol.modifiers:
                    name = full.rpartition(":")[2].partition(".")[0]
                yield full, (symbol, name)

    @cached_property
    def _names(self) -> Mapping[str, Sequence[str]]:
        return {path: _full_names(path, symbols) for path, symbols in self._symbols.items()}

    @cached_property
    def _symbols(self) -> Mapping[str, Sequence[Symbol]]:
        return {path: self._store.catalog.symbols(self._record(path)) for path in self._case.files}

    def _record(self, path: str) -> Record:
        (record,) = self._engine.record(path)
        return record


def _full_names(path: str, symbols: Sequence[Symbol]) -> list[str]:
    plain: list[str] = []
    for symbol in symbols:
        around = "" if symbol.parent is None else plain[symbol.parent]
        if path.endswith(".go") and "extension" in symbol.modifiers:
            around = f"{symbol.parameters[0].lstrip('*').partition('[')[0]}."  # its receiver
        plain.append(around if symbol.kind == "namespace" else f"{around}{symbol.name}.")
    with_parameters = [(name[:-1], symbol.parameters) for name, symbol in zip(plain, symbols, strict=True)]
    return [f"{path}:{name}" for name in told_apart(with_parameters)]


@contextmanager
def graph(case: Case) -> Iterator[Graph]:
    """The case in an index of its own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        for path, source in case.files.items():
            place = folder / "root" / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(source, encoding="utf-8")
        store = SqliteStore(folder / "index.db", create=True)
        settings = Settings(encoder="none", data_dir=folder)
        workers = shared_workers()
        with Engine(settings, folder / "index.db", create=True, store=store, workers=workers) as engine:
            report = engine.index([folder / "root"])
            if report.skipped:
                raise ValueError(f"{case.title}: {report.notes}")
            yield Graph(case, engine, store)
