"""Files whose names are not valid UTF-8 are asked for by the name they are shown with."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dowse.errors import BadInput
from dowse.ingest.sources.git.asking import is_spelt_out, spellings
from dowse.ingest.sources.git.blame import blame
from dowse.ingest.sources.git.checkout import Checkout, checkout_at
from dowse.ingest.sources.git.log import GitLog
from dowse.ingest.sources.git.patches import patches
from dowse.lookup.history.following import life_of
from dowse.profiles.codesearch_git_words import path_in
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
    found = checkout_at(repo.place.resolve())
    assert found is not None
    return found


def test_the_names_that_may_be_meant() -> None:
    assert spellings(["a.py", SHOWN]) == ["a.py", SHOWN, "d\udce9p/caf\udce9.txt"]
    assert spellings(["\\x41", "\\xe", "\\xE9", "\ud800\\xe9"]) == ["\\x41", "\\xe", "\\xE9", "\ud800\\xe9"]


@pytest.mark.parametrize("path", [SHOWN, "d\\xe9p"])
def test_git_tells_its_commits(checkout: Checkout, path: str) -> None:
    log = GitLog(checkout.common)
    found = log.commits([path])
    assert [it.title for it in found] == ["Brew more", "Brew"]
    assert life_of(log, SHOWN).names == (SHOWN,) and log.touching(SHOWN) == {it.path for it in found}
    assert "+two" in patches(checkout.common, [found[0].path], [path], 50)[found[0].path].text


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
    assert path_in(checkout, SHOWN) == SHOWN
    assert path_in(checkout, f"{checkout.top}/{SHOWN}") == SHOWN
    assert path_in(checkout, "src\\xdebug.php") == "src/xdebug.php"
    assert not is_spelt_out(checkout.git_directory, "src/xdebug.php")
    repo.run("rm", "-rq", "--", "d*")
    repo.commit("No more")
    assert path_in(checkout, SHOWN) == SHOWN  # nothing has the name now, but something had
