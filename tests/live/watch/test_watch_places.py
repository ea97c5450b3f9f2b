"""What is worth watching, held against what is listed."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dowse.ingest.sources.files import FileSource
from dowse.live.watch import WatchTarget, watch_target_of
from gits import Git
from support import eventually, write
from watching import Follow


def place(root: Path, **options: object) -> WatchTarget:
    return watch_target_of("c", FileSource(root, **options))  # type: ignore[arg-type]


def unseen(it: WatchTarget) -> list[str]:
    """Files that are listed but would not be noticed."""
    listed = [item.path for item in FileSource(it.root).listing().items]
    return [path for path in listed if not it.wants_file(path) or not all(map(it.wants_directory, above(path)))]


def above(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts))]


def test_default_excludes_and_settings(root):
    it = place(root, exclude=("secret/", "/index.db"), include=("*.md", "*.py"))
    assert [path for path in ("src", "node_modules", "src/.venv", "secret", ".git") if it.wants_directory(path)] == [
        "src"
    ]
    files = ("a.md", "a.txt", "node_modules/a.md", "secret/a.md", "index.db", "a.png", "src/b.py")
    assert [path for path in files if it.wants_file(path)] == ["a.md", "src/b.py"]
    assert place(root, default_excludes=False).wants_directory("node_modules")


def test_barred_directories(root):
    (root / "inner/deep").mkdir(parents=True)
    it = place(root, barred_directories=frozenset({root / "inner"}))
    assert not it.wants_directory("inner")
    assert not it.wants_directory("inner/deep")
    assert not it.wants_file("inner/a.md")
    assert it.wants_file("a.md")


def test_what_git_ignores_is_not_watched_unless_it_is_tracked(root, git: Git):
    git(root, "init", "-q")
    write(root, {".gitignore": "build/\n*.tmp.md\n", "build/out/a.md": "", "build/b.md": "", "kept.tmp.md": ""})
    it = place(root)
    assert not it.wants_directory("build")
    assert not it.wants_file("kept.tmp.md")
    git(root, "add", "-f", "build/out/a.md", "kept.tmp.md")
    assert it.reload_rules()
    assert it.wants_directory("build")
    assert it.wants_directory("build/out")
    assert it.wants_file("build/out/a.md")
    assert it.wants_file("kept.tmp.md")
    assert not it.wants_file("other.tmp.md")
    assert not it.reload_rules()


def test_rules_are_those_of_the_last_renewal(root, git: Git):
    git(root, "init", "-q")
    it = place(root)
    assert it.wants_directory("out")
    write(root, {".gitignore": "out/\n", ".dowseignore": "drafts/\n"})
    assert it.wants_directory("out")
    it.reload_rules()
    assert not it.wants_directory("out")
    assert not it.wants_directory("drafts")
    assert not it.wants_file("drafts/a.md")


def test_without_gitignore_only_own_rules_count(root, git: Git):
    git(root, "init", "-q")
    write(root, {".gitignore": "out/\n", ".dowseignore": "drafts/\n"})
    it = place(root, use_gitignore=False)
    assert it.wants_directory("out")
    assert not it.wants_directory("drafts")


def test_a_repository_in_a_repository_has_its_own_rules(root, git: Git):
    write(root, {".gitignore": "x/\n", "nested/.gitignore": "y/\nz/\n", "nested/z/a.md": ""})
    git(root, "init", "-q")
    git(root / "nested", "init", "-q")
    git(root / "nested", "add", "-f", "z/a.md")
    it = place(root)
    wanted = [path for path in ("x", "y", "nested", "nested/x", "nested/y", "nested/z") if it.wants_directory(path)]
    assert wanted == ["y", "nested", "nested/x", "nested/z"]


def test_a_root_below_the_top_of_a_repository(root, git: Git):
    git(root, "init", "-q")
    write(root, {".gitignore": "/sub/out/\n*.tmp.md\n", "sub/a.tmp.md": "", "sub/b.tmp.md": ""})
    git(root, "add", "-f", "sub/b.tmp.md")
    it = place(root / "sub")
    assert not it.wants_directory("out")
    assert not it.wants_file("a.tmp.md")
    assert it.wants_file("b.tmp.md")


def test_a_very_deep_directory(root):
    it = place(root)
    assert it.wants_directory("/".join("a" * 1900))
    assert it.wants_file("/".join("a" * 1900) + "/x.md")


@pytest.mark.parametrize("text", [b"\xff\xfe", b"[\n(\n***\n", b"!\n/\n//\n", b"\0" * 100, b"a" * 100_000])
def test_ignore_files_with_nonsense(root, git: Git, text):
    git(root, "init", "-q")
    (root / ".gitignore").write_bytes(text)
    (root / ".dowseignore").write_bytes(text)
    write(root, {"a/b.md": "x"})
    assert unseen(place(root)) == []


names = st.sampled_from(["a", "b", "c.md", "d.md"])
trees = st.lists(st.lists(names, min_size=1, max_size=4).map("/".join), min_size=1, max_size=8, unique=True)
patterns = st.sampled_from(["a", "a/", "/b", "*.md", "!c.md", "a/b", "b/**", "!a/", "**/b/", "*", "!*/", "c.md/"])
ignores = st.lists(patterns, max_size=4).map("\n".join)


@settings(max_examples=25)
@given(trees, ignores, ignores, ignores, st.booleans())
def test_whatever_is_listed_is_noticed(files, top, below, own, forced):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        for path in files:
            place_at = root / path
            if not any(parent.is_file() for parent in place_at.parents) and not place_at.exists():
                place_at.parent.mkdir(parents=True, exist_ok=True)
                place_at.write_text("x")
        (root / ".gitignore").write_text(top)
        (root / ".dowseignore").write_text(own)
        if (root / "a").is_dir():
            (root / "a/.gitignore").write_text(below)
        subprocess.run(["git", "init", "-q", folder], check=True)
        subprocess.run(["git", "-C", folder, "add", "-A", *(["-f"] if forced else [])], check=True)
        assert unseen(watch_target_of("c", FileSource(root))) == []


def test_what_is_ignored_later_costs_no_watch_and_what_no_longer_is_does(root, follow: Follow, git: Git):
    git(root, "init", "-q")
    write(root, {"build/a.md": "x", "src/b.md": "x", "build/deep/c.md": "x"})
    following = follow(place(root))
    signs = following.watcher.status().directories - 4
    write(root, {".gitignore": "build/\n"})
    assert following.pending() is None
    eventually(lambda: "ignore rules" in following.wholes())
    assert following.watcher.status().directories == signs + 2
    following.settle()
    write(root, {"build/new.md": "x", "build/more/d.md": "x"})
    assert following.pending() == frozenset()
    (root / ".gitignore").unlink()
    eventually(lambda: "ignore rules" in following.wholes())
    following.settle()
    write(root, {"build/more/d.md": "y"})
    assert following.pending() == {"build/more/d.md"}


def test_a_file_added_by_force_below_an_ignored_directory_is_followed(root, follow: Follow, git: Git):
    git(root, "init", "-q")
    write(root, {".gitignore": "build/\n", "build/a.md": "x"})
    following = follow(place(root))
    git(root, "add", "-f", "build/a.md")
    eventually(lambda: "git" in following.wholes())
    following.settle()
    write(root, {"build/a.md": "y"})
    assert following.pending() == {"build/a.md"}
