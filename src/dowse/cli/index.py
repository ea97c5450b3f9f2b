"""The commands `index`, `rebuild` and `export`, and indexing in the background."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import click

from dowse.cli.options import json_option, root_option, settings_options, workspace_of
from dowse.cli.progress import progress_bar
from dowse.engine import Engine
from dowse.engine.index_service import timeout_after
from dowse.ingest.embed import MAX_CHUNKS_WITHOUT_QUICK
from dowse.live.heal import IndexRebuild
from dowse.live.job_log import INTERRUPTED, MAX_LOGGED_JOBS, JobLog, LoggedJob
from dowse.live.leader import leader_of
from dowse.model import SyncReport
from dowse.paths import DataPaths
from dowse.processes import is_on_battery, lower_process_priority
from dowse.server.relocation import describe_broad_root
from dowse.server.sharing.client import settings_as_flags
from dowse.server.sharing.hello import try_lock
from dowse.server.workspace import Workspace
from dowse.tools.core_render import export_json, report_json


@click.command("index")
@click.argument("roots", nargs=-1, type=click.Path(path_type=Path), metavar="[ROOT]...")
@click.option("--force", is_flag=True, help="Read and chunk every file again, even unchanged ones.")
@click.option("--switch-encoder", "switch", is_flag=True, help="Encode all vectors again with the encoder setting.")
@click.option(
    "--finish",
    is_flag=True,
    help="Only finish histories and vectors, at the lowest priority, like the background process.",
)
@root_option
@json_option
@settings_options(include="", exclude="", index="", encoder="")
def index_command(
    roots: tuple[Path, ...],
    root: Path | None,
    force: bool,
    switch: bool,
    finish: bool,
    as_json: bool,
    **flags: Any,  # noqa: ANN401
) -> None:
    """Index directories, or update what is indexed: only new and changed files are read.

    Each ROOT has its own index; with --index they share that one. A ROOT inside an indexed directory updates
    that part of its index.
    """
    if finish:
        run_background_finish(workspace_of(root, flags))
        return
    built = BuildReport()
    for root_path in roots or (root,):
        workspace = _enclosing_workspace(workspace_of(root_path, flags), flags)
        warn_broad_root(workspace)
        built.add(build_index(workspace, force=force, switch=switch))
    if as_json:
        click.echo(json.dumps(report_json(built.files) | {"history": report_json(built.history)}))
    else:
        click.echo(built.text())


def warn_broad_root(workspace: Workspace) -> None:
    """Say how large the root is, without asking: the user named it explicitly."""
    if not workspace.index.exists() and (broad := describe_broad_root(workspace)):
        click.echo(f"{broad}: indexing all of it. Ctrl-C stops; everything indexed by then is kept.", err=True)


def _enclosing_workspace(workspace: Workspace, flags: dict[str, Any]) -> Workspace:
    """Return the workspace of the indexed root around this place, if the place has no index itself."""
    if workspace.settings.index is not None or workspace.index.exists():
        return workspace
    places = DataPaths.of(workspace.settings)
    outer = next((it for it in workspace.root.parents if places.index_path(it).exists()), None)
    return workspace if outer is None else replace(workspace_of(outer, flags), root=workspace.root)


@dataclass(frozen=True, slots=True)
class BuildReport:
    """Reports on the files and on the histories of their repositories; vectors count with the files."""

    files: SyncReport = field(default_factory=SyncReport)
    history: SyncReport = field(default_factory=SyncReport)

    def add(self, other: BuildReport) -> None:
        self.files.add(other.files)
        self.history.add(other.history)

    def text(self) -> str:
        history = self.history
        history_text = sync_report_text(history, "commits") if history.listed else "\n".join(history.notes)
        return "\n".join(filter(None, (sync_report_text(self.files), history_text)))


def build_index(
    workspace: Workspace,
    *,
    force: bool = False,
    switch: bool = False,
    first_answer_timeout_s: float | None = None,
    history_for_s: float | None = None,
) -> BuildReport:
    """Index files, then histories, then encode vectors for both.

    `first_answer_timeout_s`: encode only the vectors that a first answer needs, within this time. `history_for_s`: time
    limit for the histories.
    """
    was_there = workspace.index.exists()
    if was_there and first_answer_timeout_s is None:
        stop_background_process(workspace.index)
    with workspace.open(create=True) as engine, progress_bar() as progress:
        files = engine.index([workspace.root], force=force, vectors=False, progress=progress)
        history = engine.histories.index_history(force=force, for_s=history_for_s, progress=progress)
        wait_s = workspace.settings.lock_timeout_s
        is_first = first_answer_timeout_s is not None
        pause = timeout_after(first_answer_timeout_s)
        files.add(
            engine.indexing.encode(progress=progress, pause=pause, timeout_s=wait_s, switch=switch, quick_only=is_first)
        )
        if was_there:  # an index written just now needs no check
            engine.health.probe()
        return BuildReport(files, history)


def sync_report_text(report: SyncReport, things: str = "files") -> str:
    parts = [f"{report.indexed:,} indexed", f"{report.unchanged + report.touched:,} unchanged"]
    parts += [
        f"{count:,} {word}" for word, count in (("deleted", report.deleted), ("skipped", report.skipped)) if count
    ]
    vectors = (
        f"; {report.embedded:,} chunks encoded, {report.reused:,} from the cache"
        if report.embedded or report.reused
        else ""
    )
    return "\n".join([f"{report.listed:,} {things}: {', '.join(parts)}{vectors}", *report.notes])


# --------------------------------------------------------------------------------------------------
# Finish histories and vectors in a separate background process after a command has ended.
#
# The process exits when its work is done and is independent of every server. A shared server would keep a model in
# memory for minutes, with command-line settings that its next clients may not share. Its priority could not be lowered
# without slowing down their answers.

BACKGROUND_LOCK_SUFFIX: Final = ".background"
"""Suffix, after the name of the index, of the lock file that the one background process of an index holds."""
_BACKGROUND_RETRY_SECONDS: Final = (
    600.0  # pause after a stopped or fruitless run, or while only a few chunks lack vectors
)
_STOP_CHECK_SECONDS: Final = 1.0
_LAST_STEP_TIMEOUT_S: Final = 30.0  # for the step in progress; no user is waiting
_STOP_TIMEOUT_S: Final = 3.0
_PROGRESS_COUNTS: Final = ("indexed", "embedded", "reused")


def schedule_background_finish(workspace: Workspace, engine: Engine) -> None:
    """Start the background process when the command has ended, if one is due."""
    context = click.get_current_context(silent=True)
    if context and is_background_run_due(
        _last_background_job(workspace.index), engine.state.lacking_vectors(), time.time()
    ):
        context.call_on_close(partial(_start_background_process, workspace))


def is_background_run_due(last: LoggedJob | None, lacking: int, now: float) -> bool:
    """Return whether to try again, given the last job and the number of chunks without a vector."""
    if last is None or last.state == INTERRUPTED or now - last.at > _BACKGROUND_RETRY_SECONDS:
        return True
    was_of_use = last.state == "completed" and any(last.result and last.result.get(it) for it in _PROGRESS_COUNTS)
    return was_of_use and lacking > MAX_CHUNKS_WITHOUT_QUICK


def _last_background_job(index: Path) -> LoggedJob | None:
    return next((job for job in JobLog(index).recent_jobs(MAX_LOGGED_JOBS) if job.kind in ("history", "encode")), None)


def _start_background_process(workspace: Workspace) -> None:
    """Start the background process; it must not inherit a terminal, a pipe or a descriptor."""
    if leader_of(workspace.index) is not None or is_on_battery():
        return
    command = [sys.executable, "-P", "-m", "dowse", "index", "--finish", f"--root={workspace.root}"]
    devnull = subprocess.DEVNULL
    with suppress(OSError):  # a system that cannot start processes is overloaded
        subprocess.Popen(
            [*command, *settings_as_flags(workspace.flags)],
            stdin=devnull,
            stdout=devnull,
            stderr=devnull,
            start_new_session=True,
        )


def stop_background_process(index: Path) -> None:
    """Stop the background process of this index, because the caller finishes its work sooner.

    On a busy machine, SIGTERM may take effect too late. SIGKILL does no harm, because every write is a transaction.
    """
    holder = _background_pid(index)
    for number in (signal.SIGTERM, signal.SIGKILL):
        if holder is None:
            return
        with suppress(OSError):
            os.kill(holder, number)
        deadline = time.monotonic() + _STOP_TIMEOUT_S
        while _background_pid(index) == holder and time.monotonic() < deadline:
            time.sleep(0.02)
        holder = _background_pid(index)


def _background_lock_path(index: Path) -> Path:
    return index.with_name(index.name + BACKGROUND_LOCK_SUFFIX)


def _background_pid(index: Path) -> int | None:
    try:
        lock = try_lock(_background_lock_path(index)) if _background_lock_path(index).exists() else None
        if lock is not None:
            os.close(lock)
            return None
        return int(_background_lock_path(index).read_text())
    except (OSError, ValueError):
        return None


def run_background_finish(workspace: Workspace) -> None:
    """Run as the background process: read the rest of the histories, then encode vectors, both as recorded jobs.

    Stop when that is done, on SIGTERM, on battery power, or when a server starts the same work.
    """
    from dowse.live.jobs import JobQueue, MaintenanceRequests

    lock = try_lock(_background_lock_path(workspace.index))
    if lock is None:
        return
    os.ftruncate(lock, 0)
    os.pwrite(lock, str(os.getpid()).encode(), 0)
    lower_process_priority()
    stop_requested = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop_requested.set())
    with workspace.open(create=False, heals=False) as engine:
        jobs = JobQueue(history=JobLog(workspace.index))
        requests = MaintenanceRequests(lambda: engine, jobs, workspace.settings, workspace.index, vectors=True)
        requests.add_roots([workspace.root])
        if requests.read_history() is None:
            requests.encode()
        reason = ""
        while not reason and (job := jobs.running()) is not None:
            jobs.wait(job, _STOP_CHECK_SECONDS)
            reason = _background_stop_reason(workspace, stop_requested.is_set)
        jobs.close(_LAST_STEP_TIMEOUT_S, 0.0, why=reason or "nothing is left to do")
    os._exit(0)  # do not wait for a long step; every write is a transaction


def _background_stop_reason(workspace: Workspace, is_stopping: Callable[[], bool]) -> str:
    if is_stopping():
        return "the process received a stop signal"
    if is_on_battery():
        return "the machine is on battery power; a later command continues"
    if (server := leader_of(workspace.index)) is not None:
        return f"process {server} serves this index and continues"
    return ""


# --------------------------------------------------------------------------------------------------
# `dowse rebuild`


@click.command("rebuild")
@click.option("--drop-missing", is_flag=True, help="Leave out roots that are missing now.")
@root_option
@json_option
@settings_options()
def rebuild_command(root: Path | None, drop_missing: bool, as_json: bool, **flags: Any) -> int:  # noqa: ANN401
    """Rebuild the index from scratch. The old index answers until the new one is complete."""
    workspace = workspace_of(root, flags)
    with progress_bar() as progress:
        rebuilding = IndexRebuild(workspace.settings, workspace.index, workspace.root)
        report = rebuilding.run(progress, drop_missing=drop_missing)
    click.echo(json.dumps(report_json(report)) if as_json else sync_report_text(report))
    return 0


# --------------------------------------------------------------------------------------------------
# `dowse export`


@click.command("export")
@click.option("--json", "as_json", is_flag=True, default=True, help="One JSON line per chunk (the only format).")
@root_option
@settings_options()
def export_command(root: Path | None, as_json: bool, **flags: Any) -> int:  # noqa: ANN401
    """Print every chunk as a JSON line, sorted by collection, path and position. Equal indexes print equal lines."""
    with workspace_of(root, flags).open(create=False) as engine:
        for stored in engine.export():
            click.echo(json.dumps(export_json(stored), ensure_ascii=False))
    return 0
