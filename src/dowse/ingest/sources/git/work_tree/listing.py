"""Asks git for the files of a work tree, in a way that runs nothing a repository configures."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from dowse.ingest.sources.git.running import MOST_LISTED_BYTES, ask_work_tree
from dowse.ingest.sources.git.work_tree.astray import leads_astray


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
    named = () if paths is None else ("--", *paths)
    listing = ("--literal-pathspecs", "ls-files", "--cached", "--others", "--exclude-standard", "-z", *named)
    listed = ask_work_tree(top, directory, *listing, most_bytes=MOST_LISTED_BYTES)
    if listed is None or listed.returncode != 0:
        return None
    ignored = None if directory == top else ask_work_tree(top, directory, "check-ignore", "--quiet", ".")
    if ignored is not None and ignored.returncode == 0:
        return None
    names = {os.fsdecode(name) for name in listed.stdout.split(b"\0") if name}
    return GitListing(sorted(it for it in names if not leads_astray(it)), complained=bool(listed.stderr))


def list_kept_though_ignored(top: str, directory: str) -> frozenset[str]:
    """Files below the directory that git tracks although its rules would ignore them; none without git."""
    asked = ("ls-files", "--cached", "--ignored", "--exclude-standard", "-z")
    listed = ask_work_tree(top, directory, *asked, most_bytes=MOST_LISTED_BYTES)
    if listed is None or listed.returncode != 0:
        return frozenset()
    return frozenset(os.fsdecode(name) for name in listed.stdout.split(b"\0") if name)
