"""Files that are not committed, beside what `git status` says of the same work tree."""

from __future__ import annotations

import os
import subprocess
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dowse.git import runner as running
from dowse.git import worktree as entries
from dowse.git.runner import GitTimeouts
from dowse.git.worktree import list_changed_files
from gits import Repo

OLD = 1_600_000_000  # long before any index is written, so that what git notes of a file counts
FILES = {
    "a.txt": "one\ntwo\n", "b.txt": "bee\n", "run.sh": "#!/bin/sh\n", "empty": "", "folder/c.txt": "see\n",
    "folder/deep/d.txt": "dee\n", "crlf.txt": "one\r\ntwo\r\n",
}  # fmt: skip


def told_by_git(place: Path, *, refresh: bool = False) -> list[str]:
    """Every file by itself; of submodules, which commit they are at."""
    command = ("status", "--porcelain", "-z", "-uall", "--no-renames", "--ignore-submodules=dirty")
    variables = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "GIT_OPTIONAL_LOCKS": str(int(refresh))}
    words = ["git", "-C", str(place), *command]
    told = subprocess.run(words, env={**os.environ, **variables}, check=True, capture_output=True).stdout
    return sorted({os.fsdecode(row[3:]) for row in told.split(b"\0") if row})


def written(repo: Repo, path: str, content: str | bytes, at: int = OLD) -> None:
    place = repo.place / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content.encode() if isinstance(content, str) else content)
    os.utime(place, (at, at))


def based(place: Path, *options: str) -> Repo:
    repo = Repo(place, *options)
    for path, content in FILES.items():
        written(repo, path, content)
    (place / "run.sh").chmod(0o755)
    (place / "link").symlink_to("a.txt")
    repo.commit("first")
    return repo


def linked(repo: Repo, path: str, target: str) -> None:
    (repo.place / path).unlink(missing_ok=True)
    (repo.place / path).symlink_to(target)


def with_submodule(repo: Repo) -> Repo:
    origin = Repo(repo.place.parent / "origin")
    origin.commit("one", {"x": "1\n"})
    repo.run("submodule", "--quiet", "add", str(origin.place), "sub")
    repo.commit("a submodule")
    return Repo(repo.place / "sub")


def nothing(repo: Repo) -> None:
    pass


def changed_and_new(repo: Repo) -> None:
    written(repo, "a.txt", "one\n2\n")
    written(repo, "folder/c.txt", "longer than before\n")
    written(repo, "new/file.txt", "n\n")
    (repo.place / "b.txt").unlink()


def as_long_as_before(repo: Repo) -> None:
    written(repo, "a.txt", "eno\nowt\n", OLD + 1)


def touched(repo: Repo) -> None:
    for path in FILES:
        os.utime(repo.place / path)


def staged(repo: Repo) -> None:
    written(repo, "a.txt", "staged\n")
    written(repo, "new.txt", "new\n")
    repo.run("rm", "-q", "b.txt")
    repo.run("mv", "folder/c.txt", "folder/moved.txt")
    repo.run("add", "a.txt", "new.txt")


def only_staged(repo: Repo) -> None:
    staged(repo)
    written(repo, "a.txt", FILES["a.txt"])
    (repo.place / "new.txt").unlink()


def kept_but_not_tracked(repo: Repo) -> None:
    repo.run("rm", "-q", "--cached", "a.txt", "link", "folder/c.txt")


def tracked_no_more_and_ignored(repo: Repo) -> None:
    written(repo, ".gitignore", "a.txt\nb.txt\nignored\n")
    written(repo, "ignored", "i\n")
    repo.run("rm", "-q", "--cached", "a.txt")
    written(repo, "b.txt", "changed though ignored\n")


def links_that_changed(repo: Repo) -> None:
    linked(repo, "link", "b.txt")
    linked(repo, "new-link", "nowhere")
    linked(repo, "folder/deep/d.txt", "../c.txt")


def a_link_of_other_spelling(repo: Repo) -> None:
    linked(repo, "link", "./a.txt")


def a_link_that_is_gone(repo: Repo) -> None:
    (repo.place / "link").unlink()


def a_link_that_became_a_file(repo: Repo) -> None:
    (repo.place / "link").unlink()
    written(repo, "link", "a.txt")


