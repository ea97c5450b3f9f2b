"""The command group of `dowse`, which click reads the command line with, and how one command runs."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from dowse.errors import BadInput, IndexDamaged
from dowse.shells.cli import ALIASES, VERBS, complain, exit_with
from dowse.shells.cli.streams import ColourChoice, choose_colour, guarded, hold_output
from dowse.text.surrogates import is_text

if TYPE_CHECKING:
    from dowse.shells.workspace import Workspace

_PRINTING_AS_THEY_READ = ("export",)
_SERVERS = ("mcp", "daemon")
# Commands that answer at once, and ask nothing: the output of others cannot wait for a pager.
_PAGED = ("search", "grep", "calls", "impact", "why", "related", "symbols", "find", "read", "memories", "status")
_HELP = ("-h", "--help", "--help-all")
_SHOWN_CHARS = 200
_MISSPELLED_RATIO = 0.8  # `serach` is so near to `search`; `what`, which begins a question, is not to `watch`
_SAFE_IN_QUOTES = re.compile(r"[^\"$`\\!]*")  # means itself between double quotes, in every shell


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
        if verb not in _SERVERS and not any(it.name == "no_pager" for it in command.params):
            command.params += _screen_options()
        return command

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if not context.resilient_parsing and self.get_command(context, args[0]) is None:
            raise click.UsageError(_suggestion(args), context)
        return super().resolve_command(context, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """From the table of verbs, so that completion imports no verb but the one that was typed."""
        verbs = [CompletionItem(name, help=text) for name, text in VERBS.items() if name.startswith(incomplete)]
        return [*verbs, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """From the table of verbs, so that --help imports no verb."""
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))


def _screen_options() -> list[click.Parameter]:
    return [
        click.Option(
            ["--color"],
            type=click.Choice(["auto", "always", "never"]),
            default="auto",
            expose_value=False,
            is_eager=True,
            callback=_choose_colour,
            help="When to use colours; auto: on a terminal, unless NO_COLOR is set.",
        ),
        click.Option(
            ["--no-pager"], is_flag=True, expose_value=False, help="Print long output without $DOWSE_PAGER or $PAGER."
        ),
    ]


def _choose_colour(context: click.Context, _: click.Parameter, given: ColourChoice) -> None:
    if not context.resilient_parsing:
        choose_colour(given)


def _may_be_paged(words: Sequence[str]) -> bool:
    """Only text for people: JSON is for programs, wherever it is printed."""
    if "--json" in words or "--no-pager" in words:
        return False
    return any(it in words for it in _HELP) or any(it in _PAGED for it in words[:1])


def _suggestion(words: Sequence[str]) -> str:
    """What somebody may have meant by words that begin with no command: one spelled alike, or a question."""
    first = words[0]
    if first.startswith("-"):
        return f"No such option {first[:_SHOWN_CHARS]!r}."
    problem = f"No such command {first[:_SHOWN_CHARS]!r}."
    names = (*VERBS, *ALIASES)
    if near := get_close_matches(first, names, n=1):
        problem += f" Did you mean `dowse {near[0]}`?"
        if len(words) == 1 or get_close_matches(first, names, n=1, cutoff=_MISSPELLED_RATIO):
            return problem
    question = " ".join(words)[:_SHOWN_CHARS]
    quoted = f'"{question}"' if _SAFE_IN_QUOTES.fullmatch(question) else shlex.quote(question)
    return f"{problem} To ask a question: dowse search {quoted}"


def _bounded(context: click.Context, option: click.Parameter, given: tuple[object, ...]) -> tuple[object, ...]:
    """What may be repeated is bounded as the lists of tools are."""
    if not given:
        return given
    from dowse.profiles.tool import MAX_ITEMS  # with classes that take long to make, for most commands in vain

    if len(given) > MAX_ITEMS:
        raise BadInput(f"{option.opts[0]}: at most {MAX_ITEMS:,}, not {len(given):,}")
    return given


@click.group(cls=Verbs, no_args_is_help=False, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="dowse", message="dowse %(version)s")
def dowse() -> None:
    """Search this directory's documents, code, git history and memories: by words, by meaning, on this machine.

    \b
    dowse search "how are retries handled"     ask; builds the index first
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
        if _may_be_paged(words):
            hold_output()
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
