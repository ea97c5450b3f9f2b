"""`dowse eval --self` on the command line: what it asks, says and writes, and what it refuses."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from dowse.cli import main
from support import Run, command_line, write

THINGS = ["scale", "gateway", "battery", "antenna", "hinge", "lid", "frame", "queen", "brood", "honey", "wax", "veil"]
ACTS = ["Cleaning", "Storing", "Repairing", "Painting"]
FILES = {
    **{
        f"docs/{thing}.md": f"# The {thing}\n\nAbout it.\n\n"
        + "\n".join(f"## {act}\n\n{act} takes {len(thing + act)} minutes, {'and patience ' * 9}.\n" for act in ACTS)
        for thing in THINGS
    },
    "src/app.py": 'def open_lid(hive):\n    """Lifts the cover of a hive slowly."""\n    return hive\n',
}


@pytest.fixture
def run(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(root)
    monkeypatch.setenv("DOWSE_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("DOWSE_ENCODER", "hashing")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    return command_line(capsys, "eval")


def report(run: Run, *words: str) -> dict[str, Any]:
    code, out, err = run("--self", "--json", *words)
    assert code == 0, err
    return json.loads(out)  # type: ignore[no-any-return]


def commit(root: Path, subject: str) -> None:
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", subject]):
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
        subprocess.run(["git", "-C", str(root), *identity, *words], check=True, capture_output=True)


TRIALS = ["lexical", "semantic", "hybrid 1:0.25", "hybrid 1:0.5", "hybrid 1:1", "hybrid 1:2", "hybrid 1:4"]


def test_what_it_reports(run: Run, root: Path) -> None:
    write(root, {"src/app.py": FILES["src/app.py"]})
    commit(root, "Open the lid more slowly")
    write(root, FILES)
    found = report(run, "--queries", "50", "--per-query")
    origins = {name: it["questions"] for name, it in found["gold"]["origins"].items()}
    assert origins == {"headings": 48, "docstrings": 1, "memories": 0, "commits": 1}
    assert list(found["recipes"]) == TRIALS
    assert set(found["comparisons"]) == set(TRIALS) - {"hybrid 1:1"}
    lexical = found["recipes"]["lexical"]
    assert lexical["queries"] == len(lexical["per_query"]) == found["gold"]["questions"] == 50
    assert lexical["means"]["ndcg@10"] > 0.5
    assert set(found["by_origin"]["hybrid 1:2"]) == set(origins) - {"memories"}
    assert found["by_origin"]["lexical"]["commits"] == found["by_origin"]["lexical"]["docstrings"] == 1.0
    assert found["written"] == ""
    assert not (root / "dowse.toml").exists()


def test_commits_and_memories_give_questions_too(run: Run, root: Path) -> None:
    """A commit that touched a file and a memory asks for the file, once."""
    note = "---\ntype: fact\n---\n\nBees calm down when smoke\nreaches them. They eat then.\n"
    write(root, {"src/app.py": FILES["src/app.py"], ".memories/smoke.md": note, ".memories/b/c.md": "Too short.\n"})
    commit(root, "Open the lid more slowly")
    found = report(run, "--per-query")
    assert {name: it["questions"] for name, it in found["gold"]["origins"].items()} == {
        "headings": 0,
        "docstrings": 1,
        "memories": 1,
        "commits": 1,
    }
    assert found["gold"]["ambiguous"] == 0
    asked = {it["id"] for it in found["recipes"]["lexical"]["per_query"]}
    assert "memories: Bees calm down when smoke reaches them." in asked
    assert found["by_origin"]["lexical"] == {"docstrings": 1.0, "memories": 1.0, "commits": 1.0}


def test_the_text_says_what_the_questions_are_worth(run: Run, root: Path) -> None:
    write(root, FILES)
    code, out, _ = run("--self", "--queries", "12")
    assert code == 0
    assert "12 questions generated from the index" in out
    assert "0 commits: the first line of a commit's message" in out
    assert "These questions are synthetic." in out
    assert "hybrid 1:4 against hybrid 1:1: " in out
    assert "Recommended weights for words and meaning: 1:1; 12 questions are too few" in out


def test_it_asks_the_same_each_time(run: Run, root: Path) -> None:
    write(root, FILES)
    first, second = report(run, "--queries", "8", "--per-query"), report(run, "--queries", "8", "--per-query")
    for each in (*first["recipes"].values(), *second["recipes"].values()):
        each.pop("latency_ms")
        for query in each["per_query"]:
            query.pop("ms")
    assert first == second


def test_writing_and_what_it_changes(run: Run, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Weights that were set before are measured too, and given up for the default where nothing else is better."""
    write(root, FILES | {"dowse.toml": "# mine\nsemantic_weight = 3 # a guess\n"})
    found = report(run, "--queries", "10", "--write")
    assert "hybrid 1:3" in found["recipes"]
    assert found["recommendation"]["default"] is True
    assert (root / "dowse.toml").read_text() == "# mine\nsemantic_weight = 1.0 # a guess\nlexical_weight = 1.0\n"
    assert found["written"].startswith("Wrote lexical_weight = 1.0 and semantic_weight = 1.0 to ")
    code, out, _ = run("--self", "--queries", "10", "--write")
    assert code == 0 and "Nothing to write" in out