def links_as_files(repo: Repo) -> None:
    repo.run("config", "core.symlinks", "false")
    a_link_that_became_a_file(repo)
    (repo.place / "link").touch()


def other_modes(repo: Repo) -> None:
    (repo.place / "a.txt").chmod(0o755)
    (repo.place / "run.sh").chmod(0o644)
    (repo.place / "b.txt").chmod(0o666)


def modes_that_mean_nothing(repo: Repo) -> None:
    repo.run("config", "core.fileMode", "false")
    other_modes(repo)


def a_staged_mode(repo: Repo) -> None:
    repo.run("update-index", "--chmod=+x", "a.txt")


def folders_for_files(repo: Repo) -> None:
    (repo.place / "a.txt").unlink()
    written(repo, "a.txt/inside", "i\n")
    (repo.place / "folder" / "c.txt").rename(repo.place / "other.txt")
    (repo.place / "folder" / "deep").rename(repo.place / "elsewhere")
    (repo.place / "folder").rmdir()
    written(repo, "folder", "a file now\n")


def a_folder_that_became_a_link(repo: Repo) -> None:
    (repo.place / "folder").rename(repo.place.parent / "moved")
    (repo.place / "folder").symlink_to("../moved")


def a_pipe_for_a_file(repo: Repo) -> None:
    (repo.place / "a.txt").unlink()
    os.mkfifo(repo.place / "a.txt")


def emptied(repo: Repo) -> None:
    written(repo, "a.txt", "")
    written(repo, "empty", "not any more\n")


def sparse(repo: Repo) -> None:
    repo.run("sparse-checkout", "set", "--cone", "folder/deep")
    written(repo, "folder/deep/d.txt", "other\n")


def sparse_with_a_small_index(repo: Repo) -> None:
    repo.run("sparse-checkout", "set", "--cone", "--sparse-index", "folder/deep")


def sparse_but_there(repo: Repo) -> None:
    sparse(repo)
    written(repo, "folder/c.txt", "there all the same\n")


def told_to_be_skipped(repo: Repo) -> None:
    repo.run("update-index", "--skip-worktree", "a.txt", "b.txt")
    written(repo, "a.txt", "other\n")
    (repo.place / "b.txt").unlink()


def told_to_be_unchanged(repo: Repo) -> None:
    repo.run("update-index", "--assume-unchanged", "a.txt")
    written(repo, "a.txt", "other\n")
    written(repo, "b.txt", "other\n")


def meant_to_be_added(repo: Repo) -> None:
    written(repo, "later.txt", "later\n")
    written(repo, "never.txt", "never\n")
    repo.run("add", "-N", "later.txt", "never.txt")
    (repo.place / "never.txt").unlink()


def in_conflict(repo: Repo) -> None:
    repo.run("checkout", "-q", "-b", "other")
    repo.commit("theirs", {"a.txt": "theirs\n", "both": "theirs\n"})
    repo.run("checkout", "-q", "main")
    repo.run("rm", "-q", "a.txt")
    repo.commit("ours", {"both": "ours\n"})
    with pytest.raises(subprocess.CalledProcessError):
        repo.run("merge", "other")


def odd_names(repo: Repo) -> None:
    for name in ("a b", "tab\tbed", 'quo"ted', "line\nbreak", "-x", ":(top)", "back\\slash", os.fsdecode(b"\xff")):
        written(repo, name, "1\n")
    repo.commit("odd")
    for name in ("line\nbreak", ":(top)", os.fsdecode(b"\xff")):
        written(repo, name, "2, longer\n")
    written(repo, "\n  ctime: 1:1\n", "new\n")


def indexes_of_other_forms(repo: Repo) -> None:
    repo.run("update-index", "--index-version", "4", "--split-index")
    written(repo, "a.txt", "other\n")
    repo.run("add", "a.txt")


def other_line_ends(repo: Repo) -> None:
    """Without any conversion they are a change, either way."""
    written(repo, "a.txt", "one\r\ntwo\r\n")
    written(repo, "crlf.txt", "one\ntwo\n")


