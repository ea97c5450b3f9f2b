"""`dowse search`, `status`, `grep` and `find` where files, a history and memories are in one index."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gits import Repo
from support import Run, command_line, write


@pytest.fixture
def run(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    repo = Repo(root)
    write(root, {"src/kite.py": "def fly_kite():\n    return 'kite'\n", "docs/kite.md": "# Kite\n\nA kite flies.\n"})
    repo.run("add", ".")
    repo.run("commit", "-q", "-m", "Add the kite")
    write(root, {"docs/kite.md": "# Kite\n\nA kite flies high.\n"})
    bob = {"GIT_AUTHOR_NAME": "Bob B", "GIT_AUTHOR_EMAIL": "bob@example.org"}
    repo.run("commit", "-q", "-am", "Let the kite rise\n\nFor the wind.", **bob)
    note = "---\ntype: fact\ntags: [sky]\ncreated_at: 2023-11-01\n---\nThe kite is red.\n"
    write(root, {".memories/red-kite.md": note})
    monkeypatch.chdir(root)
    monkeypatch.setenv("DOWSE_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("DOWSE_ENCODER", "none")

    run_it = command_line(capsys)

    assert run_it("index")[0] == 0
    return run_it


def hits(run: Run, *words: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(run("search", "kite", "--json", *words)[1])["hits"]
    return found


def titles(run: Run, *words: str) -> set[str]:
    return {it["title"] for it in hits(run, *words)}


def test_one_search_finds_every_kind(run: Run) -> None:
    assert {it["kind"] for it in hits(run)} == {"doc", "code", "commit", "memory"}


@pytest.mark.parametrize(
    ("words", "kinds"),
    [
        (("--kind", "commit"), {"commit"}),
        (("--kind", "memory"), {"memory"}),
        (("--kind", "memory", "--kind", "code"), {"memory", "code"}),
        (("--tag", "sky"), {"memory"}),
        (("--tag", "#Sky"), {"memory"}),
        (("--path", "docs/*"), {"doc", "commit"}),
        (("--path", "src/*"), {"code", "commit"}),
        (("--author", "bob"), {"commit"}),
        (("--files",), {"doc", "code"}),
        (("--until", "2023-11-05"), {"memory"}),
    ],
)
def test_scopes(run: Run, words: tuple[str, ...], kinds: set[str]) -> None:
    assert {it["kind"] for it in hits(run, *words)} == kinds


def test_authors_and_touched_paths_choose_among_commits(run: Run) -> None:
    assert titles(run, "--author", "bob@") == {"Let the kite rise"}
    assert titles(run, "--author", "ann", "--author", "BOB") == {"Let the kite rise", "Add the kite"}
    assert titles(run, "--kind", "commit", "--path", "src/**") == {"Add the kite"}
    assert run("search", "kite", "--author", "nobody")[0] == 1


def test_how_hits_are_told(run: Run, root: Path) -> None:
    (commit,) = hits(run, "--author", "bob")
    assert commit["path"] == Repo(root).run("rev-parse", "HEAD")
    assert commit["facets"]["author"] == "Bob B <bob@example.org>"
    assert f"commit {commit['path'][:10]} 2023-11-14 Bob B: Let the kite rise" in run("search", "kite")[1]
    assert "(fact, " in run("search", "kite", "--kind", "memory")[1]


def test_what_was_searched_is_counted_by_source(run: Run) -> None:
    assert "2 of 2 files, 2 of 2 commits, 1 of 1 memories indexed" in run("search", "kite")[1]
    told = json.loads(run("search", "kite", "--json")[1])["completeness"]
    assert (told["indexed"], told["listed"]) == (2, 2)
    assert [(it["source"], it["indexed"]) for it in told["by_source"]] == [("commits", 2), ("memories", 1)]


def test_status_tells_them_apart(run: Run, root: Path) -> None:
    told = json.loads(run("status", "--json")[1])
    assert told["root"] == str(root)
    assert [it["root"] for it in told["collections"]] == [str(root)]
    assert [(it["root"], it["indexed"]) for it in told["histories"]] == [(str(root / ".git"), 2)]
    assert [(it["root"], it["indexed"]) for it in told["memories"]] == [(str(root / ".memories"), 1)]
    assert (told["records"], told["chunks"]) == (2, 2)
    shown = run("status")[1]
    assert f"history   {root / '.git'} (2 of 2 commits" in shown
    assert f"memories  {root / '.memories'} (1 of 1 memories" in shown


def test_exact_lookups_see_files_only(run: Run) -> None:
    files = json.loads(run("grep", "kite", "--json")[1])["files"]
    assert {it["path"] for it in files} == {"src/kite.py", "docs/kite.md"}
    found = run("find", "kite")[1]
    assert "red-kite" not in found
    assert "kite.py" in found
