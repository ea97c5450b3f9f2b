"""What comes with half a character in it is answered, and kept nowhere."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import anyio

from dowse.server.mcp import serve_lines
from dowse.tools.tool import Tool, ToolReply, ToolSet

HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}


def test_asking_is_answered_and_writing_refused() -> None:
    kept: list[str] = []

    def keep(content: str) -> ToolReply:
        """Keep it."""
        kept.append(content)
        return ToolReply({})

    def ask(content: str) -> ToolReply:
        """Ask for it."""
        return ToolReply({"asked": content})

    tools = (Tool(keep, "Keep", read_only=False), Tool(ask, "Ask"))
    answers = _answers(
        ToolSet("test", "test", "", tools),
        _call(2, "keep", "half \ud83d"),
        _call(3, "ask", "half \ud83d"),
        _call(4, "keep", "whole \U0001f680"),
    )
    assert [answers[it]["isError"] for it in (2, 3, 4)] == [True, False, False]
    assert "a lone surrogate" in answers[2]["content"][0]["text"]
    assert answers[3]["structuredContent"] == {"asked": "half ?"}
    assert kept == ["whole \U0001f680"]


def _call(id: int, name: str, content: str) -> dict[str, object]:
    return {"id": id, "method": "tools/call", "params": {"name": name, "arguments": {"content": content}}}


def _answers(profile: ToolSet, *requests: dict[str, object]) -> dict[int, dict[str, Any]]:
    """The results by the ids of the requests."""
    begun: dict[str, object] = {"method": "notifications/initialized"}
    said = [{"id": 1, "method": "initialize", "params": HELLO}, begun, *requests]
    told: list[dict[str, Any]] = []

    async def lines() -> AsyncIterator[bytes]:
        for it in said:
            yield json.dumps({"jsonrpc": "2.0", **it}).encode()

    async def write(line: bytes) -> None:
        told.append(json.loads(line))

    anyio.run(serve_lines, profile, lines(), write)
    return {it["id"]: it["result"] for it in told}
