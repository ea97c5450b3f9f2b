"""Call trees, why answers and related items as text and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from dowse.callgraph.facts import CallEdge, CallNode, CallTree
from dowse.callgraph.graph import Impact
from dowse.lookup.related import RelatedAnswer, RelatedGroup
from dowse.lookup.why_budget import abbreviate
from dowse.lookup.why_target import RelatedItem, SourceExcerpt, Target, WhyAnswer, WhySection
from dowse.model import Completeness, Record
from dowse.store.types import Definition
from dowse.text.times import format_iso
from dowse.text.untrusted import number_lines, to_one_line
from dowse.tools.core_render import (
    DEFAULT_REPLY_TOKENS,
    ReplyShape,
    budget_chars,
    drop_empty,
    fit_reply,
    instruction_warning,
)
from dowse.tools.tool import ToolReply, optional_pending_json, pending_text

_INDENT = "  "
_MAX_LISTED = 10  # definitions and classes of one name
_MAX_REFERENCES = 5  # in a tool's answer
MAX_COUNTED_CALLERS = 1_000
"""Maximum number of callers counted at a node beyond those shown."""


# --- JSON ---


def tree_json(tree: CallTree) -> dict[str, object]:
    query = tree.query
    return {
        "name": query.name,
        "owner": query.owner,
        "direction": query.direction,
        "depth": query.depth,
        "roots": [_definition_ref_json(it) for it in tree.roots],
        "owners": list(tree.owners),
        "nodes": [_node_json(it, query.direction) for it in tree.nodes],
        "references": [_edge_json(it, _endpoint(it, query.direction)) for it in tree.references],
        "possible": [_edge_json(it, it.caller) for it in tree.possible],
        "more_possible": tree.more_possible,
        "external": [{"name": it.name, "path": it.record.path, "lines": list(it.lines)} for it in tree.external],
        "unresolved": [_edge_json(it, None) for it in tree.unresolved],
        "total": tree.total,
        "truncated": tree.truncated,
        "cut": tree.cut,
        **optional_pending_json(tree.disk_freshness),
    }


def impact_json(impact: Impact) -> dict[str, object]:
    return {
        "touched": [
            {
                "definition": _definition_ref_json(it.definition),
                "callers": [_node_json(node, "up") for node in it.callers.nodes],
                "references": [_edge_json(edge, edge.caller) for edge in it.callers.references],
                "possible": [_edge_json(edge, edge.caller) for edge in it.callers.possible],
                "more_possible": it.callers.more_possible,
                "truncated": it.callers.truncated,
            }
            for it in impact.touched
        ],
        "files_without_definitions": list(impact.files_without_definitions),
        "files_not_indexed": list(impact.files_not_indexed),
        **optional_pending_json(impact.disk_freshness),
    }


def _definition_ref_json(it: Definition) -> dict[str, object]:
    return {
        "name": it.symbol.name,
        "owner": ".".join(it.trail),
        "kind": it.symbol.kind,
        "collection": it.record.collection,
        "path": it.record.path,
        "start_line": it.symbol.start_line,
        "end_line": it.symbol.end_line,
    }


def _node_json(node: CallNode, direction: str) -> dict[str, object]:
    edge = node.edge
    endpoint = _endpoint(edge, direction)
    return {
        **_edge_json(edge, endpoint),
        "branches": [_node_json(it, direction) for it in node.branches],
        "cut": node.cut,
    }


def _endpoint(edge: CallEdge, direction: str) -> Definition | None:
    return edge.caller if direction == "up" else edge.callee


def _edge_json(edge: CallEdge, endpoint: Definition | None) -> dict[str, object]:
    return {
        "definition": _definition_ref_json(endpoint) if endpoint else None,
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
    """Format the tree, indented by depth, with a location on each line."""
    lines = [f"{qualified_name(it)}  {definition_location(it)}" for it in tree.roots]
    for node in tree.nodes:
        lines += _node_lines(node, tree.query.direction, 1)
    if cut_note := _cut_text(tree.cut, tree.more, tree.query.direction, _OPTION_REMEDIES):
        lines.append(f"{_INDENT}… {cut_note}")
    lines += _uncertain_lines(tree, with_unresolved)
    return "\n".join([*lines, *_tree_remarks(tree, with_unresolved)])


def _uncertain_lines(tree: CallTree, with_unresolved: bool) -> Iterator[str]:
    """Yield the uncertain edges: calls on unknown receivers, references, calls into libraries."""
    for edge in tree.possible if not with_unresolved else ():
        yield f"{_INDENT}{_endpoint_name(edge.caller)}  {edge.record.path}:{edge.site.line}  [possible: {edge.how}]"
    if tree.more_possible and not with_unresolved:
        yield f"{_INDENT}… {tree.more_possible:,} more possible callers (--unresolved lists them)"
    if tree.references:
        yield f"{_INDENT}references, not calls:"
    for edge in tree.references[:_MAX_LISTED]:
        endpoint = _endpoint(edge, tree.query.direction)
        yield f"{_INDENT * 2}{_endpoint_name(endpoint)}  {edge.record.path}:{edge.site.line}  [{edge.how}]"
    if len(tree.references) > _MAX_LISTED:
        yield f"{_INDENT * 2}… {len(tree.references) - _MAX_LISTED:,} more (--json lists them)"
    if tree.external:
        yield f"{_INDENT}external: {_external_text(tree)}"


def _external_text(tree: CallTree) -> str:
    names = list(dict.fromkeys(it.name for it in tree.external))
    more = f" and {len(names) - _MAX_LISTED:,} more" if len(names) > _MAX_LISTED else ""
    return ", ".join(names[:_MAX_LISTED]) + more


def _endpoint_name(it: Definition | None) -> str:
    return qualified_name(it) if it else "(top level)"


def impact_text(impact: Impact) -> str:
    lines: list[str] = []
    for touched in impact.touched:
        lines.append(f"{qualified_name(touched.definition)}  {definition_location(touched.definition)}")
        for node in touched.callers.nodes:
            lines += _node_lines(node, "up", 1)
        if cut := _cut_text(touched.callers.cut, touched.callers.more, "up", _OPTION_REMEDIES):
            lines.append(f"{_INDENT}… {cut}")
        lines += _uncertain_lines(touched.callers, with_unresolved=False)
    lines += [f"{path}: no definition touched" for path in impact.files_without_definitions]
    lines += [f"{path}: not indexed" for path in impact.files_not_indexed]
    return "\n".join(lines)


def qualified_name(it: Definition) -> str:
    return ".".join((*it.trail, it.symbol.name))


def definition_location(it: Definition) -> str:
    return f"{it.record.path}:{it.symbol.start_line}"


_TOO_MANY_SITES = "too many calls of this name to check them all; name the class or narrow with {paths}"
_TIMED_OUT = "time limit reached; ask again, name the class or narrow with {paths}"
_OPTION_REMEDIES = {"width": "--width", "nodes": "--nodes", "depth": "--depth", "paths": "--path"}
_PARAMETER_REMEDIES = {
    "width": "raise `width`", "nodes": "raise `nodes`", "depth": "raise `depth`", "paths": "`paths`",
    "room": "raise `nodes` or narrow with `paths`",
}  # fmt: skip


def _cut_text(cut: str, more: int, direction: str, remedies: Mapping[str, str]) -> str:
    """Say what was left out at a node, how much, and how to see it; empty if nothing was."""
    if cut in ("sites", "time"):
        return (_TOO_MANY_SITES if cut == "sites" else _TIMED_OUT).format(paths=remedies["paths"])
    if cut not in ("width", "nodes", "room"):
        return ""
    count = f"{more:,}{' or' if more >= MAX_COUNTED_CALLERS else ''} " if more > 1 else ""
    return f"{count}more {'callers' if direction == 'up' else 'callees'} ({remedies[cut]})"


def _node_lines(node: CallNode, direction: str, depth: int) -> Iterator[str]:
    edge = node.edge
    endpoint = edge.caller if direction == "up" else edge.callee
    name = qualified_name(endpoint) if endpoint else "(top level)"
    confidence = "" if edge.confidence == "exact" else f"  [{edge.confidence}: {edge.how}]"
    location = (
        f"{edge.record.path}:{edge.site.line}"
        if direction == "up" or endpoint is None
        else definition_location(endpoint)
    )
    yield f"{_INDENT * depth}{name}  {location}{confidence}{'  (recursive)' if node.cut == 'cycle' else ''}"
    for branch in node.branches:
        yield from _node_lines(branch, direction, depth + 1)
    if cut := _cut_text(node.cut, node.more, direction, _OPTION_REMEDIES):
        yield f"{_INDENT * (depth + 1)}… {cut}"


def _tree_remarks(tree: CallTree, with_unresolved: bool) -> Iterator[str]:
    if len(tree.owners) > 1 and not tree.query.owner and tree.query.at is None:
        yield f"{len(tree.owners)} definitions; pick one with --in: {_join_names(tree.owners)}"
    if tree.unresolved and not with_unresolved:
        yield f"{len(tree.unresolved):,} unresolved calls (--unresolved lists them)"
    for edge in tree.unresolved if with_unresolved else ():
        yield f"? {edge.record.path}:{edge.site.line}  {edge.site.callee}  [{edge.how}]"


def _join_names(names: Sequence[str]) -> str:
    return ", ".join(names[:_MAX_LISTED]) + (" …" if len(names) > _MAX_LISTED else "")


# --- for the tools ---


def tree_reply(tree: CallTree, *, with_unresolved: bool, scale: float) -> ToolReply:
    """Return the tree, without its deepest levels where it does not fit `scale` times the default budget."""
    shown = list(_by_level(tree.nodes))

    def make(level: int) -> ToolReply:
        shape = _tree_shape(tree, {id(it) for it in shown[:level]}, with_unresolved)
        return ToolReply(shape, tree_shape_text(shape))

    return fit_reply(make, len(shown), int(scale * budget_chars(DEFAULT_REPLY_TOKENS)))


def _by_level(nodes: Sequence[CallNode]) -> Iterator[CallNode]:
    while nodes:
        yield from nodes
        nodes = [branch for node in nodes for branch in node.branches]


def _tree_shape(tree: CallTree, shown: set[int], with_unresolved: bool) -> ReplyShape:
    direction = tree.query.direction
    branches, more = _branches_shape(tree.nodes, tree.cut, tree.more, direction, shown)
    unresolved = [_unresolved_text(it) for it in tree.unresolved] if with_unresolved else []
    shape = {
        "definitions": [
            {"name": qualified_name(it), "path": it.record.path, "line": it.symbol.start_line}
            for it in tree.roots[:_MAX_LISTED]
        ],
        "callers" if direction == "up" else "callees": branches,
        "more": more,
        "possible": [] if with_unresolved else [_uncertain_shape(it, it.caller) for it in tree.possible],
        "references": [_uncertain_shape(it, _endpoint(it, direction)) for it in tree.references[:_MAX_REFERENCES]],
        "external": _external_text(tree) if tree.external else "",
        "unresolved": unresolved[: max(len(shown), 1)],
        "notes": [*_tree_notes(tree, with_unresolved, len(shown)), *filter(None, [pending_text(tree.disk_freshness)])],
    }
    return drop_empty(shape)


def _uncertain_shape(edge: CallEdge, endpoint: Definition | None) -> ReplyShape:
    return {"name": _endpoint_name(endpoint), "path": edge.record.path, "line": edge.site.line, "how": edge.how}


def _branches_shape(
    nodes: Sequence[CallNode], cut: str, more: int, direction: str, shown: set[int]
) -> tuple[list[ReplyShape], str]:
    """Return the shown nodes, and a text about the others."""
    branches = [_node_shape(it, direction, shown) for it in nodes if id(it) in shown]
    hidden = len(nodes) - len(branches)
    return branches, _cut_text("room" if hidden else cut, more + hidden, direction, _PARAMETER_REMEDIES)


def _node_shape(node: CallNode, direction: str, shown: set[int]) -> ReplyShape:
    edge = node.edge
    endpoint = edge.caller if direction == "up" else edge.callee
    at_site = direction == "up" or endpoint is None
    branches, more = _branches_shape(node.branches, node.cut, node.more, direction, shown)
    shape = {
        "name": qualified_name(endpoint) if endpoint else "(top level)",
        "path": edge.record.path if at_site or endpoint is None else endpoint.record.path,
        "line": edge.site.line if at_site or endpoint is None else endpoint.symbol.start_line,
        "confidence": "" if edge.confidence == "exact" else f"{edge.confidence}: {edge.how}",
        "cycle": node.cut == "cycle",
        "callers" if direction == "up" else "callees": branches,
        "more": more,
    }
    return drop_empty(shape)


def _tree_notes(tree: CallTree, with_unresolved: bool, shown: int) -> Iterator[str]:
    if tree.more_possible and not with_unresolved:
        yield f"{tree.more_possible:,} more possible callers (`unresolved` lists them)"
    if len(tree.references) > _MAX_REFERENCES:
        yield f"{len(tree.references) - _MAX_REFERENCES:,} more references"
    if len(tree.roots) > _MAX_LISTED:
        yield f"{len(tree.roots) - _MAX_LISTED:,} more definitions of this name"
    if len(tree.owners) > 1 and not tree.query.owner and tree.query.at is None:
        yield f"{len(tree.owners):,} classes define it; pick one as `Class.name`: {_join_names(tree.owners)}"
    if any(it.cut == "depth" for it in _by_level(tree.nodes)):
        yield f"{tree.query.depth} levels shown (raise `depth` for more)"
    hidden = len(tree.unresolved) - (shown if with_unresolved else 0)
    if tree.unresolved and not with_unresolved:
        yield f"{hidden:,} unresolved calls (`unresolved` lists them)"
    elif hidden > 0:
        yield f"{hidden:,} more unresolved calls (raise `nodes` or narrow with `paths`)"


def _unresolved_text(edge: CallEdge) -> str:
    return f"{edge.record.path}:{edge.site.line}  {edge.site.callee}  [{edge.how}]"


def tree_shape_text(shape: ReplyShape) -> str:
    """Format the shape, indented by depth, with a location on each line."""
    lines = [f"{it['name']}  {it['path']}:{it['line']}" for it in shape.get("definitions", ())]
    uncertain: list[str] = []
    for key, label in (("possible", "possible: "), ("references", "reference: ")):
        ends = shape.get(key, ())
        uncertain += [f"{_INDENT}{it['name']}  {it['path']}:{it['line']}  [{label}{it['how']}]" for it in ends]
    uncertain += [f"{_INDENT}external: {shape['external']}"] if "external" in shape else []
    lines += [
        *_tree_shape_lines(shape, 1),
        *uncertain,
        *(f"? {it}" for it in shape.get("unresolved", ())),
        *shape.get("notes", ()),
    ]
    return "\n".join(map(to_one_line, lines)) + "\n"


def _tree_shape_lines(shape: ReplyShape, depth: int) -> Iterator[str]:
    for row in (*shape.get("callers", ()), *shape.get("callees", ())):
        confidence = f"  [{row['confidence']}]" if "confidence" in row else ""
        recursive = "  (recursive)" if "cycle" in row else ""
        yield f"{_INDENT * depth}{row['name']}  {row['path']}:{row['line']}{confidence}{recursive}"
        yield from _tree_shape_lines(row, depth + 1)
    if "more" in shape:
        yield f"{_INDENT * depth}… {shape['more']}"


# --------------------------------------------------------------------------------------------------
# JSON and text of a target and its related items, shared by `why` and `related`.

_HASH_CHARS = 12
_NS_PER_SECOND = 1_000_000_000
_COMMIT, _MEMORY = "commit", "memory"


# --- JSON, without empty values ---


def target_json(subject: Target) -> dict[str, object]:
    record, definition = subject.record, subject.definition
    data: dict[str, object] = {"name": subject.name}
    if record is None:
        return {**data, "kind": "", "indexed": False}
    kind = definition.symbol.kind if definition else record.kind
    data |= {"kind": kind, "collection": record.collection, "path": record.path}
    if subject.first_line:
        data |= {"start_line": subject.first_line, "end_line": subject.last_line}
    if definition and definition.symbol.signature:
        data["signature"] = abbreviate(definition.symbol.signature)
    return data


def related_item_json(item: RelatedItem, collection: str) -> dict[str, object]:
    """Return a related item. `collection` is the target's; only a different one is named."""
    record = item.record
    location: dict[str, object] = (
        {"indexed": False} if record is None else _location_json(record, item.line, collection)
    )
    details = {"confidence": item.confidence, "how": item.how, "text": item.text, "warning": item.warning}
    return {"kind": item.kind, "name": item.name, **location, **{key: value for key, value in details.items() if value}}


