"""Where git keeps a repository, no file is anybody's: whoever lists, judges or follows files passes it over."""

from __future__ import annotations

from pathlib import Path

import pytest

from dowse.git.repository import is_bare
from dowse.ingest.sources.base import ListingScope
from dowse.ingest.sources.files import FileSource, list_file_names
from gits import Repo
from support import write


@pytest.fixture(params=["walked", "asked"])
def top(request: pytest.FixtureRequest, root: Path) -> Path:
    """With a bare repository in it that has loose objects, packed refs and hooks."""
    if request.param == "asked":
        Repo(root)
    own = Repo(root.parent / "own")
    own.commit("First", {"a.md": "text\n"})
    own.run("clone", "-q", "--bare", str(own.place), str(root / "deep" / "mirror.git"))
    write(root, {"deep/a.md": "text", "b.md": "text", "deep/mirror.git/hooks/post-receive": "#!/bin/sh\n"})
    return root


def listed(root: Path, *under: str, **options: bool) -> list[str]:
    return [it.path for it in FileSource(root, paths=under, **options).listing().items]  # type: ignore[arg-type]


def test_nothing_of_it_is_listed(top: Path) -> None:
    assert listed(top) == listed(top, default_excludes=False) == ["b.md", "deep/a.md"]
    assert listed(top, use_gitignore=False) == ["b.md", "deep/a.md"]
    assert [it.path for it in list_file_names(str(top), ListingScope())] == ["b.md", "deep/a.md"]


@pytest.mark.parametrize("part", ["deep/mirror.git", "deep/mirror.git/config", "deep/mirror.git/hooks/post-receive"])
def test_nothing_of_it_is_listed_when_it_is_asked_for(top: Path, part: str) -> None:
    assert listed(top, part) == []
    assert listed(top, part, "b.md") == ["b.md"]


def test_nor_what_was_committed_of_one(top: Path) -> None:
    fixture = Repo(top / "fixture", "--bare").place
    Repo(top).run("add", "-f", "fixture/HEAD", "fixture/config")
    assert listed(top) == ["b.md", "deep/a.md"]
    (fixture / "HEAD").unlink()
    assert "fixture/config" in listed(top)


def test_it_is_judged_as_it_is_listed(top: Path) -> None:
    judge = FileSource(top).path_filter()
    inside = [it.relative_to(top).as_posix() for it in (top / "deep/mirror.git").rglob("*")]
    assert inside and not any(judge.has_file(it) or judge.has_directory(it) for it in inside)
    assert not judge.has_directory("deep/mirror.git") and judge.has_directory("deep") and judge.has_file("deep/a.md")
    assert (
        judge.may_enter("deep/mirror.git") and judge.may_enter("deep") and not judge.may_enter("deep/mirror.git/refs")
    )
    assert not FileSource(top, exclude=("*.git/",)).path_filter().may_enter("deep/mirror.git")


def test_a_root_that_is_one_has_no_files_and_is_not_empty(top: Path) -> None:
    bare = top / "deep/mirror.git"
    for source in (FileSource(bare), FileSource(bare, use_gitignore=False)):
        listing = source.listing()
        assert not listing.items and not listing.refused and not listing.is_empty
    wanted = FileSource(bare).path_filter()
    assert not wanted.has_directory("") and not wanted.has_file("config")


def test_what_only_looks_a_little_like_one_is_listed(top: Path) -> None:
    write(
        top, {"x/HEAD": "text", "x/objects": "text", "x/refs/r.md": "text", "y/objects/o": "text", "y/HEAD/h": "text"}
    )
    assert listed(top, "x", "y") == ["x/HEAD", "x/objects", "x/refs/r.md", "y/HEAD/h", "y/objects/o"]
    (top / "y/HEAD/h").rename(top / "y/h")
    (top / "y/HEAD").rmdir()
    (top / "y/HEAD").symlink_to(".")
    assert listed(top, "y") == ["y/h", "y/objects/o"]


def test_like_git_one_with_a_work_tree_of_its_own_is_taken_for_that(top: Path) -> None:
    bare = top / "deep/mirror.git"
    assert is_bare(str(bare))
    (Repo(top.parent / "other").place / ".git").rename(bare / ".git")
    assert not is_bare(str(bare))
    assert "deep/mirror.git/hooks/post-receive" in listed(top)
