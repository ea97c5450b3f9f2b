"""A repository with a story, made by git: a class that came, moved and changed; what is written of it beside it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from support import write

REPO = """\
class Repo:
    def save(self, item):
        return item

    def load(self):
        return None
"""
CHANGED = REPO.replace(
    "        return item\n", "        if item is None:\n            raise ValueError(item)\n        return item\n"
)
SERVICE = """\
from app.repo import Repo


class Service:
    def __init__(self, repo: Repo):
        self.repo = repo

    def keep(self, item):
        return self.repo.save(item)
"""
TEST = """\
from app.repo import Repo


def test_save():
    assert Repo().save(1) == 1
"""
GUIDE = """\
# Guide

Items are kept by [the repository](../src/app/repo.py).

## Saving

`Repo.save` refuses nothing.
"""
MENTION = """\
---
type: journal
status: active
created_at: "2026-01-05T10:00:00Z"
---

We refuse None in [[src/app/repo.py]] because the queue can not hold it.
"""
ANCHORED = """\
---
type: fact
status: active
created_at: "2026-01-05T10:00:00Z"
anchors: ["src/app/repo.py#Repo.save"]
---

Saving twice is harmless.
"""
CHANGED_LINE = 3
"""A line of `Repo.save` that the last commit wrote."""


def git(root: Path, *words: str, date: str = "2026-01-01") -> str:
    """As nobody in particular: no setting of the user counts."""
    when = f"{date}T12:00:00+00:00"
    who = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER") for what, value in (
        ("NAME", "Ada"), ("EMAIL", "ada@example.org"), ("DATE", when))}  # fmt: skip
    nobody = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    command = ["git", "-c", "commit.gpgsign=false", "-c", "init.defaultBranch=main", *words]
    done = subprocess.run(command, cwd=root, env=os.environ | who | nobody, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def commit(root: Path, message: str, date: str) -> str:
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", message, date=date)
    return git(root, "rev-parse", "HEAD")


def storied(root: Path) -> dict[str, str]:
    """The hashes of its commits, by what they did."""
    git(root, "init", "-q")
    write(root, {"src/old.py": REPO, "docs/guide.md": GUIDE, "tests/test_repo.py": TEST, ".gitignore": ".memories/\n"})
    made = {"introduced": commit(root, "Keep items\n\nThere was no place for them.", "2026-01-01")}
    write(root, {"src/app/repo.py": REPO, "src/app/service.py": SERVICE, "src/app/__init__.py": ""})
    (root / "src/old.py").unlink()
    made["moved"] = commit(root, "Give the repository its own place", "2026-01-02")
    write(root, {"src/app/repo.py": CHANGED})
    made["changed"] = commit(root, "Refuse to save nothing", "2026-01-03")
    write(root, {".memories/why-refuse.md": MENTION, ".memories/twice.md": ANCHORED})
    return made
