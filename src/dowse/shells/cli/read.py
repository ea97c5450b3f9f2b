"""`dowse read`"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import click

from dowse.engine import Engine
from dowse.errors import BadInput
from dowse.lookup.read import Passage
from dowse.profiles.core import passage_json
from dowse.shells.cli.options import json_option, root_option, settings_options, workspace_of
from dowse.shells.cli.search import ready

_PLACE = re.compile(r"(?P<name>.+?)(?::(?P<first>\d+)(?:-(?P<last>\d+))?)?")


@click.command("read")
@click.argument("target", metavar="PATH[:FIRST[-LAST]]|CHUNK_ID")
@root_option
@json_option
@settings_options
def command(target: str, root: Path | None, as_json: bool, **flags: Any) -> int:  # noqa: ANN401
    """Print lines of an indexed file as they are on disk now, or the passage with this chunk_id."""
    with ready(workspace_of(root, flags)) as engine:
        passage = find(engine, target)
    click.echo(json.dumps(passage_json(passage), ensure_ascii=False) if as_json else passage.text)
    return 0


def find(engine: Engine, target: str) -> Passage:
    stored = engine.chunk(target)
    if stored is not None:
        return engine.lines(stored.record, stored.chunk.start_line, stored.chunk.end_line)
    place = _PLACE.fullmatch(target)
    record = engine.record(target) or (engine.record(place["name"]) if place else None)
    if record is None or place is None:
        raise BadInput(f"nothing indexed has the path or id {target!r}; `dowse search` prints both")
    if record.path == target or not place["first"]:
        return engine.lines(record)
    first = int(place["first"])
    return engine.lines(record, first, int(place["last"] or first))
