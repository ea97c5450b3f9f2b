"""The command group of `dowse`, which click reads the command line with, and how one command runs."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

import click

from dowse.errors import BadInput, IndexDamaged
from dowse.shells.cli import ALIASES, VERBS, complain, exit_with
from dowse.shells.cli.streams import guarded
from dowse.text.surrogates import is_text

if TYPE_CHECKING:
    from dowse.shells.workspace import Workspace

_PRINTING_AS_THEY_READ = ("export",)


class Verbs(click.Group):
    """Subcommands by name; a module is only imported when its verb runs."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        verb = ALIASES.get(name, name)
        if verb not in VERBS:
            return None
        command: click.Command = import_module(f"dowse.shells.cli.{verb}").command
        for option in command.params:
            if isinstance(option, click.Option) and option.multiple and option.callback is None:
                option.callback = _bounded
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """From the table of verbs, so that --help imports no verb."""
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))


def _bounded(context: click.Context, option: click.Parameter, given: tuple[object, ...]) -> tuple[object, ...]:
    """What may be repeated is bounded as the lists of tools are."""
    if not given:
        return given
    from dowse.profiles.tool import MAX_ITEMS  # with classes that take long to make, for most commands in vain

    if len(given) > MAX_ITEMS:
        raise BadInput(f"{option.opts[0]}: at most {MAX_ITEMS:,}, not {len(given):,}")
    return given


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="dowse", message="dowse %(version)s")
def dowse() -> None:
    """Search this directory's documents, code, git history and memories: by words, by meaning, on this machine.

    \b
    dowse search "how are retries handled"     ask; the index is built on the first question
    dowse why src/http.py:118                  all that is known of one line
    dowse mcp                                  the same for an AI agent

    Run `dowse COMMAND --help` for its options. Every setting has a flag, a DOWSE_… variable and a key in dowse.toml, in
    that order of precedence; `dowse COMMAND --help-all` lists them, too.
    """


@guarded
def run_command(arguments: Sequence[str] | None = None) -> None:
    """Run the command and end the process with its exit code."""
    exit_with(lambda: _run(arguments or ()))


def _run(words: Sequence[str]) -> object:
    try:
        _check(words)
        return _run_healing(words)
    except click.ClickException as error:
        complain(f"{' '.join(error.format_message().split())} (--help says more)")
    except click.Abort:
        raise KeyboardInterrupt from None


def _run_healing(words: Sequence[str]) -> object:
    """A command that meets damage heals it: what could not be answered is asked once more."""
    workspaces: list[Workspace] = []
    try:
        code = dowse.main(words, prog_name="dowse", standalone_mode=False, color=True, obj=workspaces)
    except IndexDamaged:
        if not any(it.engines for it in workspaces):
            raise
        for it in workspaces:
            it.heal()
        if words[0] in _PRINTING_AS_THEY_READ:
            raise IndexDamaged("what was printed so far may be incomplete; run the command again") from None
        return dowse.main(words, prog_name="dowse", standalone_mode=False, color=True)
    for it in workspaces:
        it.heal_what_was_met()
    return code


def _check(words: Sequence[str]) -> None:
    """What is no text stands nowhere in an index, can not be asked for there, and not be printed."""
    for word in words:
        if not is_text(word):
            raise BadInput(f"{word[:200]!r} is not valid UTF-8; give text")
