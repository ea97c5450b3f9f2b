"""`dowse doctor`"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from dowse.ingest.embed import Progress
from dowse.live.rebuilding import Rebuilding
from dowse.places import Places
from dowse.shells.checkup.fixing import fix
from dowse.shells.checkup.index import index_findings
from dowse.shells.checkup.models import cache_findings, encoder_finding
from dowse.shells.checkup.surroundings import surroundings
from dowse.shells.cli.options import json_option, root_option, settings_options, workspace_of
from dowse.shells.cli.progress import progress_bar
from dowse.shells.workspace import Workspace
from dowse.store.health import Finding

_MARKS = {"ok": "✓", "warning": "!", "problem": "✗"}


@click.command("doctor")
@click.option("--fix", "fixes", is_flag=True, help="Mend what can be mended, and say what was done.")
@click.option("--deep/--quick", default=True, help="Read everything and compare it with its checksums, or only count.")
@root_option
@json_option
@settings_options()
def command(root: Path | None, fixes: bool, deep: bool, as_json: bool, **flags: Any) -> int:  # noqa: ANN401
    """Check the index and all around it: damage, leftovers, permissions, disk, encoder, limits, what was left out.

    \b
    dowse doctor              look at everything; changes nothing
    dowse doctor --quick      only what can be told by counting
    dowse doctor --fix        mend: indexes from the catalog, damaged files' records from
                              the files, and where that will not do, the whole index

    ✓ is fine, ! is worth knowing, ✗ is a problem; → says the next step. Searching works meanwhile, and a
    damaged index is set aside, not deleted. Exit 0 if all is well, 1 if there are problems, 2 on an error.
    """
    workspace = workspace_of(root, flags)
    # What is no index is none of its business, not even to look at.
    Rebuilding(workspace.settings, workspace.index, workspace.root).check_replaceable(any_sqlite=True)
    with progress_bar() as progress:
        found = _everything(workspace, progress, deep=deep)
        done = list(fix(workspace, found, progress)) if fixes else []
        if done:
            found = _everything(workspace, progress, deep=deep)
    healthy = all(it.state != "problem" for it in found)
    click.echo(_as_json(workspace, found, done, healthy) if as_json else "\n".join(_lines(found, done, healthy, fixes)))
    return 0 if healthy else 1


def _everything(workspace: Workspace, progress: Progress, *, deep: bool) -> list[Finding]:
    places = Places.of(workspace.settings)
    found = list(index_findings(workspace, progress, deep=deep))
    found += surroundings(workspace.index, places.data_dir)
    found.append(encoder_finding(workspace.settings, deep=deep))
    return [*found, *cache_findings(places)]


def _as_json(workspace: Workspace, found: Sequence[Finding], done: Sequence[str], healthy: bool) -> str:
    data = {
        "index": str(workspace.index),
        "healthy": healthy,
        "findings": [asdict(it) for it in found],
        "fixed": list(done),
    }
    return json.dumps(data, ensure_ascii=False)


def _lines(found: Sequence[Finding], done: Sequence[str], healthy: bool, fixes: bool) -> list[str]:
    width = max(len(it.part) for it in found)
    lines = [_line(it, width) for it in found]
    lines += [f"  fixed: {it}" for it in done]
    return [*lines, "", _verdict(found, healthy, fixes)]


def _line(it: Finding, width: int) -> str:
    step = f"  → {it.fix}" if it.fix else ""
    return f"{_MARKS[it.state]} {it.part:<{width}}  {it.text}{step}"


def _verdict(found: Sequence[Finding], healthy: bool, fixes: bool) -> str:
    problems = sum(it.state == "problem" for it in found)
    if healthy:
        return "all is well"
    left = " left" if fixes else ""
    return f"{problems} {'problem' if problems == 1 else 'problems'}{left}"
