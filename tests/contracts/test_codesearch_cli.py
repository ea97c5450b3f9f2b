"""The original's commands: every verb and option, what they print, and exit codes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner
from codesearch_server import FILE_COUNT, lay_out
from rifflux_server import run_script

from dowse.cli.compat_codesearch import commands


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("commands") / "work"
    lay_out(folder)
    (folder / ".hidden").mkdir()
    (folder / ".hidden/Secret.cs").write_text("class Secret { }\n")
    return folder


def printed(repository: Path, *words: str, environment: dict[str, str] | None = None) -> list[str]:
    """In this process: the commands are the same, and start much quicker."""
    data = {"DOWSE_DATA_DIR": str(repository.parent / "data"), **(environment or {})}
    verb, *rest = words
    where = () if verb == "tips" else ("--dir", str(repository))
    done = CliRunner().invoke(commands, [verb, *where, *rest], env=data, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout.splitlines()


def last_names(lines: Sequence[str]) -> set[str]:
    return {line.partition(" (")[0].rstrip("/").rpartition("/")[2] for line in lines if "/" in line}


@pytest.mark.parametrize("verb", ["index", "content-index", "def-index"])
def test_the_three_ways_to_index(repository: Path, verb: str) -> None:
    first = printed(repository, verb)[0]
    assert first.startswith(f"{FILE_COUNT + 1} files: ")


@pytest.mark.parametrize(
    "words",
    [
        ("index", "--max-age-hours", "1", "--hidden", "-t", "4"),
        ("content-index", "-e", "cs,sql", "--max-age-hours", "1", "--hidden", "-t", "4", "--min-token-len", "2"),
        ("def-index", "-e", "cs", "-t", "4"),
    ],
)
def test_options_of_indexing_are_taken(repository: Path, words: tuple[str, ...]) -> None:
    assert "files: " in printed(repository, *words)[0]


GREP = [
    pytest.param(("PAGE_SI",), {"orders.ts"}, id="pattern"),
    pytest.param(("PAGE_SI", "--exact"), set(), id="exact"),
    pytest.param(("submit,retries", "--all"), {"OrderService.cs"}, id="all"),
    pytest.param(("page.*", "-r"), {"orders.ts"}, id="regex"),
    pytest.param(("public class Rounds", "--phrase"), {"Rounds.cs"}, id="phrase"),
    pytest.param(("submit", "-e", "ts"), {"orders.ts"}, id="ext"),
    pytest.param(("submit", "--exclude-dir", "/src/"), {"orders.ts"}, id="exclude-dir"),
    pytest.param(("submit", "--exclude", ".cs"), {"orders.ts"}, id="exclude"),
    pytest.param(("PAGE_SIZE", "--auto-reindex"), {"orders.ts"}, id="auto-reindex"),
]


@pytest.mark.parametrize(("words", "expected"), GREP)
def test_grep(repository: Path, words: tuple[str, ...], expected: set[str]) -> None:
    assert last_names(printed(repository, "grep", *words)) == expected


def test_grep_counts_and_limits(repository: Path) -> None:
    assert printed(repository, "grep", "_controller", "-c") == ["1 files, 2 occurrences"]
    assert len(last_names(printed(repository, "grep", "submit", "--max-results", "2"))) == 2


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        (("--show-lines",), ["20:", "24:"]),
        (("-C", "1"), ["19-", "20:", "21-", "23-", "24:", "25-"]),
        (("-B", "1"), ["19-", "20:", "23-", "24:"]),
        (("-A", "1"), ["20:", "21-", "24:", "25-"]),
        (("-C", "1", "-A", "0"), ["19-", "20:", "23-", "24:"]),
    ],
)
def test_grep_shows_lines(repository: Path, options: tuple[str, ...], shown: list[str]) -> None:
    lines = printed(repository, "grep", "_controller", *options)
    assert [line.split()[0] for line in lines if line.startswith("  ")] == shown


FAST = [
    pytest.param(("Rounds",), {"Rounds.cs"}, id="pattern"),
    pytest.param(("rounds", "-i"), {"Rounds.cs"}, id="ignore-case"),
    pytest.param(("^Ro.*s", "-r"), {"Rounds.cs"}, id="regex"),
    pytest.param(("rders", "-e", "sql"), {"orders.sql"}, id="ext"),
    pytest.param(("rders", "--dirs-only"), {"Orders"}, id="dirs-only"),
    pytest.param(("rders", "--files-only"), {"orders.ts", "orders.sql"}, id="files-only"),
    pytest.param(("Order", "--min-size", "1000"), {"OrderService.cs"}, id="min-size"),
    pytest.param(("http", "--max-size", "100"), {"http.ts"}, id="max-size"),
    pytest.param(("Rounds", "--auto-reindex"), {"Rounds.cs"}, id="auto-reindex"),
]


@pytest.mark.parametrize(("words", "expected"), FAST)
def test_fast(repository: Path, words: tuple[str, ...], expected: set[str]) -> None:
    assert last_names(printed(repository, "fast", *words)) == expected


FIND = [
    pytest.param(("Rounds", "-t", "3"), {"Rounds.cs"}, id="pattern"),
    pytest.param(("Secret",), set(), id="no-hidden"),
    pytest.param(("Secret", "--hidden"), {"Secret.cs"}, id="hidden"),
    pytest.param(("rounds", "-i"), {"Rounds.cs"}, id="ignore-case"),
    pytest.param(("^Ro.*s", "-r"), {"Rounds.cs"}, id="regex"),
    pytest.param(("orders", "-e", "sql"), {"orders.sql"}, id="ext"),
    pytest.param(("report", "--max-depth", "1"), set(), id="max-depth"),
    pytest.param(("ignored", "-i"), set(), id="ignored"),
    pytest.param(("ignored", "--no-ignore"), {"ignored.cs"}, id="no-ignore"),
]


@pytest.mark.parametrize(("words", "expected"), FIND)
def test_find(repository: Path, words: tuple[str, ...], expected: set[str]) -> None:
    (repository / ".dowseignore").write_text("ignored.cs\n")
    (repository / "ignored.cs").write_text("class Ignored { }\n")
    assert last_names(printed(repository, "find", *words)) == expected


def test_find_contents(repository: Path) -> None:
    place = repository / "web/app/orders.ts"
    assert printed(repository, "find", "PAGE_SIZE", "--contents") == [
        f"{place}:9:export const PAGE_SIZE = 50;",
        "1 found",
    ]


@pytest.mark.parametrize("verb", ["find", "fast"])
def test_counts(repository: Path, verb: str) -> None:
    assert printed(repository, verb, "Rounds", "-c") == ["1 found"]


def test_info(repository: Path) -> None:
    lines = printed(repository, "info")
    assert lines[0] == repository.as_posix()
    assert [line.partition(":")[0] for line in lines[1:]] == ["content", "definition", "file-list"]


def test_def_audit(repository: Path) -> None:
    lines = printed(repository, "def-audit", "--min-bytes", "400", "--ext", "cs")
    assert "GlobalSuppressions.cs" in lines[0]
    assert "suspiciousThresholdBytes: 400" in lines


def test_tips(repository: Path) -> None:
    assert any("search_callers" in line for line in printed(repository, "tips"))


def test_an_index_of_everything_that_is_ignored(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    (folder / "node_modules").mkdir(parents=True)
    (folder / "node_modules/a.js").write_text("function inside() { }\n")
    assert "0 files" in printed(folder, "index")[0]
    assert "1 files" in printed(folder, "content-index", "--no-ignore")[0]


def test_extensions_that_are_named_are_indexed(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "rows.csv").write_text("heron,12\n")
    (folder / "run.log").write_text("heron flew\n")
    assert "0 files" in printed(folder, "content-index")[0]
    assert "2 files" in printed(folder, "content-index", "--ext", "csv,log")[0]
    assert last_names(printed(folder, "grep", "heron", "--ext", "csv", "--auto-reindex")) == {"rows.csv"}


def test_cleanup_deletes_the_index_and_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "a.cs").write_text("class A { }\n")
    printed(folder, "index")
    before = sorted((tmp_path / "data").rglob("*.db"))
    assert len(before) == 1
    assert printed(folder, "cleanup") == [f"deleted {before[0]}"]
    assert not list((tmp_path / "data").rglob("index.db*"))
    assert printed(folder, "cleanup") == [f"no index for {folder}"]
    assert (folder / "a.cs").exists()


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("grep", " , "), "No search terms provided"),
        (("grep", "x", "--dir", "missing"), "does not exist"),
        (("grep", "(", "-r"), "regex"),
        (("serve", "--dir", "missing"), "does not exist"),
        (("unknown",), "No such command"),
    ],
)
def test_wrong_use_ends_with_two(tmp_path: Path, words: tuple[str, ...], problem: str) -> None:
    (tmp_path / "a.cs").write_text("class A { }\n")
    done = run_script("search-index", *words, folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert problem in done.stderr
    assert "Traceback" not in done.stderr
