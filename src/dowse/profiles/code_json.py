"""Definitions and names as JSON and as text, as `--json` and the tools give them."""

from __future__ import annotations

from collections.abc import Sequence

from dowse.lookup.find import Entry, NameAnswer
from dowse.lookup.find_contents import ContentAnswer
from dowse.lookup.symbols.question import Audit, Body, Definition, SymbolAnswer
from dowse.model import TRAIL_SEPARATOR
from dowse.profiles.pending import if_pending


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
    return f"{place}  {symbol.kind} {name}{signature}{stats}"


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
