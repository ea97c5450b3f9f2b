"""`dowse daemon`"""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Any

import click

from dowse.errors import BadInput
from dowse.shells import PROFILES
from dowse.shells.cli.options import json_option, roots_option, settings_options
from dowse.shells.sharing.hello import Verb
from dowse.shells.sharing.listening import holder, listen
from dowse.shells.sharing.place import Unshared
from dowse.shells.sharing.reach import Reply, connect, converse
from dowse.shells.sharing.start import Start

_ENDS_WITHIN_S = 6.0
ACTIONS = ("run", "start", "stop", "status", "restart")


@click.command("daemon")
@click.argument("action", type=click.Choice(ACTIONS))
@click.option(
    "--profile", type=click.Choice(PROFILES), default="core", show_default=True, help="Whose settings and index."
)
@roots_option
@click.option("--detached", is_flag=True, help="With run: log to the file instead of stderr.")
@json_option
@settings_options()
def command(action: str, profile: str, roots: tuple[Path, ...], detached: bool, as_json: bool, **flags: Any) -> int:  # noqa: ANN401
    """One shared server for all agents of an index, which `dowse mcp` connects to and starts by itself.

    \b
    run      serve in the foreground
    start    serve in the background, unless a server does already
    stop     end it; what is being answered is answered first
    status   whether there is one, for how many clients; exit code 1 if there is none
    restart  stop and start, with the settings given now
    """
    start = Start.of(profile, roots=roots, flags=flags, environment=os.environ, cwd=Path.cwd())
    if action == "run":
        return _run(start, detached)
    if action in ("stop", "restart"):
        stopped = _stopped(start)
        if action == "stop":
            return _print({"running": False, "stopped": stopped}, as_json)
    if action in ("start", "restart"):
        _start(start)
    return _print(_state(start), as_json)


def _run(start: Start, detached: bool) -> int:
    if detached:
        os.umask(0o077)
    listening = listen(start.place)
    from dowse.shells.sharing.daemon import run_daemon

    run_daemon(start, listening, detached=detached)
    return 0


def _start(start: Start) -> None:
    """Be a client for a moment: whoever can be one has a server with these settings."""
    with start.reach().welcomed() as connection:
        connection.settimeout(_ENDS_WITHIN_S)
        connection.shutdown(socket.SHUT_WR)
        connection.recv(1)


def _state(start: Start) -> Reply:
    place = start.place
    connection = connect(place)
    told = None if connection is None else _asked(connection, start, "status")
    where = {"index": str(start.workspace.index), "socket": str(place.socket), "log": str(place.log)}
    return {"running": told is not None, **where, **{name: it for name, it in (told or {}).items() if name != "ok"}}


def _stopped(start: Start) -> bool:
    """Whether there was one to stop. Its connection ends when its process does."""
    connection = connect(start.place)
    if connection is None or _asked(connection, start, "stop", keep=True) is None:
        return False
    with connection:
        connection.settimeout(_ENDS_WITHIN_S)
        try:
            connection.recv(1)
        except ConnectionError:
            pass
        except TimeoutError:
            raise BadInput(f"the shared server did not stop; kill process {holder(start.place)}") from None
    return True


def _asked(connection: socket.socket, start: Start, verb: Verb, *, keep: bool = False) -> Reply | None:
    try:
        reply = converse(connection, start.hello(verb))
    except Unshared:
        connection.close()
        raise BadInput(f"the shared server does not answer; kill process {holder(start.place)}") from None
    if not keep or reply is None:
        connection.close()
    if reply is not None and not reply.get("ok"):
        raise BadInput(str(reply.get("why")))
    return reply


def _print(state: Reply, as_json: bool) -> int:
    if as_json:
        click.echo(json.dumps(state))
    elif "stopped" in state:
        click.echo("stopped" if state["stopped"] else "there was no shared server")
    else:
        click.echo("\n".join(_lines(state)))
    return 0 if state["running"] or "stopped" in state else 1


def _lines(state: Reply) -> list[str]:
    if not state["running"]:
        return [f"no shared server of {state['index']}; `dowse daemon start` or `dowse mcp` starts one"]
    return [f"{name:12}{value}" for name, value in state.items() if name != "running"]
