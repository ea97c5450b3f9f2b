"""Lines that differ from the last commit, in honest repositories and in hostile ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dowse.git.worktree import ALL_LINES, Checkout, diff_lines, find_checkout, list_edited_lines, list_uncommitted_lines
from support import write


@pytest.fixture
def repository(tmp_path, git):
    root = tmp_path / "root"
    root.mkdir()
    git(root, "init", "-q")
    write(root, {"a.py": "one\ntwo\nthree\n", "sub/b.py": "x\ny\n", "same.py": "s\n", "gone.py": "g\n"})
    git(root, "add", "-A")
    git(root, "commit", "-qm", "m")
    return root


def test_changed_added_and_deleted(repository, git):
    write(
        repository,
        {"a.py": "one\n2\nthree\nfour\n", "new.py": "n\nm\n", "sub/b.py": "x\ny\nz\n", ".gitignore": "ig*\n"},
    )
    write(repository, {"ignored.py": "i\n"})
    git(repository, "add", "sub/b.py")
    (repository / "gone.py").unlink()
    found = list_uncommitted_lines(repository)
    assert found.lines == {
        ".gitignore": ((1, 1),),
        "a.py": ((2, 2), (4, 4)),
        "new.py": ((1, 2),),
        "sub/b.py": ((3, 3),),
    }
    assert found.problem == ""


def test_part_of_a_work_tree_and_one_without_changes(repository):
    assert list_uncommitted_lines(repository).lines == {}
    write(repository, {"sub/b.py": "x\n"})
    assert list_uncommitted_lines(repository / "sub").lines == {"b.py": ((1, 1),)}


def test_line_ends_are_no_change(repository):
    (repository / "a.py").write_bytes(b"one\r\ntwo\r\nthree\r\n")
    assert list_uncommitted_lines(repository).lines == {}


def test_before_the_first_commit_everything_is_new(tmp_path, git):
    git(tmp_path, "init", "-q")
    write(tmp_path, {"a.py": "one\n"})
    assert list_uncommitted_lines(tmp_path).lines == {"a.py": ((1, 1),)}


def test_outside_of_git_it_says_so(tmp_path):
    assert "not in a git work tree" in list_uncommitted_lines(tmp_path).problem


def test_nothing_a_repository_configures_is_run(repository, tmp_path, git):
    mark, program = tmp_path / "mark", tmp_path / "trap"
    program.write_text(f"#!/bin/sh\necho >> '{mark}'\n")
    program.chmod(0o755)
    for name in ("core.fsmonitor", "diff.external", "diff.trap.textconv", "filter.trap.clean", "core.pager"):
        git(repository, "config", name, str(program))
    write(repository, {".gitattributes": "* filter=trap diff=trap\n", "a.py": "one\n"})
    assert "a.py" in list_uncommitted_lines(repository).lines
    assert not mark.exists()


def test_links_lead_nowhere(repository, tmp_path):
    write(tmp_path, {"secret.txt": "s\n"})
    (repository / "link.py").symlink_to(tmp_path / "secret.txt")
    (repository / "a.py").unlink()
    (repository / "a.py").symlink_to(tmp_path / "secret.txt")
    assert list_uncommitted_lines(repository).lines == {}


@pytest.mark.parametrize("text", ["one\n", "one\n" * 40])
def test_a_very_large_file_counts_as_changed_as_a_whole(repository, git, monkeypatch, text):
    """Whether it is so now, or was so in the last commit."""
    write(repository, {"large.py": "x\n" * 40})
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "large")
    write(repository, {"large.py": "x\n" + text, "a.py": "one\ntwo\n3\n"})
    monkeypatch.setattr("dowse.git.worktree.MAX_COMPARED_FILE_BYTES", 50)
    assert list_uncommitted_lines(repository).lines == {"a.py": ((3, 3),), "large.py": ALL_LINES}


def test_a_very_large_file_whose_lines_are_the_same_is_not_changed(repository, git, monkeypatch):
    monkeypatch.setattr("dowse.git.worktree.MAX_COMPARED_FILE_BYTES", 5)
    (repository / "a.py").chmod(0o755)
    write(repository, {"same.py": "staged, and taken back\n"})
    git(repository, "add", "same.py")
    write(repository, {"same.py": "s\n", "new.py": "new\nlines\n"})
    assert list_uncommitted_lines(repository).lines == {"new.py": ALL_LINES}


def test_what_is_only_staged_or_of_another_mode_has_no_lines(repository, git):
    write(repository, {"a.py": "staged\n"})
    git(repository, "add", "a.py")
    write(repository, {"a.py": "one\ntwo\nthree\n"})
    (repository / "same.py").chmod(0o755)
    git(repository, "rm", "-q", "--cached", "gone.py")
    assert list_uncommitted_lines(repository).lines == {}


def test_a_file_in_place_of_a_link_is_new(repository, git):
    (repository / "link.py").symlink_to("a.py")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "link")
    (repository / "link.py").unlink()
    write(repository, {"link.py": "one\n"})
    assert list_uncommitted_lines(repository).lines == {"link.py": ((1, 1),)}


def test_very_many_equal_lines_take_no_time():
    lines = [b""] * 100_000
    assert diff_lines([*lines, b"a"], [b"b", *lines]) == ((1, 100_001),)


@given(
    st.lists(st.sampled_from([b"a", b"b", b"c"]), max_size=8), st.lists(st.sampled_from([b"a", b"b", b"c"]), max_size=8)
)
def test_spans_are_lines_of_the_file(before, after):
    spans = diff_lines(before, after)
    assert bool(spans) == (before != after) or not after
    kept = [line for at, line in enumerate(after, 1) if not any(low <= at <= high for low, high in spans)]
    rest = iter(before)
    assert all(line in rest for line in kept)
    assert all(low >= 1 and high <= max(len(after), 1) for low, high in spans)


def test_the_path_given_may_be_a_link(repository, tmp_path):
    write(repository, {"a.py": "one\n"})
    (tmp_path / "link").symlink_to(repository)
    assert set(list_uncommitted_lines(Path(tmp_path / "link")).lines) == {"a.py"}


@pytest.mark.parametrize(("text", "spans"), [("", ((1, 1),)), ("\n", ((1, 1),)), ("n", ((1, 1),)), ("n\nm", ((1, 2),))])
def test_every_new_file_is_told_with_the_lines_it_has(repository, text, spans):
    write(repository, {"new.py": text})
    assert list_uncommitted_lines(repository).lines == {"new.py": spans}


def test_nothing_outside_is_read(repository, tmp_path, git):
    """An index may be crafted to name anything."""
    (tmp_path / "secret").write_text("secret\n")
    for name in ("!!/secret", "!git/config", "sub/!GIT/x"):
        blob = git(repository, "rev-parse", "HEAD:a.py").strip()
        git(repository, "update-index", "--add", "--cacheinfo", f"100644,{blob},{name}")
    index = repository / ".git" / "index"
    crafted = index.read_bytes().replace(b"!!/", b"../").replace(b"!git", b".git").replace(b"!GIT", b".GIT")
    index.write_bytes(crafted)
    write(repository, {"sub/.GIT/x": "x\n"})
    assert list_uncommitted_lines(repository).lines == {}


def checkout_of(place: Path) -> Checkout:
    found = find_checkout(place)
    assert found is not None
    return found


def test_edited_lines_of_files_that_are_too_large_to_compare(repository, monkeypatch):
    monkeypatch.setattr("dowse.git.worktree.MAX_COMPARED_FILE_BYTES", 5)
    checkout = checkout_of(repository)
    assert list_edited_lines(checkout, "a.py") == ()
    write(repository, {"a.py": "other lines\n", "new.py": "new lines\n"})
    assert list_edited_lines(checkout, "a.py") == list_edited_lines(checkout, "new.py") == ALL_LINES


def test_edited_lines_of_files_that_only_one_side_has(repository, git):
    write(repository, {"a.py": "", "new.py": "n\nm\n", "sub/b.py": "x\n"})
    (repository / "gone.py").unlink()
    checkout = checkout_of(repository)
    found = {path: list_edited_lines(checkout, path) for path in ("a.py", "new.py", "sub/b.py", "gone.py", "never.py")}
    assert found == {
        "a.py": ((1, 1),),
        "new.py": ((1, 2),),
        "sub/b.py": ((1, 1),),
        "gone.py": ALL_LINES,
        "never.py": (),
    }


def test_where_git_can_not_tell_no_line_is_taken_for_edited(repository, git):
    tree = git(repository, "rev-parse", "HEAD^{tree}").strip()
    (repository / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    assert list_edited_lines(checkout_of(repository), "a.py") == ()
    assert "bad tree object" in list_uncommitted_lines(repository).problem
