"""The original's four commands under their own names; all but the server print indented JSON."""

from __future__ import annotations

import os
from pathlib import Path

import click

from dowse.live.jobs import Jobs
from dowse.live.rebuilding import Rebuilding, remove
from dowse.profiles.rifflux import MENDING, Rifflux
from dowse.profiles.rifflux_indexing import located
from dowse.profiles.rifflux_json import Mode
from dowse.profiles.rifflux_settings import Options
from dowse.shells.alias_commands import print_json, run, run_in
from dowse.shells.backstage import Engines
from dowse.shells.serving import rifflux_workspace, serve
from dowse.shells.workspace import Workspace

_path = click.option("--path", default=".", show_default=True, help="The directory or file to index.")
_db = click.option("--db", default=None, help="The index file.  [default: .tmp/rifflux/rifflux.db, RIFFLUX_DB_PATH]")


def _workspace(db: str | None) -> Workspace:
    return rifflux_workspace(flags={"index": db}, environment=os.environ, cwd=Path.cwd())


def _tools(workspace: Workspace) -> Rifflux:
    return Rifflux(Engines(workspace).at, Jobs(), Path.cwd(), workspace.settings, Options())


@click.command()
@_db
@click.option("--watch-path", "watch_paths", multiple=True, help="A directory to index and follow; may be repeated.")
def mcp(db: str | None, watch_paths: tuple[str, ...]) -> None:
    """Serve the Rifflux tools over MCP on stdin and stdout."""
    roots = tuple(Path(it) for it in watch_paths)
    flags = {"index": db, "watch": True if roots else None}
    run(lambda: serve("rifflux", roots=roots, flags=flags, environment=os.environ, cwd=Path.cwd()))


@click.command()
@_path
@_db
@click.option("--force", is_flag=True, help="Index unchanged files again too.")
def reindex(path: str, db: str | None, force: bool) -> None:
    """Index the Markdown files below a directory; only new and changed ones are read."""
    run_in(lambda: _workspace(db), lambda it: print_json(_tools(it).reindex(path=path, force=force).data), MENDING)


@click.command()
@click.argument("query")
@click.option("--mode", default="hybrid", show_default=True, type=click.Choice(["hybrid", "lexical", "semantic"]))
@click.option("--top-k", default=10, show_default=True, type=click.IntRange(1, 100), help="How many results at most.")
@_db
def query(query: str, mode: Mode, top_k: int, db: str | None) -> None:
    """Search the index."""

    def ask(workspace: Workspace) -> None:
        print_json(_tools(workspace).search_rifflux(query, top_k, mode).data)

    run_in(lambda: _workspace(db), ask, MENDING)


@click.command()
@_path
@_db
def rebuild(path: str, db: str | None) -> None:
    """Delete the index and index everything again."""
    run(lambda: _rebuild(path, db))


def _rebuild(path: str, db: str | None) -> None:
    workspace = _workspace(db)
    # Whatever would stop the indexing has to be found out before the old index is gone.
    located(path, Path.cwd(), workspace.settings)
    # The original's indexes are SQLite files too.
    Rebuilding(workspace.settings, workspace.index, workspace.root).check_replaceable(any_sqlite=True)
    deleted = remove(workspace.index)
    result = _tools(workspace).reindex(path=path, force=True).data
    print_json({"rebuilt_db_path": str(workspace.index), "deleted_existing_db": deleted, **result})
