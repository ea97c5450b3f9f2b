"""Asks git for the files of a work tree, in a way that runs nothing a repository configures."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

TIMEOUT_SECONDS = 60

# A repository's own configuration names programs; these are the ones a listing could reach.
_HARDENED = (
    "--no-pager",
    "--no-replace-objects",
    "-c", "core.fsmonitor=false",
    "-c", "core.hooksPath=/dev/null",
    "-c", "core.attributesFile=/dev/null",
    "-c", "core.untrackedCache=false",
)  # fmt: skip
# The caller's git variables may point at another repository; only where the user's settings are is kept.
_KEPT_VARIABLES = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH")
_FORCED_VARIABLES = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    # A partial clone would fetch what it lacks, with the programs its remotes name.
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "LC_ALL": "C",
}


@dataclass(frozen=True, slots=True)
class GitListing:
    """Names relative to the directory: tracked files, there or not, and untracked ones that are not ignored.

    A nested repository is one name with a trailing slash. `complained` means git could not see everything.
    """

    names: list[str]
    complained: bool


def list_work_tree(top: str, directory: str, paths: Sequence[str] | None = None) -> GitListing | None:
    """What git lists below the directory, which is in the work tree that begins at `top`.

    At these paths only, if any are given. None without git, when it fails, and when it ignores the directory itself.
    """
    git = shutil.which("git")
    if git is None:
        return None
    # Told where the work tree is, git does not believe a configuration that says it is elsewhere.
    here = f"--work-tree={top}"
    named = () if paths is None else ("--", *paths)
    listing = ("--literal-pathspecs", "ls-files", "--cached", "--others", "--exclude-standard", "-z", *named)
    listed = run_git(git, directory, here, *listing)
    if listed is None or listed.returncode != 0:
        return None
    ignored = None if directory == top else run_git(git, directory, here, "check-ignore", "--quiet", ".")
    if ignored is not None and ignored.returncode == 0:
        return None
    names = {os.fsdecode(name) for name in listed.stdout.split(b"\0") if name}
    return GitListing(sorted(names), complained=bool(listed.stderr))


def list_kept_though_ignored(top: str, directory: str) -> frozenset[str]:
    """Files below the directory that git tracks although its rules would ignore them; none without git."""
    git = shutil.which("git")
    if git is None:
        return frozenset()
    asked = ("ls-files", "--cached", "--ignored", "--exclude-standard", "-z")
    listed = run_git(git, directory, f"--work-tree={top}", *asked)
    if listed is None or listed.returncode != 0:
        return frozenset()
    return frozenset(os.fsdecode(name) for name in listed.stdout.split(b"\0") if name)


def run_git(git: str, directory: str, *command: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes] | None:
    """The finished command, `given` at its input, whether it succeeded or not; None when it did not come to its end."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("GIT_") or name in _KEPT_VARIABLES}
    try:
        return subprocess.run(
            [git, "-C", directory, *_HARDENED, *command],
            env=kept | _FORCED_VARIABLES,
            input=given,
            capture_output=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
