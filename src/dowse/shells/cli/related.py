"""`dowse related`"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from dowse.lookup.related.question import DEFAULT_LIMIT
from dowse.profiles.why_shapes import related_json, related_text
from dowse.shells.cli.options import json_option, root_option, settings_options, workspace_of
from dowse.shells.cli.paths import Paths, with_root
from dowse.shells.cli.search import ready


@click.command("related")
@click.argument("thing", metavar="FILE|SYMBOL|COMMIT|MEMORY|CHUNK_ID")
@click.option("--kind", "kinds", multiple=True, metavar="LINK", help="Only this kind of link; may be repeated.")
@click.option("--collection", help="Which root, where several in the index have this path or name.")
@root_option
@json_option
@settings_options(limit="How many of each kind of link; default: 5.")
def command(
    thing: str,
    kinds: tuple[str, ...],
    collection: str | None,
    root: Path | None,
    as_json: bool,
    **flags: Any,  # noqa: ANN401
) -> int:
    """The neighbours of anything, by typed links in both directions; -k: how many of each kind.

    \b
    dowse related src/repo.py                        what it imports, who links to it, what changes with it
    dowse related Repo.save --kind calls             who calls it, and what it calls
    dowse related 1a2b3c4                            what a commit touched, which memories are about it
    dowse related memory:why-we-retry                what a memory speaks of, and which others speak of it

    Exit code 0: it has neighbours; 1: it has none, or nothing, or more than one thing, is called that.
    """
    workspace = workspace_of(root, flags)
    limit = DEFAULT_LIMIT if flags.get("limit") is None else workspace.settings.limit
    with ready(workspace) as engine:
        here = Paths.of(engine, workspace)
        answer = engine.related(here.target(thing), kinds, limit, collection)
        completeness = engine.completeness(answer.seen)
        if as_json:
            click.echo(json.dumps(with_root(related_json(answer, completeness), here), ensure_ascii=False))
        else:
            click.echo(related_text(here.shown(answer), completeness))
    return 0 if answer.groups else 1
