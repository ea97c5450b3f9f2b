"""The commands of Rifflux and mcp-markdown-ragdocs."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from dowse.cli.search import open_ready_engine
from dowse.cli.terminal import escaped_streams
from dowse.errors import DowseError, IndexDamaged, IndexUnusable, replace_repair_command
from dowse.live.heal import IndexRebuild, remove_index
from dowse.live.jobs import JobQueue
from dowse.server.contract_settings import RagdocsConfig, config_lines, ragdocs_workspace
from dowse.server.runtime import EnginePool, rifflux_workspace, serve_profile
from dowse.server.workspace import Workspace
from dowse.tools.core_render import report_json
from dowse.tools.ragdocs import CommitSearchTool, RagdocsTools
from dowse.tools.rifflux import (
    RIFFLUX_REBUILD_COMMAND,
    RiffluxMode,
    RiffluxOptions,
    RiffluxTools,
    resolve_index_location,
)

# --------------------------------------------------------------------------------------------------
# Shared parts of the commands named after other products: one-line errors, healing, indented JSON.


def run_reporting_errors(command: Callable[[], None]) -> None:
    """Run the command; print an error that the user can fix as one line on stderr, and exit with 2."""
    with escaped_streams():
        try:
            command()
        except DowseError as error:
            click.echo(str(error), err=True)
            sys.exit(2)


def run_in_workspace(find: Callable[[], Workspace], command: Callable[[Workspace], None], mending: str) -> None:
    """Run a command in a workspace and repair damage it finds; `mending` is the repair command that errors name."""

    def healing() -> None:
        with naming_repair_command(mending):
            workspace = find()
            run_with_healing(lambda: command(workspace), [workspace])

    run_reporting_errors(healing)


def run_with_healing(command: Callable[[], object], workspaces: list[Workspace]) -> None:
    """Run the command; if it finds damage, repair the index and run it once more. The command may add workspaces."""
    try:
        command()
    except IndexDamaged:
        if not any(it.engines for it in workspaces):
            raise
        for workspace in workspaces:
            workspace.heal()
        command()
        return
    for workspace in workspaces:
        workspace.heal_found_damage()


@contextmanager
def naming_repair_command(mending: str) -> Iterator[None]:
    """Make errors name the repair command of this product instead of the one of `dowse`."""
    try:
        yield
    except IndexUnusable as error:
        raise type(error)(replace_repair_command(str(error), mending)) from error


def print_json(data: object) -> None:
    click.echo(json.dumps(data, indent=2, ensure_ascii=False))


_RAGDOCS_REPAIR_COMMAND = "mcp-markdown-ragdocs rebuild-index"
_project_option = click.option(
    "--project",
    type=click.Path(path_type=Path),
    help="Directory, or name of a configured project (default: the current one).",
)


@click.group()
def main() -> None:
    """Search the documents of a project, with the commands of mcp-markdown-ragdocs."""


@main.command()
@_project_option
def mcp(project: Path | None) -> None:
    """Serve the query tools over MCP on stdin and stdout."""
    roots = () if project is None else (project,)
    run_reporting_errors(
        lambda: serve_profile("ragdocs", roots=roots, flags={}, environment=os.environ, cwd=Path.cwd())
    )


@main.command()
@click.argument("text")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--top-n", default=5, show_default=True, type=click.IntRange(1, 100), help="Maximum results.")
@_project_option
def query(text: str, as_json: bool, top_n: int, project: Path | None) -> None:
    """Search the documents; the first search builds the index."""
    run_in_workspace(
        lambda: _find_project_workspace(project)[0],
        lambda it: _run_query(text, as_json, top_n, it, _find_project_workspace(project)[1]),
        _RAGDOCS_REPAIR_COMMAND,
    )


@main.command("search-commits")
@click.argument("text")
@click.option("--top-n", default=5, show_default=True, type=click.IntRange(1, 100), help="Maximum commits.")
@_project_option
def search_commits(text: str, top_n: int, project: Path | None) -> None:
    """Search commits by message and changes."""
    run_in_workspace(
        lambda: _find_project_workspace(project)[0],
        lambda it: _run_commit_search(text, top_n, it),
        _RAGDOCS_REPAIR_COMMAND,
    )


@main.command("rebuild-index")
@_project_option
def rebuild_index(project: Path | None) -> None:
    """Index every file again, and replace the old index."""
    run_reporting_errors(lambda: _run_rebuild(_find_project_workspace(project)[0]))


@main.command("check-config")
@_project_option
def check_config(project: Path | None) -> None:
    """Show the active configuration, keys without effect, and errors."""
    run_reporting_errors(lambda: _print_config(*_find_project_workspace(project)))


def _print_config(workspace: Workspace, setup: RagdocsConfig) -> None:
    for line in config_lines(workspace, setup, Path.cwd()):
        click.echo(line)
    click.echo("the configuration is valid")


def _run_rebuild(workspace: Workspace) -> None:
    rebuilding = IndexRebuild(workspace.settings, workspace.index, workspace.root)
    print_json(report_json(rebuilding.run(lambda stage, done, total: None)))


def _run_commit_search(text: str, top_n: int, workspace: Workspace) -> None:
    with open_ready_engine(workspace) as engine:
        tool = CommitSearchTool(lambda: engine, wait=lambda: None, states=lambda: ())
        click.echo(tool.search_git_history(text, top_n).text)


def _run_query(text: str, as_json: bool, top_n: int, workspace: Workspace, setup: RagdocsConfig) -> None:
    with open_ready_engine(workspace) as engine:
        tools = RagdocsTools(lambda: engine, JobQueue(), 0, setup.memory, setup.tuning, setup.files)
        if as_json:
            print_json({"query": text, "results": tools.rows(text, top_n)})
        else:
            click.echo(tools.query_documents(text, top_n).text)


def _find_project_workspace(project: Path | None) -> tuple[Workspace, RagdocsConfig]:
    roots = () if project is None else (project,)
    return ragdocs_workspace(roots, flags={}, environment=os.environ, cwd=Path.cwd())


# --------------------------------------------------------------------------------------------------
# The four original Rifflux commands under their own names; all but the server print indented JSON.

_path_option = click.option("--path", default=".", show_default=True, help="Directory or file to index.")
_db_option = click.option("--db", default=None, help="Index file.  [default: .tmp/rifflux/rifflux.db, RIFFLUX_DB_PATH]")


def _find_rifflux_workspace(db: str | None) -> Workspace:
    return rifflux_workspace(flags={"index": db}, environment=os.environ, cwd=Path.cwd())


def _make_rifflux_tools(workspace: Workspace) -> RiffluxTools:
    return RiffluxTools(EnginePool(workspace).at, JobQueue(), Path.cwd(), workspace.settings, RiffluxOptions())


@click.command()
@_db_option
@click.option("--watch-path", "watch_paths", multiple=True, help="Directory to index and watch (repeatable).")
def rifflux_mcp(db: str | None, watch_paths: tuple[str, ...]) -> None:
    """Serve the Rifflux tools over MCP on stdin and stdout."""
    roots = tuple(Path(it) for it in watch_paths)
    flags = {"index": db, "watch": True if roots else None}
    run_reporting_errors(
        lambda: serve_profile("rifflux", roots=roots, flags=flags, environment=os.environ, cwd=Path.cwd())
    )


@click.command()
@_path_option
@_db_option
@click.option("--force", is_flag=True, help="Also index unchanged files again.")
def rifflux_reindex(path: str, db: str | None, force: bool) -> None:
    """Index the Markdown files below a directory; only new and changed ones are read."""
    run_in_workspace(
        lambda: _find_rifflux_workspace(db),
        lambda it: print_json(_make_rifflux_tools(it).reindex(path=path, force=force).data),
        RIFFLUX_REBUILD_COMMAND,
    )


@click.command()
@click.argument("query")
@click.option("--mode", default="hybrid", show_default=True, type=click.Choice(["hybrid", "lexical", "semantic"]))
@click.option("--top-k", default=10, show_default=True, type=click.IntRange(1, 100), help="Maximum results.")
@_db_option
def rifflux_query(query: str, mode: RiffluxMode, top_k: int, db: str | None) -> None:
    """Search the index."""

    def ask(workspace: Workspace) -> None:
        print_json(_make_rifflux_tools(workspace).search_rifflux(query, top_k, mode).data)

    run_in_workspace(lambda: _find_rifflux_workspace(db), ask, RIFFLUX_REBUILD_COMMAND)


@click.command()
@_path_option
@_db_option
def rifflux_rebuild(path: str, db: str | None) -> None:
    """Delete the index and index everything again."""
    run_reporting_errors(lambda: _rebuild_rifflux(path, db))


def _rebuild_rifflux(path: str, db: str | None) -> None:
    workspace = _find_rifflux_workspace(db)
    # Detect whatever would stop the indexing before the old index is deleted.
    resolve_index_location(path, Path.cwd(), workspace.settings)
    # The original's indexes are SQLite files too.
    IndexRebuild(workspace.settings, workspace.index, workspace.root).check_replaceable(any_sqlite=True)
    deleted = remove_index(workspace.index)
    result = _make_rifflux_tools(workspace).reindex(path=path, force=True).data
    print_json({"rebuilt_db_path": str(workspace.index), "deleted_existing_db": deleted, **result})
