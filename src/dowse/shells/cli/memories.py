"""`dowse memories`"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from dowse.profiles.core_memories import caveats, memories_scope, memory_json, memory_lines
from dowse.shells.cli.options import exact_limit, json_option, root_option, settings_options, workspace_of
from dowse.shells.cli.paths import Paths, with_root
from dowse.shells.cli.search import ready
from dowse.text.memory_facts import TYPES


@click.command("memories")
@click.option("--stale", "only_stale", is_flag=True, help="Only those whose anchors have changed or are gone.")
@click.option("--type", "type_", type=click.Choice(TYPES), help="Only of this type.")
@click.option("--tag", "tags", multiple=True, help="Only with this tag; may be repeated, then any of them.")
@root_option
@json_option
@settings_options(limit="How many are shown; default: 100.")
def command(
    only_stale: bool,
    type_: str | None,
    tags: tuple[str, ...],
    root: Path | None,
    as_json: bool,
    **flags: Any,  # noqa: ANN401
) -> int:
    """List memories, newest first: what type, how old, with which tags, and whether what they are about has changed.

    \b
    dowse memories                     all of them
    dowse memories --stale             those to look at again; `dowse remember NAME … --replace` renews one
    dowse read notes.md                what one says
    """
    workspace = workspace_of(root, flags)
    with ready(workspace) as engine:
        listed = engine.memories(memories_scope((type_,) if type_ else (), tags))
        judged = zip(listed.records, engine.standings(listed.records), map(engine.stale, listed.records), strict=True)
        found = [it for it in judged if it[2] or not only_stale]
        shown = found[: exact_limit(workspace.settings, flags)]
        here = Paths.of(engine, workspace)
        data, now = [memory_json(engine, *it) for it in shown], engine.now()
    notes = listed.seen.sentences()
    if as_json:
        answer = with_root({"count": len(found), "memories": data, "notes": notes}, here)
        click.echo(json.dumps(answer, ensure_ascii=False))
        return 0 if found else 1
    lines = [line for it in shown for line in memory_lines(it[0], caveats(*it), now)]
    counted = f"{len(found):,} memor{'y' if len(found) == 1 else 'ies'}"
    cut = f" (the first {len(shown):,} are shown; -k shows more)" if len(shown) < len(found) else ""
    click.echo("\n".join([*lines, f"{counted}{cut}", *notes]))
    return 0 if found else 1
