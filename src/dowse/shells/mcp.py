"""MCP over stdio: a profile's tools on the official SDK. stdout carries the protocol and nothing else."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable
from importlib.metadata import version

import anyio
import mcp_types as types
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server

from dowse.errors import DowseError
from dowse.profiles.tool import Profile
from dowse.shells.tools import BoundTool, bind, reply_text

log = logging.getLogger("dowse.mcp")


def make_server(profile: Profile) -> Server[dict[str, object]]:
    bound = {tool.name: bind(tool) for tool in profile.tools}

    async def list_tools(
        context: ServerRequestContext[dict[str, object]], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_described(tool) for tool in bound.values()])

    async def call_tool(
        context: ServerRequestContext[dict[str, object]], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        if params.name not in bound:
            return _error(f"there is no tool {params.name!r}; this server has {', '.join(bound)}")
        return await anyio.to_thread.run_sync(_answer, bound[params.name], params.arguments or {})

    return Server(
        profile.server_name,
        version=version("dowse"),
        instructions=profile.instructions,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _described(tool: BoundTool) -> types.Tool:
    hints = tool.tool
    return types.Tool(
        name=hints.name,
        title=hints.title,
        description=tool.description,
        input_schema=tool.schema,
        annotations=types.ToolAnnotations(
            title=hints.title,
            read_only_hint=hints.read_only,
            destructive_hint=hints.destructive,
            idempotent_hint=hints.idempotent,
            open_world_hint=False,
        ),
    )


def _answer(tool: BoundTool, arguments: dict[str, object]) -> types.CallToolResult:
    try:
        reply = tool(arguments)
    except DowseError as error:
        return _error(str(error))
    except Exception:
        # The client learns that it failed, the log why: a trace may hold paths and content.
        log.exception("%s failed", tool.tool.name)
        return _error(f"{tool.tool.name} failed unexpectedly; the server's log on stderr has the details")
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=reply_text(reply))], structured_content=dict(reply.data)
    )


def _error(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=True)


def serve_stdio(profile: Profile, on_exit: Callable[[], None]) -> None:
    """Serve until the client closes stdin or a signal comes; never waits for a job on the way out."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: _leave(on_exit))
    anyio.run(_serve, make_server(profile))
    _leave(on_exit)


async def _serve(server: Server[dict[str, object]]) -> None:
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


def _leave(on_exit: Callable[[], None]) -> None:
    """Every write is a transaction of its own, so leaving at once loses nothing; a blocked reader thread
    would keep an ordinary exit waiting."""
    try:
        on_exit()
    finally:
        os._exit(0)
