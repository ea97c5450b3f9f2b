"""Where a work tree stands: its branch, how far that is from the main one, what is not committed, the last fetch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dowse.ingest.sources.git.asking import attempt
from dowse.ingest.sources.git.repository import branch_in
from dowse.ingest.sources.git.work_tree.changed import Changed, changed
from dowse.ingest.sources.git.work_tree.checkout import Checkout

_USUAL = ("main", "master")
_HEADS, _REMOTE = "refs/heads/", "refs/remotes/origin/"


@dataclass(frozen=True, slots=True)
class BranchStatus:
    """`current` is empty at a commit without a branch, `main` where there is none of the usual names. `behind` and
    `ahead` count commits against `compared`; None where there is nothing to compare. `problem` says why the files that
    are not committed can not be told."""

    current: str
    main: str
    compared: str
    behind: int | None
    ahead: int | None
    dirty: tuple[str, ...]
    problem: str
    fetched_at: float | None


def branch_status(checkout: Checkout) -> BranchStatus:
    current = branch_in(checkout.git_directory)
    main, compared = _main_branch(checkout.git_directory, current)
    behind, ahead = _distance(checkout.git_directory, compared)
    found = Changed() if checkout.top is None else changed(checkout.top)
    return BranchStatus(
        current,
        main,
        compared.removeprefix("refs/heads/").removeprefix("refs/remotes/"),
        behind,
        ahead,
        found.paths,
        found.problem,
        _fetched_at(checkout.git_directory, checkout.common),
    )


def _main_branch(git_directory: Path, current: str) -> tuple[str, str]:
    """Its name, and the reference to compare with: what was fetched of it last, else the local one."""
    told = attempt(git_directory, "symbolic-ref", "--quiet", f"{_REMOTE}HEAD")
    named = "" if isinstance(told, str) else told.decode(errors="replace").strip().removeprefix(_REMOTE)
    for name in dict.fromkeys(it for it in (named, *_USUAL) if it):
        for reference in (_REMOTE + name, _HEADS + name):
            if not isinstance(attempt(git_directory, "show-ref", "--verify", "--quiet", reference), str):
                return name, reference
    # Before the first commit, the branch that will be made is the only one there is.
    return (current, "") if current in _USUAL else ("", "")


def _distance(git_directory: Path, reference: str) -> tuple[int | None, int | None]:
    if not reference:
        return None, None
    counted = attempt(git_directory, "rev-list", "--left-right", "--count", f"{reference}...HEAD", "--")
    parts = [] if isinstance(counted, str) else counted.split()
    return (int(parts[0]), int(parts[1])) if len(parts) == 2 else (None, None)


def _fetched_at(*directories: Path) -> float | None:
    """A linked work tree notes its own fetches, beside those of the repository."""
    times = [moment for it in directories if (moment := _written_at(it / "FETCH_HEAD")) is not None]
    return max(times, default=None)


def _written_at(file: Path) -> float | None:
    try:
        return file.stat().st_mtime
    except OSError:
        return None
