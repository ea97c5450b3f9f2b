"""Files whose names are not valid UTF-8 are asked for by the name they are shown with."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dowse.errors import BadInput
from dowse.git.blame import blame
from dowse.git.runner import is_committed_name, path_spellings
from dowse.git.worktree import Checkout, find_checkout
from dowse.ingest.sources.git_log import GitLog, read_patches
from dowse.lookup.history import follow_renames
from dowse.tools.codesearch_git import resolve_repository_path
from gits import Repo

SHOWN = "d\\xe9p/caf\\xe9.txt"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "repo")
    odd = os.fsdecode(b"d\xe9p/caf\xe9.txt")
    repo.commit("Brew", {odd: "one\n", "src/xdebug.php": "1\n"})
    repo.commit("Brew more", {odd: "one\ntwo\n"})
    return repo


@pytest.fixture
def checkout(repo: Repo) -> Checkout:
    found = find_checkout(repo.place.resolve())
    assert found is not None
    return found


def test_the_names_that_may_be_meant() -> None:
    assert path_spellings(["a.py", SHOWN]) == ["a.py", SHOWN, "d\udce9p/caf\udce9.txt"]
    assert path_spellings(["\\x41", "\\xe", "\\xE9", "\ud800\\xe9"]) == ["\\x41", "\\xe", "\\xE9", "\ud800\\xe9"]


@pytest.mark.parametrize("path", [SHOWN, "d\\xe9p"])
def test_git_tells_its_commits(checkout: Checkout, path: str) -> None:
    log = GitLog(checkout.common)
    found = log.commits([path])
    assert [it.title for it in found] == ["Brew more", "Brew"]
    assert follow_renames(log, SHOWN).names == (SHOWN,) and log.commits_touching(SHOWN) == {it.path for it in found}
    shown = read_patches(checkout.common, [found[0].path], [path], 50)[found[0].path].text.splitlines()
    assert "+two" in shown
    assert [it for it in shown if "caf" in it] == [
        f"diff --git a/{SHOWN} b/{SHOWN}",
        f"--- a/{SHOWN}",
        f"+++ b/{SHOWN}",
    ]


def test_what_is_in_a_file_is_no_name(repo: Repo) -> None:
    for number in range(2):
        for name in ("a", "b"):
            (repo.place / name).write_bytes(b"caf\xe9 %d\n" % number)
        commit = repo.commit(f"Write {number}")
    shown = read_patches(repo.git_directory, [commit], ["a", "b"], 50)[commit].text.splitlines()
    assert [it for it in shown if "caf" in it] == ["-caf\ufffd 0", "+caf\ufffd 1"] * 2


def test_its_lines_are_those_of_the_work_tree(checkout: Checkout) -> None:
    assert checkout.current(SHOWN) == b"one\ntwo\n"
    found = blame(checkout.git_directory, SHOWN, 1, 3, b"one\ntwo\nthree\n")
    assert [(it.content, bool(it.writing.commit)) for it in found.lines] == [
        ("one", True),
        ("two", True),
        ("three", False),
    ]
    assert [it.content for it in blame(checkout.git_directory, SHOWN, 1, 2, None).lines] == ["one", "two"]
    with pytest.raises(BadInput, match="is not a file"):
        blame(checkout.git_directory, "d\\xe8p/caf\\xe9.txt", 1, 1, None)


def test_a_file_with_just_these_letters_is_found_as_well(repo: Repo) -> None:
    name = repo.commit("Letters", {"caf\\xe9": "1\n"})
    log = GitLog(repo.git_directory)
    assert [it.path for it in log.commits(["caf\\xe9"])] == [name]
    assert blame(repo.git_directory, "caf\\xe9", 1, 1, None).lines[0].writing.commit == name


def test_backslashes_divide_paths_unless_something_is_called_so(repo: Repo, checkout: Checkout) -> None:
    assert resolve_repository_path(checkout, SHOWN) == SHOWN
    assert resolve_repository_path(checkout, f"{checkout.top}/{SHOWN}") == SHOWN
    assert resolve_repository_path(checkout, "src\\xdebug.php") == "src/xdebug.php"
    repo.run("rm", "-rq", "--", "d*")
    repo.commit("No more")
    assert resolve_repository_path(checkout, SHOWN) == SHOWN  # nothing has the name now, but something had


@pytest.mark.parametrize(
    "written", ["{top}/src/xdebug.php", "{top}\\src\\xdebug.php", "{back}\\src\\xdebug.php", "{back}\\\\src/xdebug.php"]
)
def test_an_absolute_path_may_have_backslashes(checkout: Checkout, written: str) -> None:
    given = written.format(top=checkout.top, back=str(checkout.top).replace("/", "\\"))
    assert resolve_repository_path(checkout, given) == "src/xdebug.php"


@pytest.mark.parametrize(
    "written", ["{back}x\\f.txt", "{back}\\..\\f.txt", "\\etc\\passwd", "\\\\host\\f.txt", "..\\f.txt", "/\ud800\\f"]
)
def test_backslashes_do_not_lead_out(checkout: Checkout, written: str) -> None:
    with pytest.raises(BadInput, match="outside the repository"):
        resolve_repository_path(checkout, written.format(back=str(checkout.top).replace("/", "\\")))


@pytest.mark.parametrize("name", ["a\\b.txt", "caf\\xe9", "d\\e/f.txt"])
def test_a_file_with_a_backslash_in_its_name_can_be_asked_for(repo: Repo, checkout: Checkout, name: str) -> None:
    slashed = name.replace("\\", "/")
    assert (resolve_repository_path(checkout, name), is_committed_name(checkout.git_directory, name)) == (
        slashed,
        False,
    )
    repo.commit("Odd", {name: "1\n"})
    assert (
        resolve_repository_path(checkout, name) == resolve_repository_path(checkout, f"{checkout.top}/{name}") == name
    )
    assert resolve_repository_path(checkout, f"./{name}") == name


@pytest.mark.parametrize("name", [" a.txt", "a.txt ", "d/e ", "\ta.txt", "a\n", "caf\xa0"])
def test_a_name_that_begins_or_ends_with_a_space_can_be_asked_for(repo: Repo, checkout: Checkout, name: str) -> None:
    assert (
        resolve_repository_path(checkout, name)
        == resolve_repository_path(checkout, f"{checkout.top}/{name}".rstrip())
        == name.strip()
    )
    repo.commit("Odd", {name: "1\n"})
    assert (
        resolve_repository_path(checkout, name) == resolve_repository_path(checkout, f"{checkout.top}/{name}") == name
    )
    repo.run("rm", "-q", "--", f":(literal){name}")
    repo.commit("No more")
    assert resolve_repository_path(checkout, name) == name
    assert resolve_repository_path(checkout, f" {checkout.top}/src/xdebug.php\n") == "src/xdebug.php"


def test_no_name_that_can_not_be_written_is_asked_for(checkout: Checkout) -> None:
    assert not is_committed_name(checkout.git_directory, "\ud800\\a")
