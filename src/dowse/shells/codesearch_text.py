"""What the code search commands print: one row a line, the totals last."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Data = Mapping[str, Any]


def file_lines(data: Data) -> list[str]:
    lines = [line for row in data.get("files", ()) for line in _file(row)]
    return [*lines, f"{data['summary']['totalMatches']:,} found", *data["summary"].get("warnings", ())]


def _file(row: Data) -> Iterator[str]:
    if "matches" in row:
        yield from (f"{row['path']}:{it['line']}:{it['text']}" for it in row["matches"])
    else:
        yield f"{row['path']}/" if row.get("isDir") else row["path"]


def grep_lines(data: Data) -> list[str]:
    summary = data["summary"]
    total = f"{summary['totalFiles']:,} files, {summary['totalOccurrences']:,} occurrences"
    return [*(line for row in data.get("files", ()) for line in _found(row)), total, *summary.get("warnings", ())]


def _found(row: Data) -> Iterator[str]:
    score = f", score {row['score']:.4f}" if "score" in row else ""
    yield f"{row['path']} ({row['occurrences']:,} occurrences{score})"
    for group in row.get("lineContent", ()):
        for at, text in enumerate(group["lines"]):
            sign = ":" if at in group["matchIndices"] else "-"
            yield f"  {group['startLine'] + at}{sign} {text}"


def audit_lines(data: Data) -> list[str]:
    counts = [f"{name}: {value:,}" for name, value in data["audit"].items()]
    rows = [f"{row['file']} ({row['bytes']:,} bytes{_because(row)})" for row in data["suspiciousFiles"]]
    return [*rows, *counts]


def _because(row: Data) -> str:
    return f", {row['reason']}" if "reason" in row else ""


def info_lines(data: Data) -> list[str]:
    return [data["directory"], *(_index_line(it) for it in data["indexes"])]


def _index_line(index: Data) -> str:
    figures = [f"{name} {_shown(value)}" for name, value in index.items() if name not in ("type", "root")]
    return f"{index['type']}: {', '.join(figures)}"


def _shown(value: object) -> str:
    return ",".join(value) if isinstance(value, list) else str(value)


def tip_lines(data: Data) -> list[str]:
    tasks = [f"{it['task']}\n    {it['tool']} {it['arguments']}" for it in data["tasks"]]
    return [*tasks, *(f"{it['rule']}: {it['why']}." for it in data["bestPractices"])]
