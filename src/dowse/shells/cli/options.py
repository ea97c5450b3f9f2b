"""Options every verb shares: where to work, how to print, and a flag for each setting."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from dowse.config import PREFIX, SECRETS, SETTINGS, Settings
from dowse.errors import BadInput
from dowse.shells.workspace import Workspace, find_workspace

Command = Callable[..., Any]
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON; its keys are stable.")


def _one_root(_context: click.Context, _parameter: click.Parameter, given: tuple[Path, ...]) -> Path | None:
    """The last of several would be taken without a word."""
    if len(given) > 1:
        raise BadInput("this verb works on one root; give --root once, or ask several with `dowse search`")
    return given[0] if given else None


root_option = click.option(
    "--root",
    multiple=True,
    callback=_one_root,
    type=click.Path(path_type=Path),
    help="Directory to search (default: nearest indexed parent, else the current one).",
)
roots_option = click.option(
    "--root",
    "roots",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A directory to search or serve; may be repeated, each has an index of its own.",
)
_EXACT_LIMIT = 100
_SHORT = {"limit": ("-k",)}
_ALL = "dowse.help_all"


class _Setting(click.Option):
    """Most verbs are about few settings: the help shows these, and `--help-all` the others, too."""

    def __init__(self, *words: Any, is_shown: bool, **facts: Any) -> None:  # noqa: ANN401
        super().__init__(*words, **facts)
        self._is_shown = is_shown

    def get_help_record(self, context: click.Context) -> tuple[str, str] | None:
        return super().get_help_record(context) if self._is_shown or context.meta.get(_ALL) else None


def settings_options(**shown: str) -> Callable[[Command], Command]:
    """A flag for each row of the settings table; none given means the variable, the file or the default. Those named
    here are what the verb is about: its help shows them, in these words or (empty) in those of the table."""

    def with_flags(function: Command) -> Command:
        function = _help_all_option(function)
        for name in reversed(SETTINGS):
            if name not in SECRETS:
                function = _setting_option(name, shown.get(name))(function)
        return function

    return with_flags


def _setting_option(name: str, words: str | None) -> Callable[[Command], Command]:
    flag = "--" + name.replace("_", "-")
    facts: dict[str, Any] = {
        "cls": _Setting,
        "default": None,
        "help": words or _told(name),
        "is_shown": words is not None,
    }
    if SETTINGS[name].type == "bool":
        return click.option(f"{flag}/--no-{flag[2:]}", name, **facts)
    return click.option(flag, *_SHORT.get(name, ()), name, metavar=_metavar(name), **facts)


def _told(name: str) -> str:
    setting = SETTINGS[name]
    default = "" if setting.default in (None, ()) else f"  [default: {_shown(setting.default)}]"
    help = setting.metadata["help"]
    return f"{help[0].upper()}{help[1:]}.{default}  [{PREFIX}{name.upper()}]"


def _help_all(context: click.Context, _: click.Parameter, given: bool) -> None:
    if given and not context.resilient_parsing:
        context.meta[_ALL] = True
        click.echo(context.get_help())
        context.exit()


_help_all_option = click.option(
    "--help-all",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_help_all,
    help="Also list settings (each is a flag of every command).",
)


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


def workspace_of(root: Path | None, flags: dict[str, Any], **defaults: Any) -> Workspace:  # noqa: ANN401
    """The workspace that the flags, variables and files lead to; `defaults` are of settings that none of them gives."""
    settings = {name: flags.get(name) for name in SETTINGS}
    found = find_workspace(
        cwd=Path.cwd(), environment=os.environ, flags=settings, root=root, defaults=replace(_PATIENT, **defaults)
    )
    workspace = replace(found, flags=settings)
    if workspace.notice:
        click.echo(workspace.notice, err=True)
    context = click.get_current_context(silent=True)
    if context and isinstance(context.obj, list):  # whoever runs the command heals what it meets
        context.obj.append(workspace)
    return workspace
