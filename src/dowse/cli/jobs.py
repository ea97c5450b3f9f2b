"""The command `jobs`."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import click

from dowse.cli.options import json_option, root_option, settings_options, workspace_of
from dowse.cli.progress import format_duration
from dowse.errors import BadInput, NotIndexed
from dowse.live.job_log import MAX_LOGGED_JOBS, JobLog, LoggedJob
from dowse.text.times import format_ago, format_iso


@click.command("jobs")
@click.option("--cancel", metavar="ID", help="Ask the process that runs this job to stop it.")
@root_option
@json_option
@settings_options(limit="Maximum jobs (default: 10).")
def jobs_command(root: Path | None, cancel: str | None, as_json: bool, **flags: Any) -> int:  # noqa: ANN401
    """List jobs of servers and of the background process on this index, newest first.

    \b
    dowse jobs                        the last ten: state, duration, progress, result
    dowse jobs -k 50 --json           more of them, for programs
    dowse jobs --cancel 3fa94c1b0d2e  stop a running job; completed writes are kept

    A job is running, retry_wait (another process was writing; the job will be retried), completed, failed, cancelled,
    or interrupted (its process ended first; the next server of the index continues the work).
    """
    workspace = workspace_of(root, flags)
    history = JobLog(workspace.index)
    if cancel is not None:
        return _cancel_job(history, cancel)
    jobs = history.recent_jobs(workspace.settings.limit)
    if history.problem:
        raise BadInput(f"{history.problem}; remove it or fix its permissions")
    if not jobs and not workspace.index.exists():
        raise NotIndexed(f"there is no index at {workspace.index}; run `dowse index` first")
    now = time.time()
    if as_json:
        data = {"index": str(workspace.index), "count": len(jobs), "jobs": [job_log_json(it, now) for it in jobs]}
        click.echo(json.dumps(data, ensure_ascii=False))
    else:
        click.echo("\n".join(_job_line(it, now) for it in jobs) or "no jobs yet; servers record them here")
    return 0 if jobs else 1


def _cancel_job(history: JobLog, id: str) -> int:
    job = next((it for it in history.recent_jobs(MAX_LOGGED_JOBS) if it.id == id), None)
    if job is None:
        raise BadInput(f"no job {id[:50]!r} on this index; `dowse jobs` lists all")
    if not job.is_ongoing:
        raise BadInput(f"job {job.id} is already {job.state} and cannot be stopped")
    history.request_stop(job.id)
    if history.problem:
        raise BadInput(f"{history.problem}; fix its permissions, or stop process {job.pid}")
    click.echo(f"asked process {job.pid} to stop {job.kind} {job.id}; it stops at its next step")
    return 0


def job_log_json(job: LoggedJob, now: float) -> dict[str, object]:
    eta_s = job.eta_at(now)
    return {
        "job_id": job.id,
        "name": job.kind,
        "status": job.state,
        "began_at": format_iso(job.began_at),
        "elapsed_seconds": round(job.duration_at(now), 3),
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


def _job_line(job: LoggedJob, now: float) -> str:
    took = format_duration(job.duration_at(now))
    head = f"{job.id}  {job.state:<11}  {job.kind:<12}  {format_ago(job.began_at, now):>10}, {took:>7}"
    return f"{head}  {'; '.join(it for it in (job.current, _job_outcome(job, now)) if it)}".rstrip()


def _job_outcome(job: LoggedJob, now: float) -> str:
    if job.error:
        return job.error
    if job.result is not None:
        return ", ".join(f"{it:,} {name}" for name, it in job.result.items() if _is_number(it) and it)
    if not job.stage:
        return ""
    eta_s = job.eta_at(now) if job.is_ongoing else None
    return (
        f"{job.stage} {job.done:,} of {job.total:,}{'' if eta_s is None else f', about {format_duration(eta_s)} left'}"
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
