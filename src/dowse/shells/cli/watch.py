"""`dowse watch`"""

from __future__ import annotations

import json
import os
import signal
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from dowse.live.jobs import Job
from dowse.shells.backstage import Backstage
from dowse.shells.cli.options import json_option, root_option, settings_options, workspace_of
from dowse.shells.serving import log_to_stderr

_COUNTS = ("indexed", "deleted", "skipped", "embedded")


@click.command("watch")
@root_option
@json_option
@settings_options()
def command(root: Path | None, as_json: bool, **flags: Any) -> None:  # noqa: ANN401
    """Keep the index in line with the files until stopped (Ctrl-C): a line for each change that was brought in.

    Servers (`dowse mcp`) do this by themselves; one process does it for all that share an index, the others
    take over when it ends.
    """
    log_to_stderr(os.environ)
    workspace = workspace_of(root, flags)
    workspace = replace(workspace, settings=replace(workspace.settings, watch=True))
    stopping, unread = threading.Event(), threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    backstage = Backstage()

    def tell(job: Job) -> None:
        try:
            _tell(job, as_json)
        except BrokenPipeError:
            unread.set()
            stopping.set()  # else nobody would do the jobs of an index that this process leads

    backstage.jobs.on_end = tell
    behind = backstage.behind(workspace, workspace.root, asks=False)
    backstage.start()
    leads = None
    try:
        while not stopping.wait(0.2):
            keeping = behind.upkeep.keeping()
            if leads != keeping.leader and keeping.leader is not None:
                leads = keeping.leader
                who = "this process" if keeping.leading else f"process {leads}, which this one stands by for,"
                click.echo(f"{who} follows {workspace.root}", err=True)
    finally:
        backstage.close()
    if unread.is_set():
        raise BrokenPipeError


def _tell(job: Job, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"job": job.kind, "status": job.status, "result": job.result, "error": job.error}))
        return
    result = job.result or {}
    done = ", ".join(f"{result[name]:,} {name}" for name in _COUNTS if result.get(name))
    if job.error or done:
        click.echo(f"{job.kind}: {job.error or done}")
