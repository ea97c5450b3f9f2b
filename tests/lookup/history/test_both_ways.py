"""Whatever the shape of a history, the index and git itself tell the same of it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from recorded import HISTORY, stored

from dowse.ingest.sources.git_log import GitLog
from dowse.lookup.history import HistoryQuery, StoredRenameHistory, filter_commits, find_commits, follow_renames
from imported import START, Made, repository

NAMES = ["a.py", "b.py", "d/a.py", "d/e/ö.py", "-c.py"]


@st.composite
def histories(draw: st.DrawFn) -> list[Made]:
    """Branches, merges, renames, deletions, clocks that stand still or go backwards; every content is unlike every
    other."""
    trees: list[dict[str, str]] = [{}]
    made: list[Made] = []
    for number in range(1, draw(st.integers(2, 9)) + 1):
        parents = tuple(draw(st.lists(st.integers(1, number - 1), min_size=1, max_size=2, unique=True)) if made else ())
        tree = dict(trees[parents[0]]) if parents else {}
        for other in parents[1:]:
            tree = {**trees[other], **tree}
        commit = _change(draw, number, tree)
        merged = {name: text for name, text in tree.items() if len(parents) > 1}
        branch = "main" if number == 1 else f"b{number}"
        made.append(
            Made(
                f"commit {number}",
                {**merged, **commit.files},
                () if merged else commit.renames,
                parents,
                branch,
                at=START + draw(st.integers(-2, 2)),
            )
        )
        for old, new in made[-1].renames:
            tree[new] = tree.pop(old)
        for name, text in commit.files.items():
            tree.pop(name, None) if text is None else tree.update({name: text})
        trees.append(tree)
    return made


def _change(draw: st.DrawFn, number: int, tree: dict[str, str]) -> Made:
    free, used = sorted(set(NAMES) - set(tree)), sorted(tree)
    kind = draw(st.sampled_from(["write", "rename", "delete"]))
    if kind == "rename" and free and used:
        return Made("", renames=[(draw(st.sampled_from(used)), draw(st.sampled_from(free)))])
    if kind == "delete" and used:
        return Made("", {draw(st.sampled_from(used)): None})
    word = f"w{number}"
    content = "".join(f"{word} {line} {word * 3}\n" for line in range(6))
    return Made("", {draw(st.sampled_from(NAMES)): content})


@contextmanager
def made(commits: list[Made]) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        repository(Path(folder), commits, check_out=False)
        yield Path(folder) / ".git"


@settings(max_examples=25)
@given(histories())
def test_git_and_the_index_agree(past: list[Made]) -> None:
    with made(past) as git_directory:
        log, traces = GitLog(git_directory), StoredRenameHistory(stored(git_directory).view(), HISTORY)
        for name in NAMES:
            assert log.commits_touching(name) == traces.commits_touching(name)
            assert log.arrivals(name) == traces.arrivals(name)
            assert log.departures(name) == traces.departures(name)
            assert follow_renames(log, name) == follow_renames(traces, name)


@settings(max_examples=25)
@given(histories(), st.integers(1, 4))
def test_no_parent_comes_before_its_child_of_the_same_moment(past: list[Made], limit: int) -> None:
    with made(past) as git_directory:
        log, store = GitLog(git_directory), stored(git_directory)
        parents = log.parents()
        for name in NAMES:
            found = find_commits(store.view(), HISTORY, HistoryQuery(name)).commits
            places = {it.path: place for place, it in enumerate(found)}
            moments = {it.path: it.timestamp_ns for it in found}
            assert list(moments.values()) == sorted(moments.values(), reverse=True)
            related = [(it, by) for it in places for by in parents[it] if by in places and moments[it] == moments[by]]
            assert all(places[it] < places[by] for it, by in related)
            life = follow_renames(log, name)
            for most in (limit, None):
                first = [it.path for it in found[:most]]
                assert [
                    it.path for it in find_commits(store.view(), HISTORY, HistoryQuery(name), most).commits
                ] == first
                told = filter_commits(log.commits(life.names), life, HistoryQuery(name), log, most)
                assert [it.path for it in told.commits] == first


@settings(max_examples=25)
@given(st.lists(st.tuples(st.sampled_from(["write", "rename"]), st.integers(0, 99), st.integers(0, 99)), max_size=9))
def test_a_file_is_followed_by_what_it_is_and_not_by_its_name(steps: list[tuple[str, int, int]]) -> None:
    """The test knows which file is which, and what happened to each."""
    names: dict[str, int] = {}
    shaped: dict[int, list[int]] = {}
    commits: list[Made] = []
    for number, (kind, first, second) in enumerate(steps):
        free, used = sorted(set(NAMES) - set(names)), sorted(names)
        if kind == "rename" and free and used:
            old, new = used[first % len(used)], free[second % len(free)]
            names[new] = names.pop(old)
            commits.append(Made(str(number), renames=[(old, new)]))
        else:
            new = NAMES[first % len(NAMES)]
            names.setdefault(new, number)
            content = "".join(f"v{number} {line}\n" for line in range(20))
            commits.append(Made(str(number), {new: content}))
        shaped.setdefault(names[new], []).append(number)
    with made(commits) as git_directory:
        found = GitLog(git_directory)
        titles = {it.path: int(it.title) for it in found.commits()}
        for name, file in names.items():
            life = follow_renames(found, name)
            commits_of_it = found.commits_touching(name) if life.commits is None else life.commits
            assert sorted(titles[it] for it in commits_of_it) == shaped[file]
