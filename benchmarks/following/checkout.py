"""A checkout that changes thousands of files at once: until the index equals the disk."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from following.repository import commit, git, make, write_all
from following.saving import asked, wait_until, with_server
from processes import Server

_FOLLOWED_S = 1800.0


@dataclass(frozen=True, slots=True)
class CheckedOut:
    """`left` is what a sync by hand still found to do: nothing, if the index equalled the disk."""

    files: int
    checkout_s: float
    followed_s: float
    left: int


def measure(root: Path, environment: Mapping[str, str], files: int) -> CheckedOut:
    rng = random.Random(3)
    paths = make(root, files, rng, "before")
    git(root, "branch", "before")
    write_all(root, paths, rng, "after")
    commit(root, "after")

    def switch(server: Server) -> tuple[float, float]:
        began = time.perf_counter()
        git(root, "checkout", "-q", "before")
        switched = time.perf_counter()
        wait_until(lambda: _files_with(server, "before") == files, _FOLLOWED_S, "the index did not follow the checkout")
        wait_until(lambda: _files_with(server, "after") == 0, _FOLLOWED_S, "deleted files stayed in the index")
        return switched - began, time.perf_counter() - switched

    checkout_s, followed_s = with_server(root, environment, ("--freshness-timeout-ms", "0"), switch)
    return CheckedOut(files, checkout_s, followed_s, _left(root, environment))


def _files_with(server: Server, word: str) -> int:
    time.sleep(0.2)  # counting ten thousand files is work, too
    return int(asked(server, "grep", pattern=f"^# {word}$", limit=1)["total_files"])


def _left(root: Path, environment: Mapping[str, str]) -> int:
    command = [sys.executable, "-m", "dowse", "index", "--json"]
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, check=True)
    report = json.loads(done.stdout)
    return int(report["indexed"] + report["deleted"])
