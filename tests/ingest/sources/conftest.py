from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Git = Callable[..., str]


@pytest.fixture
def git(monkeypatch: pytest.MonkeyPatch) -> Git:
    """Runs git in a directory, with no settings but its own."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]

    def run(directory: Path, *command: str) -> str:
        allow_local_clones = ["-c", "protocol.file.allow=always"]
        done = subprocess.run(
            ["git", "-C", str(directory), *identity, *allow_local_clones, *command],
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout

    return run
