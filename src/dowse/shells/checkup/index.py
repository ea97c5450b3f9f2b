"""The index itself, even one that can not be opened: its header, its parts, its roots, what is not in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from dowse.engine import Engine
from dowse.errors import DowseError, IndexDamaged, IndexForeign, NotIndexed
from dowse.ingest.embed import Progress
from dowse.model import Skipped
from dowse.places import is_stored_root
from dowse.shells.checkup.surroundings import FIX
from dowse.shells.workspace import Workspace
from dowse.store.health import Finding
from dowse.store.sqlite.health.header import header_problem

_REASONS = 5


def index_findings(workspace: Workspace, progress: Progress, *, deep: bool) -> Iterator[Finding]:
    index = workspace.index
    if problem := header_problem(index):
        yield Finding("catalog", "problem", f"{index} {problem}", FIX)
        return
    try:
        with workspace.open(create=False, heals=False) as engine:
            yield Finding("index", "ok", f"{index}, version {engine.status().schema}")
            yield from engine.check(deep=deep, progress=progress)
            yield from _roots(engine)
            yield from _left_out(engine)
    except NotIndexed as error:
        yield Finding("index", "problem", str(error), f"dowse index {workspace.root}")
    except (IndexDamaged, IndexForeign) as error:
        yield Finding("catalog", "problem", str(error.__cause__ or error), FIX)
    except DowseError as error:
        yield Finding("index", "problem", str(error))


def _roots(engine: Engine) -> Iterator[Finding]:
    for it in engine.collections():
        if not is_stored_root(Path(it.root)):
            text = f"{it.root} is not there; what was indexed of it is kept"
            yield Finding("roots", "warning", text, "make it available, or `dowse rebuild --drop-missing`")
        elif not it.synced_at:
            yield Finding("roots", "warning", f"{it.root} is indexed only in part", f"dowse index {it.root}")
        else:
            yield Finding("roots", "ok", f"{it.root}, {it.listed:,} files")


def _left_out(engine: Engine) -> Iterator[Finding]:
    status = engine.status()
    yield _counted("skipped", status.skipped, "every file could be read")
    yield _counted("unparsed", status.quarantined, "every file of code could be parsed")


def _counted(part: str, files: Sequence[Skipped], otherwise: str) -> Finding:
    if not files:
        return Finding(part, "ok", otherwise)
    common = Counter(it.reason for it in files).most_common(_REASONS)
    reasons = ", ".join(f"{count:,} × {reason}" for reason, count in common)
    return Finding(part, "ok", f"{len(files):,} files: {reasons} (`dowse status` lists them)")
