"""Paths from where somebody stands: what is printed can be opened there, what is typed is looked for there first."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from every_verb import CASES, make_repository
from support import Run, command_line, write

PLACE = re.compile(r"(?:^|[\s:(])((?:\.\./|/)?[\w./-]*(?:client\.py|http\.md))", re.MULTILINE)
QUOTED = re.compile(r'"[^"]*"|\[[^\]]*\]|^   \S.*$', re.MULTILINE)  # passages, and the words of links and commits
# What prints a path of a file, by its command; the others print none, or those of notes, which are absolute.
PRINTING = {
    "search": ("--mode", "lexical", "retry"),
    "grep": ("retry",),
    "calls": ("retry",),
    "impact": (),
    "why": ("client.py:5",),
    "related": ("client.py",),
    "symbols": (),
    "find": ("client",),
}
WITH_ROOT = {*PRINTING, "read", "remember", "memories", "forget", "status"}


@pytest.fixture
def run(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    make_repository(root)
    monkeypatch.setenv("DOWSE_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("DOWSE_ENCODER", "hashing")
    monkeypatch.chdir(root)
    run = command_line(capsys)
    assert run("index")[0] == 0
    return run


@pytest.mark.parametrize("verb", PRINTING)
@pytest.mark.parametrize("place", ["src", "docs", ".", "..", "../elsewhere"])
def test_what_is_printed_can_be_opened_from_here(
    run: Run, root: Path, monkeypatch: pytest.MonkeyPatch, verb: str, place: str
) -> None:
    here = root / place
    here.mkdir(exist_ok=True)
    monkeypatch.chdir(here)
    words = [it.replace("client.py", "src/client.py") if place != "src" else it for it in PRINTING[verb]]
    code, out, err = run(verb, *words, "--root", str(root)) if ".." in place else run(verb, *words)
    assert code == 0, err
    named = set(PLACE.findall(QUOTED.sub("", out)))
    assert named and all((here / it).is_file() for it in named), (named, out)
    beginning = {"src": ("client", "../docs"), "docs": ("http", "../src"), ".": ("src", "docs")}
    assert all(
        it.startswith(beginning.get(place, (str(root) if place == "../elsewhere" else "root/",))) for it in named
    )


@pytest.mark.parametrize("verb", sorted(WITH_ROOT))
def test_programs_get_paths_from_the_root_and_the_root(
    run: Run, root: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    if verb == "forget":
        run("remember", "jitter", "x")
    monkeypatch.chdir(root / "src")
    words = PRINTING.get(verb, CASES[verb][0])
    data = json.loads(run(verb, *words, "--json")[1])
    assert data["root"] == str(root)
    if verb in PRINTING:
        assert '"src/client.py"' in json.dumps(data) and '"path": "client.py"' not in json.dumps(data)


def test_what_is_typed_is_looked_for_here_first_and_from_the_root_then(
    run: Run, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(root, {"a.md": "of the root\n", "docs/a.md": "of the docs\n", "docs/b.md": "other\n"})
    run("index")
    monkeypatch.chdir(root / "docs")
    assert run("read", "a.md")[1] == "of the docs\n"
    assert run("read", "a.md:1")[1] == run("read", "./a.md:1-1")[1] == "of the docs\n"
    assert run("read", "../a.md")[1] == "of the root\n"
    assert run("read", "src/client.py:1")[1] == "def fetch(url):\n"
    assert run("read", "../src/client.py:1")[1] == "def fetch(url):\n"
    assert "\ndef" not in run("symbols", "--at", "../src/client.py:5")[1]
    assert "retry" in run("symbols", "--at", "../src/client.py:5")[1]
    assert "fetch" in run("calls", "../src/client.py:5")[1]
    assert run("why", "../src/client.py#retry")[0] == 0
    assert run("related", "../src/client.py")[0] == 0
    code, _, err = run("read", "../../a.md")
    assert code == 2 and "no indexed id or path" in err


def test_a_note_keeps_an_anchor_from_the_root(run: Run, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root / "src")
    assert run("remember", "here", "Retries.", "--anchor", "client.py#retry")[0] == 0
    assert "src/client.py#retry" in (root / ".memories/here.md").read_text()


def test_globs_with_a_dot_or_of_what_is_here_are_taken_from_here(
    run: Run, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(root, {"docs/sub/deep.md": "retry\n", "sub/top.md": "retry\n", "deep/[x]/a.md": "retry\n"})
    run("index")

    def found(*words: str) -> set[str]:
        return {it["path"] for it in json.loads(run("grep", "retry", "--json", *words)[1])["files"]}

    assert found("--path", "sub/*.md") == {"sub/top.md"}
    monkeypatch.chdir(root / "docs")
    assert found("--path", "./**") == {"docs/sub/deep.md"}
    assert found("--path", "sub") == {"docs/sub/deep.md"}
    assert found("--path", "sub/*.md") == {"sub/top.md"}
    assert found("--path", "../src") == {"src/client.py"}
    assert found("--path", "src/*.py") == {"src/client.py"}
    assert found("--path", "*.md", "--not-path", "./sub/") == {"sub/top.md", "deep/[x]/a.md"}
    monkeypatch.chdir(root / "deep/[x]")
    assert found("--path", "./a.md") == found("--path", "a.md") == {"deep/[x]/a.md"}
    code, _, err = run("grep", "retry", "--path", "../../../x")
    assert code == 2 and "points outside" in err


def test_of_two_roots_the_one_somebody_stands_in_is_meant(
    run: Run, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    write(other, {"docs/http.md": "the other retry\n"})
    both = ("--index", str(tmp_path / "both.db"))
    assert run("index", str(root), str(other), *both)[0] == 0
    monkeypatch.chdir(other)
    assert run("read", "docs/http.md", *both)[1] == "the other retry\n"
    out = run("grep", "retry", *both)[1]
    assert "[other] docs/http.md:1:" in out and f"[root] {root}/src/client.py:" in out


def test_what_was_skipped_and_what_has_changed_are_told_from_here(
    run: Run, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "docs/binary.md").write_bytes(b"\0\1\2" * 100)
    run("index")
    monkeypatch.chdir(root / "docs")
    assert " binary.md: " in run("status")[1]
    monkeypatch.setenv("DOWSE_FRESHNESS_TIMEOUT_MS", "0")
    write(root, {"docs/http.md": "retry changed\n"})
    _, out, err = run("grep", "retry")
    assert "docs/http.md" not in out + err and "http.md" in out + err
