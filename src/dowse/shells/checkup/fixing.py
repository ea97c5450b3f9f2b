"""What `dowse doctor --fix` does, each with a sentence for the person who asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from dowse.errors import DowseError, IndexUnusable
from dowse.ingest.embed import Progress
from dowse.live.healing import heal
from dowse.places import Places, is_stored_root
from dowse.shells.checkup.models import cache_files, is_damaged
from dowse.shells.checkup.surroundings import exposed, left_by_kills
from dowse.shells.cli.index import report_text
from dowse.shells.workspace import Workspace
from dowse.store.health import PARTS, Finding


def fix(workspace: Workspace, found: Sequence[Finding], progress: Progress) -> Iterator[str]:
    """Raises what keeps the index from being mended: a full disk, another writer, a root that is gone."""
    places = Places.of(workspace.settings)
    yield from _permissions(workspace.index, places.data_dir)
    yield from _leftovers(workspace.index)
    yield from _caches(places)
    wrong = [it for it in found if it.state != "ok"]
    if any(it.part in PARTS and it.state == "problem" for it in wrong):
        yield from heal(workspace.settings, workspace.index, workspace.root, progress)
    yield from _in_line(workspace, progress)
    if any(it.part == "log" for it in wrong):
        yield from _log(workspace)


def _permissions(index: Path, data_dir: Path) -> Iterator[str]:
    for path, mode in exposed(index, data_dir):
        try:
            path.chmod(mode)
        except OSError as error:
            yield f"{path} can not be made private: {error.strerror}"
        else:
            yield f"{path} is readable by its owner only now"


def _leftovers(index: Path) -> Iterator[str]:
    for path in left_by_kills(index):
        path.unlink(missing_ok=True)
        yield f"{path.name}, left by a process that was killed, was deleted"


def _caches(places: Places) -> Iterator[str]:
    for path in cache_files(places):
        if is_damaged(path):
            for ending in ("", "-wal", "-shm"):
                Path(f"{path}{ending}").unlink(missing_ok=True)
            yield f"the damaged vector cache {path.name} was deleted; it fills again as texts are encoded"


def _in_line(workspace: Workspace, progress: Progress) -> Iterator[str]:
    """What was lost with a log, or has changed since, is read; an index of a newer Dowse stays as it is."""
    with suppress(IndexUnusable), workspace.open(create=True) as engine:
        known = [Path(it.root) for it in engine.collections()]
        places = [it for it in known if is_stored_root(it)] or [workspace.root]
        report = engine.index(places, vectors=False, progress=progress)
        report.notes += engine.index_history(progress=progress).notes
        report.add(engine.encode(progress=progress))
        if report.indexed or report.deleted or report.embedded or report.reused:
            yield f"the index was brought in line with the files: {report_text(report).splitlines()[0]}"


def _log(workspace: Workspace) -> Iterator[str]:
    try:
        with workspace.open(create=False) as engine:
            engine.settle()
    except DowseError as error:
        yield f"the log can not be emptied: {error}"
    else:
        yield "the write-ahead log was emptied as far as its readers allow"
