"""The `dowse` command: one module per verb, imported when it is asked for; exit codes are decided here alone.

0 found or done, 1 nothing found, 2 an error, told in one line on stderr that says the next step.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, NoReturn

import click

from dowse.errors import BadInput, DowseError, IndexDamaged
from dowse.profiles.tool import MAX_ITEMS
from dowse.shells.cli.streams import guarded
from dowse.text.surrogates import is_text

if TYPE_CHECKING:
    from dowse.shells.workspace import Workspace

VERBS = {
    "search": "Ask a question; builds the index first where there is none.",
    "grep": "Find the lines that hold a regex, a word, a text or a phrase.",
    "index": "Index directories, or update what is indexed.",
    "calls": "Who calls a function, or what it calls, as a tree.",
    "impact": "Show what uncommitted changes touch, and its callers.",
    "why": "Explain a line or symbol: callers, commits, docs, notes.",
    "related": "List everything linked to a file, symbol, commit or note.",
    "symbols": "Definitions by name, kind, base, attribute, line or complexity.",
    "find": "Files and directories by name, in the index or on disk.",
    "read": "Print lines of an indexed file, or a hit by its id.",
    "remember": "Save a searchable note; anchor it to code to be told when that code changes.",
    "memories": "List the notes that were kept: their age, type, tags, and which are stale.",
    "forget": "Move a note to the trash.",
    "status": "What is indexed, how fresh, with which encoder, and what was skipped.",
    "watch": "Watch files and keep the index current (Ctrl-C stops).",
    "jobs": "List background jobs: state, progress, result.",
    "indexes": "List your indexes; delete some, or those whose root is gone.",
    "export": "Print every chunk of the index, in a stable order.",
    "doctor": "Check the index and its environment; --fix repairs it.",
    "rebuild": "Rebuild the index from scratch.",
    "eval": "Measure recipes against a gold set, or against your own files.",
    "mcp": "Serve an AI agent over MCP on stdin and stdout.",
    "daemon": "One server shared by every agent on an index: run, start, stop, status, restart.",
}
_ALIASES = {"roots": "indexes"}
_PRINTING_AS_THEY_READ = ("export",)
_LEADING = ("--help", "-h", "--version")


class Verbs(click.Group):
    """Subcommands by name; a module is only imported when its verb runs."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        verb = _ALIASES.get(name, name)
        if verb not in VERBS:
            return None
        command: click.Command = import_module(f"dowse.shells.cli.{verb}").command
        for option in command.params:
            if isinstance(option, click.Option) and option.multiple and option.callback is None:
                option.callback = _bounded
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """From the table above, so that --help imports no verb."""
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))


def _bounded(context: click.Context, option: click.Parameter, given: tuple[object, ...]) -> tuple[object, ...]:
    """What may be repeated is bounded as the lists of tools are."""
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


def in_order(arguments: Sequence[str]) -> list[str]:
    """Flags may stand before the verb too: they are moved behind it."""
    words = list(arguments)
    if not words or not words[0].startswith("-") or words[0] in _LEADING:
        return words
    place = next((i for i, word in enumerate(words) if word in VERBS or word in _ALIASES), 0)
    return [words[place], *words[:place], *words[place + 1 :]] if place else words


@guarded
def main(arguments: Sequence[str] | None = None) -> None:
    words = in_order(sys.argv[1:] if arguments is None else arguments)
    try:
        _check(words)
        code = _run(words)
        sys.stdout.flush()
    except click.ClickException as error:
        _complain(f"{' '.join(error.format_message().split())} (--help says more)")
    except (click.Abort, KeyboardInterrupt):
        click.echo("stopped; what was indexed so far is kept", err=True)
        sys.exit(130)
    except DowseError as error:
        _complain(str(error))
    except BrokenPipeError:
        # Whoever read our output has seen enough; Python must not complain about it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        _complain(f"the system refused: {error}; check the disk and the current directory")
    sys.exit(code if isinstance(code, int) else 0)


def _run(words: Sequence[str]) -> object:
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


def _complain(sentence: str) -> NoReturn:
    click.echo(f"dowse: {sentence}", err=True)
    sys.exit(2)
