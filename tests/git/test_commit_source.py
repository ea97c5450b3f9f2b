"""What a history tells of each commit, however it was made, and how much of it can be missing."""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
import threading
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dowse.errors import Unreadable
from dowse.git.commit import CommitData, FileChange, Signature
from dowse.git.diff_tree import (
    CHANGED_FILES_UNKNOWN,
    CHANGED_LINES_UNKNOWN,
    CHANGES_TOO_LARGE,
    GIT_OUT_OF_MEMORY,
    HEADER_TOO_LONG,
    MAX_DIFF_LINE_CHARS,
    PARENTS_NOT_FETCHED,
    CommitReader,
    DiffTreeProcess,
    MergeReader,
    truncate_diff,
)
from dowse.ingest.sources.commits import WHOLE_HISTORY, CommitSource
from dowse.ingest.sources.git_log import files_of_head, is_in_head
from dowse.model import Item
from gits import START, Repo


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return Repo(tmp_path / "repo")


def told(repo: Repo, max_commits: int = 1000, diff_lines: int = 200) -> dict[str, CommitData]:
    """Every commit by its name, newest first."""
    source = CommitSource(repo.git_directory, max_commits, diff_lines)
    try:
        listing = source.listing()
        assert not listing.refused
        return {it.path: CommitData.from_bytes(source.read(it)[1]) for it in listing.items}
    finally:
        source.close()


def test_a_commit_is_told_with_its_people_files_and_lines(repo: Repo) -> None:
    first = repo.commit("First thing\n\nWhy it is done.", {"a.py": "def a():\n    return 1\n"})
    second = repo.commit("Second", {"a.py": "def a():\n    return 2\n", "docs/b.md": "text\n"})
    found = told(repo)
    assert list(found) == [second, first]
    one = found[first]
    assert one.message == "First thing\n\nWhy it is done."
    assert one.parents == [] and found[second].parents == [first]
    assert one.author == one.committer == Signature("Ann", "ann@example.org", START + 60)
    assert one.files == [FileChange("A", "a.py")]
    assert found[second].files == [FileChange("M", "a.py"), FileChange("A", "docs/b.md")]
    assert "-    return 1\n+    return 2" in found[second].diff
    assert (one.omitted, one.problem) == (0, "")


def test_items_carry_the_committer_time(repo: Repo) -> None:
    name = repo.commit("old", at=1_000_000_000)
    assert CommitSource(repo.git_directory, 10, 10).listing().items == [Item(name, -23, 10**18, "commit")]


def test_the_newest_are_listed_up_to_the_limit(repo: Repo) -> None:
    names = [repo.commit(str(number)) for number in range(5)]
    listing = CommitSource(repo.git_directory, 2, 10).listing()
    assert [it.path for it in listing.items] == names[:2:-1]
    reason = "beyond max_commits (2): it and the 2 older commits are left out"
    assert (listing.refused, listing.unreadable_prefixes) == ([(names[2], reason)], [])


def test_nothing_is_beyond_a_limit_that_is_just_met_or_cannot_be_counted(repo: Repo) -> None:
    names = {repo.commit(str(number)) for number in range(3)}
    for limit in (3, 2**40):
        listing = CommitSource(repo.git_directory, limit, 10).listing()
        assert ({it.path for it in listing.items}, listing.refused, listing.unreadable_prefixes) == (names, [], [])


def test_every_branch_tag_remote_and_head_counts_but_no_stash_or_note(repo: Repo, tmp_path: Path) -> None:
    repo.commit("main", {"a": "1"})
    repo.run("branch", "side")
    repo.run("checkout", "-q", "side")
    repo.commit("side")
    repo.run("checkout", "-q", "--detach")
    repo.commit("tagged")
    repo.run("tag", "-a", "v1", "-m", "annotated")
    repo.run("checkout", "-q", "main")
    repo.run("checkout", "-q", "--detach")
    repo.commit("detached")
    repo.run("worktree", "add", "-q", "--detach", str(tmp_path / "linked"), "main")
    linked = Repo(tmp_path / "linked")
    linked.now = repo.now
    linked.commit("of a linked work tree")
    repo.run("update-ref", "refs/remotes/origin/x", repo.run("commit-tree", "-m", "remote", "HEAD^{tree}"))
    repo.run("update-ref", "refs/notes/x", repo.run("commit-tree", "-m", "note", "HEAD^{tree}"))
    repo.run("update-ref", "refs/pull/1/head", repo.run("commit-tree", "-m", "proposal", "HEAD^{tree}"))
    (repo.place / "a").write_text("2")
    repo.run("stash", "-q")
    messages = {it.message for it in told(repo).values()}
    assert messages == {"main", "side", "tagged", "detached", "of a linked work tree", "remote"}


