"""Which repositories are found below a root: each once, none that is excluded, and none that is not there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dowse.git.repositories import RepositoryDiscovery, find_repositories, git_directory_of_history, history_root_of
from dowse.ingest.sources.files import FileSource
from gits import Repo


def found(root: Path, **settings: tuple[str, ...]) -> RepositoryDiscovery:
    return find_repositories(root, FileSource(root, **settings).path_filter().may_enter)  # type: ignore[arg-type]


def places(root: Path, **settings: tuple[str, ...]) -> dict[Path, tuple[Path, ...]]:
    discovery = found(root, **settings)
    assert not discovery.problems
    return {it.git_directory: it.work_trees for it in discovery.repositories}


def test_the_root_and_what_is_nested_in_it(root: Path) -> None:
    Repo(root)
    Repo(root / "libs" / "inner")
    assert places(root) == {
        root / ".git": (root,),
        root / "libs" / "inner" / ".git": (root / "libs" / "inner",),
    }


def test_a_directory_inside_of_a_work_tree_has_its_history(root: Path) -> None:
    Repo(root)
    (root / "src" / "deep").mkdir(parents=True)
    assert places(root / "src" / "deep") == {root / ".git": (root,)}


def test_no_git_no_history(root: Path) -> None:
    (root / "src").mkdir()
    assert places(root) == {}


def test_bare_repositories_are_found_and_not_looked_into(root: Path) -> None:
    bare = Repo(root / "mirror.git", "--bare")
    Repo(bare.place / "modules" / "hidden", "--bare")
    discovery = found(root)
    assert [(it.git_directory, it.work_trees, it.name) for it in discovery.repositories] == [
        (bare.place, (), "mirror.git")
    ]
    assert [it.git_directory for it in found(bare.place).repositories] == [bare.place]


def test_a_work_tree_with_what_a_repository_has_is_looked_into(root: Path) -> None:
    Repo(root / "work")
    (root / "work/HEAD").write_text("text")
    (root / "work/objects").mkdir()
    (root / "work/refs").mkdir()
    Repo(root / "work/libs/inner")
    for top in (root, root / "work"):
        assert set(places(top)) == {root / "work/.git", root / "work/libs/inner/.git"}


def test_linked_work_trees_share_one_history(root: Path) -> None:
    main = Repo(root / "z-main")
    main.commit("a")
    main.run("worktree", "add", "-q", str(root / "a-linked"))
    (one,) = found(root).repositories
    assert (one.git_directory, one.name) == (main.place / ".git", "z-main.git")
    assert one.work_trees == (root / "z-main", root / "a-linked")
    assert list(places(root / "a-linked")) == [main.place / ".git"]


def test_submodules_have_histories_of_their_own(root: Path, tmp_path: Path) -> None:
    other = Repo(tmp_path / "other")
    other.commit("inner", {"x": "1"})
    outer = Repo(root)
    outer.run("submodule", "--quiet", "add", str(other.place), "parts/sub")
    assert places(root) == {
        root / ".git": (root,),
        root / ".git" / "modules" / "parts" / "sub": (root / "parts" / "sub",),
    }
    assert {it.name for it in found(root).repositories} == {"root.git", "sub.git"}


@pytest.mark.parametrize("where", ["vendor", ".hidden", "node_modules", "ignored", "barred"])
def test_what_is_not_entered_has_no_history(root: Path, where: str) -> None:
    Repo(root)
    (root / ".gitignore").write_text("ignored/\n")
    (root / ".dowseignore").write_text("barred/\n")
    Repo(root / where / "inner")
    assert list(places(root, exclude=("vendor/",))) == [root / ".git"]


def test_links_are_not_followed(root: Path, tmp_path: Path) -> None:
    Repo(tmp_path / "elsewhere")
    (root / "link").symlink_to(tmp_path / "elsewhere")
    assert places(root) == {}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("gitdir: /nowhere/at/all\n", "points to /nowhere/at/all, which is not a repository"),
        ("gitdir: ../../../../..\n", "which is not a repository"),
        ("gitdir: \n", "which is not a repository"),
        ("no such thing\n", "is not a repository"),
        ("", "is not a repository"),
        ("gitdir: " + "x" * 5000, "which is not a repository"),
        ("gitdir: \0\n", "is not a repository"),
    ],
)
def test_a_git_file_that_points_nowhere_is_told(root: Path, content: str, said: str) -> None:
    (root / "sub").mkdir()
    (root / "sub" / ".git").write_text(content)
    Repo(root / "good")
    discovery = found(root)
    assert [it.git_directory for it in discovery.repositories] == [root / "good" / ".git"]
    (problem,) = discovery.problems
    assert said in problem and problem.endswith("its history is not indexed")


def test_a_place_that_can_not_be_written_down_is_told(root: Path) -> None:
    odd = Path(os.fsdecode(os.fsencode(root) + b"/caf\xe9"))
    Repo(odd)
    discovery = found(root)
    assert not discovery.repositories
    (problem,) = discovery.problems
    assert "caf\\xe9/.git" in problem and "valid UTF-8" in problem
    problem.encode()


def test_an_empty_directory_called_git_and_one_that_may_not_be_read(root: Path) -> None:
    (root / "a" / ".git").mkdir(parents=True)
    os.mkfifo(root / "pipe")
    (root / "b").mkdir()
    os.mkfifo(root / "b" / ".git")
    assert [it.rpartition(": ")[2] for it in found(root).problems] == ["its history is not indexed"] * 2


def test_a_bare_root_and_its_history_have_different_roots(tmp_path: Path) -> None:
    bare = Repo(tmp_path / "bare.git", "--bare").place
    assert history_root_of(bare, set()) == str(bare)
    shared = history_root_of(bare, {str(bare)})
    assert shared != str(bare)
    assert git_directory_of_history(shared) == git_directory_of_history(str(bare)) == bare
