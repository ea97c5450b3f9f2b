"""The commands `watch` and `jobs`."""

from __future__ import annotations

import json
import os
import signal
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from dowse.cli.options import json_option, root_option, settings_options, workspace_of
from dowse.live.job import Job
from dowse.server.runtime import ServerRuntime, log_to_stderr

_JOB_COUNTS = ("indexed", "deleted", "skipped", "embedded")


@click.command("watch")
@root_option
@json_option
@settings_options()
def watch_command(root: Path | None, as_json: bool, **flags: Any) -> None:  # noqa: ANN401
    """Watch files and keep the index current until stopped (Ctrl-C). Prints a line for each update.

    Servers (`dowse mcp`) do this by themselves. One process watches for all that share an index; another takes over
    when it ends.
    """
    log_to_stderr(os.environ)
    workspace = workspace_of(root, flags)
    workspace = replace(workspace, settings=replace(workspace.settings, watch=True))
    stopping, pipe_closed = threading.Event(), threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    runtime = ServerRuntime()

    def tell(job: Job) -> None:
        try:
            _print_job(job, as_json)
        except BrokenPipeError:
            pipe_closed.set()
            stopping.set()  # otherwise no process would run the jobs of an index that this one leads

    runtime.jobs.on_end = tell
    index_runtime = runtime.index_runtime(workspace, workspace.root, asks=False)
    runtime.start()
    leads = None
    try:
        while not stopping.wait(0.2):
            status = index_runtime.maintenance.leader_status()
            if leads != status.leader and status.leader is not None:
                leads = status.leader
                watcher = "this process" if status.leading else f"process {leads} (this one is on standby)"
                click.echo(f"{watcher} watches {workspace.root}", err=True)
    finally:
        runtime.close()
    if pipe_closed.is_set():
        raise BrokenPipeError


def _print_job(job: Job, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"job": job.kind, "status": job.status, "result": job.result, "error": job.error}))
        return
    result = job.result or {}
    done = ", ".join(f"{result[name]:,} {name}" for name in _JOB_COUNTS if result.get(name))
    if job.error or done:
        click.echo(f"{job.kind}: {job.error or done}")
