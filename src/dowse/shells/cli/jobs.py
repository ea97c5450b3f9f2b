"""`dowse jobs`"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import click

from dowse.errors import BadInput, NotIndexed
from dowse.live.history import KEPT_JOBS, History
from dowse.live.past import PastJob
from dowse.shells.cli.options import json_option, root_option, settings_options, workspace_of
from dowse.shells.cli.progress import duration_text
from dowse.text.times import ago, iso


@click.command("jobs")
@click.option("--cancel", metavar="ID", help="Ask the process that runs this job to stop it.")
@root_option
@json_option
@settings_options(limit="How many of them; default: 10.")
def command(root: Path | None, cancel: str | None, as_json: bool, **flags: Any) -> int:  # noqa: ANN401
    """What servers and the background process do and did, in any process that works on this index, newest first.

    \b
    dowse jobs                       the last ten: state, how long, how far, what came of it
    dowse jobs -k 50 --json          more of them, for programs
    dowse jobs --cancel 3fa94c1b0d2e stop one that runs; what it has written by then is whole

    A job is running, retry_wait (somebody else was writing; it is tried again), completed, failed, cancelled, or
    interrupted: its process ended before it did, and whoever serves the index next goes on where it was.
    """
    workspace = workspace_of(root, flags)
    history = History(workspace.index)
    if cancel is not None:
        return _cancel(history, cancel)
    jobs = history.recent(workspace.settings.limit)
    if history.problem:
        raise BadInput(f"{history.problem}; remove it or mend its permissions")
    if not jobs and not workspace.index.exists():
        raise NotIndexed(f"there is no index at {workspace.index}; run `dowse index` first")
    now = time.time()
    if as_json:
        data = {"index": str(workspace.index), "count": len(jobs), "jobs": [past_json(it, now) for it in jobs]}
        click.echo(json.dumps(data, ensure_ascii=False))
    else:
        click.echo("\n".join(_line(it, now) for it in jobs) or "no jobs yet: servers write them down here")
    return 0 if jobs else 1


def _cancel(history: History, id: str) -> int:
    job = next((it for it in history.recent(KEPT_JOBS) if it.id == id), None)
    if job is None:
        raise BadInput(f"no job {id[:50]!r} has begun on this index; `dowse jobs` lists them")
    if not job.is_ongoing:
        raise BadInput(f"the job {job.id} is {job.state} and can not be stopped any more")
    history.ask_to_stop(job.id)
    if history.problem:
        raise BadInput(f"{history.problem}; mend its permissions, or stop process {job.pid}")
    click.echo(f"asked process {job.pid} to stop {job.kind} {job.id}; it does with its next step")
    return 0


def past_json(job: PastJob, now: float) -> dict[str, object]:
    eta_s = job.eta_by(now)
    return {
        "job_id": job.id,
        "name": job.kind,
        "status": job.state,
        "began_at": iso(job.began_at),
        "elapsed_seconds": round(job.seconds_by(now), 3),
        "stage": job.stage,
        "done": job.done,
        "total": job.total,
        "current": job.current,
        "eta_seconds": None if eta_s is None else round(eta_s, 1),
        "requests": job.requests,
        "retries": job.retries,
        "result": job.result,
        "error": job.error,
        "pid": job.pid,
    }


def _line(job: PastJob, now: float) -> str:
    took = duration_text(job.seconds_by(now))
    head = f"{job.id}  {job.state:<11}  {job.kind:<12}  {ago(job.began_at, now):>10}, {took:>7}"
    return f"{head}  {'; '.join(it for it in (job.current, _story(job, now)) if it)}".rstrip()


def _story(job: PastJob, now: float) -> str:
    if job.error:
        return job.error
    if job.result is not None:
        return ", ".join(f"{it:,} {name}" for name, it in job.result.items() if _is_figure(it) and it)
    if not job.stage:
        return ""
    eta_s = job.eta_by(now) if job.is_ongoing else None
    return f"{job.stage} {job.done:,} of {job.total:,}{'' if eta_s is None else f', about {duration_text(eta_s)} left'}"


def _is_figure(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
