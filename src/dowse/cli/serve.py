"""The commands `mcp` and `daemon`."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Any

import click

from dowse.cli.options import json_option, roots_option, settings_options
from dowse.errors import BadInput
from dowse.server import PROFILES
from dowse.server.sharing.client import (
    HelloReply,
    LaunchConfig,
    acquire_socket,
    connect_socket,
    exchange_hello,
    socket_owner,
)
from dowse.server.sharing.front import McpArguments, serve_mcp_client
from dowse.server.sharing.hello import DaemonUnavailable, HelloVerb


@click.command("mcp")
@click.option("--profile", type=click.Choice(PROFILES), default="core", show_default=True, help="Tool set to serve.")
@roots_option
@settings_options(index="", encoder="", share="")
def mcp_command(profile: str, roots: tuple[Path, ...], **flags: Any) -> int:  # noqa: ANN401
    """Serve an AI agent over MCP on stdin and stdout, and keep the index current in the background.

    \b
    core        search, fetch, grep, symbols, calls, why, related, remember, index, status
    rifflux     the five tools of Rifflux, for its clients; also reads RIFFLUX_… variables
    ragdocs     the tools of mcp-markdown-ragdocs for documents, git and memories, with answers in Markdown
    codesearch  the tools of search-index: lines, definitions, callers and git history of one directory
    all         every tool of the other sets on one index, for clients that use several of them
    """
    return serve_mcp_client(McpArguments(profile, tuple(map(str, roots)), flags))


# --------------------------------------------------------------------------------------------------
# `dowse daemon`

_SHUTDOWN_TIMEOUT_S = 6.0
DAEMON_ACTIONS = ("run", "start", "stop", "status", "restart")


@click.command("daemon")
@click.argument("action", type=click.Choice(DAEMON_ACTIONS))
@click.option(
    "--profile",
    type=click.Choice(PROFILES),
    default="core",
    show_default=True,
    help="Tool set whose settings and index apply.",
)
@roots_option
@click.option("--detached", is_flag=True, help="With run: log to the file instead of stderr.")
@json_option
@settings_options()
def daemon_command(
    action: str,
    profile: str,
    roots: tuple[Path, ...],
    detached: bool,
    as_json: bool,
    **flags: Any,  # noqa: ANN401
) -> int:
    """One server shared by every agent on an index. `dowse mcp` connects to it, and starts it if needed.

    \b
    run      serve in the foreground
    start    serve in the background, unless a server is running
    stop     stop it, after pending requests are answered
    status   show whether it runs, and its clients; exit code 1 if it does not run
    restart  stop and start, with the current settings
    """
    start = LaunchConfig.of(profile, roots=roots, flags=flags, environment=os.environ, cwd=Path.cwd())
    if action == "run":
        return _run_server(start, detached)
    if action in ("stop", "restart"):
        stopped = _stop_server(start)
        if action == "stop":
            return _print_server_state({"running": False, "stopped": stopped}, as_json)
    if action in ("start", "restart"):
        _ensure_server(start)
    return _print_server_state(_server_state(start), as_json)


def _run_server(start: LaunchConfig, detached: bool) -> int:
    if detached:
        os.umask(0o077)
    listening = acquire_socket(start.socket_paths)
    from dowse.server.sharing.daemon import run_daemon

    run_daemon(start, listening, detached=detached)
    return 0


def _ensure_server(start: LaunchConfig) -> None:
    """Connect as a client for a moment: success means that a server with these settings runs."""
    with start.daemon_client().connect_or_start() as connection:
        connection.settimeout(_SHUTDOWN_TIMEOUT_S)
        connection.shutdown(socket.SHUT_WR)
        connection.recv(1)


def _server_state(start: LaunchConfig) -> HelloReply:
    place = start.socket_paths
    connection = connect_socket(place)
    reply = None if connection is None else _send_verb(connection, start, "status")
    where = {"index": str(start.workspace.index), "socket": str(place.socket), "log": str(place.log)}
    return {
        "running": reply is not None,
        **where,
        **{name: value for name, value in (reply or {}).items() if name != "ok"},
    }


def _stop_server(start: LaunchConfig) -> bool:
    """Stop the server and return whether one was running; its connection closes when its process exits."""
    connection = connect_socket(start.socket_paths)
    if connection is None or _send_verb(connection, start, "stop", keep=True) is None:
        return False
    with connection:
        connection.settimeout(_SHUTDOWN_TIMEOUT_S)
        try:
            connection.recv(1)
        except ConnectionError:
            pass
        except TimeoutError:
            raise BadInput(f"the shared server did not stop; kill process {socket_owner(start.socket_paths)}") from None
    return True


def _send_verb(
    connection: socket.socket, start: LaunchConfig, verb: HelloVerb, *, keep: bool = False
) -> HelloReply | None:
    try:
        reply = exchange_hello(connection, start.hello(verb))
    except DaemonUnavailable:
        connection.close()
        raise BadInput(f"the shared server does not answer; kill process {socket_owner(start.socket_paths)}") from None
    if not keep or reply is None:
        connection.close()
    if reply is not None and not reply.get("ok"):
        raise BadInput(str(reply.get("why")))
    return reply


def _print_server_state(state: HelloReply, as_json: bool) -> int:
    if as_json:
        click.echo(json.dumps(state))
    elif "stopped" in state:
        click.echo("stopped" if state["stopped"] else "no shared server was running")
    else:
        click.echo("\n".join(_server_state_lines(state)))
    return 0 if state["running"] or "stopped" in state else 1


def _server_state_lines(state: HelloReply) -> list[str]:
    if not state["running"]:
        return [f"no shared server for {state['index']}; start one with `dowse daemon start` or `dowse mcp`"]
    return [f"{name:12}{value}" for name, value in state.items() if name != "running"]
