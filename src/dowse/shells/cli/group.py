"""The command group of `dowse`, which click reads the command line with."""

from __future__ import annotations

from importlib import import_module

import click

from dowse.shells.cli import VERBS


class Verbs(click.Group):
    """Subcommands by name; a module is only imported when its verb runs."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in VERBS:
            return None
        command: click.Command = import_module(f"dowse.shells.cli.{name}").command
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """From the table above, so that --help imports no verb."""
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="dowse", message="dowse %(version)s")
def dowse() -> None:
    """Search this directory's documents, code, git history and memories: by words, by meaning, on this machine.

    \b
    dowse search "how are retries handled"     ask; the index is built on the first question
    dowse why src/http.py:118                  all that is known of one line
    dowse mcp                                  the same for an AI agent

    `dowse VERB --help` says what a verb takes. Every setting has a flag, a DOWSE_… variable and a key in dowse.toml, in
    that order of precedence; `dowse VERB --help-all` lists them, too.
    """
