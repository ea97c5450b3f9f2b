"""What a client of the MCP server waits for: some of the same questions over its standard input and output."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dowse.callgraph.facts import CallQuery
from dowse.lookup.grep import GrepQuery
from dowse.store.types import SymbolQuery
from processes import Server, serving
from timing import p50_p95, timed

READY_S = 120.0

Asked = Mapping[str, Sequence[GrepQuery | SymbolQuery | CallQuery]]


def rows(asked: Asked, root: Path, index: Path, environment: Mapping[str, str]) -> list[list[str]]:
    command = [sys.executable, "-m", "dowse", "mcp", "--profile", "codesearch"]
    places = ["--root", str(root), "--index", str(index)]
    with serving([*command, *places], environment, root) as server:
        return [[f"over MCP, {name}", p50_p95(_times(server, questions)), ""] for name, questions in asked.items()]


def _times(server: Server, questions: Sequence[GrepQuery | SymbolQuery | CallQuery]) -> list[float]:
    calls = [as_call(it) for it in questions]
    _wait(server, *calls[-1])
    return [_time(server, tool, arguments) for tool, arguments in calls]


def as_call(question: GrepQuery | SymbolQuery | CallQuery) -> tuple[str, dict[str, Any]]:
    """The same in the words of the code-search contract."""
    match question:
        case GrepQuery(terms=terms, mode=mode):
            return "search_grep", {"terms": ",".join(terms), "substring": mode == "substring"}
        case SymbolQuery(names=names, base=base):
            given = {"name": ",".join(names), "baseType": base}
            return "search_definitions", {name: value for name, value in given.items() if value}
        case CallQuery(name=name, owner=owner, direction=direction):
            given = {"method": name, "class": owner, "direction": direction}
            return "search_callers", {name: value for name, value in given.items() if value}


def _wait(server: Server, tool: str, arguments: Mapping[str, Any]) -> None:
    """Until the server has looked at the files once."""
    until = time.monotonic() + READY_S
    while problem := _problem(server.call(tool, arguments)):
        if time.monotonic() > until:
            raise SystemExit(f"{tool} {arguments}: {problem}")
        time.sleep(0.5)


def _time(server: Server, tool: str, arguments: Mapping[str, Any]) -> float:
    reply, took_ms = timed(server.call, tool, arguments)
    if problem := _problem(reply):
        raise SystemExit(f"{tool} {arguments}: {problem}")
    return took_ms


def _problem(reply: Mapping[str, Any]) -> str:
    result = reply.get("result", {})
    return str(reply.get("error") or (result.get("content") if result.get("isError") else ""))
