"""Call trees as JSON and as text: what `--json`, the command line and the tools share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dowse.lookup.calls.impact import Impact
from dowse.lookup.calls.question import CallTree, Edge, Node
from dowse.lookup.symbols.question import Definition
from dowse.profiles.pending import if_pending

_INDENT = "  "


# --- JSON ---


def tree_json(tree: CallTree) -> dict[str, object]:
    query = tree.query
    return {
        "name": query.name,
        "owner": query.owner,
        "direction": query.direction,
        "depth": query.depth,
        "roots": [_named_json(it) for it in tree.roots],
        "owners": list(tree.owners),
        "nodes": [_node_json(it, query.direction) for it in tree.nodes],
        "unresolved": [_edge_json(it, None) for it in tree.unresolved],
        "total": tree.total,
        "truncated": tree.truncated,
        "cut": tree.cut,
        **if_pending(tree.seen),
    }


def impact_json(impact: Impact) -> dict[str, object]:
    return {
        "touched": [
            {
                "definition": _named_json(it.definition),
                "callers": [_node_json(node, "up") for node in it.callers.nodes],
                "truncated": it.callers.truncated,
            }
            for it in impact.touched
        ],
        "beside": list(impact.beside),
        "unknown": list(impact.unknown),
        **if_pending(impact.seen),
    }


def _named_json(it: Definition) -> dict[str, object]:
    return {
        "name": it.symbol.name,
        "owner": ".".join(it.trail),
        "kind": it.symbol.kind,
        "collection": it.record.collection,
        "path": it.record.path,
        "start_line": it.symbol.start_line,
        "end_line": it.symbol.end_line,
    }


def _node_json(node: Node, direction: str) -> dict[str, object]:
    edge = node.edge
    far = edge.caller if direction == "up" else edge.callee
    return {
        **_edge_json(edge, far),
        "branches": [_node_json(it, direction) for it in node.branches],
        "cut": node.cut,
    }


def _edge_json(edge: Edge, far: Definition | None) -> dict[str, object]:
    return {
        "definition": _named_json(far) if far else None,
        "path": edge.record.path,
        "line": edge.site.line,
        "lines": list(edge.lines),
        "call": edge.site.callee,
        "receiver": edge.receiver,
        "confidence": edge.confidence,
        "how": edge.how,
    }


# --- text ---


def tree_text(tree: CallTree, *, with_unresolved: bool) -> str:
    """Indented by depth, each line a place one can go to."""
    lines = [f"{full_name(it)}  {place(it)}" for it in tree.roots]
    for node in tree.nodes:
        lines += _node_lines(node, tree.query.direction, 1)
    if tree.cut:
        lines.append(f"{_INDENT}… {_CUTS[tree.cut]}")
    return "\n".join([*lines, *_remarks(tree, with_unresolved)])


def impact_text(impact: Impact) -> str:
    lines: list[str] = []
    for it in impact.touched:
        lines.append(f"{full_name(it.definition)}  {place(it.definition)}")
        for node in it.callers.nodes:
            lines += _node_lines(node, "up", 1)
        if it.callers.cut:
            lines.append(f"{_INDENT}… {_CUTS[it.callers.cut]}")
    lines += [f"{path}: no definition is touched" for path in impact.beside]
    lines += [f"{path}: not among the indexed files" for path in impact.unknown]
    return "\n".join(lines)


def full_name(it: Definition) -> str:
    return ".".join((*it.trail, it.symbol.name))


def place(it: Definition) -> str:
    return f"{it.record.path}:{it.symbol.start_line}"


_CUTS = {
    "depth": "more beyond (--depth)",
    "width": "more of them (--width)",
    "nodes": "more of them (--nodes)",
    "sites": "more calls of this name than are looked at; name the class, or --path",
    "time": "more that there was no time to look at; ask again, name the class, or --path",
    "cycle": "calls itself again",
}


def _node_lines(node: Node, direction: str, depth: int) -> Iterator[str]:
    edge = node.edge
    far = edge.caller if direction == "up" else edge.callee
    name = full_name(far) if far else "(top of the file)"
    unsure = "" if edge.confidence == "exact" else f"  [{edge.confidence}: {edge.how}]"
    spot = f"{edge.record.path}:{edge.site.line}" if direction == "up" or far is None else place(far)
    yield f"{_INDENT * depth}{name}  {spot}{unsure}{'  (calls itself again)' if node.cut == 'cycle' else ''}"
    for it in node.branches:
        yield from _node_lines(it, direction, depth + 1)
    if node.cut in ("width", "nodes", "sites", "time"):
        yield f"{_INDENT * (depth + 1)}… {_CUTS[node.cut]}"


def _remarks(tree: CallTree, with_unresolved: bool) -> Iterator[str]:
    if len(tree.owners) > 1 and not tree.query.owner and tree.query.at is None:
        yield f"{len(tree.owners)} definitions; pick one with --in: {_listed(tree.owners)}"
    if tree.unresolved and not with_unresolved:
        yield f"{len(tree.unresolved):,} calls could not be told (--unresolved lists them)"
    for it in tree.unresolved if with_unresolved else ():
        yield f"? {it.record.path}:{it.site.line}  {it.site.callee}  [{it.how}]"


def _listed(names: Sequence[str], most: int = 10) -> str:
    return ", ".join(names[:most]) + (" …" if len(names) > most else "")
