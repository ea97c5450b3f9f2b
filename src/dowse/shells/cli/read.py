"""`dowse read`"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import click

from dowse.engine import Engine
from dowse.lookup.read import Passage
from dowse.profiles.core_asking import read
from dowse.profiles.core_json import passage_json
from dowse.shells.cli.options import json_option, root_option, settings_options, workspace_of
from dowse.shells.cli.paths import Paths, with_root
from dowse.shells.cli.search import ready

_PLACE = re.compile(r"(?P<name>.+?):(?P<first>\d{1,9})(?:-(?P<last>\d{1,9}))?", re.DOTALL)
_CHOSEN_WITH = "--collection"


@click.command("read")
@click.argument("target", metavar="PATH[:FIRST[-LAST]]|CHUNK_ID|HASH")
@click.option("--collection", help="Which root, where several in the index have this path.")
@root_option
@json_option
@settings_options()
def command(target: str, collection: str | None, root: Path | None, as_json: bool, **flags: Any) -> int:  # noqa: ANN401
    """Print lines of an indexed file as they are on disk now, a commit, or the passage with this chunk_id."""
    workspace = workspace_of(root, flags)
    with ready(workspace) as engine:
        here = Paths.of(engine, workspace)
        passage = find(engine, here.target(target), collection)
    data = with_root(passage_json(passage), here)
    passage = here.shown(passage)
    if passage.freshness != "fresh":
        click.echo(f"dowse: {passage.record.path} is {passage.freshness} since it was indexed; `dowse index`", err=True)
    for note in passage.notes:
        click.echo(f"dowse: {passage.record.path}: {note}", err=True)
    click.echo(json.dumps(data, ensure_ascii=False) if as_json else passage.text)
    return 0


def find(engine: Engine, target: str, collection: str | None) -> Passage:
    """By id or path as given, else by a path with lines behind it."""
    place = _PLACE.fullmatch(target)
    if place is None or engine.record(target, collection):
        return read(engine, target, None, None, collection, _CHOSEN_WITH)
    first = int(place["first"])
    return read(engine, place["name"], max(first, 1), int(place["last"] or first), collection, _CHOSEN_WITH)
