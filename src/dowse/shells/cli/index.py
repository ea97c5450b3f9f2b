"""`dowse index`"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import click

from dowse.engine.syncing import after
from dowse.model import SyncReport
from dowse.places import Places
from dowse.profiles.core_json import report_json
from dowse.shells.breadth import breadth_of
from dowse.shells.cli.options import json_option, root_option, settings_options, workspace_of
from dowse.shells.cli.progress import progress_bar
from dowse.shells.workspace import Workspace


@click.command("index")
@click.argument("roots", nargs=-1, type=click.Path(path_type=Path), metavar="[ROOT]...")
@click.option("--force", is_flag=True, help="Read and chunk every file again, even unchanged ones.")
@click.option("--switch-encoder", "switch", is_flag=True, help="Replace the vectors by those of the encoder setting.")
@click.option(
    "--finish",
    is_flag=True,
    help="Only finish histories and vectors, at the lowest priority; as the process in the background does.",
)
@root_option
@json_option
@settings_options(include="", exclude="", index="", encoder="")
def command(
    roots: tuple[Path, ...],
    root: Path | None,
    force: bool,
    switch: bool,
    finish: bool,
    as_json: bool,
    **flags: Any,  # noqa: ANN401
) -> None:
    """Index directories, or update what is indexed: only new and changed files are read.

    Each ROOT has an index of its own; with --index they share that one. A ROOT inside an indexed
    directory brings that part of it up to date.
    """
    if finish:
        from dowse.shells.cli import background

        background.finish(workspace_of(root, flags))
        return
    built = Built()
    for place in roots or (root,):
        workspace = _around(workspace_of(place, flags), flags)
        say_breadth(workspace)
        built.add(build(workspace, force=force, switch=switch))
    if as_json:
        click.echo(json.dumps(report_json(built.files) | {"history": report_json(built.history)}))
    else:
        click.echo(built.text())


def say_breadth(workspace: Workspace) -> None:
    """Who asks for it by name is not asked again, but is told how much it is."""
    if not workspace.index.exists() and (broad := breadth_of(workspace)):
        click.echo(f"{broad}: indexing all of it; Ctrl-C stops, and what is indexed by then stays.", err=True)


def _around(workspace: Workspace, flags: dict[str, Any]) -> Workspace:
    """A place that has no index of its own but lies inside an indexed root is a part of that."""
    if workspace.settings.index is not None or workspace.index.exists():
        return workspace
    places = Places.of(workspace.settings)
    outer = next((it for it in workspace.root.parents if places.index_of(it).exists()), None)
    return workspace if outer is None else replace(workspace_of(outer, flags), root=workspace.root)


@dataclass(frozen=True, slots=True)
class Built:
    """What became of the files, and of the histories of their repositories; vectors count with the files."""

    files: SyncReport = field(default_factory=SyncReport)
    history: SyncReport = field(default_factory=SyncReport)

    def add(self, other: Built) -> None:
        self.files.add(other.files)
        self.history.add(other.history)

    def text(self) -> str:
        history = self.history
        told = report_text(history, "commits") if history.listed else "\n".join(history.notes)
        return "\n".join(filter(None, (report_text(self.files), told)))


def build(
    workspace: Workspace,
    *,
    force: bool = False,
    switch: bool = False,
    first_answer_s: float | None = None,
    history_for_s: float | None = None,
) -> Built:
    """Files first, then histories, then the vectors of both. `first_answer_s`: no more vectors than a first answer
    needs, made within this time; `history_for_s`: as much of the histories."""
    was_there = workspace.index.exists()
    if was_there and first_answer_s is None:
        from dowse.shells.cli.background import stop_background

        stop_background(workspace.index)
    with workspace.open(create=True) as engine, progress_bar() as progress:
        files = engine.index([workspace.root], force=force, vectors=False, progress=progress)
        history = engine.index_history(force=force, for_s=history_for_s, progress=progress)
        wait_s = workspace.settings.lock_timeout_s
        is_first = first_answer_s is not None
        pause = after(first_answer_s)
        files.add(engine.encode(progress=progress, pause=pause, timeout_s=wait_s, switch=switch, quick_only=is_first))
        if was_there:  # what was written just now is sound
            engine.probe()
        return Built(files, history)


def report_text(report: SyncReport, things: str = "files") -> str:
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