def _location_json(record: Record, line: int, collection: str) -> dict[str, object]:
    if record.kind == _COMMIT:
        return {"commit": record.path[:_HASH_CHARS], "at": commit_date(record), "author": author_name(record)}
    data: dict[str, object] = {"path": record.path}
    if line:
        data["line"] = line
    if record.kind == _MEMORY:
        data["type"] = record.facets.get("type", "")
    elif record.collection != collection:
        data["collection"] = record.collection
    return data


def commit_date(record: Record) -> str:
    """Return the date; empty for a time outside the calendar, because commits may carry any timestamp."""
    try:
        return format_iso(record.timestamp_ns / _NS_PER_SECOND)[:10]
    except (ValueError, OverflowError, OSError):
        return ""


def author_name(record: Record) -> str:
    return record.facets.get("author", "").partition(" <")[0]


# --- text: one line each, starting with a location ---


def target_text(subject: Target) -> str:
    return to_one_line(_format_target(subject))


def _format_target(subject: Target) -> str:
    record, definition = subject.record, subject.definition
    if record is None:
        return subject.name
    if record.kind == _COMMIT:
        return f"commit {_commit_text(record)}: {record.title}"
    last = f"-{subject.last_line}" if subject.last_line > subject.first_line else ""
    lines = f":{subject.first_line}{last}" if subject.first_line else ""
    label = f"{subject.name}  {definition.symbol.kind}  " if definition else f"{record.kind}  "
    return f"{label}{record.path}{lines}"


