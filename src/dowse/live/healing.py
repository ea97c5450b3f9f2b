"""Healing an index without anybody's help: parts in their place, and where that will not do, all of it anew."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dowse.config import Settings
from dowse.engine import Engine
from dowse.errors import IndexDamaged
from dowse.ingest.embed import Progress
from dowse.live.rebuilding import Rebuilding
from dowse.store.sqlite.health.header import header_problem


@dataclass(frozen=True, slots=True)
class Healed:
    """What was done, in sentences; `swapped`: another file is in the index's place now, and must be opened anew."""

    done: tuple[str, ...] = ()
    swapped: bool = False


def heal(settings: Settings, index: Path, root: Path, progress: Progress, *, deep: bool = True) -> Healed:
    """Look for damage and mend it; `root` is indexed where the index does not tell which ones it held.

    Answers go on meanwhile, from what is left: a new index is made beside the old one.
    """
    reasons = header_problem(index)
    try:
        if reasons:
            raise IndexDamaged(f"{index} {reasons}")
        with Engine(settings, index, create=True) as engine:
            found = {it.part: it.text for it in engine.check(deep=deep, progress=progress) if it.state == "problem"}
            found |= engine.damaged()
            if not found:
                # What was met may have been written anew since, with its file; else it would be looked for for ever.
                engine.reassure(progress=progress)
                return Healed()
            mended = engine.mend(found, progress=progress)
            if not mended.left:
                return Healed(mended.done)
            reasons = "; ".join(mended.left.values())
    except IndexDamaged as error:
        reasons = str(error.__cause__ or error)
    Rebuilding(settings, index, root).run(progress, drop_missing=True, keep_old=True)
    return Healed((f"the index was damaged ({reasons}) and made anew from the files",), swapped=True)
