"""Healing an index without anybody's help: parts in their place, and where that will not do, all of it anew."""

from __future__ import annotations

from pathlib import Path

from dowse.config import Settings
from dowse.engine import Engine
from dowse.errors import IndexDamaged, IndexForeign
from dowse.ingest.embed import Progress
from dowse.live.rebuilding import Rebuilding
from dowse.store.sqlite.health.header import header_problem


def heal(settings: Settings, index: Path, root: Path, progress: Progress) -> tuple[str, ...]:
    """Look for damage and mend it: what was done, in sentences. `root` is indexed where the index does not tell which
    ones it held.

    Answers go on meanwhile, from what is left: a new index is made beside the old one.
    """
    reasons = header_problem(index)
    try:
        if reasons:
            raise IndexDamaged(f"{index} {reasons}")
        with Engine(settings, index, create=True) as engine:
            found = {it.part: it.text for it in engine.check(deep=True, progress=progress) if it.state == "problem"}
            found |= engine.damaged()
            if not found:
                # What was met may have been written anew since, with its file; else it would be looked for for ever.
                engine.reassure(progress=progress)
                return ()
            if "catalog" not in found:
                mended = engine.mend(found, progress=progress)
                if not mended.left:
                    return mended.done
                found = dict(mended.left)
            reasons = "; ".join(found.values())
    except (IndexDamaged, IndexForeign) as error:
        reasons = str(error.__cause__ or error).partition(";")[0]  # the next step is this one
    Rebuilding(settings, index, root).run(progress, drop_missing=True, keep_old=True)
    return (f"the index was damaged ({reasons}) and made anew from the files",)
