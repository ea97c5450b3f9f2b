"""Single paths are judged as a walk of everything would list them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_partial_listing import PATHS, RULES, made

from dowse.ingest.sources.files import FileSource


@settings(max_examples=80)
@given(
    files=st.lists(PATHS, min_size=1, max_size=12),
    ignores=st.dictionaries(st.sampled_from(["", "a", "a/b", "build"]), RULES, max_size=3),
    repositories=st.lists(st.sampled_from([".", "a", "a/b", "b"]), max_size=3, unique=True),
    bare=st.lists(st.sampled_from(["a", "a/b", "b"]), max_size=2, unique=True),
)
def test_a_file_is_wanted_if_it_would_be_listed(files, ignores, repositories, bare) -> None:
    with made(files, ignores, repositories, {}, [], bare) as root:
        judge = FileSource(root, exclude=("c.md/",)).path_filter()
        there = [os.path.relpath(f"{place}/{name}", root) for place, _, names in os.walk(root) for name in names]
        wanted = sorted(path for path in there if judge.has_file(path))
        assert wanted == [it.path for it in FileSource(root, exclude=("c.md/",)).listing().items]
        assert all(judge.has_directory(path.rpartition("/")[0]) for path in wanted)


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("a.md", True),
        ("node_modules/a.md", False),
        (".git/config", False),
        ("inner/a.md", False),
        ("picture.png", False),
        ("a.txt", False),
        ("x/y/z.md", True),
    ],
)
def test_settings_count(root: Path, path: str, wanted: bool) -> None:
    source = FileSource(root, include=("*.md", "*.png"), barred_directories=frozenset({root / "inner"}))
    assert source.path_filter().has_file(path) is wanted


def test_without_git_rules_only_our_own_count(root: Path) -> None:
    (root / ".gitignore").write_text("a.md\n")
    (root / ".dowseignore").write_text("b.md\n")
    judge = FileSource(root, use_gitignore=False).path_filter()
    assert judge.has_file("a.md") and not judge.has_file("b.md")
