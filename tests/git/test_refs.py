"""The token of a repository's state moves with everything a history is made from, and with little else."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from dowse.git.refs import is_object_hash, read_refs, read_shallow_commits, refs_token
from dowse.ingest.sources.commits import (
    CommitSource,
    RefUpdate,
    compare_newest_commits,
    compare_ref_tips,
    snapshot_ref_tips,
)
from gits import Repo


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "repo")
    made.commit("first", {"a": "1\n"})
    made.commit("second", {"a": "2\n"})
    return made


def token(repo: Repo) -> str:
    refs = read_refs(str(repo.git_directory))
    assert refs is not None
    return refs.token


MOVING: dict[str, Callable[[Repo], object]] = {
    "commit": lambda repo: repo.commit("more"),
    "amend": lambda repo: repo.commit("other words", None, "--amend"),
    "branch": lambda repo: repo.run("branch", "side", "HEAD~1"),
    "nested branch": lambda repo: repo.run("branch", "a/b/c"),
    "switch": lambda repo: repo.run("checkout", "-q", "-b", "side"),
    "detach": lambda repo: repo.run("checkout", "-q", "--detach"),
    "tag": lambda repo: repo.run("tag", "v1"),
    "remote": lambda repo: repo.run("update-ref", "refs/remotes/origin/main", "HEAD"),
    "pack": lambda repo: repo.run("pack-refs", "--all"),
    "work tree": lambda repo: repo.run("worktree", "add", "-q", "--detach", str(repo.place.parent / "linked")),
    "shallow": lambda repo: (repo.git_directory / "shallow").write_text(repo.run("rev-parse", "HEAD") + "\n"),
}


@pytest.mark.parametrize("what", MOVING)
def test_it_moves(repo: Repo, what: str) -> None:
    before = token(repo)
    MOVING[what](repo)
    assert token(repo) != before


def test_it_moves_in_packed_refs_and_in_linked_work_trees(repo: Repo, tmp_path: Path) -> None:
    repo.run("branch", "side")
    repo.run("pack-refs", "--all")
    before = token(repo)
    repo.run("branch", "-D", "side")
    assert token(repo) != before
    repo.run("worktree", "add", "-q", "--detach", str(tmp_path / "linked"))
    before = token(repo)
    Repo(tmp_path / "linked").commit("there")
    assert token(repo) != before


@pytest.mark.parametrize("packed", [False, True])
def test_a_head_at_a_ref_of_another_kind_counts(repo: Repo, tmp_path: Path, packed: bool) -> None:
    repo.run("worktree", "add", "-q", "--detach", str(tmp_path / "linked"))
    here, there = repo, Repo(tmp_path / "linked")
    here.run("symbolic-ref", "HEAD", "refs/odd/one")
    there.run("symbolic-ref", "HEAD", "refs/worktree/two")
    here.run("symbolic-ref", "refs/odd/one", "refs/odd/three")
    for at in (here, there):
        before, name = token(repo), at.commit("odd")
        refs = read_refs(str(repo.git_directory))
        assert refs is not None and refs.token != before and name in refs.heads
    if packed:
        here.run("pack-refs", "--all")
    names = sorted(at.run("rev-parse", "HEAD") for at in (here, there))
    refs = read_refs(str(repo.git_directory))
    assert refs is not None and list(refs.heads) == names
    listing = CommitSource(repo.git_directory, 10, 10).listing()
    assert {*names} < {it.path for it in listing.items} and not listing.refused


@pytest.mark.parametrize("target", ["refs/odd/none", "../../outside", "refs/../../outside", "refs/" + "x" * 300, "x"])
def test_a_head_that_leads_nowhere_is_none(repo: Repo, tmp_path: Path, target: str) -> None:
    (tmp_path / "outside").write_text(repo.run("rev-parse", "HEAD") + "\n")
    (repo.git_directory / "HEAD").write_text(f"ref: {target}\n")
    refs = read_refs(str(repo.place / ".git"))
    assert refs is not None and refs.heads == ()


def test_it_stays_while_nothing_happens_to_refs(repo: Repo) -> None:
    before = token(repo)
    (repo.place / "a").write_text("3\n")
    repo.run("add", "-A")
    (repo.git_directory / "refs" / "heads" / "main.lock").write_text("")
    repo.run("update-ref", "refs/notes/x", "HEAD")
    assert token(repo) == before


def test_hostile_refs_are_read_in_no_time(repo: Repo) -> None:
    heads = repo.git_directory / "refs" / "heads"
    os.mkfifo(heads / "pipe")
    (heads / "loop").symlink_to(heads)
    (heads / "large").write_bytes(b"x" * 10_000_000)
    Path(os.fsdecode(os.fsencode(heads) + b"/odd\xff")).write_bytes(b"\xff")
    assert refs_token(str(repo.git_directory))


@pytest.mark.parametrize("trap", ["pipe", "endless"])
def test_only_a_file_tells_the_edge_of_a_shallow_clone(repo: Repo, trap: str) -> None:
    place = repo.git_directory / "shallow"
    if trap == "pipe":
        os.mkfifo(place)
    else:
        place.symlink_to("/dev/zero")
    assert read_shallow_commits(str(repo.git_directory)) == frozenset()


def test_a_shallow_clone_may_have_many_edges(repo: Repo) -> None:
    names = {f"{number:040x}" for number in range(10_000)}
    (repo.git_directory / "shallow").write_text("".join(f"{it}\n" for it in names))
    assert read_shallow_commits(str(repo.git_directory)) == names


def test_no_repository_has_no_state(tmp_path: Path) -> None:
    assert read_refs(str(tmp_path)) is None
    assert read_refs(str(tmp_path / "nothing")) is None


def test_names_are_whole_and_plain() -> None:
    assert is_object_hash("a" * 40) and is_object_hash("0" * 64)
    assert not any(map(is_object_hash, ("", "a" * 39, "A" * 40, "-" * 40, "a" * 39 + "\n", "g" * 40)))


# --- what came and went ---


def test_few_moves_are_told_both_ways(repo: Repo) -> None:
    before = snapshot_ref_tips(repo.git_directory)
    old = repo.run("rev-parse", "HEAD")
    new = repo.commit("second, again", {"a": "22\n"}, "--amend")
    assert compare_ref_tips(repo.git_directory, before, snapshot_ref_tips(repo.git_directory), 5) == RefUpdate(
        (new,), (old,)
    )


def test_many_moves_and_unknown_ones_are_not_told(repo: Repo) -> None:
    before = snapshot_ref_tips(repo.git_directory)
    names = [repo.commit(str(number)) for number in range(4)]
    now = snapshot_ref_tips(repo.git_directory)
    assert compare_ref_tips(repo.git_directory, before, now, 3) is None
    assert compare_ref_tips(repo.git_directory, before, now, 4) == RefUpdate(tuple(reversed(names)), ())
    assert compare_ref_tips(repo.git_directory, before + " " + "1" * 40, now, 4) is None


def test_where_clocks_went_back_only_a_listing_is_sure(repo: Repo) -> None:
    known = set(repo.run("rev-list", "HEAD").split())
    repo.run("checkout", "-q", "-b", "work")
    for number in range(8):
        known.add(repo.commit(str(number)))
    behind = repo.run("rev-parse", "HEAD")
    repo.run("branch", "-f", "main", "HEAD~1")
    before = snapshot_ref_tips(repo.git_directory)
    came = {repo.commit(str(number), at=number) for number in range(3)}
    moves = compare_ref_tips(repo.git_directory, before, snapshot_ref_tips(repo.git_directory), 5)
    assert moves is not None and {*moves.added} == came and {*moves.removed} <= {behind}
    within = compare_newest_commits(repo.git_directory, known, 100, 5)
    assert within is not None and ({*within[0].added}, within[0].removed, within[1]) == (came, (), None)


def test_another_edge_of_a_shallow_clone_is_no_small_move(repo: Repo) -> None:
    before = snapshot_ref_tips(repo.git_directory)
    (repo.git_directory / "shallow").write_text(repo.run("rev-parse", "HEAD") + "\n")
    assert compare_ref_tips(repo.git_directory, before, snapshot_ref_tips(repo.git_directory), 5) is None


def test_tips_are_kept_once_each(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    names = [repo.run("commit-tree", "-m", str(number), repo.run("mktree")) for number in range(3)]
    lines = "".join(f"create refs/tags/t{number} {names[number % 3]}\n" for number in range(1200))
    repo.run("update-ref", "--stdin", given=lines.encode())
    assert len(snapshot_ref_tips(repo.git_directory).split()) == 4  # each commit once
