"""The original's command line under its own name: the same verbs and options, over the index that Dowse keeps."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from dowse.errors import DowseError
from dowse.live.rebuilding import Rebuilding, remove
from dowse.profiles.codesearch_words import listed
from dowse.shells.alias_commands import advising, run_healing
from dowse.shells.cli.index import build
from dowse.shells.cli.streams import guarded
from dowse.shells.codesearch_asking import (
    def_audit,
    dir_option,
    ext_option,
    fast,
    find,
    grep,
    hidden_option,
    info,
    no_ignore_option,
    threads_option,
    tips,
    workspace_at,
)
from dowse.shells.serving import codesearch_profile, serve_made
from dowse.shells.workspace import Workspace

_max_age = click.option("--max-age-hours", type=int, default=24, help="Taken, but every run compares with the disk.")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def commands() -> None:
    """Search the code of a directory, with the commands of search-index."""


for command in (find, fast, grep, info, def_audit, tips):
    commands.add_command(command)


@guarded
def main(arguments: Sequence[str] | None = None) -> None:
    """One line on stderr and exit code 2 for whatever the user can mend."""
    try:
        workspaces: list[Workspace] = []
        with advising("search-index cleanup"):
            run_healing(
                lambda: commands.main(arguments, prog_name="search-index", standalone_mode=False, obj=workspaces),
                workspaces,
            )
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except click.Abort:
        sys.exit(130)
    except DowseError as error:
        click.echo(str(error), err=True)
        sys.exit(2)


@commands.command("index")
@dir_option
@_max_age
@hidden_option
@no_ignore_option
@threads_option
def index(directory: Path, no_ignore: bool, **_: Any) -> None:  # noqa: ANN401
    """Bring the directory into the index, or up to date: names, contents and definitions."""
    _index(directory, no_ignore=no_ignore)


@commands.command("content-index")
@dir_option
@click.option("-e", "--ext", default="", help="Index these too, comma separated; other text files always are.")
@click.option("--min-token-len", type=int, default=2, help="Taken, but words of one character are never indexed.")
@_max_age
@hidden_option
@no_ignore_option
@threads_option
def content_index(directory: Path, ext: str, no_ignore: bool, **_: Any) -> None:  # noqa: ANN401
    """The same as index: there is one index of everything."""
    _index(directory, no_ignore=no_ignore, ext=ext)


@commands.command("def-index")
@dir_option
@click.option("-e", "--ext", default="", help="Taken, but every language that is known is indexed.")
@threads_option
def def_index(directory: Path, **_: Any) -> None:  # noqa: ANN401
    """The same as index: there is one index of everything."""
    _index(directory, no_ignore=False)


@commands.command()
@dir_option
def cleanup(directory: Path) -> None:
    """Delete the index of the directory; its files are not touched."""
    workspace = workspace_at(directory)
    Rebuilding(workspace.settings, workspace.index, workspace.root).check_replaceable()
    click.echo(f"deleted {workspace.index}" if remove(workspace.index) else f"there is no index of {workspace.root}")


@commands.command()
@dir_option
@ext_option
@click.option("--watch", is_flag=True, help="Follow the files as they change.")
@click.option("--debounce-ms", type=int, default=None, help="How long files must be left alone.  [default: 500]")
@click.option(
    "--bulk-threshold", type=int, default=None, help="When more files change, all are compared.  [default: 100]"
)
@click.option("--definitions", is_flag=True, help="Taken; definitions are always there.")
@click.option("--memory-log", is_flag=True, help="Taken; search_info tells the memory.")
@click.option("--metrics", is_flag=True, help="Say in each summary how large the answer is.")
@click.option(
    "--max-response-kb", type=click.IntRange(0), default=None, help="The longest answer; 0 is any.  [default: 16]"
)
@click.option("--log-level", default="info", help="What goes to stderr: debug, info, warning, error.")
def serve(
    directory: Path,
    ext: str,
    watch: bool,
    debounce_ms: int | None,
    bulk_threshold: int | None,
    metrics: bool,
    max_response_kb: int | None,
    log_level: str,
    **_: Any,  # noqa: ANN401
) -> None:
    """Serve the tools over MCP on stdin and stdout; the index is brought up to date behind the answers."""
    workspace = workspace_at(
        directory,
        max_response_kb=max_response_kb,
        watch=watch,
        debounce_ms=debounce_ms,
        bulk_threshold=bulk_threshold,
        extra_extensions=ext or None,
    )
    serve_made(
        lambda backstage: codesearch_profile(workspace, backstage, listed(ext), metrics=metrics),
        {"DOWSE_LOG_LEVEL": log_level, **os.environ},
    )


def _index(directory: Path, *, no_ignore: bool, ext: str = "") -> None:
    flags = {"gitignore": False, "default_excludes": False} if no_ignore else {}
    click.echo(build(workspace_at(directory, extra_extensions=ext or None, **flags)).text())