def converted_line_ends(repo: Repo) -> None:
    repo.run("config", "core.autocrlf", "true")
    for path in ("a.txt", "b.txt"):
        (repo.place / path).unlink()
    repo.run("checkout", "--", "a.txt", "b.txt")
    assert b"\r" in (repo.place / "a.txt").read_bytes()
    os.utime(repo.place / "a.txt", (OLD, OLD))


def other_line_ends_without_a_note(repo: Repo) -> None:
    """What was staged and taken back git has noted nothing of."""
    written(repo, "a.txt", "one\r\ntwo\r\n")
    repo.run("add", "a.txt")
    repo.run("reset", "-q")


def converted_line_ends_without_a_note(repo: Repo) -> None:
    written(repo, ".gitattributes", "b.txt -text\n")
    repo.commit("not all of them")
    repo.run("config", "core.autocrlf", "input")
    for path in ("a.txt", "b.txt", "folder/c.txt"):
        written(repo, path, FILES[path].replace("\n", "\r\n"))
    repo.run("rm", "-q", "--cached", "-r", ".")
    repo.run("reset", "-q")


def line_ends_by_attributes_without_a_note(repo: Repo) -> None:
    written(repo, ".gitattributes", "a.txt text=auto\nb.txt eol=crlf\nfolder/** crlf\nfolder/c.txt binary\n")
    repo.commit("converted")
    for path in ("a.txt", "b.txt", "folder/c.txt", "folder/deep/d.txt", "run.sh"):
        written(repo, path, FILES[path].replace("\n", "\r\n"))
    (repo.place / "run.sh").chmod(0o755)
    repo.run("rm", "-q", "--cached", "-r", ".")
    repo.run("reset", "-q")


def line_ends_by_attributes(repo: Repo) -> None:
    written(repo, ".gitattributes", "*.win text eol=crlf\n")
    written(repo, "x.win", "one\r\ntwo\r\n")
    repo.commit("converted")
    os.utime(repo.place / "x.win", (OLD + 1, OLD + 1))


def filtered(repo: Repo) -> None:
    """What a filter made of a file, and nobody touched since, is not a change."""
    repo.run("config", "filter.upper.clean", "tr A-Z a-z")
    repo.run("config", "filter.upper.smudge", "tr a-z A-Z")
    written(repo, ".gitattributes", "*.up filter=upper\n")
    written(repo, "x.up", "WORDS\n")
    repo.commit("filtered")
    written(repo, "b.txt", "other\n")


def repositories_inside(repo: Repo) -> None:
    Repo(repo.place / "nested").commit("one", {"x": "1\n"})
    Repo(repo.place / "folder" / "unborn")
    written(repo, "folder/unborn/x", "1\n")


def a_submodule_as_it_was(repo: Repo) -> None:
    with_submodule(repo)


def a_submodule_that_moved(repo: Repo) -> None:
    with_submodule(repo).commit("two", {"x": "2\n"})


def a_submodule_that_moved_and_is_staged(repo: Repo) -> None:
    a_submodule_that_moved(repo)
    repo.run("add", "sub")


def a_submodule_that_is_not_checked_out(repo: Repo) -> None:
    with_submodule(repo)
    repo.run("submodule", "--quiet", "deinit", "-f", "sub")


def a_submodule_without_its_folder(repo: Repo) -> None:
    a_submodule_that_is_not_checked_out(repo)
    (repo.place / "sub").rmdir()


def a_file_for_a_submodule(repo: Repo) -> None:
    a_submodule_without_its_folder(repo)
    written(repo, "sub", "1\n")


def a_head_without_commits(repo: Repo) -> None:
    repo.run("checkout", "-q", "--orphan", "unborn")
    repo.run("rm", "-q", "--cached", "a.txt")


