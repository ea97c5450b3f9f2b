"""Files and directories by name, and lines of files on disk."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from dowse.engine import Engine
from dowse.errors import BadInput
from dowse.ingest.sources.base import ListingScope
from dowse.lookup.find import (
    MAX_LINE_CHARS,
    NameEntry,
    NameQuery,
    find_contents,
    find_names,
    list_names,
    split_patterns,
)
from support import OpenEngine, write

PATHS = {
    "README.md": 10,
    "src/app.py": 200,
    "src/app_test.py": 50,
    "src/web/App.tsx": 70,
    "src/web/snapp.py": 1,
    "docs/app/guide.md": 30,
    "docs/100%_[sure].txt": 5,
}
NAMES = list_names(NameEntry("work", path, size) for path, size in PATHS.items())


def found(pattern: str, **rest: object) -> list[str]:
    answer = find_names(NAMES, NameQuery((pattern,), **rest))  # type: ignore[arg-type]
    return [f"{it.path}/" if it.is_directory else it.path for it in answer.entries]


@pytest.mark.parametrize(
    ("pattern", "rest", "expected"),
    [
        ("app", {}, ["docs/app/", "src/app.py", "src/app_test.py", "src/web/snapp.py"]),
        ("APP", {}, []),
        (
            "APP",
            {"ignore_case": True},
            ["docs/app/", "src/app.py", "src/web/App.tsx", "src/app_test.py", "src/web/snapp.py"],
        ),
        ("app.py", {}, ["src/app.py", "src/web/snapp.py"]),
        ("web/s", {}, ["src/web/snapp.py"]),
        ("web", {}, ["src/web/"]),
        ("web", {"mode": "path"}, ["src/web/", "src/web/App.tsx", "src/web/snapp.py"]),
        ("app", {"entry_type": "files"}, ["src/app.py", "src/app_test.py", "src/web/snapp.py"]),
        ("app", {"entry_type": "directories"}, ["docs/app/"]),
        ("app", {"extensions": (".PY",)}, ["src/app.py", "src/app_test.py", "src/web/snapp.py"]),
        ("app", {"extensions": ("tsx",), "ignore_case": True}, ["src/web/App.tsx"]),
        ("app", {"min_bytes": 60}, ["src/app.py"]),
        ("app", {"max_bytes": 60}, ["src/app_test.py", "src/web/snapp.py"]),
        ("app", {"max_bytes": 0}, []),
        ("app", {"max_depth": 2}, ["docs/app/", "src/app.py", "src/app_test.py"]),
        ("app", {"path_filter": lambda path: path.startswith("docs")}, ["docs/app/"]),
        ("app", {"collections": ("other",)}, []),
        ("app", {"limit": 1}, ["docs/app/"]),
        ("*.py", {"mode": "glob"}, ["src/app.py", "src/web/snapp.py", "src/app_test.py"]),
        ("src/*.py", {"mode": "glob"}, ["src/app.py", "src/app_test.py"]),
        (
            "A*",
            {"mode": "glob", "ignore_case": True},
            ["docs/app/", "src/app.py", "src/web/App.tsx", "src/app_test.py"],
        ),
        ("^app.*y$", {"mode": "regex"}, ["src/app.py", "src/app_test.py"]),
        (r"web/.*\.py", {"mode": "regex"}, ["src/web/snapp.py"]),
        ("srcapp", {"mode": "fuzzy", "limit": 1}, ["src/app.py"]),
        ("zq", {"mode": "fuzzy"}, []),
        ("%_[", {}, ["docs/100%_[sure].txt"]),
        ("a\0b", {}, []),
        ("..", {}, []),
    ],
)
def test_what_is_found_best_first(pattern: str, rest: dict[str, object], expected: list[str]) -> None:
    assert found(pattern, **rest) == expected


def test_a_whole_name_comes_before_one_that_begins_so() -> None:
    names = list_names([NameEntry("work", "a/app.pyi"), NameEntry("work", "src/app.py")])
    assert [it.path for it in find_names(names, NameQuery(("app.py",))).entries] == ["src/app.py", "a/app.pyi"]


def test_everything_is_counted() -> None:
    answer = find_names(NAMES, NameQuery(("guide", "readme"), ignore_case=True, limit=1))
    assert (len(answer.entries), answer.total, answer.scanned) == (1, 2, len(PATHS) + 4)


@pytest.mark.parametrize(
    ("text", "mode", "expected"),
    [
        ("a, b,,", "part", ("a", "b")),
        ("*.{c,h}", "glob", ("*.{c,h}",)),
        ("*.c,*.h", "glob", ("*.c", "*.h")),
        ("a{1,2}", "regex", ("a{1,2}",)),
    ],
)
def test_a_comma_asks_for_either(text: str, mode: str, expected: tuple[str, ...]) -> None:
    assert split_patterns(text, mode) == expected  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "query",
    [
        NameQuery(()),
        NameQuery((" ",)),
        NameQuery(("a",), limit=-1),
        NameQuery(("a",), max_depth=-1),
        NameQuery(("a",), min_bytes=-1),
        NameQuery(("a",), max_bytes=-1),
        NameQuery(("(",), "regex"),
        NameQuery(("x" * 101,), "fuzzy"),
        NameQuery(("[",), "glob"),
        NameQuery(("../x",), "glob"),
        NameQuery(("a",) * 101),
    ],
)
def test_what_can_not_be_asked_is_refused(query: NameQuery) -> None:
    with pytest.raises(BadInput):
        find_names(NAMES, query)


# --- lines of files ---


def contents(files: dict[str, str | None], pattern: str, **rest: object) -> list[tuple[str, int, str]]:
    entries = [NameEntry("work", path) for path in files]
    query = NameQuery((pattern,), **rest)  # type: ignore[arg-type]
    answer = find_contents(entries, lambda entry: files[entry.path], query)
    return [(entry.path, it.line, it.text) for entry, matches in answer.files for it in matches]


@pytest.mark.parametrize(
    ("pattern", "rest", "expected"),
    [
        ("two", {}, [("a", 2, "line two"), ("b", 1, "two")]),
        ("TWO", {}, []),
        ("TWO", {"ignore_case": True}, [("a", 2, "line two"), ("b", 1, "two")]),
        ("^two$", {"mode": "regex"}, [("b", 1, "two")]),
        (r"\Atwo", {"mode": "regex"}, [("b", 1, "two")]),
        (r"e\st", {"mode": "regex"}, [("a", 2, "line two")]),
        (r"one\s+line", {"mode": "regex"}, []),
        ("(.+)+$", {"mode": "regex", "limit": 1}, [("a", 1, "line one"), ("a", 2, "line two")]),
    ],
)
def test_lines_of_files(pattern: str, rest: dict[str, object], expected: list[tuple[str, int, str]]) -> None:
    files: dict[str, str | None] = {"a": "line one\r\nline two\r\n", "b": "two\nthree", "c": None, "d": ""}
    assert contents(files, pattern, **rest) == expected


def test_long_lines_are_cut_and_the_unreadable_counted() -> None:
    files: dict[str, str | None] = {"a": "x" * 10_000, "b": None}
    answer = find_contents(
        [NameEntry("work", path) for path in files], lambda entry: files[entry.path], NameQuery(("x",), limit=1)
    )
    assert len(answer.files[0].matches[0].text) == MAX_LINE_CHARS
    assert (answer.scanned, answer.unreadable, answer.total_files, answer.total_lines, answer.cut) == (2, 1, 1, 1, "")


def test_a_search_in_files_ends_at_its_deadline_and_says_so() -> None:
    ticks: Iterator[float] = iter(range(100))
    entries = [NameEntry("work", f"{number}.txt") for number in range(50)]
    answer = find_contents(entries, lambda entry: "hit", NameQuery(("hit",)), deadline_s=3, clock=lambda: next(ticks))
    assert (answer.total_files, answer.scanned) == (3, 3)
    assert answer.cut.startswith("stopped after 3 s and 3 files")


# --- through the engine ---

FILES = {
    "src/app.py": "def run():\n    return 1\n",
    "src/.hidden.py": "secret = 1\n",
    "build/out.py": "generated = 1\n",
    ".gitignore": "build/\n",
    "a/b/c/deep.txt": "deep\n",
}


@pytest.fixture
def engine(root: Path, open_engine: OpenEngine) -> Engine:
    write(root, FILES)
    (root / "logo.png").write_bytes(b"\x89PNG\0\0")
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    opened = open_engine(encoder="none")
    opened.index([root])
    return opened


def everything(engine: Engine, reach: ListingScope | None, **rest: object) -> set[str]:
    query = NameQuery((".*",), "regex", entry_type="files", **rest)  # type: ignore[arg-type]
    return {it.path for it in engine.find(query, reach).entries}


def test_indexed_names_follow_the_index(engine: Engine, root: Path, open_engine: OpenEngine) -> None:
    assert everything(engine, None) == {"src/app.py", "src/.hidden.py", ".gitignore", "a/b/c/deep.txt"}
    write(root, {"new.py": "x = 1\n"})
    unrepaired = open_engine(encoder="none", freshness_timeout_ms=0)
    assert "new.py" not in everything(unrepaired, None)
    engine.index([root])
    assert "new.py" in everything(unrepaired, None)


@pytest.mark.parametrize(
    ("reach", "expected"),
    [
        (ListingScope(), {"src/app.py", "logo.png", "a/b/c/deep.txt", "new.py"}),
        (
            ListingScope(include_hidden=True),
            {"src/app.py", "logo.png", "a/b/c/deep.txt", "new.py", "src/.hidden.py", ".gitignore"},
        ),
        (ListingScope(include_ignored=True), {"src/app.py", "logo.png", "a/b/c/deep.txt", "new.py", "build/out.py"}),
        (ListingScope(max_depth=1), {"logo.png", "new.py"}),
        (ListingScope(include_ignored=True, max_depth=2), {"src/app.py", "logo.png", "new.py", "build/out.py"}),
        (ListingScope(directory="a"), {"a/b/c/deep.txt"}),
        (ListingScope(directory="a/b/", max_depth=1), set()),
        (ListingScope(directory="a/b", max_depth=2, include_ignored=True), {"a/b/c/deep.txt"}),
    ],
)
def test_names_on_disk_as_they_are_now(engine: Engine, root: Path, reach: ListingScope, expected: set[str]) -> None:
    write(root, {"new.py": "x = 1\n"})
    (root / "link.py").symlink_to(root / "new.py")
    assert everything(engine, reach) == expected


def test_everything_there_is_includes_the_repository_itself(engine: Engine) -> None:
    assert ".git/HEAD" in everything(engine, ListingScope(include_hidden=True, include_ignored=True))


@pytest.mark.parametrize("under", ["..", "a/../..", "nowhere", "src/app.py", "a\0b", "/../etc"])
def test_a_place_outside_or_not_there_is_refused(engine: Engine, under: str) -> None:
    for ignored in (False, True):
        with pytest.raises(BadInput, match="directory"):
            everything(engine, ListingScope(directory=under, include_ignored=ignored))


def test_lines_on_disk(engine: Engine, root: Path) -> None:
    write(root, {"src/app.py": "def run():\n    return 2\n"})
    answer = engine.code.find_contents(NameQuery(("return",), extensions=("py",)), ListingScope())
    ((entry, matches),) = answer.files
    assert (entry.path, matches[0]) == ("src/app.py", (2, "    return 2"))
    assert engine.code.find_contents(NameQuery(("PNG",)), ListingScope()).unreadable == 1
