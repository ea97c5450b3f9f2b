"""The `dowse` command line; each verb has its own module, imported on demand.

Only this module decides exit codes: 0 found or done, 1 nothing found, 2 error. An error is one line on stderr that
names the next step.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

from dowse.errors import DowseError

TYPE_CHECKING = False
if TYPE_CHECKING:  # keep the start of `dowse mcp` fast: import only what it needs
    from typing import NoReturn

VERBS = {
    "search": "Search by words and meaning; builds the index on first use.",
    "grep": "Find lines that match a regex, word, literal text or phrase.",
    "index": "Index directories, or update what is indexed.",
    "calls": "Show the callers of a function, or its callees, as a tree.",
    "impact": "Show what uncommitted changes touch, and its callers.",
    "why": "Explain a line or symbol: callers, commits, docs, notes.",
    "related": "List everything linked to a file, symbol, commit or note.",
    "symbols": "List definitions by name, kind, base, attribute, line or complexity.",
    "find": "Find files and directories by name, in the index or on disk.",
    "read": "Print lines of an indexed file, or a hit by its id.",
    "remember": "Save a searchable note; anchor it to code to be told when that code changes.",
    "memories": "List saved notes: age, type, tags, and which are stale.",
    "forget": "Move a note to the trash.",
    "status": "Show what is indexed, how fresh it is, the encoder, and skipped files.",
    "watch": "Watch files and keep the index current (Ctrl-C stops).",
    "jobs": "List background jobs: state, progress, result.",
    "indexes": "List indexes; delete some, or all whose roots are gone.",
    "export": "Print every chunk of the index, in a stable order.",
    "doctor": "Check the index and its environment; --fix repairs it.",
    "rebuild": "Rebuild the index from scratch.",
    "eval": "Measure recipes against a gold set, or against your own files.",
    "mcp": "Serve an AI agent over MCP on stdin and stdout.",
    "daemon": "One server shared by every agent on an index: run, start, stop, status, restart.",
}
ALIASES = {"roots": "indexes"}
_GLOBAL_FLAGS = ("--help", "-h", "--version")
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
Everything else:     README.md and docs/ of the project"""


def normalize_arguments(arguments: Sequence[str]) -> list[str]:
    """Move flags that precede the verb behind it, and turn `help VERB` into `VERB --help`."""
    words = list(arguments)
    if words[:1] == ["help"]:
        return [*words[1:2], "--help"]
    if not words or not words[0].startswith("-") or words[0] in _GLOBAL_FLAGS:
        return words
    position = next((i for i, word in enumerate(words) if word in VERBS or word in ALIASES), 0)
    return [words[position], *words[:position], *words[position + 1 :]] if position else words


def main(arguments: Sequence[str] | None = None) -> None:
    words = normalize_arguments(sys.argv[1:] if arguments is None else arguments)
    if not words and _should_greet():
        exit_with(lambda: print(WELCOME))  # noqa: T201
    if words[:1] == ["mcp"] and None not in (sys.stdin, sys.stdout, sys.stderr):
        from dowse.server.sharing.front import parse_mcp_words, serve_mcp_client

        mcp_arguments = parse_mcp_words(words[1:])
        if mcp_arguments is not None:
            exit_with(lambda: serve_mcp_client(mcp_arguments))
    from dowse.cli.group import run_command

    run_command(words)


def _should_greet() -> bool:
    """Return whether a person typed a bare `dowse`; in a script, a missing command is an error."""
    return sys.stdout is not None and sys.stdout.isatty() and _COMPLETION_VARIABLE not in os.environ


def exit_with(work: Callable[[], object]) -> NoReturn:
    """Run `work` and exit with the code it returns; print an error as one line on stderr and exit with 2."""
    try:
        code = work()
        sys.stdout.flush()
    except DowseError as error:
        exit_with_error(str(error))
    except KeyboardInterrupt:
        print("stopped; everything indexed so far is kept", file=sys.stderr)  # noqa: T201
        sys.exit(130)
    except BrokenPipeError:
        # The reader closed the pipe early; keep Python from reporting that at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        exit_with_error(f"system error: {error}; check the disk and the current directory")
    sys.exit(code if isinstance(code, int) else 0)


def exit_with_error(sentence: str) -> NoReturn:
    print(f"dowse: {sentence}", file=sys.stderr)  # noqa: T201
    sys.exit(2)
