"""The commands of search-index that ask: for files, lines, odd files, the state of the index, and advice."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from dowse.ingest.sources.base import Reach
from dowse.live.jobs import Jobs
from dowse.profiles.codesearch_definitions import DefinitionsTool
from dowse.profiles.codesearch_desk import Desk, Options
from dowse.profiles.codesearch_files import FileTools, Names, Only
from dowse.profiles.codesearch_grep import Asked, GrepTool, manner_of, terms_of
from dowse.profiles.codesearch_help import help_json
from dowse.profiles.codesearch_upkeep import UpkeepTools
from dowse.profiles.codesearch_words import listed
from dowse.shells.cli.index import build
from dowse.shells.cli.search import FIRST_HISTORY_S, ready
from dowse.shells.codesearch_text import audit_lines, file_lines, grep_lines, info_lines, tip_lines
from dowse.shells.serving import codesearch_workspace
from dowse.shells.workspace import Workspace

dir_option = click.option(
    "-d",
    "--dir",
    "directory",
    type=click.Path(path_type=Path),
    default=Path(),
    help="The directory; default: this one.",
)
ext_option = click.option("-e", "--ext", default="", help="Only files with these extensions, comma separated.")
hidden_option = click.option("--hidden", is_flag=True, help="Also names that begin with a dot.")
no_ignore_option = click.option("--no-ignore", is_flag=True, help="Also what ignore files leave out.")
threads_option = click.option("-t", "--threads", type=int, default=0, help="Taken, but Dowse decides this itself.")
_regex = click.option("-r", "--regex", is_flag=True, help="The pattern is a regex.")
_ignore_case = click.option("-i", "--ignore-case", is_flag=True, help="Case does not count.")
_count = click.option("-c", "--count", is_flag=True, help="Only how many there are.")
_auto = click.option("--auto-reindex", is_flag=True, help="Bring the index up to date first.")
_LINES = click.IntRange(0)


@click.command()
@click.argument("pattern")
@click.option("--contents", is_flag=True, help="Look into the files instead of at their names.")
@click.option("--max-depth", type=click.IntRange(0), default=0, help="How many levels; 0 is all.")
@dir_option
@_regex
@_ignore_case
@ext_option
@_count
@hidden_option
@no_ignore_option
@threads_option
def find(pattern: str, contents: bool, max_depth: int, hidden: bool, no_ignore: bool, **given: Any) -> None:  # noqa: ANN401
    """Find files on disk as they are now, by name or by what is in them."""
    reach = Reach(hidden=hidden, ignored=no_ignore, max_depth=max_depth)
    names = _names(pattern, given, "files", reach=reach)
    tools = FileTools(_desk(given["directory"]))
    _print(file_lines((tools.contents(names) if contents else tools.live(names)).data))


@click.command()
@click.argument("pattern")
@click.option("--dirs-only", is_flag=True, help="Only directories.")
@click.option("--files-only", is_flag=True, help="Only files.")
@click.option("--min-size", type=click.IntRange(0), default=0, help="Only files of at least so many bytes.")
@click.option("--max-size", type=click.IntRange(0), default=None, help="Only files of at most so many bytes.")
@dir_option
@_regex
@_ignore_case
@ext_option
@_count
@_auto
def fast(
    pattern: str,
    dirs_only: bool,
    files_only: bool,
    min_size: int,
    max_size: int | None,
    auto_reindex: bool,
    **given: Any,  # noqa: ANN401
) -> None:
    """Find files and directories by name, in the index."""
    only: Only = "directories" if dirs_only else "files" if files_only else ""
    names = _names(pattern, given, only, least_bytes=min_size, most_bytes=max_size)
    _print(file_lines(FileTools(_desk(given["directory"], ext=given["ext"], renew=auto_reindex)).indexed(names).data))


@click.command()
@click.argument("pattern")
@click.option("--show-lines", is_flag=True, help="Print the lines.")
@click.option("--max-results", type=click.IntRange(0), default=0, help="How many files at most; 0 is all.")
@click.option("--all", "every", is_flag=True, help="Only files with all of the terms.")
@click.option("--exclude-dir", multiple=True, help="Leave out paths with this in them; may be repeated.")
@click.option("--exclude", multiple=True, help="The same.")
@click.option("-C", "--context", type=_LINES, default=None, help="So many lines around each.")
@click.option("-B", "--before", type=_LINES, default=None, help="So many lines before each.")
@click.option("-A", "--after", type=_LINES, default=None, help="So many lines after each.")
@click.option("--phrase", is_flag=True, help="All of it is one phrase.")
@click.option("--exact", is_flag=True, help="Whole words only.")
@dir_option
@_regex
@ext_option
@_count
@_auto
def grep(pattern: str, directory: Path, ext: str, auto_reindex: bool, **given: Any) -> None:  # noqa: ANN401
    """Find lines by words, parts of words, regexes of words or phrases, the best files first."""
    asked = Asked(
        terms_of(pattern, phrase=given["phrase"]),
        manner_of(regex=given["regex"], phrase=given["phrase"], substring=False if given["exact"] else None),
        every=given["every"],
        ext=ext,
        excluded=(*given["exclude_dir"], *given["exclude"]),
        limit=given["max_results"],
        around=_around(given),
        count_only=given["count"],
    )
    _print(grep_lines(GrepTool(_desk(directory, ext=ext, renew=auto_reindex)).found(asked).data))


@click.command("def-audit")
@click.option("--min-bytes", type=click.IntRange(0), default=500, show_default=True, help="What is large enough.")
@dir_option
@ext_option
def def_audit(min_bytes: int, directory: Path, ext: str) -> None:
    """Which files have no definitions though they are large enough to."""
    tool = DefinitionsTool(_desk(directory, extensions=listed(ext)))
    _print(audit_lines(tool.search_definitions(audit=True, auditMinBytes=min_bytes).data))


@click.command()
@dir_option
def info(directory: Path) -> None:
    """What is indexed of the directory, how large and how old."""
    _print(info_lines(UpkeepTools(_desk(directory)).search_info().data))


@click.command()
def tips() -> None:
    """Which tool of the server answers what."""
    _print(tip_lines(help_json()))


# --- how they do it ---


def workspace_at(directory: Path, **flags: object) -> Workspace:
    workspace = codesearch_workspace((directory,), flags=flags, environment=os.environ, cwd=Path.cwd())
    context = click.get_current_context(silent=True)
    if context and isinstance(context.obj, list):  # whoever runs the command heals what it meets
        context.obj.append(workspace)
    return workspace


def _desk(directory: Path, *, ext: str = "", renew: bool = False, extensions: tuple[str, ...] = ()) -> Desk:
    """Over an index that is there: it is built first where there is none, with files of the extensions asked for."""
    workspace = workspace_at(directory, extra_extensions=ext or None)
    if renew:
        build(workspace, history_for_s=FIRST_HISTORY_S)
    engine = ready(workspace)
    return Desk(lambda: engine, Jobs(), workspace.root, Options(extensions, max_response_kb=0))


def _names(pattern: str, given: Mapping[str, Any], only: Only, **more: Any) -> Names:  # noqa: ANN401
    return Names(
        pattern,
        ext=given["ext"],
        regex=given["regex"],
        ignore_case=given["ignore_case"],
        only=only,
        count_only=given["count"],
        **more,
    )


def _around(given: Mapping[str, Any]) -> tuple[int, int] | None:
    before, after = (given["context"] if given[side] is None else given[side] for side in ("before", "after"))
    if before is None and after is None and not given["show_lines"]:
        return None
    return before or 0, after or 0


def _print(lines: list[str]) -> None:
    click.echo("\n".join(lines))
