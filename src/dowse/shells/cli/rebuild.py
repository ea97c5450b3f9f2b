"""`dowse rebuild`"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from dowse.live.rebuilding import Rebuilding
from dowse.profiles.core_json import report_json
from dowse.shells.cli.index import report_text
from dowse.shells.cli.options import json_option, root_option, settings_options, workspace_of
from dowse.shells.cli.progress import progress_bar


@click.command("rebuild")
@click.option("--drop-missing", is_flag=True, help="Leave out roots that are not there now.")
@root_option
@json_option
@settings_options()
def command(root: Path | None, drop_missing: bool, as_json: bool, **flags: Any) -> int:  # noqa: ANN401
    """Make the index anew from the files, beside the old one, which serves until the new one is complete."""
    workspace = workspace_of(root, flags)
    with progress_bar() as progress:
        rebuilding = Rebuilding(workspace.settings, workspace.index, workspace.root)
        report = rebuilding.run(progress, drop_missing=drop_missing)
    click.echo(json.dumps(report_json(report)) if as_json else report_text(report))
    return 0
