"""Answers about code as text and JSON: symbols, call trees, why, related items."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated

from dowse.errors import BadInput
from dowse.lookup.find import ContentAnswer, NameAnswer, NameEntry
from dowse.lookup.symbols import DefinitionBody, SymbolAnswer, SymbolAudit
from dowse.model import BREADCRUMB_SEPARATOR
from dowse.store.types import Definition
from dowse.text.untrusted import number_lines, to_one_line
from dowse.tools.core_render import ReplyShape, budget_chars, drop_empty, fit_reply, instruction_warning
from dowse.tools.tool import MAX_LIST_ITEMS, Param, ToolReply, optional_pending_json

_SIGNATURE_CHARS = 200
_MAX_BASES = 5
_BODY_LINES = (3, 5, 8, 12, 20, 40, 80, 160, 320, 640, 100_000)


def definition_json(definition: Definition, body: DefinitionBody | None = None) -> dict[str, object]:
    symbol, record = definition.symbol, definition.record
    data: dict[str, object] = {
        "name": symbol.name,
        "kind": symbol.kind,
        "collection": record.collection,
        "path": record.path,
        "start_line": symbol.start_line,
        "end_line": symbol.end_line,
        "trail": list(definition.trail),
        "signature": symbol.signature,
        "modifiers": list(symbol.modifiers),
        "attributes": list(symbol.attributes),
        "bases": list(symbol.bases),
        "stats": None if symbol.stats is None else symbol.stats._asdict(),
    }
    if definition.note:
        data["note"] = definition.note
    return data if body is None else {**data, "body": body_json(body)}


def body_json(body: DefinitionBody) -> dict[str, object]:
    return {
        "start_line": body.start_line,
        "lines": list(body.lines),
        "truncated": body.truncated,
        "changed": body.changed,
        "omitted": body.omitted,
        "problem": body.problem,
    }


def symbols_json(answer: SymbolAnswer, bodies: Sequence[DefinitionBody] = ()) -> dict[str, object]:
    shown: Sequence[DefinitionBody | None] = bodies or [None] * len(answer.definitions)
    return {
        "count": len(answer.definitions),
        "total": answer.total,
        "before_stats": answer.before_stats,
        "index_files": answer.index_files,
        "index_definitions": answer.index_definitions,
        "definitions": [definition_json(it, body) for it, body in zip(answer.definitions, shown, strict=True)],
        **optional_pending_json(answer.disk_freshness),
    }


def audit_json(audit: SymbolAudit) -> dict[str, object]:
    return {
        "files": audit.files,
        "with_definitions": audit.with_definitions,
        "unreadable": audit.unreadable,
        "lossy": audit.lossy,
        "unexplained": len(audit.unexplained),
        "files_without_definitions": [
            {"collection": it.collection, "path": it.path, "size": it.size, "reason": it.reason}
            for it in audit.files_without_definitions
        ],
    }


def names_json(answer: NameAnswer) -> dict[str, object]:
    return {
        "count": len(answer.entries),
        "total": answer.total,
        "scanned": answer.scanned,
        "names": [_entry_json(it) for it in answer.entries],
        **optional_pending_json(answer.disk_freshness),
    }


def contents_json(answer: ContentAnswer) -> dict[str, object]:
    files = [
        {**_entry_json(entry), "matches": [{"line": it.line, "text": it.text} for it in matches]}
        for entry, matches in answer.files
    ]
    return {
        "count": len(files),
        "total": answer.total_files,
        "total_lines": answer.total_lines,
        "scanned": answer.scanned,
        "unreadable": answer.unreadable,
        "cut": answer.cut,
        "files": files,
    }


def _entry_json(entry: NameEntry) -> dict[str, object]:
    return {
        "collection": entry.collection,
        "path": entry.path,
        "size": entry.size,
        "directory": entry.is_directory,
    }


def definition_text(definition: Definition, *, with_stats: bool = False) -> str:
    """Format a definition on one line: location, kind, qualified name, signature."""
    symbol = definition.symbol
    location = f"{definition.record.path}:{symbol.start_line}-{symbol.end_line}"
    name = BREADCRUMB_SEPARATOR.join((*definition.trail, symbol.name))
    stats = f"  [{stats_text(definition)}]" if with_stats else ""
    signature = f"  {symbol.signature}" if symbol.signature else ""
    note = f"  [{definition.note}]" if definition.note else ""
    return f"{location}  {symbol.kind} {name}{signature}{stats}{note}"


def stats_text(definition: Definition) -> str:
    symbol = definition.symbol
    lines = f"lines {symbol.end_line - symbol.start_line + 1}"
    stats = symbol.stats._asdict() if symbol.stats else {}
    return ", ".join([lines, *(f"{name} {value}" for name, value in stats.items())])


def body_text(body: DefinitionBody) -> list[str]:
    """Format the body with line numbers, below its notes."""
    if body.omitted:
        return ["    … body left out (line limit reached)", ""]
    notes = ["    (as indexed; the file has changed since, run `dowse index`)"] if body.changed else []
    notes += [f"    ({body.problem})"] if body.problem else []
    shown = [f"{number:>6}  {line}" for number, line in enumerate(body.lines, body.start_line)]
    return [*notes, *shown, *(["     …"] if body.truncated else []), ""]


# --- for the tools ---


def symbols_reply(answer: SymbolAnswer, bodies: Sequence[DefinitionBody], state: str, budget_tokens: int) -> ToolReply:
    """Return every definition. If they do not fit, shorten the bodies, then show fewer definitions; the total counts
    all."""
    count = len(answer.definitions)
    levels = [(shown, _BODY_LINES[0]) for shown in range(min(count, 1), count + 1)]
    levels += [(count, lines) for lines in _BODY_LINES[1:]] if bodies else []

    def make(level: int) -> ToolReply:
        shown, lines = levels[level]
        more = answer.total - shown
        rows = [_definition_shape(it) for it in answer.definitions[:shown]]
        for row, body in zip(rows, bodies, strict=False):
            row |= _body_shape(body, row, lines)
            if "body" in row:  # it starts with the signature
                row.pop("signature", None)
        shape = {
            "total": answer.total,
            "definitions": rows,
            "more": f"{more:,} more definitions ({_MORE_DEFINITIONS_HINT})" if more else "",
            "index": state,
        }
        shape = {"total": 0, "definitions": [], **drop_empty(shape)}
        return ToolReply(shape, symbols_text(shape))

    return fit_reply(make, len(levels) - 1, budget_chars(budget_tokens))


_MORE_DEFINITIONS_HINT = "raise `limit` or `budget_tokens`, or narrow with `paths` or `kinds`"


def _definition_shape(definition: Definition) -> ReplyShape:
    symbol = definition.symbol
    signature = " ".join(symbol.signature.split())
    shown = signature if len(signature) <= _SIGNATURE_CHARS else f"{signature[:_SIGNATURE_CHARS]}…"
    bases = [*symbol.bases[:_MAX_BASES], *(["…"] if len(symbol.bases) > _MAX_BASES else [])]
    shape = {
        "name": symbol.name,
        "in": BREADCRUMB_SEPARATOR.join(definition.trail),
        "kind": symbol.kind,
        "path": definition.record.path,
        "start_line": symbol.start_line,
        "end_line": symbol.end_line,
        "signature": shown,
        "bases": [it for it in bases if it not in shown],
        "note": definition.note,
        "warning": instruction_warning(signature),
    }
    return drop_empty(shape)


def _body_shape(body: DefinitionBody, row: ReplyShape, max_lines: int) -> ReplyShape:
    lines = body.lines[:max_lines]
    hidden = (
        row["end_line"] - row["start_line"] + 1 - len(lines) if body.truncated or len(body.lines) > len(lines) else 0
    )
    shape = {
        "body": "\n".join(lines),
        "body_more_lines": max(hidden, 0),
        "body_note": body.problem or ("as indexed; the file has changed since" if body.changed else ""),
        "warning": instruction_warning("\n".join(lines)),
    }
    return {key: value for key, value in shape.items() if value}


def symbols_text(shape: ReplyShape) -> str:
    total = shape["total"]
    lines = [f"{total:,} definition{'' if total == 1 else 's'}", *([shape["index"]] if "index" in shape else [])]
    for definition in shape["definitions"]:
        lines += _definition_lines(definition)
    return "\n".join([*lines, *([shape["more"]] if "more" in shape else [])]) + "\n"


def _definition_lines(shape: ReplyShape) -> Iterator[str]:
    name = BREADCRUMB_SEPARATOR.join(filter(None, (shape.get("in", ""), shape["name"])))
    bases = f"  ({', '.join(shape['bases'])})" if "bases" in shape else ""
    location = f"{shape['path']}:{shape['start_line']}-{shape['end_line']}"
    yield to_one_line(f"{location}  {shape['kind']} {name}  {shape.get('signature', '')}".rstrip() + bases)
    yield from (f"   ! {to_one_line(shape[key])}" for key in ("note", "body_note", "warning") if key in shape)
    if "body" in shape:
        yield from number_lines(shape["body"].split("\n"), shape["start_line"])
    if "body_more_lines" in shape:
        first = shape["end_line"] + 1 - shape["body_more_lines"]
        yield f"   … {shape['body_more_lines']:,} more lines (fetch the path with start_line={first})"


# --------------------------------------------------------------------------------------------------
# Arguments of the code search contract: comma lists, choices, path filters.

PathCondition = Callable[[str], bool]

MAX_INT32 = 2**31 - 1

DirArg = Annotated[str, Param("Directory at or below the server's; default: the server's")]
ExtArg = Annotated[str, Param("Only files with these extensions, comma-separated: cs,sql")]
ExcludeDirArg = Annotated[Sequence[str], Param("Exclude files whose full path contains any of these; case is ignored")]
ExcludeArg = Annotated[Sequence[str], Param("Same as excludeDir")]
CountOnlyArg = Annotated[bool, Param("Return only the summary, no rows")]
MaxResultsArg = Annotated[int, Param("Maximum number of rows (0 = no limit)", ge=0, le=MAX_INT32)]


def split_commas(text: str) -> tuple[str, ...]:
    """Split at commas, strip the parts and drop empty ones."""
    parts = tuple(part for it in text.split(",") if (part := it.strip()))
    if len(parts) > MAX_LIST_ITEMS:
        raise BadInput(
            f"at most {MAX_LIST_ITEMS:,} comma-separated parts, not {len(parts):,}; split them into several calls"
        )
    return parts


def parse_choice(name: str, value: str, choices: Sequence[str]) -> str:
    """Return the choice that the value names, ignoring case."""
    choice = {it.lower(): it for it in choices}.get(value.strip().lower())
    if choice is None:
        raise BadInput(f"Invalid {name}: '{value[:100]}'. Valid values: {', '.join(choices)}")
    return choice


def comparable_path(path: str) -> str:
    """Normalize a path for comparison: lower case, with `/`."""
    return path.replace("\\", "/").lower()


def extension_condition(extensions: Sequence[str]) -> PathCondition | None:
    """Return a filter for paths with one of the extensions; None if there are none."""
    endings = tuple("." + it.lower().lstrip(".") for it in extensions)
    return (lambda path: path.lower().endswith(endings)) if endings else None
