"""Call trees as JSON and as text, for the command line and, in a shorter form, for the tools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dowse.lookup.calls.impact import Impact
from dowse.lookup.calls.question import CallTree, Edge, Node
from dowse.lookup.symbols.question import Definition
from dowse.profiles.core_compact import DEFAULT_TOKENS, Shape, fit, room_of, without_empty
from dowse.profiles.pending import if_pending, pending_text
from dowse.profiles.tool import Reply
from dowse.text.untrusted import one_line

_INDENT = "  "
_MOST_LISTED = 10  # definitions and classes of one name
_MOST_BESIDE = 5  # references in an answer of a tool
COUNTED = 1_000
"""So many callers beyond those that are shown are counted at a node."""


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
        "references": [_edge_json(it, _far(it, query.direction)) for it in tree.references],
        "possible": [_edge_json(it, it.caller) for it in tree.possible],
        "more_possible": tree.more_possible,
        "external": [{"name": it.name, "path": it.record.path, "lines": list(it.lines)} for it in tree.external],
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
                "references": [_edge_json(edge, edge.caller) for edge in it.callers.references],
                "possible": [_edge_json(edge, edge.caller) for edge in it.callers.possible],
                "more_possible": it.callers.more_possible,
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
    far = _far(edge, direction)
    return {
        **_edge_json(edge, far),
        "branches": [_node_json(it, direction) for it in node.branches],
        "cut": node.cut,
    }


def _far(edge: Edge, direction: str) -> Definition | None:
    return edge.caller if direction == "up" else edge.callee


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
    if cut := _cut_text(tree.cut, tree.more, tree.query.direction, _OPTIONS):
        lines.append(f"{_INDENT}… {cut}")
    lines += _beside_lines(tree, with_unresolved)
    return "\n".join([*lines, *_remarks(tree, with_unresolved)])


def _beside_lines(tree: CallTree, with_unresolved: bool) -> Iterator[str]:
    """What is no sure call: calls on something unknown, references, calls of libraries."""
    for it in tree.possible if not with_unresolved else ():
        yield f"{_INDENT}{_end_name(it.caller)}  {it.record.path}:{it.site.line}  [possible: {it.how}]"
    if tree.more_possible and not with_unresolved:
        yield f"{_INDENT}… {tree.more_possible:,} more possible callers (--unresolved lists them)"
    if tree.references:
        yield f"{_INDENT}references, not calls:"
    for it in tree.references[:_MOST_LISTED]:
        far = _far(it, tree.query.direction)
        yield f"{_INDENT * 2}{_end_name(far)}  {it.record.path}:{it.site.line}  [{it.how}]"
    if len(tree.references) > _MOST_LISTED:
        yield f"{_INDENT * 2}… {len(tree.references) - _MOST_LISTED:,} more (--json lists them)"
    if tree.external:
        yield f"{_INDENT}external: {_external_text(tree)}"


def _external_text(tree: CallTree) -> str:
    names = list(dict.fromkeys(it.name for it in tree.external))
    more = f" and {len(names) - _MOST_LISTED:,} more" if len(names) > _MOST_LISTED else ""
    return ", ".join(names[:_MOST_LISTED]) + more


def _end_name(it: Definition | None) -> str:
    return full_name(it) if it else "(top of the file)"


def impact_text(impact: Impact) -> str:
    lines: list[str] = []
    for it in impact.touched:
        lines.append(f"{full_name(it.definition)}  {place(it.definition)}")
        for node in it.callers.nodes:
            lines += _node_lines(node, "up", 1)
        if cut := _cut_text(it.callers.cut, it.callers.more, "up", _OPTIONS):
            lines.append(f"{_INDENT}… {cut}")
        lines += _beside_lines(it.callers, with_unresolved=False)
    lines += [f"{path}: no definition is touched" for path in impact.beside]
    lines += [f"{path}: not among the indexed files" for path in impact.unknown]
    return "\n".join(lines)


def full_name(it: Definition) -> str:
    return ".".join((*it.trail, it.symbol.name))


def place(it: Definition) -> str:
    return f"{it.record.path}:{it.symbol.start_line}"


_SITES = "more calls of this name than are looked at; name the class, or narrow with {paths}"
_TIME = "there was no time to look at all; ask again, name the class, or narrow with {paths}"
_OPTIONS = {"width": "--width", "nodes": "--nodes", "depth": "--depth", "paths": "--path"}
_PARAMETERS = {
    "width": "raise `width`", "nodes": "raise `nodes`", "depth": "raise `depth`", "paths": "`paths`",
    "room": "raise `nodes` or narrow with `paths`",
}  # fmt: skip


def _cut_text(cut: str, more: int, direction: str, remedies: Mapping[str, str]) -> str:
    """What was left out at a node, how much, and what shows it; empty if nothing was."""
    if cut in ("sites", "time"):
        return (_SITES if cut == "sites" else _TIME).format(paths=remedies["paths"])
    if cut not in ("width", "nodes", "room"):
        return ""
    count = f"{more:,}{' or' if more >= COUNTED else ''} " if more > 1 else ""
    return f"{count}more {'callers' if direction == 'up' else 'callees'} ({remedies[cut]})"


def _node_lines(node: Node, direction: str, depth: int) -> Iterator[str]:
    edge = node.edge
    far = edge.caller if direction == "up" else edge.callee
    name = full_name(far) if far else "(top of the file)"
    unsure = "" if edge.confidence == "exact" else f"  [{edge.confidence}: {edge.how}]"
    spot = f"{edge.record.path}:{edge.site.line}" if direction == "up" or far is None else place(far)
    yield f"{_INDENT * depth}{name}  {spot}{unsure}{'  (calls itself again)' if node.cut == 'cycle' else ''}"
    for it in node.branches:
        yield from _node_lines(it, direction, depth + 1)
    if cut := _cut_text(node.cut, node.more, direction, _OPTIONS):
        yield f"{_INDENT * (depth + 1)}… {cut}"


def _remarks(tree: CallTree, with_unresolved: bool) -> Iterator[str]:
    if len(tree.owners) > 1 and not tree.query.owner and tree.query.at is None:
        yield f"{len(tree.owners)} definitions; pick one with --in: {_listed(tree.owners)}"
    if tree.unresolved and not with_unresolved:
        yield f"{len(tree.unresolved):,} calls could not be told (--unresolved lists them)"
    for it in tree.unresolved if with_unresolved else ():
        yield f"? {it.record.path}:{it.site.line}  {it.site.callee}  [{it.how}]"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_MOST_LISTED]) + (" …" if len(names) > _MOST_LISTED else "")


# --- for the tools ---


def tree_reply(tree: CallTree, *, with_unresolved: bool, scale: float) -> Reply:
    """The tree without its far ends, level by level, as far as it does not fit `scale` times the default budget."""
    shown = list(_by_level(tree.nodes))

    def make(level: int) -> Reply:
        shape = _tree_shape(tree, {id(it) for it in shown[:level]}, with_unresolved)
        return Reply(shape, shape_text(shape))

    return fit(make, len(shown), int(scale * room_of(DEFAULT_TOKENS)))


def _by_level(nodes: Sequence[Node]) -> Iterator[Node]:
    while nodes:
        yield from nodes
        nodes = [branch for node in nodes for branch in node.branches]


def _tree_shape(tree: CallTree, shown: set[int], with_unresolved: bool) -> Shape:
    direction = tree.query.direction
    branches, more = _branches_shape(tree.nodes, tree.cut, tree.more, direction, shown)
    unresolved = [_unresolved_text(it) for it in tree.unresolved] if with_unresolved else []
    shape = {
        "definitions": [
            {"name": full_name(it), "path": it.record.path, "line": it.symbol.start_line}
            for it in tree.roots[:_MOST_LISTED]
        ],
        "callers" if direction == "up" else "callees": branches,
        "more": more,
        "possible": [] if with_unresolved else [_beside_shape(it, it.caller) for it in tree.possible],
        "references": [_beside_shape(it, _far(it, direction)) for it in tree.references[:_MOST_BESIDE]],
        "external": _external_text(tree) if tree.external else "",
        "unresolved": unresolved[: max(len(shown), 1)],
        "notes": [*_tree_notes(tree, with_unresolved, len(shown)), *filter(None, [pending_text(tree.seen)])],
    }
    return without_empty(shape)


def _beside_shape(edge: Edge, far: Definition | None) -> Shape:
    return {"name": _end_name(far), "path": edge.record.path, "line": edge.site.line, "how": edge.how}


def _branches_shape(
    nodes: Sequence[Node], cut: str, more: int, direction: str, shown: set[int]
) -> tuple[list[Shape], str]:
    """The nodes that are shown, and what is said of the others."""
    branches = [_node_shape(it, direction, shown) for it in nodes if id(it) in shown]
    hidden = len(nodes) - len(branches)
    return branches, _cut_text("room" if hidden else cut, more + hidden, direction, _PARAMETERS)


def _node_shape(node: Node, direction: str, shown: set[int]) -> Shape:
    edge = node.edge
    far = edge.caller if direction == "up" else edge.callee
    at_site = direction == "up" or far is None
    branches, more = _branches_shape(node.branches, node.cut, node.more, direction, shown)
    shape = {
        "name": full_name(far) if far else "(top of the file)",
        "path": edge.record.path if at_site or far is None else far.record.path,
        "line": edge.site.line if at_site or far is None else far.symbol.start_line,
        "confidence": "" if edge.confidence == "exact" else f"{edge.confidence}: {edge.how}",
        "cycle": node.cut == "cycle",
        "callers" if direction == "up" else "callees": branches,
        "more": more,
    }
    return without_empty(shape)


def _tree_notes(tree: CallTree, with_unresolved: bool, shown: int) -> Iterator[str]:
    if tree.more_possible and not with_unresolved:
        yield f"{tree.more_possible:,} more possible callers (`unresolved` lists them)"
    if len(tree.references) > _MOST_BESIDE:
        yield f"{len(tree.references) - _MOST_BESIDE:,} more references"
    if len(tree.roots) > _MOST_LISTED:
        yield f"{len(tree.roots) - _MOST_LISTED:,} more definitions of this name"
    if len(tree.owners) > 1 and not tree.query.owner and tree.query.at is None:
        yield f"{len(tree.owners):,} classes define it; pick one as `Class.name`: {_listed(tree.owners)}"
    if any(it.cut == "depth" for it in _by_level(tree.nodes)):
        yield f"{tree.query.depth} levels shown (raise `depth` for more)"
    hidden = len(tree.unresolved) - (shown if with_unresolved else 0)
    if tree.unresolved and not with_unresolved:
        yield f"{hidden:,} unresolved calls (`unresolved` lists them)"
    elif hidden > 0:
        yield f"{hidden:,} more unresolved calls (raise `nodes` or narrow with `paths`)"


def _unresolved_text(edge: Edge) -> str:
    return f"{edge.record.path}:{edge.site.line}  {edge.site.callee}  [{edge.how}]"


def shape_text(shape: Shape) -> str:
    """Indented by depth, each line a place one can go to."""
    lines = [f"{it['name']}  {it['path']}:{it['line']}" for it in shape.get("definitions", ())]
    beside: list[str] = []
    for key, label in (("possible", "possible: "), ("references", "reference: ")):
        ends = shape.get(key, ())
        beside += [f"{_INDENT}{it['name']}  {it['path']}:{it['line']}  [{label}{it['how']}]" for it in ends]
    beside += [f"{_INDENT}external: {shape['external']}"] if "external" in shape else []
    lines += [
        *_shape_lines(shape, 1),
        *beside,
        *(f"? {it}" for it in shape.get("unresolved", ())),
        *shape.get("notes", ()),
    ]
    return "\n".join(map(one_line, lines)) + "\n"


def _shape_lines(shape: Shape, depth: int) -> Iterator[str]:
    for it in (*shape.get("callers", ()), *shape.get("callees", ())):
        unsure = f"  [{it['confidence']}]" if "confidence" in it else ""
        again = "  (calls itself again)" if "cycle" in it else ""
        yield f"{_INDENT * depth}{it['name']}  {it['path']}:{it['line']}{unsure}{again}"
        yield from _shape_lines(it, depth + 1)
    if "more" in shape:
        yield f"{_INDENT * depth}… {shape['more']}"
