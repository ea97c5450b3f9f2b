"""Where a work tree stands, in repositories of all sorts."""

from __future__ import annotations

from pathlib import Path

from dowse.git.worktree import BranchStatus, find_checkout, read_branch_status
from imported import Made, repository, run


def status(place: Path) -> BranchStatus:
    checkout = find_checkout(place)
    assert checkout is not None
    return read_branch_status(checkout)


def test_the_main_branch_is_what_the_remote_calls_so(tmp_path: Path) -> None:
    repository(tmp_path / "origin", [Made("one", {"a.txt": "1\n"}, branch="trunk")], check_out=False)
    run(tmp_path / "origin", "symbolic-ref", "HEAD", "refs/heads/trunk")
    run(tmp_path, "clone", "-q", "origin", "work")
    run(tmp_path / "work", "checkout", "-q", "-b", "main")
    run(tmp_path / "work", "commit", "-q", "--allow-empty", "-m", "x")
    found = status(tmp_path / "work")
    assert (found.current, found.main, found.compared) == ("main", "trunk", "origin/trunk")
    assert (found.behind, found.ahead) == (0, 1)


def test_without_a_usual_branch_nothing_is_compared(tmp_path: Path) -> None:
    repository(tmp_path, [Made("one", {"a.txt": "1\n"}, branch="odd")], check_out=False)
    run(tmp_path, "symbolic-ref", "HEAD", "refs/heads/odd")
    found = status(tmp_path)
    assert (found.current, found.main, found.behind, found.ahead) == ("odd", "", None, None)


def test_master_will_do_and_histories_without_a_common_commit(tmp_path: Path) -> None:
    repository(
        tmp_path,
        [Made("one", {"a.txt": "1\n"}, branch="master"), Made("two", {"b.txt": "2\n"}, branch="other", parents=())],
        check_out=False,
    )
    run(tmp_path, "symbolic-ref", "HEAD", "refs/heads/other")
    found = status(tmp_path)
    assert (found.main, found.behind, found.ahead) == ("master", 1, 1)


def test_a_bare_repository_has_nothing_uncommitted(tmp_path: Path) -> None:
    repository(tmp_path / "a", [Made("one", {"a.txt": "1\n"})])
    run(tmp_path, "clone", "-q", "--bare", "a", "bare.git")
    found = status(tmp_path / "bare.git")
    assert (found.current, found.dirty, found.problem, found.behind) == ("main", (), "", 0)


def test_a_linked_work_tree_has_a_branch_and_changes_of_its_own(tmp_path: Path) -> None:
    repository(tmp_path / "a", [Made("one", {"a.txt": "1\n"}), Made("two", {"a.txt": "2\n"})])
    run(tmp_path / "a", "worktree", "add", "-q", "-b", "side", "../linked", "HEAD~1")
    (tmp_path / "linked" / "a.txt").write_text("3\n")
    found = status(tmp_path / "linked")
    assert (found.current, found.behind, found.dirty) == ("side", 1, ("a.txt",))
    assert status(tmp_path / "a").dirty == ()


def test_filters_and_monitors_are_not_run(tmp_path: Path) -> None:
    mark, top = tmp_path / "mark", tmp_path / "top"
    repository(top, [Made("one", {"a.txt": "1\n", "b.txt": "1\n"})])
    for name in ("filter.trap.clean", "filter.trap.process", "core.fsmonitor", "diff.external", "core.pager"):
        run(top, "config", name, f"echo ran >> {mark}; cat")
    (top / ".gitattributes").write_text("* filter=trap\n")
    (top / "a.txt").write_text("2\n")
    assert status(top).dirty == (".gitattributes", "a.txt")
    assert not mark.exists()