def related_item_text(item: RelatedItem, *, with_kind: bool = True) -> str:
    return to_one_line("  ".join(_item_parts(item, with_kind)))


def _item_parts(item: RelatedItem, with_kind: bool) -> Iterator[str]:
    record = item.record
    line = f":{item.line}" if item.line else ""
    if record is None:
        yield f"{item.name} (not indexed)"
    elif record.kind == _COMMIT:
        yield f"{_commit_text(record)}: {item.name}"
    elif item.name in (abbreviate(record.title), record.path):
        yield f"{record.path}{line}{_type_text(record)}"
    else:
        yield f"{item.name}  {record.path}{line}"
    if item.text:
        yield f'"{item.text}"'
    if reason := ": ".join(filter(None, (_link_label(item, with_kind), item.how))):
        yield f"[{reason}]"
    if item.warning:
        yield f"! {item.warning}"


def _link_label(item: RelatedItem, with_kind: bool) -> str:
    """Return the confidence or the kind of link, unless `how` already says it."""
    if item.confidence:
        return "" if item.confidence == "exact" else item.confidence
    is_explained = item.kind == "names" or (item.record is not None and item.record.kind == _COMMIT)
    return "" if not with_kind or (is_explained and item.how) else item.kind


def _commit_text(record: Record) -> str:
    return " ".join(filter(None, (record.path[:_HASH_CHARS], commit_date(record), author_name(record))))


