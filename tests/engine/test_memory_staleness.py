"""A memory that is anchored to code knows when that has changed, and by which commit."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from dowse.engine import Engine
from dowse.model import Record
from support import OpenEngine, write

START = 1_700_000_000
APP = """import os

class Server:
    def start(self):
        return 1

    def stop(self):
        return 2


def main():
    return Server().start()
"""


def git(root: Path, *words: str, at: int = START) -> str:
    variables = {
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "Ann",
        "GIT_AUTHOR_EMAIL": "ann@example.org",
        "GIT_COMMITTER_NAME": "Ann",
        "GIT_COMMITTER_EMAIL": "ann@example.org",
        "GIT_AUTHOR_DATE": f"@{at} +0000",
        "GIT_COMMITTER_DATE": f"@{at} +0000",
    }
    command = ["git", "-C", str(root), "-c", "commit.gpgsign=false", "-c", "init.defaultBranch=main", *words]
    done = subprocess.run(command, env=os.environ | variables, capture_output=True, text=True, check=True)
    return done.stdout.strip()


FUTURE = 4_000_000_000  # after whatever time this is run at


def commit(root: Path, title: str, at: int = FUTURE) -> str:
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", title, at=at)
    return git(root, "rev-parse", "HEAD")


@pytest.fixture
def engine(root: Path, open_engine: OpenEngine) -> Engine:
    git(root, "init", "-q")
    write(root, {"src/app.py": APP, "docs/guide.md": "# Guide\n\n## Setup\n\nInstall it.\n\n## Use\n\nRun it.\n"})
    write(root, {".gitignore": ".memories/\n"})
    commit(root, "First", START)
    engine = open_engine(freshness_timeout_ms=60_000)
    bring_in(engine, root)
    return engine


def bring_in(engine: Engine, root: Path) -> None:
    engine.index([root])
    engine.histories.index_history()


def memory(engine: Engine, name: str = "notes.md") -> Record:
    (record,) = [it for it in engine.memory.select().records if it.path == name]
    return record


def told(engine: Engine) -> list[tuple[str, str, str]]:
    return [(it.anchor, it.why, it.commit.title if it.commit else "") for it in engine.memory.staleness(memory(engine))]


def change(root: Path, old: str, new: str, path: str = "src/app.py") -> None:
    place = root / path
    text = place.read_text()
    assert old in text
    place.write_text(text.replace(old, new))


def test_what_did_not_change_is_not_stale(engine: Engine, root: Path) -> None:
    anchors = ["src/app.py", "src/app.py#Server.start", "docs/guide.md#Setup", "docs/guide.md"]
    engine.memory.remember("notes", "x", anchors=anchors)
    assert engine.memory.anchors(memory(engine)) == tuple(anchors)
    assert told(engine) == []
    os.utime(root / "src/app.py")
    bring_in(engine, root)
    assert told(engine) == []


def test_a_definition_is_stale_when_it_changes_not_when_it_moves(engine: Engine, root: Path) -> None:
    engine.memory.remember("notes", "x", anchors=["src/app.py#Server.start"])
    change(root, "import os\n", "import os\nimport sys\n\n# more\n")
    change(root, "return 2", "return 22")
    commit(root, "Around it")
    bring_in(engine, root)
    assert told(engine) == []
    change(root, "return 1", "return 11")
    head = commit(root, "Start differently", FUTURE + 10)
    bring_in(engine, root)
    assert told(engine) == [
        (
            "src/app.py#Server.start",
            f"src/app.py#Server.start has changed since the memory was written: commit {head[:12]}",
            "Start differently",
        )
    ]


def test_the_newest_commit_since_is_named(engine: Engine, root: Path) -> None:
    engine.memory.remember("notes", "x", anchors=["src/app.py"])
    for turn in range(3):
        change(root, f"return {2 + turn}", f"return {3 + turn}")
        commit(root, f"Change {turn}", FUTURE + turn)
    bring_in(engine, root)
    assert [title for _, _, title in told(engine)] == ["Change 2"]


def test_what_is_not_committed_yet_is_told_so(engine: Engine, root: Path) -> None:
    engine.memory.remember("notes", "x", anchors=["src/app.py#main", "docs/guide.md"])
    change(root, "Server().start()", "None")
    assert told(engine) == [
        ("src/app.py#main", "src/app.py#main has changed since the memory was written, not committed yet", "")
    ]


def test_what_is_gone_is_told_with_the_commit_that_removed_it(engine: Engine, root: Path) -> None:
    engine.memory.remember("notes", "x", anchors=["src/app.py#Server.stop", "docs/guide.md#Use"])
    change(root, "    def stop(self):\n        return 2\n", "")
    (root / "docs/guide.md").unlink()
    (root / "docs").rmdir()
    head = commit(root, "Away with it")
    bring_in(engine, root)
    assert told(engine) == [
        (
            "src/app.py#Server.stop",
            f"src/app.py has no Server.stop any more (changed by commit {head[:12]})",
            "Away with it",
        ),
        (
            "docs/guide.md#Use",
            f"docs/guide.md#Use is not there any more (changed by commit {head[:12]})",
            "Away with it",
        ),
    ]


def test_what_never_was_there_is_not_gone(engine: Engine, root: Path) -> None:
    anchors = "[no/x.py, no/x.py#f, src/app.py#nope, docs/guide.md#Setup, docs/guide.md#Use]"
    write(root, {".memories/notes.md": f"---\ncreated_at: 2023-01-01\nanchors: {anchors}\n---\nx\n"})
    (root / "docs/guide.md").unlink()
    head = commit(root, "Away with it")
    bring_in(engine, root)
    assert [why for _, why, _ in told(engine)] == [
        "no/x.py is not there",
        "no/x.py#f is not there",
        "src/app.py has no nope",
        f"docs/guide.md#Setup is not there any more (changed by commit {head[:12]})",
        f"docs/guide.md#Use is not there any more (changed by commit {head[:12]})",
    ]


def test_a_renamed_file_is_told_with_its_commit(engine: Engine, root: Path) -> None:
    engine.memory.remember("notes", "x", anchors=["src/app.py"])
    git(root, "mv", "src/app.py", "src/server.py")
    commit(root, "Rename it")
    bring_in(engine, root)
    assert [(why.partition(" (")[0], title) for _, why, title in told(engine)] == [
        ("src/app.py is not there any more", "Rename it")
    ]


def test_a_line_becomes_the_definition_that_holds_it(engine: Engine, root: Path) -> None:
    engine.memory.remember("notes", "x", anchors=["src/app.py:5", "src/app.py:1", f"{root}/src/app.py:11"])
    assert engine.memory.anchors(memory(engine)) == ("src/app.py#Server.start", "src/app.py", "src/app.py#main")


@pytest.mark.parametrize("renew", ["append", "revise"])
def test_writing_again_renews_what_it_is_anchored_to(engine: Engine, root: Path, renew: str) -> None:
    engine.memory.remember("notes", "x", anchors=["src/app.py#main", "docs/guide.md"])
    change(root, "Server().start()", "None")
    assert len(told(engine)) == 1
    getattr(engine.memory, renew)("notes", "looked at it again")
    assert told(engine) == []
    change(root, "return None", "return 0")
    assert [anchor for anchor, _, _ in told(engine)] == ["src/app.py#main"]


def test_anchors_written_by_hand_go_by_the_commits_since(engine: Engine, root: Path) -> None:
    write(root, {".memories/notes.md": "---\ncreated_at: 2099-01-01\nanchors: [src/app.py#main, src/no.py]\n---\nx\n"})
    assert [anchor for anchor, _, _ in told(engine)] == ["src/no.py"]
    change(root, "Server().start()", "None")
    commit(root, "Before it", 4_070_908_800 - 10)  # 2099-01-01
    bring_in(engine, root)
    assert [anchor for anchor, _, _ in told(engine)] == ["src/no.py"]
    change(root, "return None", "return 0")
    commit(root, "After it", 4_070_908_800 + 10)
    bring_in(engine, root)
    assert [(anchor, title) for anchor, _, title in told(engine)] == [
        ("src/app.py#main", "After it"),
        ("src/no.py", ""),
    ]


LONG = "".join(f"        x{number} = {number}\n" for number in range(30))
WIDE = f"""MAX = 3


