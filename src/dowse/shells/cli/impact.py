"""`dowse impact`"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from dowse.engine import Engine
from dowse.errors import BadInput
from dowse.lookup.calls.impact import Impact
from dowse.lookup.calls.question import CallQuery, Confidence
from dowse.profiles.call_trees import impact_json, impact_text
from dowse.profiles.core_asking import make_scope
from dowse.shells.cli.calls import confidence_option, nodes_option, not_paths_option, paths_option, width_option
from dowse.shells.cli.options import json_option, root_option, settings_options, workspace_of
from dowse.shells.cli.paths import Paths, with_root
from dowse.shells.cli.search import ready
from dowse.shells.workspace import Workspace


@click.command("impact")
@click.option("--depth", type=click.IntRange(1), default=2, show_default=True, help="Levels of callers, at most 10.")
@width_option
@nodes_option
@confidence_option
@paths_option
@not_paths_option
@root_option
@json_option
@settings_options()
def command(
    depth: int,
    width: int,
    nodes: int,
    confidence: Confidence,
    paths: tuple[str, ...],
    not_paths: tuple[str, ...],
    root: Path | None,
    as_json: bool,
    **flags: Any,  # noqa: ANN401
) -> int:
    """Which definitions the changes since the last commit touch, and who calls them.

    In a repository below the indexed directory, the changes are those of that repository. Lines are those of the files
    now, which are brought in first as for every question. Exit code 1: no changes.
    """
    workspace = workspace_of(root, flags)
    query = CallQuery(
        "any",
        depth=depth,
        width=width,
        nodes=nodes,
        confidence=confidence,
        scope=make_scope((), paths, (), None, None, not_paths),
    )
    with ready(workspace) as engine:
        here = Paths.of(engine, workspace)
        found = _of_work_tree(engine, workspace, here.asked(query), Path.cwd() if root is None else workspace.root)
    if as_json:
        click.echo(json.dumps(with_root(impact_json(found), here), ensure_ascii=False))
    else:
        found = here.shown(found)
        text = impact_text(found) or "nothing has changed since the last commit"
        click.echo("\n".join((text, *found.seen.sentences())))
    return 0 if found.touched or found.beside or found.unknown else 1


def _of_work_tree(engine: Engine, workspace: Workspace, query: CallQuery, place: Path) -> Impact:
    roots = [it for it in engine.collections() if workspace.root.is_relative_to(it.root)]
    if not roots:
        raise BadInput(f"{workspace.root} is not indexed; `dowse index` first")
    collection = max(roots, key=lambda it: len(it.root))
    changes = engine.uncommitted(collection, place)
    if changes.problem:
        raise BadInput(f"{changes.problem}; changes are told from the last commit of a git work tree")
    return engine.impact(changes.lines, query, collection.name)
