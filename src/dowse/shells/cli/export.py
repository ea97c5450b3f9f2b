"""`dowse export`"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from dowse.profiles.core_json import export_json
from dowse.shells.cli.options import root_option, settings_options, workspace_of


@click.command("export")
@click.option("--json", "as_json", is_flag=True, default=True, help="One JSON line per chunk (the only format).")
@root_option
@settings_options()
def command(root: Path | None, as_json: bool, **flags: Any) -> int:  # noqa: ANN401
    """Print every chunk, one JSON line each, by collection, path and order: equal indexes print equal lines."""
    with workspace_of(root, flags).open(create=False) as engine:
        for stored in engine.export():
            click.echo(json.dumps(export_json(stored), ensure_ascii=False))
    return 0
