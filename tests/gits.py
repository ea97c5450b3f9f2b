"""Real repositories, made step by step, at times of their own and without anybody's settings."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

Git = Callable[..., str]
START = 1_700_000_000
_PLAIN = (
    "-c", "commit.gpgsign=false",
    "-c", "init.defaultBranch=main",
    "-c", "protocol.file.allow=always",
    "-c", "gc.auto=0",
    "-c", "advice.detachedHead=false",
)  # fmt: skip


class Repo:
    """One directory in which git is run; every commit is made a minute after the one before, unless it is said when."""

    def __init__(self, place: Path, *options: str) -> None:
        self.place = place
        self.now = START
        place.mkdir(parents=True, exist_ok=True)
        if not (place / ".git").exists() and not (place / "HEAD").exists():
            self.run("init", "-q", *options)

    def run(self, *command: str, given: bytes = b"", **variables: str) -> str:
        who = {"NAME": "Ann", "EMAIL": "ann@example.org", "DATE": f"@{self.now} +0000"}
        people = {f"GIT_{role}_{name}": text for role in ("AUTHOR", "COMMITTER") for name, text in who.items()}
        done = subprocess.run(
            ["git", "-C", str(self.place), *_PLAIN, *command],
            input=given,
            env={**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", **people, **variables},
            check=True,
            capture_output=True,
        )
        return done.stdout.decode(errors="replace").strip()

    def commit(
        self, message: str, files: Mapping[str, str | bytes] | None = None, *options: str, at: int | None = None
    ) -> str:
        for path, content in (files or {}).items():
            place = self.place / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content.encode() if isinstance(content, str) else content)
        self.run("add", "-A")
        self.now += 60
        moment = {} if at is None else {"GIT_AUTHOR_DATE": f"@{at} +0000", "GIT_COMMITTER_DATE": f"@{at} +0000"}
        self.run("commit", "-q", "--allow-empty", "-m", message, *options, **moment)
        return self.run("rev-parse", "HEAD")

    def many(self, count: int) -> None:
        """So many commits on top, each of one line, in one go."""
        head = self.run("rev-parse", "HEAD")
        self.now += 60 * count
        lines = [
            f"commit refs/heads/main\ncommitter Ann <ann@example.org> {self.now - 60 * (count - number)} +0000\n"
            f"data {len(f'Step {number}')}\nStep {number}\n"
            f"{f'from {head}{chr(10)}' if not number else ''}M 644 inline step\ndata {len(str(number))}\n{number}\n"
            for number in range(count)
        ]
        self.run("fast-import", "--quiet", "--force", given="".join(lines).encode())

    @property
    def git_directory(self) -> Path:
        return (self.place / self.run("rev-parse", "--git-common-dir")).resolve()

    def lose(self, *names: str) -> None:
        """Objects that lie by themselves are gone."""
        for name in names:
            (self.git_directory / "objects" / name[:2] / name[2:]).unlink()
