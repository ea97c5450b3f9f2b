"""The `dowse` command: one module per verb, imported when it is asked for; exit codes are decided here alone.

0 found or done, 1 nothing found, 2 an error, told in one line on stderr that says the next step.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from dowse.errors import BadInput, DowseError

TYPE_CHECKING = False
if TYPE_CHECKING:  # `dowse mcp` has to answer at once: nothing is imported that it can do without
    from typing import NoReturn

VERBS = {
    "search": "Ask a question; builds the index first where there is none.",
    "grep": "Find the lines that hold a regex, a word, a text or a phrase.",
    "index": "Bring directories into the index, or up to date.",
    "calls": "Who calls a function, or what it calls, as a tree.",
    "impact": "Which definitions the uncommitted changes touch, and who calls them.",
    "why": "Why a line or a symbol is as it is: callers, commits, documents, memories.",
    "related": "What has to do with a file, a symbol, a commit or a memory, by links.",
    "symbols": "Definitions by name, kind, base, attribute, line or complexity.",
    "find": "Files and directories by name, in the index or on disk.",
    "read": "Print lines of an indexed file, or a hit by its id.",
    "remember": "Keep a note where searches find it; anchored to code, it knows when that changes.",
    "memories": "List the notes that were kept: their age, type, tags, and which are stale.",
    "forget": "Throw a note away, to the trash.",
    "status": "What is indexed, how fresh, with which encoder, and what was skipped.",
    "watch": "Follow the files and keep the index in line with them, until stopped.",
    "jobs": "What is and was done behind the answers, how far it is, and how it ended.",
    "export": "Print every chunk of the index, in a stable order.",
    "doctor": "Check the index and all around it; --fix mends what is damaged.",
    "rebuild": "Make the index anew from the files.",
    "eval": "Measure recipes against a gold set, or against your own files.",
    "mcp": "Serve an AI agent over MCP on stdin and stdout.",
    "daemon": "One shared server for all agents of an index: run, start, stop, status, restart.",
}
_LEADING = ("--help", "-h", "--version")


def in_order(arguments: Sequence[str]) -> list[str]:
    """Flags may stand before the verb too: they are moved behind it."""
    words = list(arguments)
    if not words or not words[0].startswith("-") or words[0] in _LEADING:
        return words
    place = next((i for i, word in enumerate(words) if word in VERBS), 0)
    return [words[place], *words[:place], *words[place + 1 :]] if place else words


def main(arguments: Sequence[str] | None = None) -> None:
    words = in_order(sys.argv[1:] if arguments is None else arguments)
    try:
        code = _run(words)
        sys.stdout.flush()
    except DowseError as error:
        _complain(str(error))
    except KeyboardInterrupt:
        print("stopped; what was indexed so far is kept", file=sys.stderr)  # noqa: T201
        sys.exit(130)
    except BrokenPipeError:
        # Whoever read our output has seen enough; Python must not complain about it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        _complain(f"the system refused: {error}; check the disk and the current directory")
    sys.exit(code if isinstance(code, int) else 0)


def _run(words: Sequence[str]) -> object:
    if words[:1] == ["mcp"]:
        from dowse.shells.sharing.front import read_words, serve_client

        given = read_words(words[1:])
        if given is not None:
            return serve_client(given)
    return _run_by_click(words)


def _run_by_click(words: Sequence[str]) -> object:
    import click

    from dowse.shells.cli.group import dowse

    try:
        _check(words)
        return dowse.main(words, prog_name="dowse", standalone_mode=False)
    except click.ClickException as error:
        _complain(f"{' '.join(error.format_message().split())} (--help says more)")
    except click.Abort:
        raise KeyboardInterrupt from None


def _check(words: Sequence[str]) -> None:
    """What is no text stands nowhere in an index, can not be asked for there, and not be printed."""
    from dowse.text.surrogates import is_text

    for word in words:
        if not is_text(word):
            raise BadInput(f"{word[:200]!r} is not valid UTF-8; give text")


def _complain(sentence: str) -> NoReturn:
    print(f"dowse: {sentence}", file=sys.stderr)  # noqa: T201
    sys.exit(2)
