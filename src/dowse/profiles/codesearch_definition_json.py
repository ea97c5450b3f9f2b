"""How the code search contract shows a definition, its figures and its source."""

from __future__ import annotations

from typing import Any

from dowse.lookup.symbols.question import Body, Definition
from dowse.model import Stats, Symbol
from dowse.profiles.codesearch_territory import Territory

# The contract's names of the figures, and ours.
STATS = {
    "cyclomaticComplexity": "cyclomatic",
    "cognitiveComplexity": "cognitive",
    "maxNestingDepth": "nesting",
    "paramCount": "parameters",
    "returnCount": "returns",
    "callCount": "calls",
    "lambdaCount": "lambdas",
}

_OMITTED = "total body lines budget exceeded"
_CHANGED = "The file has changed since it was indexed: the lines may be others by now"
_UNREADABLE = "failed to read file"


def definition_json(definition: Definition, territory: Territory, *, stats: bool = False) -> dict[str, Any]:
    symbol = definition.symbol
    row: dict[str, Any] = {
        "name": symbol.name,
        "kind": symbol.kind,
        "file": territory.full(definition.record.collection, definition.record.path),
        "lines": f"{symbol.start_line}-{symbol.end_line}",
    }
    optional = {
        "modifiers": list(symbol.modifiers),
        "attributes": list(symbol.attributes),
        "baseTypes": list(symbol.bases),
        "signature": symbol.signature,
        "parent": definition.parent,
    }
    row.update({key: value for key, value in optional.items() if value})
    if stats and symbol.stats is not None:
        row["codeStats"] = _stats_json(symbol, symbol.stats)
    return row


def _stats_json(symbol: Symbol, stats: Stats) -> dict[str, int]:
    lines = symbol.end_line - symbol.start_line + 1
    return {"lines": lines, **{name: getattr(stats, ours) for name, ours in STATS.items()}}


def body_json(body: Body) -> dict[str, Any]:
    if body.problem:
        return {"bodyError": _UNREADABLE, "bodyErrorReason": body.problem}
    if body.omitted:
        return {"bodyOmitted": _OMITTED}
    row: dict[str, Any] = {"bodyStartLine": body.start_line, "body": list(body.lines)}
    if body.truncated:
        row["bodyTruncated"] = True
    if body.changed:
        row["bodyWarning"] = _CHANGED
    return row