def test_renames_are_told_with_the_old_path(repo: Repo) -> None:
    lines = "".join(f"line {number}\n" for number in range(30))
    repo.commit("add", {"old.py": lines})
    repo.run("mv", "old.py", "new.py")
    name = repo.commit("rename", {"new.py": lines.replace("line 7\n", "line seven\n")})
    assert told(repo)[name].files == [FileChange("R", "new.py", "old.py")]


def test_a_merge_has_no_delta(repo: Repo) -> None:
    repo.commit("base", {"a": "1\n"})
    repo.run("checkout", "-q", "-b", "side")
    repo.commit("side", {"b": "1\n"})
    repo.run("checkout", "-q", "main")
    repo.commit("main", {"c": "1\n"})
    repo.run("merge", "-q", "--no-ff", "-m", "merged", "side")
    merge = next(it for it in told(repo).values() if it.message == "merged")
    assert (len(merge.parents), merge.files, merge.diff) == (2, [], "")


@pytest.fixture
def forked(repo: Repo) -> Repo:
    """Both sides changed `both`, each one line far from the other's, and `fought`, the same line."""
    lines = [f"line {number}\n" for number in range(30)]
    repo.commit("base", {"both": "".join(lines), "fought": "0\n", "kept": "1\n", "gone": "1\n"})
    repo.run("checkout", "-q", "-b", "side")
    repo.commit("side", {"both": "".join(["side\n", *lines[1:]]), "fought": "1\n", "of side": "1\n"})
    repo.run("checkout", "-q", "main")
    repo.commit("main", {"both": "".join([*lines[:-1], "main\n"]), "fought": "2\n", "of main": "1\n"})
    return repo


def merge(repo: Repo, change: Callable[[Path], object]) -> str:
    """The name of a merge in which somebody changed something by hand."""
    repo.run("merge", "-q", "--no-commit", "--strategy-option=ours", "side")
    change(repo.place)
    return repo.commit("merged")


@pytest.mark.parametrize(
    ("change", "files"),
    [
        (lambda _: None, []),
        (lambda place: (place / "fought").write_text("3\n"), [FileChange("M", "fought")]),
        (lambda place: (place / "new").write_text("3\n"), [FileChange("A", "new")]),
        (lambda place: (place / "gone").unlink(), [FileChange("D", "gone")]),
        (lambda place: (place / "of side").write_text("3\n"), [FileChange("M", "of side")]),
        (lambda place: (place / "of side").unlink(), []),  # as it is on the other side
        (lambda place: (place / "kept").rename(place / "moved"), [FileChange("D", "kept"), FileChange("A", "moved")]),
    ],
)
def test_a_merge_touches_what_differs_from_all_its_parents(
    forked: Repo, change: Callable[[Path], object], files: list[FileChange]
) -> None:
    name = merge(forked, change)
    it = told(forked)[name]
    # What git put together of both sides is like neither.
    assert (it.files, it.diff, it.problem) == ([FileChange("M", "both"), *files], "", "")


def test_a_merge_whose_trees_are_missing_keeps_its_message(forked: Repo) -> None:
    name = merge(forked, lambda place: (place / "fought").write_text("3\n"))
    later = forked.commit("later", {"kept": "2\n"})
    forked.lose(forked.run("rev-parse", "side^{tree}"))
    found = told(forked)
    assert (found[name].message, found[name].files, found[name].problem) == ("merged", [], CHANGED_FILES_UNKNOWN)
    assert found[later].files == [FileChange("M", "kept")]


def test_merges_are_told_by_a_process_that_ends_with_the_reader(forked: Repo) -> None:
    name = merge(forked, lambda place: (place / "new").write_text("3\n"))
    opened: list[DiffTreeProcess] = []

    def open_channel(git_directory: str, command: Sequence[str]) -> DiffTreeProcess:
        opened.append(DiffTreeProcess(git_directory, command))
        return opened[-1]

    merges = MergeReader(str(forked.git_directory), open_channel)
    expected = [FileChange("M", "both"), FileChange("A", "new")]
    assert (merges.changed_files(name), merges.changed_files(name), len(opened)) == (expected, expected, 1)
    opened[0].kill()
    assert (merges.changed_files(name), len(opened)) == (expected, 2)  # it ended instead of answering
    merges.end()
    for _ in range(2):
        with pytest.raises(Unreadable, match="cancelled") as refused:
            merges.changed_files(name)
        assert not refused.value.lasting
    merges.close()
    assert len(opened) == 2 and not any(it.is_alive() for it in opened)