def _type_text(record: Record) -> str:
    type_ = record.facets.get("type", "") if record.kind == _MEMORY else ""
    return f" ({type_})" if type_ else ""


def candidate_text(subject: Target) -> str:
    return to_one_line(_format_candidate(subject))


def _format_candidate(subject: Target) -> str:
    record = subject.record
    if record is None:
        return subject.name
    if record.kind == _COMMIT:
        return f"{_commit_text(record)}: {record.title}"
    line = f":{subject.first_line}" if subject.first_line else ""
    kind = subject.definition.symbol.kind if subject.definition else record.kind
    return f"{record.path}{line}  {kind} {subject.name}  (collection {record.collection})"


# --------------------------------------------------------------------------------------------------
# Answers of `why` and `related` as JSON and text.

_ARROWS = {"out": "→", "in": "←"}


# --- JSON ---


def why_json(answer: WhyAnswer, completeness: Completeness) -> dict[str, object]:
    collection = _target_collection(answer.subject)
    return {
        "target": answer.target,
        "definition": None
        if answer.subject is None
        else {**target_json(answer.subject), **_source_json(answer.source)},
        **{it.name: [related_item_json(item, collection) for item in it.shown] for it in answer.sections},
        "left_out": {it.name: it.left_out for it in answer.sections if it.left_out},
        **_common_json(answer, answer.notes, completeness),
    }


