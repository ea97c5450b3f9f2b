"""`dowse calls`"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import click

from dowse.lookup.calls.question import CallQuery, Confidence
from dowse.profiles.call_trees import COUNTED, tree_json, tree_text
from dowse.profiles.core_asking import make_scope
from dowse.shells.cli.options import json_option, root_option, settings_options, workspace_of
from dowse.shells.cli.paths import Paths, with_root
from dowse.shells.cli.search import ready

_PLACE = re.compile(r"(?P<path>.+):(?P<line>\d{1,9})", re.DOTALL)
confidence_option = click.option(
    "--confidence",
    type=click.Choice(["exact", "virtual", "possible"]),
    default="virtual",
    show_default=True,
    help="Minimum confidence: exact; virtual (may dispatch through a base); possible (name match only).",
)
width_option = click.option(
    "--width", type=click.IntRange(0), default=10, show_default=True, help="Maximum branches per node (0 = no limit)."
)
nodes_option = click.option(
    "--nodes", type=click.IntRange(0), default=200, show_default=True, help="Maximum nodes in all (0 = no limit)."
)
paths_option = click.option("--path", "paths", multiple=True, metavar="GLOB", help="Only files matching; repeatable.")
not_paths_option = click.option("--not-path", "not_paths", multiple=True, metavar="GLOB", help="No files matching.")


@click.command("calls")
@click.argument("name", metavar="NAME|CLASS.NAME|PATH:LINE")
@click.option("--in", "owner", default="", metavar="CLASS", help="The class, or file, it is defined in.")
@click.option("--down", is_flag=True, help="What it calls, instead of who calls it.")
@click.option("--depth", type=click.IntRange(1), default=3, show_default=True, help="Levels, at most 10.")
@width_option
@nodes_option
@confidence_option
@paths_option
@not_paths_option
@click.option("--unresolved", is_flag=True, help="Also list unresolved calls.")
@root_option
@json_option
@settings_options()
def command(
    name: str,
    owner: str,
    down: bool,
    depth: int,
    width: int,
    nodes: int,
    confidence: Confidence,
    paths: tuple[str, ...],
    not_paths: tuple[str, ...],
    unresolved: bool,
    root: Path | None,
    as_json: bool,
    **flags: Any,  # noqa: ANN401
) -> int:
    """Who calls a function, level by level; --down: what it calls.

    A class stands for its constructors. Exit code 0: it is defined here; 1: nothing of this name is.
    """
    direction: Literal["up", "down"] = "down" if down else "up"
    place = _PLACE.fullmatch(name)
    if place is None and not owner and "." in name.strip("."):
        owner, _, name = name.rpartition(".")
    query = CallQuery(
        "" if place else name,
        owner,
        direction,
        depth,
        width,
        nodes,
        confidence,
        scope=make_scope((), paths, (), None, None, not_paths),
        counted=COUNTED,
    )
    workspace = workspace_of(root, flags)
    with ready(workspace) as engine:
        here = Paths.of(engine, workspace)
        if place is not None:
            query = replace(query, at=(here.target(place["path"]), int(place["line"])))
        tree = engine.calls(here.asked(query))
        if as_json:
            click.echo(json.dumps(with_root(tree_json(tree), here), ensure_ascii=False))
        elif tree.roots:
            tree = here.shown(tree)
            click.echo("\n".join((tree_text(tree, with_unresolved=unresolved), *tree.seen.sentences())))
        else:
            click.echo(f"nothing that can be called is named {name!r}; {engine.completeness(tree.seen).sentence(0)}")
    return 0 if tree.roots else 1
