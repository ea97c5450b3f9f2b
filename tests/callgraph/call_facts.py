"""Hand-written facts of code, put into a store as an extractor would."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from dowse.callgraph.facts import CallEdge, CallQuery, CallTree
from dowse.callgraph.graph import CallGraph
from dowse.model import Call, Link, Record, Symbol
from dowse.store.base import Store

COLLECTION = "code"


@dataclass
class File:
    """Definitions by dotted names: `Repo.save` is the member `save` of `Repo`, defined before it."""

    path: str
    symbols: list[Symbol] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    _places: dict[str, int] = field(default_factory=dict)

    def define(self, full: str, kind: str, value_expression: str = "", **rest: object) -> File:
        owner, _, name = full.rpartition("/")
        parent = self._places[owner] if owner else None
        line = 10 * len(self.symbols) + 11  # imports stand above
        symbol = Symbol(name, kind, line, line + 9, value_expression=value_expression, parent=parent)
        self._places[full] = len(self.symbols)
        self.symbols.append(symbol._replace(**rest))  # type: ignore[arg-type]
        around = parent
        while around is not None:
            self.symbols[around] = self.symbols[around]._replace(end_line=self.symbols[-1].end_line)
            around = self.symbols[around].parent
        return self

    def call(self, caller: str, callee: str, name: str = "", kind: str = "call", arguments: int = 0) -> File:
        symbol = self._places[caller] if caller else None
        line = self.symbols[symbol].start_line + 1 if symbol is not None else 1
        last = name or callee.replace(":", "").replace(";", "").replace("()", "").split("|")[0].rpartition(".")[2]
        self.calls.append(Call(last, callee, line, symbol, arguments, kind))
        return self

    def imports(self, target: str, context: str) -> File:
        self.links.append(Link("import", target, 1, context))
        return self


def put(store: Store, files: Iterable[File], root: str = "/work/code") -> CallGraph:
    collection = store.writer.add_collection(root)
    for it in files:
        record = Record(collection.name, it.path, "code", it.path, 1, 1, f"digest of {it.path}", "c")
        store.writer.put(record, [], it.symbols, it.links, it.calls)
    return CallGraph(store.view())


def callees(graph: CallGraph, name: str, owner: str = "", **rest: object) -> list[str]:
    tree = graph.calls(CallQuery(name, owner, "down", depth=1, width=0, nodes=0, **rest))  # type: ignore[arg-type]
    return sorted(end(node.edge, down=True) for node in tree.nodes)


def callers(graph: CallGraph, name: str, owner: str = "", **rest: object) -> list[str]:
    tree = graph.calls(CallQuery(name, owner, "up", depth=1, width=0, nodes=0, **rest))  # type: ignore[arg-type]
    return sorted(end(node.edge, down=False) for node in tree.nodes)


def end(edge: CallEdge, *, down: bool) -> str:
    """`path:Owner.name`, with the confidence where it is not exact."""
    far = edge.callee if down else edge.caller
    name = ".".join((*far.trail, far.symbol.name)) if far else "<module>"
    record = far.record if far else edge.record
    return f"{record.path}:{name}" + ("" if edge.confidence == "exact" else f" {edge.confidence}")


def why(tree: CallTree) -> list[str]:
    return [f"{it.site.callee}: {it.how}" for it in tree.unresolved]
