"""Asks git for the files of a work tree, in a way that runs nothing a repository configures."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass

from dowse.ingest.sources.git.running import run_git


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
