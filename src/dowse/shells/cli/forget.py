"""`dowse forget`"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from dowse.profiles.core_memories import written_json, written_text
from dowse.shells.cli.options import json_option, root_option, settings_options, workspace_of
from dowse.shells.cli.paths import Paths, with_root
from dowse.shells.cli.search import ready


@click.command("forget")
@click.argument("name")
@root_option
@json_option
@settings_options()
def command(name: str, root: Path | None, as_json: bool, **flags: Any) -> int:  # noqa: ANN401
    """Throw a memory away: its file goes to .trash beside the others, and searches do not find it any more.

    \b
    dowse forget auth
    """
    workspace = workspace_of(root, flags)
    with ready(workspace) as engine:
        written = engine.forget(name)
        data = with_root(written_json("forget", written), Paths.of(engine, workspace))
    click.echo(json.dumps(data, ensure_ascii=False) if as_json else written_text("forget", written))
    return 0