def test_a_merge_is_told_however_its_processes_are_killed(forked: Repo) -> None:
    name = merge(forked, lambda place: (place / "new").write_text("3\n"))

    def killed(git_directory: str) -> DiffTreeProcess:
        channel = DiffTreeProcess(git_directory)
        channel.kill()
        return channel

    reader = CommitReader(str(forked.git_directory), 200, open_channel=killed)
    try:
        it = CommitData.from_bytes(reader.read_commit(name))
    finally:
        reader.close()
    assert (it.files, it.problem) == ([FileChange("M", "both"), FileChange("A", "new")], "")


def test_a_merge_is_refused_for_now_where_nobody_can_be_asked(forked: Repo) -> None:
    name = merge(forked, lambda place: (place / "new").write_text("3\n"))

    def refused(git_directory: str, command: Sequence[str]) -> DiffTreeProcess:
        raise OSError(errno.EMFILE, "Too many open files")

    with pytest.raises(Unreadable, match=r"could not be started \(Too many open files\)") as told_why:
        MergeReader(str(forked.git_directory), refused).changed_files(name)
    assert not told_why.value.lasting


def test_a_merge_over_which_git_ends_is_asked_for_twice(forked: Repo) -> None:
    name = merge(forked, lambda place: (place / "fought").write_text("3\n"))
    forked.lose(forked.run("rev-parse", "side^{tree}"))
    opened: list[DiffTreeProcess] = []

    def open_channel(git_directory: str, command: Sequence[str]) -> DiffTreeProcess:
        opened.append(DiffTreeProcess(git_directory, command))
        return opened[-1]

    merges = MergeReader(str(forked.git_directory), open_channel)
    assert merges.changed_files(name) is None
    assert len(opened) == 2 and not any(it.is_alive() for it in opened)


@given(st.integers(0, 1_000_000), st.booleans(), st.integers(0, 1_000_000), st.booleans())
def test_no_version_that_knew_no_files_of_merges_told_a_commit_in_the_same_manner(
    lines: int, is_edge: bool, former_lines: int, was_edge: bool
) -> None:
    manner = CommitSource(Path("nowhere"), 1, lines)._version(is_edge)
    assert manner not in (2 * former_lines + was_edge, 4 * former_lines + 2 * was_edge + 1)
    assert (manner == CommitSource(Path("nowhere"), 1, former_lines)._version(was_edge)) == (
        (lines, is_edge) == (former_lines, was_edge)
    )


def test_binaries_modes_links_and_submodules(repo: Repo, tmp_path: Path) -> None:
    other = Repo(tmp_path / "other")
    other.commit("inner", {"x": "1"})
    repo.commit("base", {"run.sh": "echo\n", "kind": "a file\n"})
    (repo.place / "run.sh").chmod(0o755)
    (repo.place / "kind").unlink()
    (repo.place / "kind").symlink_to("run.sh")
    repo.run("submodule", "--quiet", "add", str(other.place), "sub")
    name = repo.commit("all", {"image.bin": b"\0\1\2" * 100})
    one = told(repo)[name]
    assert {it.path: it.status for it in one.files} == {
        ".gitmodules": "A", "image.bin": "A", "kind": "T", "run.sh": "M", "sub": "A",
    }  # fmt: skip
    assert "Binary files /dev/null and b/image.bin differ" in one.diff
    assert "old mode 100644\nnew mode 100755" in one.diff
    assert "+Subproject commit " in one.diff


def test_a_delta_is_cut_and_what_was_cut_is_counted(repo: Repo) -> None:
    name = repo.commit("many lines", {"a": "".join(f"{number}\n" for number in range(100))})
    one = told(repo, diff_lines=20)[name]
    assert (one.diff.count("\n") + 1, one.omitted) == (20, 86)  # six lines of head stand before the hundred
    nothing = told(repo, diff_lines=0)[name]
    assert (nothing.diff, nothing.omitted) == ("", 106)


@given(st.lists(st.text("ab\r\x0b ", max_size=8), max_size=12), st.integers(0, 15))
def test_cutting_keeps_the_first_lines_and_counts_the_others(lines: list[str], limit: int) -> None:
    kept, omitted = truncate_diff("".join(f"{line}\n" for line in lines).encode(), limit)
    assert kept == "\n".join(lines[:limit])
    assert omitted == len(lines[limit:])