def test_written_weights_apply_to_searches(run: Run, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(root, FILES)
    shares = []
    for weight in ("0.25", "4"):
        write(root, {"dowse.toml": f"lexical_weight = {weight}\n"})
        with pytest.raises(SystemExit):
            main(("search", "--json", "-k", "1", "patience"))
        shares.append(json.loads(capsys.readouterr().out)["hits"][0]["evidence"]["fused"])
    assert shares[0] != pytest.approx(shares[1], rel=0.01)


def test_without_an_encoder_there_is_nothing_to_weigh(run: Run, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOWSE_ENCODER", "none")
    write(root, FILES)
    found = report(run, "--queries", "5")
    assert list(found["recipes"]) == ["lexical"]
    assert "no vectors" in found["recommendation"]["reason"]


def test_other_recipes_may_be_asked_for(run: Run, root: Path) -> None:
    write(root, FILES)
    assert list(report(run, "--queries", "5", "--recipe", "ragdocs")["recipes"]) == ["ragdocs", *TRIALS[2:]]


NO_QUESTIONS = [
    {},
    {"a.txt": "No headings, no code."},
    {"junk.md": "\0\1\2" * 100, "b.py": "x = 1\n"},
]


@pytest.mark.parametrize("files", NO_QUESTIONS, ids=["empty", "plain", "junk"])
def test_nothing_to_ask(run: Run, root: Path, files: dict[str, str]) -> None:
    write(root, files)
    code, out, err = run("--self")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1 and "no headings, no documented code and no commits" in err


def test_one_file(run: Run, root: Path) -> None:
    write(root, {"one.md": "# One thing only\n\nText."})
    assert report(run)["gold"]["questions"] == 1


BAD = [
    ((), "pass either GOLD"),
    (("gold.jsonl", "--self"), "pass either GOLD"),
    (("gold.jsonl", "--write"), "work only with --self"),
    (("gold.jsonl", "--queries", "5"), "work only with --self"),
    (("--self", "--queries", "0"), "--queries"),
    (("--self", "--measure", "luck"), "unknown measure 'luck'"),
    (("--self", "--recipe", "luck"), "unknown recipe 'luck'"),
]


@pytest.mark.parametrize(("words", "message"), BAD)
def test_bad_input_is_one_clear_error(run: Run, root: Path, words: tuple[str, ...], message: str) -> None:
    write(root, {"one.md": "# One thing only\n\nText."})
    code, _, err = run(*words)
    assert code == 2 and message in err and err.count("\n") == 1


def test_a_broken_settings_file(run: Run, root: Path) -> None:
    write(root, FILES | {"dowse.toml": "semantic_weight = = 3\n"})
    code, _, err = run("--self", "--write", "--queries", "5")
    assert code == 2 and "cannot read" in err and "dowse.toml" in err
    assert (root / "dowse.toml").read_text() == "semantic_weight = = 3\n"


def test_a_settings_file_that_is_a_link_out_of_the_root(run: Run, root: Path, tmp_path: Path) -> None:
    write(tmp_path, {"outside.toml": "semantic_weight = 3\n"})
    write(root, FILES)
    (root / "dowse.toml").symlink_to(tmp_path / "outside.toml")
    code, _, err = run("--self", "--write", "--queries", "5")
    assert code == 2 and "is a link" in err
    assert (tmp_path / "outside.toml").read_text() == "semantic_weight = 3\n"
