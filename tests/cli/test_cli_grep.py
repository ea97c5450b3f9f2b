"""`dowse grep`: what it prints, its exit codes, and what it says of files that have changed."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from test_cli import Run, run  # noqa: F401 - a fixture

from dowse.store.sqlite.line_index import line_sidecar_path
from dowse.store.sqlite.line_log import read_line_header
from support import write

FILES = {
    "src/app.py": "import os\n\ndef retry(times):\n    for i in range(times):\n        wait(i)\n\nretry(3)\n",
    "src/other.py": "def wait(i):\n    pass\n",
}


@pytest.fixture
def grep(run: Run, root: Path) -> Run:  # noqa: F811
    write(root, FILES)
    run("index")
    return lambda *words: run("grep", *words)


def test_lines_as_grep_prints_them(grep: Run) -> None:
    code, out, err = grep(r"def \w+\(")
    assert code == 0
    assert out.splitlines() == ["src/app.py:3:def retry(times):", "src/other.py:1:def wait(i):"]
    assert err == "dowse: 2 matches in 2 files; 4 of 4 files indexed\n"


def test_context(grep: Run) -> None:
    _, out, _ = grep("-F", "retry(", "-B", "1", "-A", "1")
    assert out.splitlines() == [
        "src/app.py-2-",
        "src/app.py:3:def retry(times):",
        "src/app.py-4-    for i in range(times):",
        "--",
        "src/app.py-6-",
        "src/app.py:7:retry(3)",
    ]
    assert grep("-F", "retry(", "-C", "9")[1].count("--") == 0
    _, out, _ = grep("wait", "-A", "1", "--path", "src/")
    assert out.splitlines()[-3:] == ["--", "src/other.py:1:def wait(i):", "src/other.py-2-    pass"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("-w", "i"), ["src/app.py:2", "src/other.py:1"]),
        (("-w", "retr"), []),
        (("-F", "RETR"), ["README.md:1", "src/app.py:2"]),
        (("-F", "-s", "RETR"), []),
        (("-s", "[A-Z]etries"), ["README.md:1"]),
        (("--phrase", "pass def"), []),
        (("--phrase", "exponential\nbackoff"), ["README.md:1"]),
        (("-e", "ret.y"), ["src/app.py:2"]),
        (("-w", "wait", "retry", "--all"), ["src/app.py:3"]),
        (("wait", "--path", "*.py", "--not-path", "other*"), ["src/app.py:1"]),
    ],
)
def test_manners_and_filters(grep: Run, words: tuple[str, ...], expected: list[str]) -> None:
    code, out, _ = grep("--count", *words)
    assert (code, sorted(out.splitlines())) == (0 if expected else 1, expected)


def test_only_files_and_limits(grep: Run) -> None:
    _, out, err = grep("-l", "wait", "-k", "1", "--path", "src/")
    assert out.count("\n") == 1
    assert "the best 1 shown" in err


def test_json(grep: Run) -> None:
    code, out, _ = grep("--json", "-w", "wait", "-A", "1", "--path", "src/")
    answer = json.loads(out)
    assert code == 0
    assert set(answer) == {
        "root", "searched", "count", "total_files", "total_occurrences", "files", "words", "cut", "completeness",
    }  # fmt: skip
    assert (answer["searched"], answer["count"], answer["total_files"]) == (["wait"], 2, 2)
    (other,) = [it for it in answer["files"] if it["path"] == "src/other.py"]
    assert other["excerpts"] == [{"start_line": 1, "lines": ["def wait(i):", "    pass"], "matches": [0]}]
    assert (other["lines"], other["freshness"], other["terms_matched"]) == ([1], "fresh", 1)
    assert answer["completeness"]["complete"] is True


def test_nothing_found_says_what_was_searched(grep: Run) -> None:
    code, out, err = grep("nowhere")
    assert (code, out) == (1, "")
    assert err == "dowse: no match; 4 of 4 files indexed\n"
    assert grep("--json", "nowhere")[0] == 1


def test_files_that_changed_are_named(grep: Run, root: Path) -> None:
    (root / "src/app.py").write_text("something else entirely")
    (root / "src/other.py").unlink()
    _, out, err = grep("wait", "--path", "src/", "--freshness-timeout-ms", "0")
    assert "src/other.py:1:def wait(i):" in out
    assert "src/app.py (changed)" in err
    assert "src/other.py (gone)" in err
    assert "`dowse index`" in err


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("(",), "invalid regex"),
        (("-w", "-s", "x"), "ignores case"),
        (("",), "a search term is empty"),
        (("-c", "-l", "x"), "not both"),
        (("x", "-C", "-1"), "-1"),
        ((), "Missing argument"),
    ],
)
def test_errors_are_one_line(grep: Run, words: tuple[str, ...], reason: str) -> None:
    code, out, err = grep(*words)
    assert (code, out) == (2, "")
    assert reason in err
    assert err.count("\n") == 1


def test_the_first_question_builds_the_index(run: Run) -> None:  # noqa: F811
    code, out, _ = run("grep", "backoff")
    assert (code, out) == (0, "README.md:3:Retries use exponential backoff.\n")


def test_a_rebuilt_index_keeps_the_lines_it_was_built_with(run: Run, root: Path, tmp_path: Path) -> None:  # noqa: F811
    rng = random.Random(1)
    for file in range(14):
        write(root, {f"d{file}.txt": "\n".join(str(rng.getrandbits(200)) for _ in range(1_500))})
    index = tmp_path / "i.db"
    run("index", "--index", str(index))
    old = line_sidecar_path(index).read_bytes()
    run("rebuild", "--index", str(index))
    assert read_line_header(line_sidecar_path(index)) is not None
    assert line_sidecar_path(index).read_bytes() != old
    assert {it.name for it in tmp_path.glob("i.db.new*")} == set()
    made = line_sidecar_path(index).stat().st_mtime_ns
    assert run("grep", "--index", str(index), "backoff")[0] == 0
    assert line_sidecar_path(index).stat().st_mtime_ns == made
