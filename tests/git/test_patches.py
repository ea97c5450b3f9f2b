"""Patches of commits: read as they come, cut where they are long, and none costs another."""

from __future__ import annotations

from pathlib import Path

import pytest

from dowse.errors import BadInput
from dowse.git.diff_tree import CHANGED_LINES_UNKNOWN, MAX_COMMIT_BYTES
from dowse.ingest.sources.git_log import PATCHES_TOO_LARGE, Patch, read_patches
from dowse.model import Record
from dowse.tools.codesearch_git import commit_json
from gits import Repo


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return Repo(tmp_path / "repo")


def steps(repo: Repo, count: int) -> list[str]:
    """As many commits, newest first."""
    return [repo.commit(f"step {number}", {"a": f"{number}\n"}) for number in range(count)][::-1]


def test_each_commit_has_its_own(repo: Repo) -> None:
    commits = steps(repo, 20)
    other = repo.commit("other", {"b": "1\n"})
    found = read_patches(repo.git_directory, [other, *commits], ["a"], 50)
    assert list(found) == [other, *commits] and found[other] == Patch("")
    assert [found[it].text.splitlines()[-1] for it in commits] == [f"+{number}" for number in range(19, -1, -1)]


def test_lines_that_are_not_shown_are_counted(repo: Repo) -> None:
    commit = repo.commit("long", {"a": "".join(f"{number}\n" for number in range(100))})
    whole = read_patches(repo.git_directory, [commit], ["a"], 1000)[commit]
    assert (len(whole.text.splitlines()), whole.omitted) == (106, 0)
    short = read_patches(repo.git_directory, [commit], ["a"], 10)[commit]
    assert (short.text.splitlines(), short.omitted) == (whole.text.splitlines()[:10], 96)
    assert read_patches(repo.git_directory, [commit], ["a"], 106)[commit] == whole


@pytest.mark.parametrize("lost", ["HEAD:a", "HEAD^{tree}", "HEAD"])
def test_what_is_lost_of_one_commit_hides_no_other(repo: Repo, lost: str) -> None:
    first, second = steps(repo, 2)[::-1]
    third = repo.commit("other", {"a": "x\n"})
    gone = repo.run("rev-parse", lost)
    repo.run("checkout", "-q", "--detach", first)
    fourth = repo.commit("side", {"a": "y\n"})
    repo.lose(gone)
    found = read_patches(repo.git_directory, [fourth, third, second, first], ["a"], 50)
    assert found[third] == Patch("", problem=CHANGED_LINES_UNKNOWN)
    assert [found[it].text.splitlines()[-1] for it in (fourth, second, first)] == ["+y", "+1", "+0"]
    assert (
        commit_json(Record("c", third, "commit", "", 0, 0, "", ""), found[third])["patch"]
        == f"({CHANGED_LINES_UNKNOWN})"
    )


def test_what_is_too_much_is_not_waited_for(repo: Repo) -> None:
    content = b"a line like any other\n" * 80_000
    before = repo.commit("before", {"few": "1\n"})
    files = {f"d/{number}": b"%d\n" % number + content for number in range(MAX_COMMIT_BYTES // len(content) + 2)}
    large = repo.commit("large", files)
    found = read_patches(repo.git_directory, [large, before], ["d", "few"], 7)
    assert found[large].cut and found[large].omitted > 500_000 and len(found[large].text.splitlines()) == 7
    shown = commit_json(Record("c", large, "commit", "", 0, 0, "", ""), found[large])["patch"].splitlines()[-1]
    assert shown == f"... (more than {found[large].omitted:,} lines omitted)"
    assert found[before].text.splitlines()[-1] == "+1"


def test_all_of_them_together_are_bounded(repo: Repo) -> None:
    commits = steps(repo, 5)
    few = read_patches(repo.git_directory, commits, ["a"], 50, most_chars=150)
    assert [it.problem for it in few.values()] == ["", "", PATCHES_TOO_LARGE, PATCHES_TOO_LARGE, PATCHES_TOO_LARGE]
    assert list(few) == commits
    quick = read_patches(repo.git_directory, commits, ["a"], 50, for_s=0)
    assert [it.problem for it in quick.values()][1:] == [PATCHES_TOO_LARGE] * 4 and quick[commits[0]].problem in (
        "",
        PATCHES_TOO_LARGE,
    )


def test_without_git_it_is_refused(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    (commit,) = steps(repo, 1)
    monkeypatch.setenv("PATH", "/nowhere")
    assert read_patches(repo.place, [], ["a"], 50) == {}
    with pytest.raises(BadInput, match="git is not installed"):
        read_patches(repo.place, [commit], ["a"], 50)