def related_json(answer: RelatedAnswer, completeness: Completeness) -> dict[str, object]:
    collection = _target_collection(answer.subject)
    return {
        "target": answer.target,
        "subject": None if answer.subject is None else target_json(answer.subject),
        "groups": [
            {
                "kind": it.kind,
                "direction": it.direction,
                "total": it.total,
                "neighbours": [related_item_json(item, collection) for item in it.shown],
            }
            for it in answer.groups
        ],
        **_common_json(answer, _related_notes(answer, completeness), completeness),
    }


def _common_json(
    answer: WhyAnswer | RelatedAnswer, notes: Sequence[str], completeness: Completeness
) -> dict[str, object]:
    """Add candidates and near names only if there are any, because a resolved target has neither."""
    choices: dict[str, object] = {}
    if answer.candidates:
        choices["candidates"] = [target_json(it) for it in answer.candidates]
    if answer.near:
        choices["near"] = list(answer.near)
    return {**choices, "notes": list(notes), "complete": completeness.complete}


def _source_json(source: SourceExcerpt) -> dict[str, object]:
    return {"source": list(source.lines), "source_left_out": source.left_out} if source.lines else {}


def _target_collection(subject: Target | None) -> str:
    return subject.record.collection if subject and subject.record else ""


# --- text ---


