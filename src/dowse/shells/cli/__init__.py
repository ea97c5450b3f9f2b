"""The `dowse` command: one module per verb, imported when it is asked for; exit codes are decided here alone.

0 found or done, 1 nothing found, 2 an error, told in one line on stderr that says the next step.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

from dowse.errors import DowseError

TYPE_CHECKING = False
if TYPE_CHECKING:  # `dowse mcp` has to answer at once: nothing is imported that it can do without
    from typing import NoReturn

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
ALIASES = {"roots": "indexes"}
_LEADING = ("--help", "-h", "--version")
_COMPLETION_VARIABLE = "_DOWSE_COMPLETE"  # set while a shell asks for completions
WELCOME = r"""Dowse searches this directory: documents, code, git history and notes,
by words and by meaning. Everything stays on this machine.

  dowse search "how are retries handled"
      Ask a question. The first question builds the index.
  dowse grep 'retry_\w+'
      Find every line that matches a regex.
  dowse why src/http.py:118
      Explain a line or a symbol: callers, commits, documents, notes.
  dowse status
      See what is indexed, how fresh it is, and what was skipped.
  dowse mcp
      Serve the same answers to an AI agent.

All commands:        dowse --help
Options of one:      dowse search --help
Settings of one:     dowse search --help-all
Everything else:     README.md and docs/reference.md of the project"""


def in_order(arguments: Sequence[str]) -> list[str]:
    """Flags may stand before the verb too: they are moved behind it. `help VERB` is `VERB --help`."""
    words = list(arguments)
    if words[:1] == ["help"]:
        return [*words[1:2], "--help"]
    if not words or not words[0].startswith("-") or words[0] in _LEADING:
        return words
    place = next((i for i, word in enumerate(words) if word in VERBS or word in ALIASES), 0)
    return [words[place], *words[:place], *words[place + 1 :]] if place else words


def main(arguments: Sequence[str] | None = None) -> None:
    words = in_order(sys.argv[1:] if arguments is None else arguments)
    if not words and _greets():
        exit_with(lambda: print(WELCOME))  # noqa: T201
    if words[:1] == ["mcp"] and None not in (sys.stdin, sys.stdout, sys.stderr):
        from dowse.shells.sharing.front import read_words, serve_client

        given = read_words(words[1:])
        if given is not None:
            exit_with(lambda: serve_client(given))
    from dowse.shells.cli.group import run_command

    run_command(words)


def _greets() -> bool:
    """Whether a bare `dowse` was typed by a person: a script that gives no command has made an error."""
    return sys.stdout is not None and sys.stdout.isatty() and _COMPLETION_VARIABLE not in os.environ


def exit_with(work: Callable[[], object]) -> NoReturn:
    """End the process with the exit code that the work returns; an error is one line on stderr and code 2."""
    try:
        code = work()
        sys.stdout.flush()
    except DowseError as error:
        complain(str(error))
    except KeyboardInterrupt:
        print("stopped; what was indexed so far is kept", file=sys.stderr)  # noqa: T201
        sys.exit(130)
    except BrokenPipeError:
        # Whoever read our output has seen enough; Python must not complain about it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        complain(f"the system refused: {error}; check the disk and the current directory")
    sys.exit(code if isinstance(code, int) else 0)


def complain(sentence: str) -> NoReturn:
    print(f"dowse: {sentence}", file=sys.stderr)  # noqa: T201
    sys.exit(2)
