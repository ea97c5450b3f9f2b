"""Definitions and names as JSON and as text, for the command line and, in a shorter form, for the tools."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dowse.lookup.find import Entry, NameAnswer
from dowse.lookup.find_contents import ContentAnswer
from dowse.lookup.symbols.question import Audit, Body, Definition, SymbolAnswer
from dowse.model import TRAIL_SEPARATOR
from dowse.profiles.core_compact import Shape, fit, flagged, room_of, without_empty
from dowse.profiles.pending import if_pending
from dowse.profiles.tool import Reply
from dowse.text.untrusted import numbered, one_line

_SIGNATURE_CHARS = 200
_MOST_BASES = 5
_BODY_LINES = (3, 5, 8, 12, 20, 40, 80, 160, 320, 640, 100_000)


def definition_json(definition: Definition, body: Body | None = None) -> dict[str, object]:
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


def body_json(body: Body) -> dict[str, object]:
    return {
        "start_line": body.start_line,
        "lines": list(body.lines),
        "truncated": body.truncated,
        "changed": body.changed,
        "omitted": body.omitted,
        "problem": body.problem,
    }


def symbols_json(answer: SymbolAnswer, bodies: Sequence[Body] = ()) -> dict[str, object]:
    shown: Sequence[Body | None] = bodies or [None] * len(answer.definitions)
    return {
        "count": len(answer.definitions),
        "total": answer.total,
        "before_stats": answer.before_stats,
        "index_files": answer.index_files,
        "index_definitions": answer.index_definitions,
        "definitions": [definition_json(it, body) for it, body in zip(answer.definitions, shown, strict=True)],
        **if_pending(answer.seen),
    }


def audit_json(audit: Audit) -> dict[str, object]:
    return {
        "files": audit.files,
        "with_definitions": audit.with_definitions,
        "unreadable": audit.unreadable,
        "lossy": audit.lossy,
        "unexplained": len(audit.unexplained),
        "silent": [
            {"collection": it.collection, "path": it.path, "size": it.size, "reason": it.reason} for it in audit.silent
        ],
    }


def names_json(answer: NameAnswer) -> dict[str, object]:
    return {
        "count": len(answer.entries),
        "total": answer.total,
        "scanned": answer.scanned,
        "names": [_entry_json(it) for it in answer.entries],
        **if_pending(answer.seen),
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


def _entry_json(entry: Entry) -> dict[str, object]:
    return {
        "collection": entry.collection,
        "path": entry.path,
        "size": entry.size,
        "directory": entry.is_directory,
    }


def definition_text(definition: Definition, *, with_stats: bool = False) -> str:
    """One line: where it is, what it is, what is around it and how it is declared."""
    symbol = definition.symbol
    place = f"{definition.record.path}:{symbol.start_line}-{symbol.end_line}"
    name = TRAIL_SEPARATOR.join((*definition.trail, symbol.name))
    stats = f"  [{stats_text(definition)}]" if with_stats else ""
    signature = f"  {symbol.signature}" if symbol.signature else ""
    note = f"  [{definition.note}]" if definition.note else ""
    return f"{place}  {symbol.kind} {name}{signature}{stats}{note}"


def stats_text(definition: Definition) -> str:
    symbol = definition.symbol
    lines = f"lines {symbol.end_line - symbol.start_line + 1}"
    stats = symbol.stats._asdict() if symbol.stats else {}
    return ", ".join([lines, *(f"{name} {value}" for name, value in stats.items())])


def body_text(body: Body) -> list[str]:
    """Its lines with their numbers, and what the reader should know of them."""
    if body.omitted:
        return ["    … left out: there are enough lines without it", ""]
    notes = ["    (as indexed; the file has changed since: `dowse index`)"] if body.changed else []
    notes += [f"    ({body.problem})"] if body.problem else []
    shown = [f"{number:>6}  {line}" for number, line in enumerate(body.lines, body.start_line)]
    return [*notes, *shown, *(["     …"] if body.truncated else []), ""]


# --- for the tools ---


def symbols_reply(answer: SymbolAnswer, bodies: Sequence[Body], state: str, budget_tokens: int) -> Reply:
    """Every definition; where they do not fit, fewer lines of each body, then fewer definitions. All are counted."""
    count = len(answer.definitions)
    levels = [(shown, _BODY_LINES[0]) for shown in range(min(count, 1), count + 1)]
    levels += [(count, lines) for lines in _BODY_LINES[1:]] if bodies else []

    def make(level: int) -> Reply:
        shown, lines = levels[level]
        more = answer.total - shown
        rows = [_definition_shape(it) for it in answer.definitions[:shown]]
        for row, body in zip(rows, bodies, strict=False):
            row |= _body_shape(body, row, lines)
            if "body" in row:  # which begins with it
                row.pop("signature", None)
        shape = {
            "total": answer.total,
            "definitions": rows,
            "more": f"{more:,} more definitions ({_NARROWER})" if more else "",
            "index": state,
        }
        shape = {"total": 0, "definitions": [], **without_empty(shape)}
        return Reply(shape, symbols_text(shape))

    return fit(make, len(levels) - 1, room_of(budget_tokens))


_NARROWER = "raise `limit` or `budget_tokens`, or narrow with `paths` or `kinds`"


def _definition_shape(definition: Definition) -> Shape:
    symbol = definition.symbol
    signature = " ".join(symbol.signature.split())
    shown = signature if len(signature) <= _SIGNATURE_CHARS else f"{signature[:_SIGNATURE_CHARS]}…"
    bases = [*symbol.bases[:_MOST_BASES], *(["…"] if len(symbol.bases) > _MOST_BASES else [])]
    shape = {
        "name": symbol.name,
        "in": TRAIL_SEPARATOR.join(definition.trail),
        "kind": symbol.kind,
        "path": definition.record.path,
        "start_line": symbol.start_line,
        "end_line": symbol.end_line,
        "signature": shown,
        "bases": [it for it in bases if it not in shown],
        "note": definition.note,
        "warning": flagged(signature),
    }
    return without_empty(shape)


def _body_shape(body: Body, row: Shape, most_lines: int) -> Shape:
    lines = body.lines[:most_lines]
    hidden = (
        row["end_line"] - row["start_line"] + 1 - len(lines) if body.truncated or len(body.lines) > len(lines) else 0
    )
    shape = {
        "body": "\n".join(lines),
        "body_more_lines": max(hidden, 0),
        "body_note": body.problem or ("as indexed; the file has changed since" if body.changed else ""),
        "warning": flagged("\n".join(lines)),
    }
    return {key: value for key, value in shape.items() if value}


def symbols_text(shape: Shape) -> str:
    total = shape["total"]
    lines = [f"{total:,} definition{'' if total == 1 else 's'}", *([shape["index"]] if "index" in shape else [])]
    for it in shape["definitions"]:
        lines += _definition_lines(it)
    return "\n".join([*lines, *([shape["more"]] if "more" in shape else [])]) + "\n"


def _definition_lines(shape: Shape) -> Iterator[str]:
    name = TRAIL_SEPARATOR.join(filter(None, (shape.get("in", ""), shape["name"])))
    bases = f"  ({', '.join(shape['bases'])})" if "bases" in shape else ""
    place = f"{shape['path']}:{shape['start_line']}-{shape['end_line']}"
    yield one_line(f"{place}  {shape['kind']} {name}  {shape.get('signature', '')}".rstrip() + bases)
    yield from (f"   ! {one_line(shape[key])}" for key in ("note", "body_note", "warning") if key in shape)
    if "body" in shape:
        yield from numbered(shape["body"].split("\n"), shape["start_line"])
    if "body_more_lines" in shape:
        first = shape["end_line"] + 1 - shape["body_more_lines"]
        yield f"   … {shape['body_more_lines']:,} more lines (fetch the path with start_line={first})"