def why_text(answer: WhyAnswer) -> str:
    lines = [*_heading_lines(answer), *_source_lines(answer.source)]
    for section in answer.sections:
        lines += _section_lines(section)
    empty = [section.name for section in answer.sections if not section.total]
    if answer.subject and empty:
        lines.append(f"no {', '.join(empty)} found")
    return "\n".join([*lines, *(f"({note})" for note in answer.notes)])


def related_text(answer: RelatedAnswer, completeness: Completeness) -> str:
    lines = [*_heading_lines(answer)]
    for group in answer.groups:
        lines += _group_lines(group)
    return "\n".join([*lines, *(f"({note})" for note in _related_notes(answer, completeness))])


def _related_notes(answer: RelatedAnswer, completeness: Completeness) -> Sequence[str]:
    """Collect the notes on unresolved links, unindexed sources and changed files, each once."""
    return tuple(dict.fromkeys((*answer.notes, *completeness.notes, *answer.disk_freshness.sentences())))


def _heading_lines(answer: WhyAnswer | RelatedAnswer) -> Iterator[str]:
    if answer.subject is not None:
        yield target_text(answer.subject)
    yield from (f"  {candidate_text(it)}" for it in answer.candidates)
    if answer.near:
        yield f"similar names: {', '.join(answer.near)}"


def _source_lines(source: SourceExcerpt) -> Iterator[str]:
    yield from number_lines(source.lines, source.start_line)
    if source.left_out:
        yield f"    … {source.left_out:,} more line{'' if source.left_out == 1 else 's'}"


def _section_lines(section: WhySection) -> Iterator[str]:
    if section.total:
        yield f"{section.name}{_shown_of_total(len(section.shown), section.total)}"
    yield from (f"  {related_item_text(it)}" for it in section.shown)


def _group_lines(group: RelatedGroup) -> Iterator[str]:
    yield f"{_ARROWS[group.direction]} {group.kind}{_shown_of_total(len(group.shown), group.total)}"
    yield from (f"  {related_item_text(it, with_kind=False)}" for it in group.shown)


