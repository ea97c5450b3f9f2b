"""A bare repository's own directory may hold its work trees: these are somebody's, and nothing else in it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from dowse.git.repositories import find_repositories
from dowse.ingest.sources.base import ListingScope
from dowse.ingest.sources.files import FileSource, list_file_names
from dowse.ingest.sources.walk import find_work_trees, work_tree_entries
from gits import Repo
from support import write

FILES = ["dev/.gitignore", "dev/a.md", "feature/login/.gitignore", "feature/login/a.md"]
BELOW = ["b.md", *(f"project/{it}" for it in FILES)]


@pytest.fixture
def origin(tmp_path: Path) -> Repo:
    own = Repo(tmp_path / "own")
    own.commit("First", {"a.md": "text\n", ".gitignore": "x.md\n"})
    return own


@pytest.fixture(params=["walked", "asked"])
def top(request: pytest.FixtureRequest, root: Path, origin: Repo) -> Path:
    """With a bare repository in it that has a work tree, one further down, and a file beside that."""
    if request.param == "asked":
        Repo(root)
    project = root / "project"
    origin.run("clone", "-q", "--bare", str(origin.place), str(project))
    added(project, "dev")
    added(project, "feature/login")
    write(root, {"b.md": "text", "project/dev/x.md": "text", "project/feature/beside.md": "text"})
    write(project, {"mine.md": "text", "hooks/post-receive": "#!/bin/sh\n", "notes/n.md": "text"})
    return root


def added(bare: Path, place: str) -> None:
    Repo(bare).run("worktree", "add", "-q", "--detach", str(bare / place))


def listed(root: Path, *under: str, use_gitignore: bool = True) -> list[str]:
    return [it.path for it in FileSource(root, paths=under, use_gitignore=use_gitignore).listing().items]


def judged(root: Path) -> list[str]:
    judge = FileSource(root).path_filter()
    there = (it.relative_to(root).as_posix() for it in root.rglob("*") if it.is_file())
    return sorted(it for it in there if judge.has_file(it))


def test_the_files_of_its_work_trees_are_listed_and_no_others(top: Path) -> None:
    assert listed(top) == judged(top) == BELOW
    assert listed(top, use_gitignore=False) == sorted([*BELOW, "project/dev/x.md"])
    assert [it.path for it in list_file_names(str(top), ListingScope(include_hidden=True))] == BELOW


def test_also_where_it_is_the_root(top: Path) -> None:
    project = top / "project"
    assert listed(project) == judged(project) == FILES
    write(project, {"info/exclude": "dev\n"})  # is said of what work trees hold, not of themselves
    assert listed(project) == judged(project) == FILES
    assert listed(project, use_gitignore=False) == sorted([*FILES, "dev/x.md"])


@pytest.mark.parametrize(
    ("part", "there"),
    [
        ("project", BELOW[1:]),
        ("project/dev", BELOW[1:3]),
        ("project/feature", BELOW[3:]),
        ("project/feature/login/a.md", BELOW[4:]),
        ("project/feature/beside.md", []),
        ("project/hooks", []),
        ("project/notes/n.md", []),
    ],
)
def test_a_part_of_it(top: Path, part: str, there: list[str]) -> None:
    assert listed(top, part) == there


def test_its_directories_are_judged(top: Path) -> None:
    judge = FileSource(top).path_filter()
    entered = ["project", "project/dev", "project/feature", "project/feature/login"]
    assert all(judge.has_directory(it) and judge.may_enter(it) for it in entered)
    own = ["project/objects", "project/hooks", "project/worktrees", "project/worktrees/dev", "project/notes"]
    assert not any(judge.has_directory(it) or judge.may_enter(it) for it in own)


def test_a_work_tree_that_comes_after_it_was_judged(top: Path) -> None:
    judge = FileSource(top).path_filter()
    assert judge.has_directory("project")
    added(top / "project", "feature/later")
    assert judge.has_file("project/feature/later/a.md") and "project/feature/later/a.md" in listed(top)


def test_work_trees_may_be_left_out(top: Path) -> None:
    write(top, {"project/.dowseignore": "dev/\n"})
    assert listed(top) == judged(top) == [BELOW[0], *BELOW[3:]]
    assert [it.path for it in FileSource(top, exclude=("feature/",)).listing().items] == ["b.md"]


def test_the_history_knows_them_and_is_called_like_the_repository(top: Path) -> None:
    project = top / "project"
    for root in (top, project):
        discovery = find_repositories(root, FileSource(root).path_filter().may_enter)
        (found,) = (it for it in discovery.repositories if it.git_directory == project)
        assert (found.name, set(found.work_trees)) == ("project.git", {project / "dev", project / "feature/login"})
        assert not discovery.problems


def test_they_are_still_listed_when_all_of_it_was_moved(top: Path) -> None:
    """Until git is told to repair it, nothing leads to the one further down."""
    (top / "project").rename(top / "moved")
    assert listed(top) == judged(top) == ["b.md", "moved/dev/.gitignore", "moved/dev/a.md"]
    Repo(top / "moved").run("worktree", "repair", str(top / "moved/dev"), str(top / "moved/feature/login"))
    assert listed(top) == judged(top) == [it.replace("project", "moved", 1) for it in BELOW]


def test_beside_a_hidden_repository(root: Path, origin: Repo) -> None:
    origin.run("clone", "-q", "--bare", str(origin.place), str(root / ".bare"))
    write(root, {".git": "gitdir: ./.bare\n"})
    added(root / ".bare", "../dev")
    assert listed(root) == judged(root) == ["dev/.gitignore", "dev/a.md"]


@pytest.mark.parametrize(
    "noted",
    ["", "\0", "/.git", "../../../b.md/.git", "../../hooks/deep/.git/", "../../gone/far/.git", "x" * 9000, "../.."],
)
def test_what_is_noted_of_work_trees_may_be_anything(top: Path, noted: str) -> None:
    """Only what lies in it and has a `.git` counts."""
    write(top / "project", {"worktrees/odd/gitdir": noted, "hooks/deep/h.md": "text"})
    added(top / "project", "../elsewhere")
    project = str(top / "project")
    assert set(find_work_trees(project)) == {f"{project}/dev", f"{project}/feature/login"}
    assert work_tree_entries(project) == {"dev", "feature"}
    assert [it for it in listed(top) if "elsewhere" not in it] == BELOW


def test_a_relative_note_and_a_link_in_the_way(top: Path) -> None:
    project = top / "project"
    (project / "worktrees/login/gitdir").write_text("../../feature/login/.git\n")
    assert listed(top) == judged(top) == BELOW
    (project / "feature").rename(top / "aside")
    (project / "feature").symlink_to(top / "aside")
    assert [it for it in listed(top) if it.startswith("project/")] == BELOW[1:3]


def test_a_repository_without_its_head_in_the_list_is_one_all_the_same(root: Path, origin: Repo) -> None:
    Repo(root).commit("Rules", {".gitignore": "HEAD\n", "b.md": "text"})
    origin.run("clone", "-q", "--bare", str(origin.place), str(root / "mirror"))
    added(root / "mirror", "dev")
    assert listed(root) == judged(root) == [".gitignore", "b.md", "mirror/dev/.gitignore", "mirror/dev/a.md"]
    assert listed(root, "mirror/config", "b.md") == ["b.md"]