def test_long_lines_and_zero_bytes_do_not_get_far(repo: Repo) -> None:
    name = repo.commit("odd", {"long": "x" * 100_000 + "\n", "zero": "text\n" * 3000 + "a\0b\n"})
    one = told(repo, diff_lines=10_000)[name]
    assert max(map(len, one.diff.split("\n"))) == MAX_DIFF_LINE_CHARS + 1
    assert "\0" not in one.diff and "+a\ufffdb" in one.diff


def test_names_of_objects_are_as_long_however_many_there_are(repo: Repo) -> None:
    name = repo.commit("a", {"a": "1\n"})
    before = told(repo)[name]
    assert "index 0000000..d00491f\n" in before.diff
    repo.run("config", "core.abbrev", "30")
    assert told(repo)[name] == before


def test_what_is_checked_out_and_staged_changes_nothing(repo: Repo) -> None:
    name = repo.commit("a", {"a": "1\n"})
    before = told(repo)[name]
    (repo.place / ".gitattributes").write_text("a binary\n")
    repo.run("add", ".gitattributes")
    assert told(repo)[name] == before
    (repo.git_directory / "index").write_bytes(b"no index at all")
    assert told(repo)[name] == before


def test_messages_in_other_encodings_and_paths_in_none(repo: Repo) -> None:
    repo.run("config", "i18n.commitEncoding", "ISO-8859-1")
    place = os.fsencode(repo.place) + b"/caf\xe9.txt"
    Path(os.fsdecode(place)).write_text("text\n")
    repo.run("add", "-A")
    repo.run("commit", "-q", "-F", "-", given="Schöne Grüße".encode("latin-1"))
    repo.run("config", "i18n.commitEncoding", "UTF-8")
    repo.run("commit", "-q", "--allow-empty", "-F", "-", given=b"broken \xff\xfe bytes")
    broken, greeting = told(repo).values()
    assert greeting.message == "Schöne Grüße"
    assert greeting.files == [FileChange("A", "caf\\xe9.txt")]
    assert greeting.problem == "1 of its paths are not valid UTF-8"
    assert broken.message.startswith("broken ") and broken.message.endswith(" bytes")
    json.dumps(broken.message).encode()


def test_commits_that_no_git_would_make(repo: Repo) -> None:
    tree = repo.run("mktree")
    text = f"tree {tree}\nauthor  <> 99999999999999999999 +0000\ncommitter A <a> 253402300800 +0000\n\n"
    name = repo.run("hash-object", "-t", "commit", "-w", "--literally", "--stdin", given=text.encode())
    repo.run("update-ref", "refs/heads/odd", name)
    one = told(repo)[name]
    assert (one.message, one.author.name) == ("", "")
    source = CommitSource(repo.git_directory, 10, 10)
    assert abs(source.listing().items[0].mtime_ns) < 2**63


