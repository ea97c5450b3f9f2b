"""Which commit the work trees are at, and whether they have uncommitted changes."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from dowse.ingest.sources.git.changed import changed
from dowse.ingest.sources.git.repository import work_tree_above
from dowse.ingest.sources.git.running import run_git


def fingerprint(places: Sequence[Path]) -> dict[str, object] | None:
    """Of the first place that lies in a work tree, with all the work trees there are; None if there is none."""
    directories = [place if place.is_dir() else place.parent for place in places]
    tops = [top for directory in directories if (top := work_tree_above(str(directory.resolve()))) is not None]
    found = [it for top in dict.fromkeys(tops) if (it := _of(top)) is not None]
    if not found:
        return None
    worktrees = sorted(str(it["worktree"]) for it in found)
    return {**found[0], "multi_repo": len(worktrees) > 1, "worktrees": worktrees}


def _of(top: str) -> dict[str, object] | None:
    git = shutil.which("git")
    if git is None:
        return None
    return {
        "worktree": top,
        "head": _ask(git, top, "rev-parse", "--verify", "--quiet", "HEAD") or None,
        "branch": _ask(git, top, "symbolic-ref", "--short", "--quiet", "HEAD") or "HEAD",
        "is_dirty": bool(changed(Path(top)).paths),
    }


def _ask(git: str, top: str, *command: str) -> str:
    answer = run_git(git, top, *command)
    return "" if answer is None or answer.returncode else answer.stdout.decode(errors="replace").strip()
