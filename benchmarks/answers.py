"""How long default answers of the native tools are, in both forms, on repositories of any size.

A real server is asked over its standard input and output. The questions come from the index itself: half are about
names picked at random, half about the names that are defined most often, whose answers are the longest.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from measuring import say
from processes import Server, serving
from report import Section, table

MAX_ANSWER_CHARS = 8_000
MAX_TOOLS_BYTES = 6_000
QUESTIONS = 20
_COMMITS = 2_000  # of each history, so that a long one does not take hours
_ENVIRONMENT = {"DOWSE_ENCODER": "static", "DOWSE_SHARE": "false", "DOWSE_MAX_COMMITS": str(_COMMITS)}
_NAMES = {"limit": 1_000, "budget_tokens": 100_000}

Definition = Mapping[str, Any]
Question = tuple[str, dict[str, object]]


def measure(repositories: Sequence[Path], work: Path, seed: int) -> tuple[Section, bool]:
    rows: list[list[str]] = []
    good, tools, instructions = True, 0, 0
    for root in repositories:
        say(f"answers: {root.name}")
        environment = {**os.environ, **_ENVIRONMENT, "DOWSE_DATA_DIR": str(work / "answers")}
        with serving([sys.executable, "-m", "dowse", "mcp"], environment, root) as server:
            server.call("index", {})
            tools = len(compact(server.ask("tools/list", {})["result"]["tools"]).encode())
            instructions = len(server.greeting.get("instructions", ""))
            lengths = _lengths(server, questions(_definitions(server), seed))
        rows += [_row(root.name, tool, found) for tool, found in lengths.items()]
        good &= all(max(pair) <= MAX_ANSWER_CHARS for found in lengths.values() for pair in found)
    good &= tools <= MAX_TOOLS_BYTES
    header = ["repository, tool", "answers", "text, median", "text, max", "structured, median", "structured, max"]
    lines = [
        f"`tools/list`: {tools:,} bytes (aim: at most {MAX_TOOLS_BYTES:,}); "
        f"`instructions`: {instructions:,} characters.",
        f"Length of default answers in characters (aim: at most {MAX_ANSWER_CHARS:,} in both forms). The structured "
        "form is compact JSON, as sent.",
        "",
        *table(header, rows),
    ]
    return Section("answers", "Answer length", lines), good


def _definitions(server: Server) -> list[Definition]:
    found: list[Definition] = []
    for kind in ("class", "function", "method", "struct", "interface"):
        reply = server.call("symbols", {"kinds": [kind], **_NAMES})["result"]
        found += (reply.get("structuredContent") or {}).get("definitions", [])
    if not found:
        raise SystemExit("the repository has no definitions; choose one with code")
    return found


def questions(definitions: Sequence[Definition], seed: int) -> list[Question]:
    """For each tool so many, always the same for the same index."""
    picked = random.Random(seed).sample(definitions, min(QUESTIONS // 2, len(definitions)))
    common = Counter(str(it["name"]) for it in definitions).most_common(QUESTIONS - len(picked))
    names = [*(str(it["name"]) for it in picked), *(name for name, _ in common)]
    places = [f"{it['path']}:{it['start_line']}" for it in picked]
    asked: list[Question] = []
    for number, name in enumerate(names):
        asked += [
            ("search", {"query": f"how does {name} work" if number % 2 else name}),
            ("grep", {"pattern": name}),
            ("symbols", {"name": name, "body": bool(number % 2)}),
            ("calls", {"name": name, "direction": "callees" if number % 4 == 3 else "callers"}),
            ("why", {"target": places[number] if number < len(places) else name}),
            ("related", {"target": str(picked[number]["path"]) if number < len(picked) else name}),
        ]
    asked += [("fetch", {"id": str(it["path"])}) for it in picked]
    return [*asked, ("status", {})]


def _lengths(server: Server, asked: Sequence[Question]) -> dict[str, list[tuple[int, int]]]:
    found: dict[str, list[tuple[int, int]]] = {}
    for tool, arguments in asked:
        result = server.call(tool, arguments)["result"]
        if result.get("isError"):
            raise SystemExit(f"{tool} {arguments}: {result['content'][0]['text']}")
        pair = len(result["content"][0]["text"]), len(compact(result.get("structuredContent")))
        found.setdefault(tool, []).append(pair)
    return found


def compact(data: object) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def _row(repository: str, tool: str, found: Sequence[tuple[int, int]]) -> list[str]:
    texts, structured = zip(*found, strict=True)
    figures = (statistics.median(texts), max(texts), statistics.median(structured), max(structured))
    return [f"{repository}, `{tool}`", str(len(found)), *(f"{it:,.0f}" for it in figures)]
