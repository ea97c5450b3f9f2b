"""The commands of search-index."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from dowse.cli.compat import naming_repair_command, run_with_healing
from dowse.cli.index import build_index
from dowse.cli.search import FIRST_HISTORY_SECONDS, open_ready_engine
from dowse.cli.terminal import with_safe_streams
from dowse.errors import DowseError
from dowse.ingest.sources.base import ListingScope
from dowse.live.heal import IndexRebuild, remove_index
from dowse.live.jobs import JobQueue
from dowse.server.runtime import codesearch_profile, codesearch_workspace, serve_with
from dowse.server.workspace import Workspace
from dowse.tools.codesearch_code import DefinitionsTool
from dowse.tools.codesearch_context import CodeSearchOptions, ToolContext, help_json
from dowse.tools.codesearch_files import (
    EntryType,
    FileNameRequest,
    FileTools,
    GrepRequest,
    GrepTool,
    choose_grep_mode,
    parse_terms,
)
from dowse.tools.codesearch_index import IndexTools
from dowse.tools.render import split_commas

# --------------------------------------------------------------------------------------------------
# Text output of the code search commands: one row per line, totals last.

JsonObject = Mapping[str, Any]


def file_lines(data: JsonObject) -> list[str]:
    lines = [line for row in data.get("files", ()) for line in _file_row_lines(row)]
    return [*lines, f"{data['summary']['totalMatches']:,} found", *data["summary"].get("warnings", ())]


def _file_row_lines(row: JsonObject) -> Iterator[str]:
    if "matches" in row:
        yield from (f"{row['path']}:{it['line']}:{it['text']}" for it in row["matches"])
    else:
        yield f"{row['path']}/" if row.get("isDir") else row["path"]


def grep_lines(data: JsonObject) -> list[str]:
    summary = data["summary"]
    total = f"{summary['totalFiles']:,} files, {summary['totalOccurrences']:,} occurrences"
    return [
        *(line for row in data.get("files", ()) for line in _grep_row_lines(row)),
        total,
        *summary.get("warnings", ()),
    ]


def _grep_row_lines(row: JsonObject) -> Iterator[str]:
    score = f", score {row['score']:.4f}" if "score" in row else ""
    yield f"{row['path']} ({row['occurrences']:,} occurrences{score})"
    for group in row.get("lineContent", ()):
        for at, text in enumerate(group["lines"]):
            sign = ":" if at in group["matchIndices"] else "-"
            yield f"  {group['startLine'] + at}{sign} {text}"


def audit_lines(data: JsonObject) -> list[str]:
    counts = [f"{name}: {value:,}" for name, value in data["audit"].items()]
    rows = [f"{row['file']} ({row['bytes']:,} bytes{_audit_reason(row)})" for row in data["suspiciousFiles"]]
    return [*rows, *counts]


def _audit_reason(row: JsonObject) -> str:
    return f", {row['reason']}" if "reason" in row else ""


def info_lines(data: JsonObject) -> list[str]:
    return [data["directory"], *(_index_line(it) for it in data["indexes"])]


def _index_line(index: JsonObject) -> str:
    figures = [f"{name} {_info_value(value)}" for name, value in index.items() if name not in ("type", "root")]
    return f"{index['type']}: {', '.join(figures)}"


def _info_value(value: object) -> str:
    return ",".join(value) if isinstance(value, list) else str(value)


def tip_lines(data: JsonObject) -> list[str]:
    tasks = [f"{it['task']}\n    {it['tool']} {it['arguments']}" for it in data["tasks"]]
    return [*tasks, *(f"{it['rule']}: {it['why']}." for it in data["bestPractices"])]


# --------------------------------------------------------------------------------------------------
# Query commands of `search-index`: files, lines, files without definitions, index state, and tips.

dir_option = click.option(
    "-d",
    "--dir",
    "directory",
    type=click.Path(path_type=Path),
    default=Path(),
    help="Directory to search (default: the current one).",
)
ext_option = click.option("-e", "--ext", default="", help="Only files with these extensions, comma separated.")
hidden_option = click.option("--hidden", is_flag=True, help="Include hidden files.")
no_ignore_option = click.option("--no-ignore", is_flag=True, help="Include ignored files.")
threads_option = click.option(
    "-t", "--threads", type=int, default=0, help="Ignored: Dowse chooses the number of threads."
)
_regex = click.option("-r", "--regex", is_flag=True, help="The pattern is a regex.")
_ignore_case = click.option("-i", "--ignore-case", is_flag=True, help="Ignore case.")
_count = click.option("-c", "--count", is_flag=True, help="Print only the number of matches.")
_auto = click.option("--auto-reindex", is_flag=True, help="Update the index first.")
_LINE_COUNT = click.IntRange(0)


@click.command()
@click.argument("pattern")
@click.option("--contents", is_flag=True, help="Search the contents of files instead of their names.")
@click.option("--max-depth", type=click.IntRange(0), default=0, help="Maximum depth (0 = no limit).")
@dir_option
@_regex
@_ignore_case
@ext_option
@_count
@hidden_option
@no_ignore_option
@threads_option
def find(pattern: str, contents: bool, max_depth: int, hidden: bool, no_ignore: bool, **options: Any) -> None:  # noqa: ANN401
    """Find files on disk as they are now, by name or by contents."""
    listing_scope = ListingScope(include_hidden=hidden, include_ignored=no_ignore, max_depth=max_depth)
    names = _make_name_query(pattern, options, "files", listing_scope=listing_scope)
    tools = FileTools(_open_tools(options["directory"]))
    _print_lines(file_lines((tools.contents(names) if contents else tools.live(names)).data))


@click.command()
@click.argument("pattern")
@click.option("--dirs-only", is_flag=True, help="Only directories.")
@click.option("--files-only", is_flag=True, help="Only files.")
@click.option("--min-size", type=click.IntRange(0), default=0, help="Minimum file size in bytes.")
@click.option("--max-size", type=click.IntRange(0), default=None, help="Maximum file size in bytes.")
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
    **options: Any,  # noqa: ANN401
) -> None:
    """Find files and directories by name, in the index."""
    only: EntryType = "directories" if dirs_only else "files" if files_only else ""
    names = _make_name_query(pattern, options, only, min_bytes=min_size, max_bytes=max_size)
    _print_lines(
        file_lines(
            FileTools(_open_tools(options["directory"], ext=options["ext"], renew=auto_reindex))
            .find_indexed(names)
            .data
        )
    )


@click.command()
@click.argument("pattern")
@click.option("--show-lines", is_flag=True, help="Print matching lines.")
@click.option("--max-results", type=click.IntRange(0), default=0, help="Maximum files (0 = no limit).")
@click.option("--all", "every", is_flag=True, help="Only files that contain all terms.")
@click.option("--exclude-dir", multiple=True, help="Exclude paths that contain this (repeatable).")
@click.option("--exclude", multiple=True, help="Same as --exclude-dir.")
@click.option("-C", "--context", type=_LINE_COUNT, default=None, help="Lines of context around each match.")
@click.option("-B", "--before", type=_LINE_COUNT, default=None, help="Lines before each match.")
@click.option("-A", "--after", type=_LINE_COUNT, default=None, help="Lines after each match.")
@click.option("--phrase", is_flag=True, help="The whole pattern is one phrase.")
@click.option("--exact", is_flag=True, help="Whole words only.")
@dir_option
@_regex
@ext_option
@_count
@_auto
def grep(pattern: str, directory: Path, ext: str, auto_reindex: bool, **options: Any) -> None:  # noqa: ANN401
    """Find lines by words, parts of words, regexes of words or phrases. The best files come first."""
    request = GrepRequest(
        parse_terms(pattern, phrase=options["phrase"]),
        choose_grep_mode(
            regex=options["regex"], phrase=options["phrase"], substring=False if options["exact"] else None
        ),
        match_all=options["every"],
        ext=ext,
        excluded=(*options["exclude_dir"], *options["exclude"]),
        limit=options["max_results"],
        context_lines=_context_lines(options),
        count_only=options["count"],
    )
    _print_lines(grep_lines(GrepTool(_open_tools(directory, ext=ext, renew=auto_reindex)).run(request).data))


@click.command("def-audit")
@click.option("--min-bytes", type=click.IntRange(0), default=500, show_default=True, help="Minimum file size.")
@dir_option
@ext_option
def def_audit(min_bytes: int, directory: Path, ext: str) -> None:
    """List files without definitions that are large enough to have some."""
    tool = DefinitionsTool(_open_tools(directory, extensions=split_commas(ext)))
    _print_lines(audit_lines(tool.search_definitions(audit=True, auditMinBytes=min_bytes).data))


@click.command()
@dir_option
def info(directory: Path) -> None:
    """Show what is indexed of the directory, with size and age."""
    _print_lines(info_lines(IndexTools(_open_tools(directory)).search_info().data))


@click.command()
def tips() -> None:
    """Show which tool of the server answers which question."""
    _print_lines(tip_lines(help_json()))


# --- helpers ---


def workspace_at(directory: Path, **flags: object) -> Workspace:
    workspace = codesearch_workspace((directory,), flags=flags, environment=os.environ, cwd=Path.cwd())
    context = click.get_current_context(silent=True)
    if context and isinstance(context.obj, list):  # the caller repairs damage found in these
        context.obj.append(workspace)
    return workspace


def _open_tools(
    directory: Path, *, ext: str = "", renew: bool = False, extensions: tuple[str, ...] = ()
) -> ToolContext:
    """Open the tools over an index; build it first if it is missing, with files of the given extensions."""
    workspace = workspace_at(directory, extra_extensions=ext or None)
    if renew:
        build_index(workspace, history_for_s=FIRST_HISTORY_SECONDS)
    engine = open_ready_engine(workspace)
    return ToolContext(lambda: engine, JobQueue(), workspace.root, CodeSearchOptions(extensions, max_response_kb=0))


def _make_name_query(pattern: str, options: Mapping[str, Any], only: EntryType, **more: Any) -> FileNameRequest:  # noqa: ANN401
    return FileNameRequest(
        pattern,
        ext=options["ext"],
        regex=options["regex"],
        ignore_case=options["ignore_case"],
        entry_type=only,
        count_only=options["count"],
        **more,
    )


def _context_lines(options: Mapping[str, Any]) -> tuple[int, int] | None:
    before, after = (options["context"] if options[side] is None else options[side] for side in ("before", "after"))
    if before is None and after is None and not options["show_lines"]:
        return None
    return before or 0, after or 0


def _print_lines(lines: list[str]) -> None:
    click.echo("\n".join(lines))


_max_age = click.option("--max-age-hours", type=int, default=24, help="Ignored: every run compares with the disk.")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def commands() -> None:
    """Search the code of a directory, with the commands of search-index."""


for command in (find, fast, grep, info, def_audit, tips):
    commands.add_command(command)


@with_safe_streams
def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command; print an error that the user can fix as one line on stderr, and exit with 2."""
    try:
        workspaces: list[Workspace] = []
        with naming_repair_command("search-index cleanup"):
            run_with_healing(
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
    """Index the directory, or update its index: names, contents and definitions."""
    _build_codesearch_index(directory, no_ignore=no_ignore)


@commands.command("content-index")
@dir_option
@click.option("-e", "--ext", default="", help="Also index these extensions, comma separated; text files always are.")
@click.option("--min-token-len", type=int, default=2, help="Ignored: words of one character are never indexed.")
@_max_age
@hidden_option
@no_ignore_option
@threads_option
def content_index(directory: Path, ext: str, no_ignore: bool, **_: Any) -> None:  # noqa: ANN401
    """Same as index: one index covers everything."""
    _build_codesearch_index(directory, no_ignore=no_ignore, ext=ext)


@commands.command("def-index")
@dir_option
@click.option("-e", "--ext", default="", help="Ignored: every known language is indexed.")
@threads_option
def def_index(directory: Path, **_: Any) -> None:  # noqa: ANN401
    """Same as index: one index covers everything."""
    _build_codesearch_index(directory, no_ignore=False)


@commands.command()
@dir_option
def cleanup(directory: Path) -> None:
    """Delete the index of the directory; its files are not touched."""
    workspace = workspace_at(directory)
    IndexRebuild(workspace.settings, workspace.index, workspace.root).check_replaceable()
    click.echo(f"deleted {workspace.index}" if remove_index(workspace.index) else f"no index for {workspace.root}")


@commands.command()
@dir_option
@ext_option
@click.option("--watch", is_flag=True, help="Watch files for changes.")
@click.option(
    "--debounce-ms",
    type=int,
    default=None,
    help="How long files must be unchanged before they are indexed.  [default: 500]",
)
@click.option(
    "--bulk-threshold", type=int, default=None, help="Compare all files if more than this many change.  [default: 100]"
)
@click.option("--definitions", is_flag=True, help="Ignored: definitions are always indexed.")
@click.option("--memory-log", is_flag=True, help="Ignored: search_info reports memory use.")
@click.option("--metrics", is_flag=True, help="Report the size of each answer in its summary.")
@click.option(
    "--max-response-kb",
    type=click.IntRange(0),
    default=None,
    help="Maximum size of an answer (0 = no limit).  [default: 16]",
)
@click.option("--log-level", default="info", help="Log level on stderr: debug, info, warning, error.")
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
    """Serve the tools over MCP on stdin and stdout, and keep the index current in the background."""
    workspace = workspace_at(
        directory,
        max_response_kb=max_response_kb,
        watch=watch,
        debounce_ms=debounce_ms,
        bulk_threshold=bulk_threshold,
        extra_extensions=ext or None,
    )
    serve_with(
        lambda server_runtime: codesearch_profile(workspace, server_runtime, split_commas(ext), metrics=metrics),
        {"DOWSE_LOG_LEVEL": log_level, **os.environ},
    )


def _build_codesearch_index(directory: Path, *, no_ignore: bool, ext: str = "") -> None:
    flags = {"gitignore": False, "default_excludes": False} if no_ignore else {}
    click.echo(build_index(workspace_at(directory, extra_extensions=ext or None, **flags)).text())