SITUATIONS: tuple[Callable[[Repo], None], ...] = (
    nothing, changed_and_new, as_long_as_before, touched, staged, only_staged, kept_but_not_tracked,
    tracked_no_more_and_ignored, links_that_changed, a_link_of_other_spelling, a_link_that_is_gone,
    a_link_that_became_a_file, links_as_files, other_modes, modes_that_mean_nothing, a_staged_mode, folders_for_files,
    a_folder_that_became_a_link, a_pipe_for_a_file, emptied, sparse, sparse_with_a_small_index, sparse_but_there,
    told_to_be_skipped, told_to_be_unchanged, meant_to_be_added, in_conflict, odd_names, indexes_of_other_forms,
    other_line_ends, other_line_ends_without_a_note, converted_line_ends, converted_line_ends_without_a_note,
    line_ends_by_attributes, line_ends_by_attributes_without_a_note, filtered, repositories_inside,
    a_submodule_as_it_was, a_submodule_that_moved, a_submodule_that_moved_and_is_staged,
    a_submodule_that_is_not_checked_out, a_submodule_without_its_folder, a_file_for_a_submodule,
    a_head_without_commits,
)  # fmt: skip


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda it: it.__name__)
def test_what_git_status_tells(tmp_path: Path, situation: Callable[[Repo], None]) -> None:
    repo = based(tmp_path / "repo")
    situation(repo)
    assert list(list_changed_files(repo.place).paths) == told_by_git(repo.place)
    told_by_git(repo.place, refresh=True)
    assert list(list_changed_files(repo.place).paths) == told_by_git(repo.place), (
        "with an index that was brought up to date"
    )


def test_it_does_not_matter_when_a_file_says_it_was_written(tmp_path: Path) -> None:
    repo = based(tmp_path / "repo")
    written(repo, "a.txt", "eno\nowt\n")
    assert list_changed_files(repo.place).paths == ("a.txt",)


def test_a_part_of_a_work_tree(tmp_path: Path) -> None:
    repo = based(tmp_path / "repo")
    written(repo, "folder/c.txt", "other\n")
    written(repo, "folder/new", "new\n")
    written(repo, "a.txt", "other\n")
    repo.run("rm", "-q", "--cached", "folder/deep/d.txt")
    assert list_changed_files(repo.place / "folder").paths == ("c.txt", "deep/d.txt", "new")


def test_a_linked_work_tree_and_one_whose_objects_have_long_names(tmp_path: Path) -> None:
    repo = based(tmp_path / "repo", "--object-format=sha256")
    repo.run("worktree", "add", "-q", "../linked")
    other = Repo(tmp_path / "linked")
    assert list_changed_files(other.place).paths == ()
    other_modes(other)
    linked(other, "link", "b.txt")
    os.utime(other.place / "b.txt")
    assert list(list_changed_files(other.place).paths) == told_by_git(other.place) == ["a.txt", "link", "run.sh"]
    assert list_changed_files(repo.place).paths == ()


@pytest.mark.parametrize("claimed", ["..", "/nonexistent/x", "a.txt"])
def test_a_repository_that_claims_another_work_tree(tmp_path: Path, claimed: str) -> None:
    repo = based(tmp_path / "repo")
    repo.run("config", "core.worktree", claimed)
    assert list_changed_files(repo.place).paths == ()
    assert list_changed_files(repo.place / "folder").paths == ()


def test_nothing_is_looked_at_outside(tmp_path: Path) -> None:
    """An index may be crafted to name a file that lies elsewhere: git, which would read it, is not asked."""
    repo = based(tmp_path / "repo")
    (tmp_path / "secret").write_text(FILES["a.txt"])
    repo.run("update-index", "--add", "--cacheinfo", f"100644,{repo.run('rev-parse', 'HEAD:a.txt')},!!/secret")
    repo.run("commit", "-q", "-m", "second")
    index = repo.git_directory / "index"
    index.write_bytes(index.read_bytes().replace(b"!!/secret", b"../secret"))
    found = list_changed_files(repo.place)
    assert found.paths == () and "names '../secret', which is outside of the work tree" in found.problem


