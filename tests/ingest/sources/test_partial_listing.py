"""A listing of some paths decides as a listing of everything does."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dowse.git import ignore as pathspecs
from dowse.ingest.sources.files import FileSource
from dowse.ingest.sources.walk import subtree_of

# Few names, so that paths meet: directories, repositories in them, what is ignored, links and what is missing.
NAMES = ("a", "b", "c.md", "*", "-x", "build")
PATHS = st.lists(st.sampled_from(NAMES), min_size=1, max_size=4).map("/".join)
RULES = st.lists(
    st.sampled_from(["build/", "a", "/b", "*.md", "!c.md", "a/b", "a/*", "!a/b/", "**/b", "\\*"]), max_size=3
)


@contextmanager
def made(
    files: list[str],
    ignores: dict[str, list[str]],
    repositories: list[str],
    links: dict[str, str],
    added: list[str],
    bare: list[str],
) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as place:
        root = Path(place, "root")
        root.mkdir()
        for path in files:
            _write(root / path, path)
        for directory, rules in ignores.items():
            name = ".gitignore" if len(directory) % 2 else ".dowseignore"
            _write(root / directory / name, "\n".join(rules))
        for path, target in links.items():
            if (root / path).parent.is_dir() and not os.path.lexists(root / path):
                (root / path).symlink_to(target)
        for directory in repositories:
            if (root / directory).is_dir():
                _git(root / directory, "init", "-q")
        for directory in bare:
            if (root / directory).is_dir():
                _git(root / directory, "init", "-q", "--bare", ".")
        if (root / ".git").is_dir():
            for path in added:
                _git(root, "--literal-pathspecs", "add", "-f", "--", path)
        yield root


def _write(place: Path, text: str) -> None:
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    except (FileExistsError, NotADirectoryError, IsADirectoryError):
        return  # the path was taken by a file or a directory


def _git(place: Path, *command: str) -> None:
    variables = os.environ | {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", "-C", str(place), *command], env=variables, capture_output=True, check=False)


@settings(max_examples=120)
@given(
    files=st.lists(PATHS, min_size=1, max_size=12),
    ignores=st.dictionaries(st.sampled_from(["", "a", "a/b", "build"]), RULES, max_size=3),
    repositories=st.lists(st.sampled_from([".", "a", "a/b", "b", "build"]), max_size=3, unique=True),
    links=st.dictionaries(PATHS, st.sampled_from(["a", "../root/a", "/nowhere", "c.md", "."]), max_size=2),
    added=st.lists(PATHS, max_size=3),
    bare=st.lists(st.sampled_from(["a", "a/b", "b"]), max_size=2, unique=True),
    asked=st.lists(PATHS, min_size=1, max_size=5),
)
def test_a_part_is_what_the_whole_has_of_it(files, ignores, repositories, links, added, bare, asked) -> None:
    with made(files, ignores, repositories, links, added, bare) as root:
        whole = FileSource(root).listing()
        part = subtree_of(asked)
        listed = FileSource(root, paths=tuple(asked)).listing()
        assert listed.items == [it for it in whole.items if part.holds(it.path)]
        assert listed.refused == [it for it in whole.refused if part.holds(it[0])]


@pytest.fixture
def tree(root: Path, git: Callable[..., str]) -> Path:
    for path in ("a/one.md", "a/two.md", "b/three.md", "four.md", "a/build/five.md"):
        _write(root / path, path)
    _write(root / ".gitignore", "build/\n")
    git(root, "init", "-q")
    return root


def listed(root: Path, *under: str) -> list[str]:
    return [it.path for it in FileSource(root, paths=under).listing().items]


def test_several_files_and_directories(tree: Path) -> None:
    assert listed(tree, "a", "four.md", "nothing.md") == ["a/one.md", "a/two.md", "four.md"]
    assert listed(tree, "a/build/five.md", "a/build") == []


def test_git_is_asked_once_and_for_the_paths_alone(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "log"
    wrapper = tmp_path / "bin" / "git"
    _write(wrapper, f'#!/bin/sh\necho "$@" >> {log}\nexec {shutil.which("git")} "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{wrapper.parent}:{os.environ['PATH']}")
    assert listed(tree, "a/one.md", "b/three.md") == ["a/one.md", "b/three.md"]
    (line,) = log.read_text().splitlines()
    assert line.endswith("-- a/one.md b/three.md")


def test_too_many_paths_are_picked_from_all(tree: Path) -> None:
    wanted = [f"a/{number}.md" for number in range(500)]
    for path in wanted:
        _write(tree / path, path)
    assert pathspecs.build_pathspecs(str(tree), wanted) is None
    assert listed(tree, *wanted) == sorted(wanted)


def test_long_paths_are_picked_from_all(tree: Path) -> None:
    wanted = [f"{'x' * 200}/{'y' * 200}/{'z' * 100}{number}" for number in range(150)]
    for path in wanted:
        _write(tree / path, path)
    assert pathspecs.build_pathspecs(str(tree), wanted) is None
    assert listed(tree, *wanted) == sorted(wanted)


def test_names_that_look_like_patterns_or_options_are_names(tree: Path) -> None:
    for path in ("*.md", "-o", ":(top)x", "[a]", "a/\\*"):
        _write(tree / path, path)
    assert listed(tree, "*.md") == ["*.md"]
    assert listed(tree, "-o", ":(top)x", "[a]", "a/\\*") == ["-o", ":(top)x", "[a]", "a/\\*"]


def test_an_empty_root_is_vacant_whatever_part_of_it_is_asked_for(root: Path) -> None:
    (root / "a").mkdir()
    assert FileSource(root, paths=("a", "b.md")).listing().is_empty
    _write(root / "elsewhere.md", "there")
    assert not FileSource(root, paths=("a", "b.md")).listing().is_empty