def test_sha256_repositories(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo", "--object-format=sha256")
    name = repo.commit("a", {"a": "1\n"})
    assert len(name) == 64
    assert told(repo)[name].files == [FileChange("A", "a")]


def test_an_empty_repository_has_no_history(repo: Repo, tmp_path: Path) -> None:
    assert told(repo) == {}
    assert told(Repo(tmp_path / "bare", "--bare")) == {}


# --- what is missing, or too much ---


def blob(repo: Repo, name: str, path: str) -> str:
    return repo.run("rev-parse", f"{name}:{path}")


def test_without_its_objects_a_commit_keeps_message_and_paths(repo: Repo) -> None:
    first = repo.commit("first", {"a": "1\n"})
    lost = repo.commit("lost", {"a": "2\n", "b": "new\n"})
    last = repo.commit("last", {"c": "3\n"})
    repo.lose(blob(repo, lost, "b"))
    found = told(repo)
    assert list(found) == [last, lost, first]
    assert (found[lost].message, found[lost].diff, found[lost].problem) == ("lost", "", CHANGED_LINES_UNKNOWN)
    assert found[lost].files == [FileChange("M", "a"), FileChange("A", "b")]
    assert [found[it].problem for it in (first, last)] == ["", ""]


def test_without_its_tree_a_commit_keeps_its_message(repo: Repo) -> None:
    repo.commit("first", {"a": "1\n"})
    lost = repo.commit("lost", {"a": "2\n"})
    repo.commit("last", {"a": "3\n"})
    repo.lose(repo.run("rev-parse", f"{lost}^{{tree}}"))
    last, middle, first = told(repo).values()
    assert (middle.message, middle.files, middle.problem) == ("lost", [], CHANGED_FILES_UNKNOWN)
    assert (last.problem, first.problem) == (CHANGED_FILES_UNKNOWN, "")


def test_where_history_breaks_off_nothing_may_be_taken_for_gone(repo: Repo) -> None:
    first, lost, last = (repo.commit(word) for word in ("first", "lost", "last"))
    repo.lose(lost)
    source = CommitSource(repo.git_directory, 10, 10)
    listing = source.listing()
    assert [it.path for it in listing.items] in ([], [last])
    assert listing.unreadable_prefixes == [""]
    ((path, reason),) = listing.refused
    assert path == WHOLE_HISTORY and "git could not list all commits" in reason
    with pytest.raises(Unreadable):
        source.read(Item(lost, 0, 0))
    assert CommitData.from_bytes(source.read(Item(first, 0, 0))[1]).message == "first"
    source.close()


def listed(repo: Repo) -> tuple[list[str], str]:
    """What is there, and the reason that nothing else may be taken for gone."""
    listing = CommitSource(repo.git_directory, 10, 10).listing()
    ((path, reason),) = listing.refused
    assert path == WHOLE_HISTORY and listing.unreadable_prefixes == [""]
    return [it.path for it in listing.items], reason


def test_refs_to_nowhere_hide_nothing_else(repo: Repo) -> None:
    name = repo.commit("there")
    (repo.git_directory / "refs" / "heads" / "lost").write_text("1" * 40 + "\n")
    (repo.git_directory / "refs" / "heads" / "garbage").write_text("no name\n")
    names, reason = listed(repo)
    assert names == [name] and "refs/heads/lost leads to 111111111111: missing" in reason


@pytest.mark.parametrize("damage", ["missing", "damaged", "packed"])
def test_the_end_of_a_branch_that_can_not_be_read_is_told(repo: Repo, damage: str) -> None:
    first = repo.commit("first")
    repo.run("branch", "-q", "kept")
    lost = repo.commit("lost")
    if damage == "packed":
        repo.run("pack-refs", "--all")
    repo.lose(lost)
    if damage == "damaged":
        (repo.git_directory / "objects" / lost[:2] / lost[2:]).write_bytes(b"no object")
    names, reason = listed(repo)
    assert names == [first]
    assert f"(refs/heads/main leads to {lost[:12]}: missing or damaged); indexed commits were kept" in reason


@pytest.mark.parametrize("damage", ["missing", "damaged", "in a tag of a tag"])
def test_a_tag_whose_commit_can_not_be_read_is_told(repo: Repo, damage: str) -> None:
    there = [repo.commit(f"there {number}") for number in range(5)]
    repo.run("tag", "-a", "good", "-m", "Good")
    repo.run("checkout", "-q", "--detach")
    lost = repo.commit("lost")
    repo.run("tag", "-a", "v1", "-m", "One")
    if damage == "in a tag of a tag":
        repo.run("tag", "-a", "v2", "-m", "Two", "v1")
    repo.run("checkout", "-q", "main")
    repo.lose(lost)
    if damage == "damaged":
        (repo.git_directory / "objects" / lost[:2] / lost[2:]).write_bytes(b"no object")
    names, reason = listed(repo)
    assert names == there[::-1]
    named = ["v1", "v2"] if damage == "in a tag of a tag" else ["v1"]
    assert f"({', '.join(f'refs/tags/{it} leads to {lost[:12]}' for it in named)}: missing or damaged)" in reason


def test_a_tag_that_is_damaged_itself_is_told(repo: Repo) -> None:
    name = repo.commit("there")
    tags = {}
    for tag in ("a", "b", "c", "d"):
        repo.run("tag", "-a", tag, "-m", f"The tag {tag} and what is said of it")
        tags[tag] = repo.run("rev-parse", f"refs/tags/{tag}")
    for tag in ("b", "c"):
        place = repo.git_directory / "objects" / tags[tag][:2] / tags[tag][2:]
        whole = zlib.decompress(place.read_bytes())
        place.chmod(0o600)
        place.write_bytes(zlib.compress(whole.replace(b"object", b"nobody")))
    names, reason = listed(repo)
    assert names == [name]
    told = ", ".join(f"refs/tags/{it} leads to {tags[it][:12]}" for it in ("b", "c"))
    assert f"({told}: missing or damaged)" in reason


def test_a_tag_of_something_else_than_a_commit_is_no_damage(repo: Repo) -> None:
    name = repo.commit("there", {"a": "text"})
    for kind in ("blob:a", "tree:"):
        repo.run("tag", "-a", kind[:4], "-m", "Odd", f"HEAD:{kind[5:]}")
    (repo.git_directory / "refs" / "heads" / "lost").write_text("1" * 40 + "\n")
    names, reason = listed(repo)
    assert names == [name] and "(refs/heads/lost leads to 111111111111: missing or damaged)" in reason


def test_of_many_ends_that_can_not_be_read_some_are_named(repo: Repo) -> None:
    name = repo.commit("there")
    for number in range(1, 6):
        (repo.git_directory / "refs" / "tags" / f"t{number}").write_text(f"{number}" * 40 + "\n")
    names, reason = listed(repo)
    assert names == [name]
    assert "refs/tags/t1 leads to 111111111111, refs/tags/t2 leads to" in reason and "and 2 more: missing" in reason


def test_a_head_without_a_branch_that_can_not_be_read_is_told(repo: Repo) -> None:
    name = repo.commit("there")
    repo.run("checkout", "-q", "--detach")
    lost = repo.commit("lost")
    repo.lose(lost)
    names, reason = listed(repo)
    assert names == [name] and f"HEAD of a work tree leads to {lost[:12]}: missing" in reason


@pytest.mark.parametrize("letter", ["\u2028", "\x85", "\xa0"])
def test_the_name_of_a_ref_is_one_whatever_letters_it_has(repo: Repo, letter: str) -> None:
    name = repo.commit("there")
    repo.run("branch", "-q", f"odd{letter}one")
    (repo.git_directory / "refs" / "heads" / f"odd{letter}two").write_text("1" * 40 + "\n")
    names, reason = listed(repo)
    assert names == [name] and f"(refs/heads/odd{letter}two leads to 111111111111: missing or damaged)" in reason


@pytest.mark.parametrize("content", [b"", b"no name\n", b"0" * 40 + b"\n", b"\xff\0"])
def test_a_ref_that_names_nothing_is_told(repo: Repo, content: bytes) -> None:
    name = repo.commit("there")
    (repo.git_directory / "refs" / "heads" / "garbage").write_bytes(content)
    names, reason = listed(repo)
    assert names == [name] and "git could not list all commits" in reason


def test_a_tag_whose_commit_is_lost_hides_no_branch(repo: Repo) -> None:
    name = repo.commit("there")
    repo.run("checkout", "-q", "-b", "side")
    lost = repo.commit("lost")
    repo.run("tag", "-a", "-m", "One", "v1")
    repo.run("checkout", "-q", "main")
    repo.run("branch", "-q", "-D", "side")
    repo.run("tag", "blob", repo.run("hash-object", "-w", "--stdin"))
    repo.lose(lost)
    names, reason = listed(repo)
    assert names == [name] and lost[:12] in reason


def test_the_edge_of_a_shallow_clone_is_not_told_as_new(repo: Repo, tmp_path: Path) -> None:
    repo.commit("first", {"a": "1\n"})
    edge = repo.commit("edge", {"b": "1\n"})
    last = repo.commit("last", {"c": "1\n"})
    clone = Repo(tmp_path / "home")
    clone.run("clone", "-q", "--depth=2", f"file://{repo.place}", str(tmp_path / "clone"))
    shallow = Repo(tmp_path / "clone")
    found = told(shallow)
    assert list(found) == [last, edge]
    assert (found[edge].message, found[edge].files, found[edge].diff) == ("edge", [], "")
    assert found[edge].problem == PARENTS_NOT_FETCHED
    assert found[last].files == [FileChange("A", "c")]
    sizes = {it.path: it.size for it in CommitSource(shallow.git_directory, 10, 10).listing().items}
    assert sizes[last] != sizes[edge]  # when it is deepened, what is told of the edge is told anew


def test_a_diff_of_fifty_megabytes_is_ended_and_told(repo: Repo) -> None:
    small = repo.commit("small", {"a": "1\n"})
    huge = repo.commit("huge", {f"big{part}": f"{'word ' * 19}{part:03}\n" * 100_000 for part in range(5)})
    last = repo.commit("last", {"b": "1\n"})
    found = told(repo)
    assert found[huge].problem == CHANGES_TOO_LARGE
    assert len(found[huge].files) == 5
    assert found[huge].omitted > 100_000 and len(found[huge].diff) < 200 * (MAX_DIFF_LINE_CHARS + 2)
    assert found[small].diff and found[last].diff
    assert [name for name, it in found.items() if it.is_cut] == [huge]


def _forged(repo: Repo, message: bytes = b"words", name: bytes = b"A", header: bytes = b"", tree: str = "") -> str:
    """A commit on top of the last one that no git would make."""
    head = f"tree {tree or repo.run('rev-parse', 'HEAD^{tree}')}\nparent {repo.run('rev-parse', 'HEAD')}\n".encode()
    people = b"".join(role + b" " + name + b" <a@b> 1700000000 +0000\n" for role in (b"author", b"committer"))
    given = head + people + header + b"\n" + message
    commit = repo.run("hash-object", "-t", "commit", "-w", "--literally", "--stdin", given=given)
    repo.run("update-ref", "refs/heads/forged", commit)
    return commit


def _long_name_of_a_file(repo: Repo) -> str:
    blob = repo.run("hash-object", "-w", "--stdin", given=b"text")
    entry = b"100644 " + b"n" * 1_000_000 + b"\0" + bytes.fromhex(blob)
    return repo.run("hash-object", "-t", "tree", "-w", "--literally", "--stdin", given=entry)


def _long_line(repo: Repo) -> str:
    blob = repo.run("hash-object", "-w", "--stdin", given=b"y" * 30_000_000)
    return repo.run("mktree", given=f"100644 blob {blob}\tbig.txt\n".encode())


@pytest.mark.parametrize(
    ("forge", "problem"),
    [
        (lambda repo: _forged(repo, message=b"words\n\n" + b"and more " * 2_000_000), HEADER_TOO_LONG),
        (lambda repo: _forged(repo, message=b"words" * 4_000_000), HEADER_TOO_LONG),
        (lambda repo: _forged(repo, name=b"A" * 17_000_000), HEADER_TOO_LONG),
        (lambda repo: _forged(repo, header=b"gpgsig " + b"x" * 17_000_000 + b"\n"), ""),
        (lambda repo: _forged(repo, tree=_long_name_of_a_file(repo)), ""),
        (lambda repo: _forged(repo, tree=_long_line(repo)), CHANGES_TOO_LARGE),
    ],
    ids=["message", "message of one line", "name", "header", "name of a file", "line"],
)
def test_a_commit_that_is_too_long_costs_no_other(repo: Repo, forge: Callable[[Repo], str], problem: str) -> None:
    first = repo.commit("first", {"a": "1\n"})
    forged = forge(repo)
    last = repo.commit("last", {"b": "1\n"})
    found: dict[str, CommitData] = {}
    thread = threading.Thread(target=lambda: found.update(told(repo)), daemon=True)
    thread.start()
    thread.join(120)
    assert set(found) == {first, forged, last}, "reading came to no end"
    assert found[forged].problem == problem and found[forged].parents == [first]
    assert found[forged].message.startswith("words") or found[forged].author.name.startswith("AAA")
    assert found[first].diff and found[last].diff and not found[last].problem


def test_also_one_over_which_git_ends(repo: Repo) -> None:
    repo.commit("first", {"a": "1\n"})
    forged = _forged(repo, message=b"words " * 4_000_000, tree="1" * 40)
    found = told(repo)
    assert found[forged].problem == HEADER_TOO_LONG and found[forged].message.startswith("words")


def _tree_bomb(repo: Repo, levels: int) -> str:
    """A commit with ten to the power of so many files, in a tree whose folders are all the same."""
    blob = repo.run("hash-object", "-w", "--stdin", given=b"text\n")
    tree = repo.run("mktree", given="".join(f"100644 blob {blob}\tf{n}\n" for n in range(10)).encode())
    for _ in range(levels - 1):
        tree = repo.run("mktree", given="".join(f"040000 tree {tree}\td{n}\n" for n in range(10)).encode())
    commit = repo.run("commit-tree", "-p", "HEAD", "-m", "bomb", tree)
    repo.run("update-ref", "HEAD", commit)
    return commit


def test_a_tree_with_more_paths_than_memory_holds(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dowse.git.runner.MAX_GIT_HEAP_BYTES", 60_000_000)
    first = repo.commit("first", {"a": "1\n"})
    bomb = _tree_bomb(repo, 8)
    found = told(repo)
    assert found[bomb].message == "bomb" and not found[bomb].files
    # Only Linux limits the memory of a process that runs; elsewhere its time ends it.
    assert found[bomb].problem == (GIT_OUT_OF_MEMORY if sys.platform == "linux" else CHANGED_FILES_UNKNOWN)
    assert found[first].diff and not found[first].problem


def test_its_paths_are_not_listed_to_look_for_one(repo: Repo) -> None:
    repo.commit("first", {"a": "1\n"})
    _tree_bomb(repo, 7)
    assert files_of_head(repo.git_directory) == []
    assert is_in_head(repo.git_directory, "d3/d4") and is_in_head(repo.git_directory, "d1/d1/d1/d1/d1/d1/f9")
    assert not is_in_head(repo.git_directory, "d3/nothing") and not is_in_head(repo.git_directory, "")


def test_a_thread_that_fails_tells_whoever_waits(repo: Repo) -> None:
    names = [repo.commit(str(number), {"a": f"{number}\n"}) for number in range(3)]

    def fail(directory: str) -> DiffTreeProcess:
        raise RuntimeError("out of ideas")

    reader = CommitReader(str(repo.git_directory), 200, processes=1, open_channel=fail)
    failures: list[str] = []

    def ask() -> None:
        for name in names:
            try:
                reader.read_commit(name)
            except RuntimeError as error:
                failures.append(str(error))

    reader.request(names[:2])
    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(60)
    assert failures == ["out of ideas"] * 3
    reader.close()


def test_ten_thousand_files_in_one_commit(repo: Repo) -> None:
    files = "".join(f"M 644 inline d{n % 100}/f{n}\ndata 2\n{n % 10}\n\n" for n in range(10_000))
    head = "commit refs/heads/main\ncommitter Ann <ann@example.org> 1700000000 +0000\ndata 4\nmany\n"
    repo.run("fast-import", "--quiet", given=(head + files).encode())
    (one,) = told(repo).values()
    assert len(one.files) == 10_000
    assert one.omitted > 10_000


def test_a_git_process_that_is_killed_costs_nothing(repo: Repo) -> None:
    names = [repo.commit(str(number), {"a": f"{number}\n"}) for number in range(6)]
    opened: list[DiffTreeProcess] = []

    def open_channel(directory: str) -> DiffTreeProcess:
        opened.append(DiffTreeProcess(directory))
        return opened[-1]

    reader = CommitReader(str(repo.git_directory), 200, processes=1, open_channel=open_channel)
    try:
        assert CommitData.from_bytes(reader.read_commit(names[0])).diff
        os.kill(opened[0]._process.pid, signal.SIGKILL)
        opened[0]._process.wait()
        assert all(CommitData.from_bytes(reader.read_commit(name)).diff for name in names)
        assert len(opened) == 2
    finally:
        reader.close()


def test_a_process_that_says_nothing_is_ended(repo: Repo) -> None:
    name = repo.commit("a", {"a": "1\n"})
    other = repo.commit("b", {"a": "2\n"})

    def silent(directory: str) -> DiffTreeProcess:
        channel = DiffTreeProcess(directory, timeout_s=0.05)
        os.kill(channel._process.pid, signal.SIGSTOP)
        return channel

    reader = CommitReader(str(repo.git_directory), 200, processes=1, open_channel=silent)
    try:
        assert [CommitData.from_bytes(reader.read_commit(it)).problem for it in (name, other)] == [
            CHANGED_LINES_UNKNOWN,
            CHANGED_LINES_UNKNOWN,
        ]
    finally:
        reader.close()


def test_closing_ends_threads_and_processes_and_whoever_waits(repo: Repo) -> None:
    name = repo.commit("a", {"a": "1\n"})
    opened: list[DiffTreeProcess] = []
    asked = threading.Event()

    def stopped(directory: str) -> DiffTreeProcess:
        opened.append(DiffTreeProcess(directory))
        os.kill(opened[-1]._process.pid, signal.SIGSTOP)
        asked.set()
        return opened[-1]

    reader = CommitReader(str(repo.git_directory), 200, processes=1, open_channel=stopped)
    refused: list[Unreadable] = []

    def wait() -> None:
        try:
            reader.read_commit(name)
        except Unreadable as error:
            refused.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    assert asked.wait(30)
    reader.close()
    thread.join(30)
    assert refused and not refused[0].lasting
    assert all(it._process.poll() is not None for it in opened)
    assert not [it for it in threading.enumerate() if it.name == "dowse-git"]


def test_what_is_no_name_of_a_commit_is_not_asked_for(repo: Repo) -> None:
    name = repo.commit("a")
    source = CommitSource(repo.git_directory, 10, 10)
    try:
        for path in ("", "HEAD", "--output=x", name[:10], name + "\n", name.upper()):
            with pytest.raises(Unreadable):
                source.read(Item(path, 0, 0))
        with pytest.raises(Unreadable):
            source.read(Item("0" * 40, 0, 0))
        assert CommitData.from_bytes(source.read(Item(name, 0, 0))[1]).message == "a"
    finally:
        source.close()


def test_many_threads_read_what_one_would(repo: Repo) -> None:
    from concurrent.futures import ThreadPoolExecutor

    for number in range(60):
        repo.commit(str(number), {f"f{number % 7}": f"{number}\n"})
    alone = told(repo)
    source = CommitSource(repo.git_directory, 1000, 200)
    try:
        with ThreadPoolExecutor(4) as pool:
            read = [CommitData.from_bytes(data) for _, data in pool.map(source.read, source.listing().items)]
    finally:
        source.close()
    assert read == list(alone.values())