def test_large_files_are_read_in_pieces(tmp_path: Path) -> None:
    repo, large = based(tmp_path / "repo"), 32_000_000
    for name in ("same", "changed", "shorter"):
        written(repo, name, "")
        os.truncate(repo.place / name, large)
    repo.commit("large")
    os.utime(repo.place / "same")
    with (repo.place / "changed").open("r+b") as file:
        file.write(b"x")
    os.truncate(repo.place / "shorter", large // 2)
    written(repo, "new", "")
    os.truncate(repo.place / "new", 2 * large)
    with traced() as peak:
        assert list_changed_files(repo.place).paths == ("changed", "new", "shorter")
        assert peak() < large // 4


MADE = ("x.up filter=upper", "x.up ident", "x.up working-tree-encoding=UTF-16")


@pytest.mark.parametrize("attributes", ["", *MADE])
@pytest.mark.parametrize("later_ns", [0, 1_000_000, 60_000_000_000])
def test_a_file_that_was_written_right_before_the_index(tmp_path: Path, attributes: str, later_ns: int) -> None:
    """It may have been written once more since git looked; then its content tells, unless a checkout made that of
    something else, which nobody can compare without running it."""
    repo = Repo(tmp_path / "repo")
    repo.commit("first", {"x.up": "before\n"})
    before = repo.run("rev-parse", "HEAD:x.up")
    (repo.git_directory / "info").mkdir(exist_ok=True)
    (repo.place / "x.up").write_text("after!\n")
    repo.run("add", "x.up")
    (repo.git_directory / "info" / "attributes").write_text(attributes + "\n")
    index, staged = repo.git_directory / "index", repo.run("hash-object", "--no-filters", "x.up")
    index.write_bytes(index.read_bytes().replace(bytes.fromhex(staged), bytes.fromhex(before)))
    at_ns = (repo.place / "x.up").stat().st_mtime_ns + later_ns
    os.utime(index, ns=(at_ns, at_ns))
    is_trusted = bool(attributes) or later_ns > 1_000_000_000
    assert list_changed_files(repo.place).paths == (() if is_trusted else ("x.up",))


def broken_branch(repo: Repo) -> None:
    (repo.git_directory / "refs" / "heads" / "main").write_text("garbage\n")


def broken_head(repo: Repo) -> None:
    (repo.git_directory / "HEAD").write_text("garbage\n")


def lost_commit(repo: Repo) -> None:
    (repo.git_directory / "refs" / "heads" / "main").write_text("1" * 40 + "\n")


def broken_settings(repo: Repo) -> None:
    (repo.git_directory / "config").write_text("[core\n")


def pipe_for_the_index(repo: Repo) -> None:
    (repo.git_directory / "index").unlink()
    os.mkfifo(repo.git_directory / "index")


def pipe_for_the_branch(repo: Repo) -> None:
    (repo.git_directory / "refs" / "heads" / "main").unlink()
    os.mkfifo(repo.git_directory / "refs" / "heads" / "main")


DAMAGES = (broken_branch, broken_head, lost_commit, broken_settings, pipe_for_the_index, pipe_for_the_branch)


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda it: it.__name__)
def test_what_can_not_be_read_is_a_problem_and_not_a_change(
    tmp_path: Path, damage: Callable[[Repo], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does the repository around it answer in its place."""
    if damage is pipe_for_the_branch:
        monkeypatch.setattr(running, "_TIMEOUTS", GitTimeouts(0.2, 0.2))
    outer = Repo(tmp_path / "outer")
    outer.commit("outer", {"inner/a.txt": "outer\n"})
    repo = based(outer.place / "inner")
    damage(repo)
    found = list_changed_files(repo.place)
    assert found.paths == () and f"git could not list {repo.place}: " in found.problem


def test_a_tree_or_an_index_that_is_told_without_end_is_not_read_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few objects can make a tree of millions of files."""
    monkeypatch.setattr(entries, "MAX_LISTING_BYTES", 100_000)
    repo = Repo(tmp_path / "repo")
    row = f"100644 blob {repo.run('hash-object', '-w', '--stdin', given=b'x')}"
    for _ in range(5):
        rows = "".join(f"{row}\t{at}\n" for at in range(10))
        row = f"040000 tree {repo.run('mktree', given=rows.encode())}"
    repo.run("update-ref", "refs/heads/main", repo.run("commit-tree", "-m", "bomb", row.split()[-1]))
    assert "output exceeds" in list_changed_files(repo.place).problem
    monkeypatch.setattr(entries, "MAX_LISTING_BYTES", 10_000_000)
    monkeypatch.setattr(entries, "_MAX_STAGED_BYTES", 1_000)
    repo.run("read-tree", f"{row.split()[-1]}:0/0/0")
    assert "output exceeds" in list_changed_files(repo.place).problem


@contextmanager
def traced() -> Iterator[Callable[[], int]]:
    """The most bytes that were held at a time."""
    tracemalloc.start()
    try:
        yield lambda: tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
