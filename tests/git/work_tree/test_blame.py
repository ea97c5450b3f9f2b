"""Who wrote each line, in honest repositories and in hostile ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dowse.errors import BadInput
from dowse.git.blame import MAX_BLAMED_LINES, UNCOMMITTED_ORIGIN, Blame, blame, map_lines
from dowse.git.worktree import find_checkout
from dowse.tools.codesearch_git import blamed_json
from imported import Made, repository, run


def blamed(top: Path, path: str, first: int = 1, last: int = 10**9) -> Blame:
    checkout = find_checkout(top)
    assert checkout is not None
    return blame(checkout.git_directory, path, first, last, checkout.current(path))


def test_a_line_knows_its_commit_and_where_it_stood_in_it(tmp_path: Path) -> None:
    long = "".join(f"line {number}\n" for number in range(10))
    hashes = repository(
        tmp_path,
        [Made("make", {"old ö\t.txt": long}), Made("move and add", {}, [("old ö\t.txt", "new.txt")])],
    )
    (tmp_path / "new.txt").write_text("first\n" + long)
    found = blamed(tmp_path, "new.txt", 1, 2)
    assert found.lines[0].writing == UNCOMMITTED_ORIGIN
    second = found.lines[1].writing
    assert (second.commit, second.path, second.line) == (hashes[0], "old ö\t.txt", 1)
    assert (second.author, second.email) == ("Ann", "ann@example.org")
    assert found.total == 11


def test_only_so_many_lines_at_a_time(tmp_path: Path) -> None:
    count = MAX_BLAMED_LINES + 7
    repository(tmp_path, [Made("make", {"a.txt": "x\n" * count})])
    found = blamed(tmp_path, "a.txt")
    assert (len(found.lines), found.total, found.cut) == (MAX_BLAMED_LINES, count, 7)
    assert blamed(tmp_path, "a.txt", count).cut == 0


@pytest.mark.parametrize("path", ["-x.txt", "--output=y", ":(top)a.txt", "*.txt", "a b'.txt", "a\nb", "ü.txt", '"q"'])
def test_odd_names_are_names(tmp_path: Path, path: str) -> None:
    (first,) = repository(tmp_path, [Made("make", {path: "one\n", "other.txt": "two\n"})])
    (line,) = blamed(tmp_path, path).lines
    assert (line.content, line.writing.commit, line.writing.path) == ("one", first, path)


@pytest.mark.parametrize("path", ["nope.txt", "d", "d/", "*.txt", "", "link.txt"])
def test_what_is_no_file_is_refused(tmp_path: Path, path: str) -> None:
    repository(tmp_path, [Made("make", {"0.py": "zero\n", "d/a.txt": "one\n"})])
    (tmp_path / "link.txt").symlink_to("d/a.txt")
    with pytest.raises(BadInput, match="not a file"):
        blamed(tmp_path, path)


def test_bare_repositories_linked_work_trees_and_detached_heads(tmp_path: Path) -> None:
    first, second = repository(tmp_path / "a", [Made("one", {"a.txt": "1\n"}), Made("two", {"a.txt": "1\n2\n"})])
    run(tmp_path, "clone", "-q", "--bare", "a", "bare.git")
    assert [it.writing.commit for it in blamed(tmp_path / "bare.git", "a.txt").lines] == [first, second]
    run(tmp_path / "a", "worktree", "add", "-q", "--detach", "../linked", first)
    assert [it.writing.commit for it in blamed(tmp_path / "linked", "a.txt").lines] == [first]


def test_people_are_told_alike_whatever_encoding_logs_have(tmp_path: Path) -> None:
    repository(tmp_path, [Made("one", {"a.txt": "1\n"}, author="Jörg <joerg@example.org>")])
    run(tmp_path, "config", "i18n.logOutputEncoding", "utf-16")
    (line,) = blamed(tmp_path, "a.txt").lines
    assert (line.writing.author, line.writing.email) == ("Jörg", "joerg@example.org")


def test_a_file_that_is_deleted_in_the_work_tree_is_told_as_committed(tmp_path: Path) -> None:
    (first,) = repository(tmp_path, [Made("one", {"a.txt": "1\n"})])
    (tmp_path / "a.txt").unlink()
    assert [it.writing.commit for it in blamed(tmp_path, "a.txt").lines] == [first]


def test_nothing_a_repository_configures_is_run_or_needed(tmp_path: Path) -> None:
    """Filters, text converters and a list of commits to pass over that is not there."""
    mark, top = tmp_path / "mark", tmp_path / "top"
    (first,) = repository(top, [Made("one", {"a.txt": "1\n"})])
    trap = f"echo ran >> {mark}; cat"
    for name in ("filter.trap.clean", "filter.trap.smudge", "diff.trap.textconv", "core.fsmonitor", "core.pager"):
        run(top, "config", name, trap)
    run(top, "config", "blame.ignoreRevsFile", "missing")
    run(top, "config", "core.worktree", "/")
    (top / ".gitattributes").write_text("* filter=trap diff=trap\n")
    (top / ".git" / "info").mkdir(exist_ok=True)
    (top / ".git" / "info" / "attributes").write_text("* filter=trap diff=trap\n")
    (top / "a.txt").write_text("1\n2\n")
    assert [it.writing.commit for it in blamed(top, "a.txt").lines] == [first, ""]
    assert not mark.exists()


@pytest.mark.parametrize(("moment", "told"), [("99999999999999", 9e9), ("soon", 0.0)])
def test_a_commit_may_claim_any_time(tmp_path: Path, moment: str, told: float) -> None:
    repository(tmp_path, [Made("one", {"a.txt": "1\n"})])
    tree = run(tmp_path, "rev-parse", "HEAD^{tree}").strip()
    text = f"tree {tree}\nauthor A <a@a> {moment} +0000\ncommitter A <a@a> 1700000000 +0000\n\nodd\n"
    name = run(tmp_path, "hash-object", "-t", "commit", "-w", "--stdin", "--literally", given=text.encode()).strip()
    run(tmp_path, "update-ref", "refs/heads/main", name)
    (line,) = blamed(tmp_path, "a.txt").lines
    assert (line.writing.commit, line.writing.at) == (name, told)
    assert blamed_json(line)["hash"] == name


def test_where_the_last_commit_can_not_be_read_nothing_counts_as_not_committed(tmp_path: Path) -> None:
    repository(tmp_path, [Made("one", {"a.txt": "1\n"})])
    tree = run(tmp_path, "rev-parse", "HEAD^{tree}").strip()
    (tmp_path / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    with pytest.raises(BadInput, match="not a tree"):
        blamed(tmp_path, "a.txt")


def test_before_the_first_commit_nothing_is_committed(tmp_path: Path) -> None:
    run(tmp_path, "init", "-q")
    (tmp_path / "a.txt").write_text("1\n")
    assert [it.writing for it in blamed(tmp_path, "a.txt").lines] == [UNCOMMITTED_ORIGIN]


def test_large_files_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither what the last commit has nor what the work tree has, which must not be taken for a file that is gone."""
    repository(tmp_path, [Made("one", {"a.txt": "1\n" * 40, "b.txt": "1\n"})])
    (tmp_path / "a.txt").write_text("1\n")
    (tmp_path / "b.txt").write_text("1\n" * 40)
    monkeypatch.setattr("dowse.git.blame.MAX_FILE_BYTES", 50)
    monkeypatch.setattr("dowse.git.worktree.MAX_CHECKOUT_FILE_BYTES", 50)
    for path in ("a.txt", "b.txt"):
        with pytest.raises(BadInput, match="80 bytes; files over 50 bytes are not compared"):
            blamed(tmp_path, path)


def test_people_are_told_as_commits_name_them(tmp_path: Path) -> None:
    """Whatever a repository says who they are, in a bare one or by its configuration."""
    mailmap = "Other <other@example.org> <ann@example.org>\n"
    repository(tmp_path / "a", [Made("one", {"a.txt": "1\n", ".mailmap": mailmap})])
    run(tmp_path, "clone", "-q", "--bare", "a", "bare.git")
    run(tmp_path / "a", "config", "mailmap.file", "../.mailmap")
    for place in (tmp_path / "a", tmp_path / "bare.git"):
        (line,) = blamed(place, "a.txt").lines
        assert (line.writing.author, line.writing.email) == ("Ann", "ann@example.org")


@given(st.lists(st.sampled_from([b"a", b"b", b"c"])), st.lists(st.sampled_from([b"a", b"b", b"c"])))
def test_lines_are_matched_with_equal_ones_in_order(before: list[bytes], after: list[bytes]) -> None:
    places = map_lines(before, after)
    assert len(places) == len(after)
    kept = [it for it in places if it]
    assert kept == sorted(set(kept))
    assert all(before[place - 1] == after[at] for at, place in enumerate(places) if place)
    if before == after:
        assert places == list(range(1, len(after) + 1))
