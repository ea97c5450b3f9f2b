"""The commands of mcp-markdown-ragdocs under their own names: the server, queries, and an index made anew."""

from __future__ import annotations

import os
from pathlib import Path

import click

from dowse.live.jobs import Jobs
from dowse.live.rebuilding import Rebuilding
from dowse.profiles.core_json import report_json
from dowse.profiles.ragdocs import Ragdocs
from dowse.profiles.ragdocs_git import GitHistory
from dowse.shells.alias_commands import print_json, run, run_in
from dowse.shells.cli.search import ready
from dowse.shells.ragdocs_settings import Setup, ragdocs_workspace, setup_lines
from dowse.shells.serving import serve
from dowse.shells.workspace import Workspace

_MENDING = "mcp-markdown-ragdocs rebuild-index"
_project = click.option(
    "--project",
    type=click.Path(path_type=Path),
    help="The directory, or the name of a project of the configuration; default: the current one.",
)


@click.group()
def main() -> None:
    """Search the documents of a project, with the commands of mcp-markdown-ragdocs."""


@main.command()
@_project
def mcp(project: Path | None) -> None:
    """Serve the query tools over MCP on stdin and stdout."""
    roots = () if project is None else (project,)
    run(lambda: serve("ragdocs", roots=roots, flags={}, environment=os.environ, cwd=Path.cwd()))


@main.command()
@click.argument("text")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--top-n", default=5, show_default=True, type=click.IntRange(1, 100), help="How many results at most.")
@_project
def query(text: str, as_json: bool, top_n: int, project: Path | None) -> None:
    """Search; where there is no index yet, it is built first."""
    run_in(lambda: _found(project)[0], lambda it: _query(text, as_json, top_n, it, _found(project)[1]), _MENDING)


@main.command("search-commits")
@click.argument("text")
@click.option("--top-n", default=5, show_default=True, type=click.IntRange(1, 100), help="How many commits at most.")
@_project
def search_commits(text: str, top_n: int, project: Path | None) -> None:
    """Search what commits said and changed."""
    run_in(lambda: _found(project)[0], lambda it: _search_commits(text, top_n, it), _MENDING)


@main.command("rebuild-index")
@_project
def rebuild_index(project: Path | None) -> None:
    """Index every file again, and put the new index in the place of the old one."""
    run(lambda: _rebuild(_found(project)[0]))


@main.command("check-config")
@_project
def check_config(project: Path | None) -> None:
    """Say which configuration counts, what of it has no effect, and what is wrong with it."""
    run(lambda: _check_config(*_found(project)))


def _check_config(workspace: Workspace, setup: Setup) -> None:
    for line in setup_lines(workspace, setup, Path.cwd()):
        click.echo(line)
    click.echo("the configuration is valid")


def _rebuild(workspace: Workspace) -> None:
    rebuilding = Rebuilding(workspace.settings, workspace.index, workspace.root)
    print_json(report_json(rebuilding.run(lambda stage, done, total: None)))


def _search_commits(text: str, top_n: int, workspace: Workspace) -> None:
    with ready(workspace) as engine:
        tool = GitHistory(lambda: engine, wait=lambda: None, states=lambda: ())
        click.echo(tool.search_git_history(text, top_n).text)


def _query(text: str, as_json: bool, top_n: int, workspace: Workspace, setup: Setup) -> None:
    with ready(workspace) as engine:
        tools = Ragdocs(lambda: engine, Jobs(), 0, setup.memory, setup.tuning, setup.files)
        if as_json:
            print_json({"query": text, "results": tools.rows(text, top_n)})
        else:
            click.echo(tools.query_documents(text, top_n).text)


def _found(project: Path | None) -> tuple[Workspace, Setup]:
    roots = () if project is None else (project,)
    return ragdocs_workspace(roots, flags={}, environment=os.environ, cwd=Path.cwd())
