"""Options every verb shares: where to work, how to print, and a flag for each setting."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from dowse.config import PREFIX, SECRETS, SETTINGS, Settings
from dowse.shells.workspace import Workspace, find_workspace

Command = Callable[..., Any]
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON; its keys are stable.")
root_option = click.option(
    "--root",
    type=click.Path(path_type=Path),
    help="The directory to work on; default: the nearest one upwards that is indexed, else the current one.",
)
roots_option = click.option(
    "--root",
    "roots",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A directory to serve; may be repeated.",
)
_EXACT_LIMIT = 100
_SHORT = {"limit": ("-k",)}


def settings_options(function: Command) -> Command:
    """A flag for each row of the settings table; none given means the variable, the file or the default."""
    for name, setting in reversed(SETTINGS.items()):
        if name in SECRETS:
            continue
        flag = "--" + name.replace("_", "-")
        default = "" if setting.default in (None, ()) else f"  [default: {_shown(setting.default)}]"
        help = setting.metadata["help"]
        text = f"{help[0].upper()}{help[1:]}.{default}  [{PREFIX}{name.upper()}]"
        if setting.type == "bool":
            option = click.option(f"{flag}/--no-{flag[2:]}", name, default=None, help=text)
        else:
            option = click.option(flag, *_SHORT.get(name, ()), name, default=None, help=text, metavar=_metavar(name))
        function = option(function)
    return function


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _metavar(name: str) -> str:
    kinds = {"int": "N", "float": "N", "str": "NAME", "Path | None": "PATH", "tuple[str, ...]": "GLOB,…"}
    return kinds[str(SETTINGS[name].type)]


def exact_limit(settings: Settings, flags: dict[str, Any]) -> int:
    """Exact answers are lines, not passages: unless -k says how many, more are shown than a search has hits."""
    return _EXACT_LIMIT if flags.get("limit") is None else settings.limit


# Who types a question waits for a parser to start rather than ask again.
_PATIENT = Settings(repair_ms=2_000)


def workspace_of(root: Path | None, flags: dict[str, Any]) -> Workspace:
    settings = {name: flags.get(name) for name in SETTINGS}
    workspace = find_workspace(cwd=Path.cwd(), environment=os.environ, flags=settings, root=root, defaults=_PATIENT)
    if workspace.notice:
        click.echo(workspace.notice, err=True)
    return workspace
