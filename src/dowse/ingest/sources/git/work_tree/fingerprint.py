"""Which commit the work trees are at, and whether they have uncommitted changes."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from dowse.ingest.sources.git.asking import attempt
from dowse.ingest.sources.git.repository import git_directory_of, work_tree_above
from dowse.ingest.sources.git.work_tree.changed import changed


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
    git_directory = git_directory_of(top)
    if git_directory is None or shutil.which("git") is None:
        return None
    return {
        "worktree": top,
        "head": _ask(git_directory, "rev-parse", "--verify", "--quiet", "HEAD") or None,
        "branch": _ask(git_directory, "symbolic-ref", "--short", "--quiet", "HEAD") or "HEAD",
        "is_dirty": bool(changed(Path(top)).paths),
    }


def _ask(git_directory: Path, *command: str) -> str:
    answer = attempt(git_directory, *command)
    return "" if isinstance(answer, str) else answer.decode(errors="replace").strip()
