"""The click command group of `dowse`, and how a command runs."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from dowse.cli import ALIASES, VERBS, exit_with, exit_with_error
from dowse.cli.terminal import ColourChoice, buffer_output, choose_colour, with_safe_streams
from dowse.errors import BadInput, IndexDamaged
from dowse.text.unicode import is_valid_name

if TYPE_CHECKING:
    from dowse.server.workspace import Workspace

_STREAMING_COMMANDS = ("export",)
_SERVER_COMMANDS = ("mcp", "daemon")
# Commands that answer at once and never prompt; the output of others cannot wait for a pager.
_PAGED_COMMANDS = (
    "search",
    "grep",
    "calls",
    "impact",
    "why",
    "related",
    "symbols",
    "find",
    "read",
    "memories",
    "status",
)
_HELP_FLAGS = ("-h", "--help", "--help-all")
_MAX_SUGGESTION_CHARS = 200
_MISSPELLED_RATIO = 0.8  # `serach` is this close to `search`; `what`, the start of a question, is not to `watch`
_SAFE_IN_QUOTES = re.compile(r"[^\"$`\\!]*")  # literal between double quotes, in every shell


# The module of each verb, where it is not named like the verb.
_MODULES = {
    **dict.fromkeys(("grep", "find", "read"), "exact"),
    **dict.fromkeys(("symbols", "calls", "impact", "why", "related"), "code"),
    **dict.fromkeys(("remember", "memories", "forget"), "memory"),
    **dict.fromkeys(("rebuild", "export"), "index"),
    **dict.fromkeys(("mcp", "daemon"), "serve"),
}


class CommandGroup(click.Group):
    """Subcommands by name; a module is imported only when its verb runs."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        verb = ALIASES.get(name, name)
        if verb not in VERBS:
            return None
        module = import_module(f"dowse.cli.{_MODULES.get(verb, verb)}")
        command: click.Command = getattr(module, f"{verb}_command")
        for option in command.params:
            if isinstance(option, click.Option) and option.multiple and option.callback is None:
                option.callback = _limit_repeats
        if verb not in _SERVER_COMMANDS and not any(it.name == "no_pager" for it in command.params):
            command.params += _screen_options()
        return command

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if not context.resilient_parsing and self.get_command(context, args[0]) is None:
            raise click.UsageError(_suggest_command(args), context)
        return super().resolve_command(context, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete verbs from the table, so that only the typed verb is imported."""
        verbs = [CompletionItem(name, help=text) for name, text in VERBS.items() if name.startswith(incomplete)]
        return [*verbs, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """List verbs from the table, so that --help imports none of them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))


def _screen_options() -> list[click.Parameter]:
    return [
        click.Option(
            ["--color"],
            type=click.Choice(["auto", "always", "never"]),
            default="auto",
            expose_value=False,
            is_eager=True,
            callback=_apply_colour_flag,
            help="When to use colours (auto: on a terminal, unless NO_COLOR is set).",
        ),
        click.Option(
            ["--no-pager"], is_flag=True, expose_value=False, help="Print long output without $DOWSE_PAGER or $PAGER."
        ),
    ]


def _apply_colour_flag(context: click.Context, _: click.Parameter, choice: ColourChoice) -> None:
    if not context.resilient_parsing:
        choose_colour(choice)


def _may_be_paged(words: Sequence[str]) -> bool:
    """Return whether the output may go to a pager: only text for people, never JSON."""
    if "--json" in words or "--no-pager" in words:
        return False
    return any(it in words for it in _HELP_FLAGS) or any(it in _PAGED_COMMANDS for it in words[:1])


def _suggest_command(words: Sequence[str]) -> str:
    """Suggest a fix for words that start with no command: a similar command, or a search for them as a question."""
    first = words[0]
    if first.startswith("-"):
        return f"No such option {first[:_MAX_SUGGESTION_CHARS]!r}."
    problem = f"No such command {first[:_MAX_SUGGESTION_CHARS]!r}."
    names = (*VERBS, *ALIASES)
    if near := get_close_matches(first, names, n=1):
        problem += f" Did you mean `dowse {near[0]}`?"
        if len(words) == 1 or get_close_matches(first, names, n=1, cutoff=_MISSPELLED_RATIO):
            return problem
    question = " ".join(words)[:_MAX_SUGGESTION_CHARS]
    quoted = f'"{question}"' if _SAFE_IN_QUOTES.fullmatch(question) else shlex.quote(question)
    return f"{problem} To ask a question: dowse search {quoted}"


def _limit_repeats(context: click.Context, option: click.Parameter, values: tuple[object, ...]) -> tuple[object, ...]:
    """Limit repeatable options like the list parameters of tools."""
    if not values:
        return values
    from dowse.tools.tool import MAX_LIST_ITEMS  # imported late: it creates classes slowly, and most commands need none

    if len(values) > MAX_LIST_ITEMS:
        raise BadInput(f"{option.opts[0]}: at most {MAX_LIST_ITEMS:,}, not {len(values):,}")
    return values


@click.group(cls=CommandGroup, no_args_is_help=False, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="dowse", message="dowse %(version)s")
def dowse() -> None:
    """Search the documents, code, git history and notes of this directory, by words and by meaning, on this machine.

    \b
    dowse search "how are retries handled"     search; builds the index first
    dowse why src/http.py:118                  explain one line
    dowse mcp                                  serve an AI agent

    Run `dowse COMMAND --help` for its options. Every setting has a flag, a DOWSE_… variable and a key in dowse.toml, in
    that order of precedence; `dowse COMMAND --help-all` lists them.
    """


@with_safe_streams
def run_command(arguments: Sequence[str] | None = None) -> None:
    """Run the command and exit the process with its code."""
    exit_with(lambda: _run_words(arguments or ()))


def _run_words(words: Sequence[str]) -> object:
    try:
        _check_arguments(words)
        if _may_be_paged(words):
            buffer_output()
        return _run_with_repair(words)
    except click.ClickException as error:
        exit_with_error(f"{' '.join(error.format_message().split())} (see --help)")
    except click.Abort:
        raise KeyboardInterrupt from None


def _run_with_repair(words: Sequence[str]) -> object:
    """Run the command; if it finds damage, repair the index and run it once more."""
    workspaces: list[Workspace] = []
    try:
        code = dowse.main(words, prog_name="dowse", standalone_mode=False, color=True, obj=workspaces)
    except IndexDamaged:
        if not any(workspace.engines for workspace in workspaces):
            raise
        for workspace in workspaces:
            workspace.heal()
        if words[0] in _STREAMING_COMMANDS:
            raise IndexDamaged("the output so far may be incomplete; run the command again") from None
        return dowse.main(words, prog_name="dowse", standalone_mode=False, color=True)
    for workspace in workspaces:
        workspace.heal_found_damage()
    return code


def _check_arguments(words: Sequence[str]) -> None:
    """Reject arguments that are not valid text: no index contains them, and they cannot be printed."""
    for word in words:
        if not is_valid_name(word):
            raise BadInput(f"{word[:200]!r} is not valid UTF-8; pass UTF-8 text")
