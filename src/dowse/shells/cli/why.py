"""`dowse why`"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from dowse.lookup.why.question import DEFAULT_BUDGET, LEAST_BUDGET, MOST_BUDGET
from dowse.profiles.why_shapes import why_json, why_text
from dowse.shells.cli.options import json_option, root_option, settings_options, workspace_of
from dowse.shells.cli.paths import Paths, with_root
from dowse.shells.cli.search import ready


@click.command("why")
@click.argument("target", metavar="FILE:LINE|FILE|SYMBOL")
@click.option(
    "--budget",
    type=click.IntRange(LEAST_BUDGET, MOST_BUDGET),
    default=DEFAULT_BUDGET,
    show_default=True,
    metavar="TOKENS",
    help="About how long the answer may be.",
)
@click.option("--collection", help="Which root, where several in the index have this path or name.")
@root_option
@json_option
@settings_options()
def command(
    target: str,
    budget: int,
    collection: str | None,
    root: Path | None,
    as_json: bool,
    **flags: Any,  # noqa: ANN401
) -> int:
    """Why something is as it is: its definition, who calls it, the commits that shaped it, what is written of it.

    \b
    dowse why src/repo.py:12            the definition around a line
    dowse why Repo.save                 a symbol; with its class, or file, if there are several
    dowse why src/repo.py#Repo.save     the one in this file
    dowse why src/repo.py               a whole file

    Exit code 0: here is what is known; 1: nothing is called that, or several things are (they are listed).
    """
    workspace = workspace_of(root, flags)
    with ready(workspace) as engine:
        here = Paths.of(engine, workspace)
        answer = engine.why(here.target(target), budget, collection)
        completeness = engine.completeness(answer.seen)
        if as_json:
            click.echo(json.dumps(with_root(why_json(answer, completeness), here), ensure_ascii=False))
        else:
            click.echo(why_text(here.shown(answer)))
    return 0 if answer.subject else 1