def _shown_of_total(shown: int, total: int) -> str:
    return "" if shown == total else f" ({shown:,} of {total:,})"


# --- for the tools ---


def why_reply(answer: WhyAnswer, completeness: Completeness, budget_tokens: int) -> ToolReply:
    """Return the answer, which `why` has already fitted to its budget. Added warnings may cost its last rows."""
    sections = tuple(replace(it, shown=_with_warnings(it.shown)) for it in answer.sections)
    warning = instruction_warning("\n".join(answer.source.lines))
    notes = (*answer.notes, *([f"the source {warning}"] if warning else []))
    most = max((len(it.shown) for it in sections), default=0)

    def make(rows: int) -> ToolReply:
        shown = tuple(replace(it, shown=it.shown[:rows]) for it in sections)
        return _build_why_reply(replace(answer, sections=shown, notes=notes), completeness)

    return fit_reply(make, most, budget_chars(budget_tokens))


def _build_why_reply(answer: WhyAnswer, completeness: Completeness) -> ToolReply:
    hidden = [f"{it.left_out:,} {it.name}" for it in answer.sections if it.left_out]
    hint = f"left out: {', '.join(hidden)} (raise `budget_tokens`)" if hidden else ""
    data = why_json(answer, completeness)
    shape = drop_empty({key: it for key, it in data.items() if key not in ("target", "complete", "left_out")})
    if "source" in shape.get("definition", {}):  # it starts with the signature
        shape["definition"].pop("signature", None)
    shape |= {"more": hint} if hint else {}
    return ToolReply({"definition": None, **shape}, "\n".join(filter(None, (why_text(answer), hint))) + "\n")


def related_reply(answer: RelatedAnswer, completeness: Completeness, scale: float) -> ToolReply:
    """Return the groups. If they exceed `scale` times the default budget, show fewer items per group, then fewer
    groups.

    The totals count all.
    """
    groups = tuple(replace(it, shown=_with_warnings(it.shown)) for it in answer.groups)
    most = max((len(it.shown) for it in groups), default=0)
    levels = [(shown, 1) for shown in range(min(len(groups), 1), len(groups) + 1)]
    levels += [(len(groups), rows) for rows in range(2, most + 1)]

    def make(level: int) -> ToolReply:
        count, rows = levels[level]
        shown = tuple(replace(it, shown=it.shown[:rows]) for it in groups[:count])
        return _build_related_reply(replace(answer, groups=shown), completeness, len(groups) - count)

    return fit_reply(make, len(levels) - 1, int(scale * budget_chars(DEFAULT_REPLY_TOKENS)))


def _build_related_reply(answer: RelatedAnswer, completeness: Completeness, hidden: int) -> ToolReply:
    parts = [f"{hidden} more kinds of links"] if hidden else []
    left_out = sum(it.total - len(it.shown) for it in answer.groups)
    parts += [f"{left_out:,} more of the kinds above"] if left_out else []
    hint = f"left out: {', '.join(parts)} (raise `limit` or choose `kinds`)" if parts else ""
    data = related_json(answer, completeness)
    shape = drop_empty({key: it for key, it in data.items() if key not in ("target", "complete")})
    for group in shape.get("groups", ()):
        group["neighbours"] = [_drop_repeats(it) for it in group["neighbours"]]
    shape |= {"more": hint} if hint else {}
    text = "\n".join(filter(None, (related_text(answer, completeness), hint))) + "\n"
    return ToolReply({"groups": [], **shape}, text)


def _drop_repeats(neighbour: ReplyShape) -> ReplyShape:
    """Drop the kind, which the group has, and a name equal to the path."""
    return {
        key: it for key, it in neighbour.items() if key != "kind" and (key != "name" or it != neighbour.get("path"))
    }


def _with_warnings(neighbours: Sequence[RelatedItem]) -> tuple[RelatedItem, ...]:
    return tuple(
        replace(it, warning="; ".join(filter(None, (it.warning, instruction_warning(it.text, it.name)))))
        for it in neighbours
    )
