"""`dowse why` and `dowse related`, in process, over a real repository."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from storied import CHANGED_LINE, storied
from support import Run, command_line


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    place = tmp_path_factory.mktemp("story")
    root = place / "root"
    root.mkdir()
    return root, storied(root)


@pytest.fixture
def run(place: tuple[Path, dict[str, str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The index is built by the first question."""
    root = place[0]
    monkeypatch.chdir(root)
    monkeypatch.setenv("DOWSE_DATA_DIR", str(root.parent / "data"))
    monkeypatch.setenv("DOWSE_ENCODER", "none")

    run_it = command_line(capsys)

    assert run_it("index")[0] == 0
    return run_it


def test_one_line_in_one_call_within_the_budget(run: Run, place: tuple[Path, dict[str, str]]) -> None:
    code, out, err = run("why", f"src/app/repo.py:{CHANGED_LINE}")
    assert (code, err) == (0, "")
    assert len(out) / 4 < 1_500
    assert out.startswith("Repo.save  method  src/app/repo.py:2-5\n2│    def save(self, item):\n")
    assert "callers\n  Service.keep  src/app/service.py:9\n" in out
    assert "tests\n  test_save  tests/test_repo.py:5\n" in out
    assert f"  {place[1]['changed'][:12]} 2026-01-03 Ada: Refuse to save nothing  [last touched lines 3-4" in out
    assert "  docs/guide.md:3  " in out and "[links_to: ../src/app/repo.py]" in out
    assert "  why-refuse.md:7 (journal)  " in out and "  twice.md:1 (fact)  " in out
    assert "[anchored: src/app/repo.py#Repo.save]" in out


def test_as_json_within_the_budget(run: Run) -> None:
    code, out, _ = run("why", "--json", "Repo.save")
    found = json.loads(out)
    assert code == 0 and len(out) / 4 < 1_500
    assert found["definition"]["path"] == "src/app/repo.py"
    assert found["definition"]["source"][0] == "    def save(self, item):"
    assert [it["name"] for it in found["callers"]] == ["Service.keep"]
    assert {it["kind"] for it in found["commits"]} <= {"wrote", "changes", "renames", "touches"}
    assert {it["path"] for it in found["memories"]} == {"why-refuse.md", "twice.md"}
    assert found["left_out"] == {} and found["complete"] is True


@pytest.mark.parametrize("budget", [150, 175, 200, 250, 300, 400, 600, 1_000, 100_000])
def test_budgets_are_kept_and_what_is_left_out_is_counted(run: Run, budget: int) -> None:
    found = json.loads(run("why", "Repo.save", "--json", "--budget", str(budget))[1])
    every = json.loads(run("why", "Repo.save", "--json")[1])
    del found["root"]  # which is as long as it is
    for shown in (json.dumps(found, ensure_ascii=False), run("why", "Repo.save", "--budget", str(budget))[1]):
        assert len(shown) <= budget * 4
    for section in ("callers", "commits", "memories", "documents", "tests"):
        assert len(found[section]) + found["left_out"].get(section, 0) == len(every[section])


def test_what_matters_most_comes_first(run: Run, place: tuple[Path, dict[str, str]]) -> None:
    """Where it is and which commit made the line so, then a memory, then what it looks like, then who uses it."""

    def asked(budget: int) -> dict[str, Any]:
        data: dict[str, Any] = json.loads(
            run("why", f"src/app/repo.py:{CHANGED_LINE}", "--json", "--budget", str(budget))[1]
        )
        return data

    least, little, some = asked(150), asked(200), asked(300)
    assert (least["definition"]["name"], least["definition"]["path"]) == ("Repo.save", "src/app/repo.py")
    assert [it["commit"] for it in least["commits"]] == [place[1]["changed"][:12]]
    assert [len(least[it]) for it in ("callers", "documents", "tests")] == [0, 0, 0]
    assert (len(little["commits"]), len(little["memories"])) == (1, 1)
    assert little["commits"][0]["how"].startswith("last touched lines 3-4")
    assert some["definition"]["source"][0] == "    def save(self, item):"
    assert some["definition"]["signature"] == "def save(self, item)"
    assert (len(some["commits"]), len(some["memories"]), len(some["callers"])) == (1, 1, 1)
    assert least["left_out"] == {
        "callers": 1,
        "commits": 2,
        "memories": 2 - len(least["memories"]),
        "documents": 1,
        "tests": 1,
    }


def test_several_and_none(run: Run) -> None:
    code, out, _ = run("why", "repo.py#Nothing")
    assert code == 1 and "no file, symbol or link named 'repo.py#Nothing'" in out
    code, out, _ = run("why", "Repo.saved")
    assert code == 1 and "similar names: Repo.save" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["why", ""], "the target is empty"),
        (["why"], "Missing argument"),
        (["why", "-x"], "No such option"),
        (["why", "src/app/repo.py:0"], "line numbers start at 1"),
        (["why", "src/app/repo.py:999999999"], "beyond its end"),
        (["why", "x" * 10_000], "at most 1,000 characters"),
        (["why", "Repo", "--budget", "149"], "149 is not in the range 150<=x<=100000"),
        (["why", "Repo", "--budget", "999999999"], "not in the range"),
        (["why", "Repo", "--collection", "nowhere"], "no collection named 'nowhere'"),
        (["related", ""], "the target is empty"),
        (["related", "Repo", "-k", "1000"], "the limit must be 1 to 100"),
    ],
)
def test_bad_input_is_one_line_on_stderr(run: Run, words: list[str], said: str) -> None:
    code, out, err = run(*words)
    assert (code, out) == (2, "") and said in err and err.count("\n") == 1


def test_what_looks_like_an_option_can_be_asked_about(run: Run) -> None:
    assert run("why", "--", "-x")[0] == 1


def test_related(run: Run, place: tuple[Path, dict[str, str]]) -> None:
    code, out, _ = run("related", "src/app/repo.py")
    assert code == 0
    assert "← import\n" in out and "← touches\n" in out and "← mentions\n  why-refuse.md:7 (journal)" in out
    assert "← links_to\n  docs/guide.md:3" in out
    found = json.loads(run("related", place[1]["moved"][:8], "--json", "--kind", "renames", "--kind", "touches")[1])
    assert [(it["kind"], it["direction"]) for it in found["groups"]] == [("touches", "out"), ("renames", "out")]
    assert found["subject"]["kind"] == "commit"
    code, out, _ = run("related", "src/app/repo.py", "-k", "1")
    assert "← import (1 of 2)" in out
    code, out, _ = run("related", "src/app/repo.py", "--kind", "plans")
    assert code == 1 and "nothing related by plans" in out


def test_a_commit_is_read_by_what_a_search_shows_of_its_hash(run: Run, place: tuple[Path, dict[str, str]]) -> None:
    code, out, _ = run("search", "--kind", "commit", "Refuse to save nothing")
    shown = out.split()[2]
    assert code == 0 and place[1]["changed"].startswith(shown) and len(shown) < 40
    code, out, _ = run("read", shown)
    assert code == 0 and out.startswith("Refuse to save nothing\n")
    assert run("read", "0" * 12)[0] == 2


def test_a_commit_lacks_no_history(run: Run, place: tuple[Path, dict[str, str]]) -> None:
    code, out, _ = run("why", f"commit:{place[1]['changed'][:12]}")
    assert code == 0 and "Refuse to save nothing" in out and "no git history" not in out