class Token:
    def lost(self):
        return 5

    def ttl(self):
{LONG}        return 1

    def name(self):
{LONG}        return 2


class Other:
    def name(self):
{LONG}        return 6


def other():
    return 3


def third():
    return 4
"""
SINCE = "2023-12-01"  # after START


def by_hand(engine: Engine, root: Path, *anchors: str, path: str = "a.py", text: str = WIDE) -> None:
    """A note without digests, and what it is anchored to."""
    write(root, {path: text})
    commit(root, "Bring it", START + 1)
    listed = ", ".join(f"{path}#{it}" for it in anchors)
    write(root, {".memories/notes.md": f"---\ncreated_at: {SINCE}\nanchors: [{listed}]\n---\nx\n"})
    bring_in(engine, root)


def edited(engine: Engine, root: Path, old: str, new: str, path: str = "a.py") -> list[tuple[str, str]]:
    """What is stale after a commit of that, and because of which one."""
    change(root, old, new, path)
    commit(root, "Edit it")
    bring_in(engine, root)
    return [(anchor.partition("#")[2], title) for anchor, _, title in told(engine)]


@pytest.mark.parametrize(
    ("old", "new", "stale"),
    [
        ("return 3", "return 33", ["other"]),
        ("return 4", "return 44", ["third"]),
        ("return 1", "return 11", ["Token", "Token.ttl"]),
        ("    def lost(self):\n        return 5\n\n", "", ["Token"]),
        ("return 6", "return 66", []),  # of this one the commit tells but the name, which is that of another, too
    ],
)
def test_only_commits_that_changed_a_definition_count(
    engine: Engine, root: Path, old: str, new: str, stale: list[str]
) -> None:
    by_hand(engine, root, "third", "other", "Token", "Token.ttl", "Other")
    assert edited(engine, root, old, new) == [(it, "Edit it") for it in stale]


def test_commits_that_touched_the_file_count_where_they_tell_no_more(engine: Engine, root: Path) -> None:
    by_hand(engine, root, "MAX", "third")
    assert edited(engine, root, "return 3", "return 33") == [("MAX", "Edit it")]
    by_hand(engine, root, "Setup", path="docs/more.md", text="# More\n\n## Setup\n\nInstall it.\n\n## Use\n")
    assert edited(engine, root, "Use", "Used", "docs/more.md") == [("Setup", "Edit it")]


def test_a_class_is_changed_by_who_changed_its_members(engine: Engine, root: Path) -> None:
    write(root, {"a.py": WIDE})
    commit(root, "Bring it", START + 1)
    bring_in(engine, root)
    engine.memory.remember("notes", "x", anchors=["a.py#Token"])
    change(root, "return 1", "return 11", "a.py")
    commit(root, "The member", FUTURE)
    change(root, "return 3", "return 33", "a.py")
    commit(root, "Another", FUTURE + 1)
    bring_in(engine, root)
    assert [title for _, _, title in told(engine)] == ["The member"]


def test_an_edit_is_not_committed_whatever_else_of_the_file_was(engine: Engine, root: Path) -> None:
    engine.memory.remember("notes", "x", anchors=["src/app.py#main", "docs/guide.md#Use"])
    change(root, "return 2", "return 22")
    change(root, "Install it.", "Install it now.", "docs/guide.md")
    commit(root, "Unrelated")
    change(root, "Server().start()", "None")
    change(root, "Run it.", "Run.", "docs/guide.md")
    bring_in(engine, root)
    assert [why for _, why, _ in told(engine)] == [
        "src/app.py#main has changed since the memory was written, not committed yet",
        "docs/guide.md#Use has changed since the memory was written, not committed yet",
    ]


def test_a_commit_that_may_mean_another_is_named_only_where_no_edit_tells(engine: Engine, root: Path) -> None:
    write(root, {"a.py": WIDE})
    commit(root, "Bring it", START + 1)
    bring_in(engine, root)
    engine.memory.remember("notes", "x", anchors=["a.py#Token"])
    change(root, "return 6", "return 66", "a.py")
    commit(root, "The name of the other")
    change(root, "return 2", "return 22", "a.py")
    bring_in(engine, root)
    assert told(engine) == [
        ("a.py#Token", "a.py#Token has changed since the memory was written, not committed yet", "")
    ]
    commit(root, "Its own", FUTURE + 1)
    bring_in(engine, root)
    assert [title for _, _, title in told(engine)] == ["Its own"]


@pytest.mark.parametrize("how", [["--ff-only"], ["--no-ff", "-m", "Merge"]])
def test_what_came_with_a_merge_is_told_with_its_commit(engine: Engine, root: Path, how: list[str]) -> None:
    git(root, "checkout", "-q", "-b", "feature")
    change(root, "Server().start()", "None")
    change(root, "Run it.", "Run.", "docs/guide.md")
    commit(root, "On a branch", START + 100)
    git(root, "checkout", "-q", "main")
    bring_in(engine, root)
    engine.memory.remember("notes", "x", anchors=["src/app.py#main", "src/app.py", "docs/guide.md#Use"])
    git(root, "merge", "-q", *how, "feature", at=START + 200)
    change(root, "return 2", "return 22")  # elsewhere in the file
    bring_in(engine, root)
    assert [(anchor, title) for anchor, _, title in told(engine)] == [
        ("src/app.py#main", "On a branch"),
        ("src/app.py", ""),
        ("docs/guide.md#Use", "On a branch"),
    ]
    git(root, "checkout", "-q", "src/app.py")
    bring_in(engine, root)
    assert {title for _, _, title in told(engine)} == {"On a branch"}


def test_a_commit_that_is_gone_is_told(engine: Engine, root: Path) -> None:
    head = git(root, "rev-parse", "HEAD")
    engine.memory.remember("notes", "x", anchors=[f"commit:{head[:10].upper()}"])
    assert engine.memory.anchors(memory(engine)) == (f"commit:{head}",)
    assert told(engine) == []
    git(root, "commit", "-q", "--amend", "-m", "Other", at=START + 1)
    git(root, "reflog", "expire", "--expire=now", "--all")
    bring_in(engine, root)
    assert told(engine) == [
        (f"commit:{head}", f"commit {head[:12]} is no longer in any indexed history", ""),
    ]


def test_without_git_changes_are_told_all_the_same(tmp_path: Path, open_engine: OpenEngine) -> None:
    root = tmp_path / "plain"
    write(root, {"a.py": "def f():\n    return 1\n"})
    engine = open_engine(freshness_timeout_ms=60_000)
    engine.index([root])
    engine.memory.remember("notes", "x", anchors=["a.py#f", "commit:abcdef1"])
    change(root, "return 1", "return 2", "a.py")
    assert told(engine) == [("a.py#f", "a.py#f has changed since the memory was written", "")]


def test_memories_that_supersede_each_other_hang_nothing(engine: Engine) -> None:
    engine.memory.remember("a", "supersedes [[memory:b]], depends on [[memory:a]]", anchors=["src/app.py"])
    engine.memory.remember("b", "supersedes [[memory:a]]")
    assert [engine.memory.staleness(it) for it in engine.memory.select().records] == [(), ()]


def test_other_records_are_never_stale(engine: Engine) -> None:
    (record,) = engine.record("src/app.py")
    assert engine.memory.staleness(record) == ()
