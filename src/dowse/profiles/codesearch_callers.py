"""`search_callers` of the code search contract: trees of callers and of what is called."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal, cast

from dowse.errors import BadInput
from dowse.lookup.calls.question import CallQuery, CallTree, Edge, Node
from dowse.lookup.symbols.question import Definition
from dowse.model import Record
from dowse.profiles.codesearch_desk import Desk
from dowse.profiles.codesearch_territory import Territory
from dowse.profiles.codesearch_words import MAX_NUMBER, ExcludeDir, Ext, one_of
from dowse.profiles.tool import Param, Reply

Direction = Literal["up", "down"]

_DIRECTIONS = ("up", "down")
_TOP_LEVEL = "<top level>"
_SHOWN_CLASSES = 10


class CallersTool:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def search_callers(
        self,
        method: Annotated[str, Param("The name of the method or function")],
        class_: Annotated[
            str, Param("The class it is defined in. Strongly recommended: many classes have a method of that name")
        ] = "",
        direction: Annotated[str, Param("up: who calls it; down: what it calls", choices=_DIRECTIONS)] = "up",
        depth: Annotated[int, Param("How many levels, at most 10", ge=1, le=MAX_NUMBER)] = 3,
        ext: Ext = "",
        excludeDir: ExcludeDir = (),
        excludeFile: Annotated[
            Sequence[str], Param("Leave out files whose path has any of these in it; case is ignored")
        ] = (),
        maxCallersPerLevel: Annotated[
            int, Param("How many branches at a node at most; 0 is all", ge=0, le=MAX_NUMBER)
        ] = 10,
        maxTotalNodes: Annotated[int, Param("How many nodes altogether; 0 is all", ge=0, le=MAX_NUMBER)] = 200,
        resolveInterfaces: Annotated[
            bool, Param("Follow calls through an interface to what implements it, and back")
        ] = True,
    ) -> Reply:
        """Who calls a method, and who calls those, as a tree; or, downwards, what it calls. Types are followed through
        fields, parameters, locals and injected interfaces; `confidence` tells exact calls from possible ones."""
        started = self._desk.now()
        if not method.strip():
            raise BadInput("method must not be empty; name a method or function")
        way = cast(Direction, one_of("direction", direction, _DIRECTIONS))
        engine = self._desk.ready()
        excluded = (*excludeDir, *excludeFile)
        territory = self._desk.territory("", excluded)
        query = CallQuery(
            method.strip(),
            owner=class_.strip(),
            direction=way,
            depth=depth,
            width=maxCallersPerLevel,
            nodes=maxTotalNodes,
            through_interfaces=resolveInterfaces,
            scope=territory.scope,
            with_references=True,  # its contract has no other place for them
            wanted=territory.keep(extension=self._desk.extension(ext), excluded=excluded),
        )
        return self._desk.reply(self._data(started, engine.calls(query), territory))

    def _data(self, started: float, tree: CallTree, territory: Territory) -> dict[str, Any]:
        summary = self._desk.summary(
            started,
            tree.seen,
            nodesVisited=tree.visited,
            totalNodes=tree.total,
            truncated=tree.truncated,
            unresolved=len(tree.unresolved),
        )
        data: dict[str, Any] = {
            "callTree": [_node_json(it, tree.query.direction, territory) for it in tree.nodes],
            "query": _query_json(tree.query),
            "summary": summary,
        }
        if len(tree.owners) > 1 and not tree.query.owner:
            data["warning"] = _ambiguous(tree.query.name, tree.owners)
        return data


def _query_json(query: CallQuery) -> dict[str, Any]:
    return {
        "method": query.name,
        **({"class": query.owner} if query.owner else {}),
        "direction": query.direction,
        "depth": query.depth,
        "maxCallersPerLevel": query.width,
        "maxTotalNodes": query.nodes,
    }


def _ambiguous(name: str, owners: Sequence[str]) -> str:
    classes = ", ".join(owners[:_SHOWN_CLASSES]) + (", ..." if len(owners) > _SHOWN_CLASSES else "")
    return (
        f"Method '{name}' is defined in {len(owners)} classes: {classes}. "
        "The tree mixes them; name one of them as class."
    )


def _node_json(node: Node, direction: Direction, territory: Territory) -> dict[str, Any]:
    row = _up_json(node.edge, territory) if direction == "up" else _down_json(node.edge, territory)
    row["confidence"] = node.edge.confidence
    if node.edge.how:
        row["how"] = node.edge.how
    if node.cut:
        row["cut"] = node.cut
    if node.branches:
        beyond = [_node_json(it, direction, territory) for it in node.branches]
        row["callers" if direction == "up" else "callees"] = beyond
    return row


def _up_json(edge: Edge, territory: Territory) -> dict[str, Any]:
    caller = edge.caller
    return {
        "method": caller.symbol.name if caller else _TOP_LEVEL,
        "line": caller.symbol.start_line if caller else edge.site.line,
        "callSite": edge.site.line,
        **_where(caller, edge.record, territory),
    }


def _down_json(edge: Edge, territory: Territory) -> dict[str, Any]:
    callee = edge.callee
    return {
        "method": callee.symbol.name if callee else edge.site.name,
        "line": callee.symbol.start_line if callee else edge.site.line,
        "callSiteLine": edge.site.line,
        **_where(callee, callee.record if callee else edge.record, territory),
        **({"receiverType": edge.receiver} if edge.receiver else {}),
    }


def _where(definition: Definition | None, record: Record, territory: Territory) -> dict[str, Any]:
    return {
        **({"class": definition.parent} if definition and definition.parent else {}),
        "file": PurePosixPath(record.path).name,
        "path": territory.full(record.collection, record.path),
    }
