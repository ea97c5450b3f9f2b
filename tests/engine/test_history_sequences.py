"""Whatever is done to a repository between two runs, the index is what a fresh one would be."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from subprocess import CalledProcessError

import pytest

from dowse.config import Settings
from dowse.engine import Engine
from dowse.ingest.sources.base import count_left_out as left_out_by
from dowse.model import Query, Scope
from gits import START, Repo

Step = Callable[[Repo, random.Random], object]


def file(rng: random.Random) -> dict[str, str | bytes]:
    lines = "".join(f"line {rng.randrange(9)}\n" for _ in range(rng.randrange(1, 12)))
    return {f"{rng.choice(('src', 'docs'))}/f{rng.randrange(4)}.{rng.choice(('py', 'md'))}": lines}


def some(repo: Repo, rng: random.Random, kind: str) -> str:
    names = repo.run("for-each-ref", "--format=%(refname)", f"refs/{kind}").splitlines()
    return rng.choice(names)


def commit(repo: Repo, rng: random.Random) -> None:
    repo.commit(f"commit {rng.random()}", file(rng))


def back_dated(repo: Repo, rng: random.Random) -> None:
    repo.commit(f"old {rng.random()}", file(rng), at=START - rng.randrange(10**8))


def back_dated_in_a_row(repo: Repo, rng: random.Random) -> None:
    for _ in range(3):
        back_dated(repo, rng)


def amend(repo: Repo, rng: random.Random) -> None:
    repo.commit(f"amended {rng.random()}", file(rng), "--amend")


def branch(repo: Repo, rng: random.Random) -> None:
    repo.run("checkout", "-q", "-b", f"b{rng.random()}", rng.choice(["HEAD", "HEAD~1", "HEAD~2"]))
    commit(repo, rng)


def switch(repo: Repo, rng: random.Random) -> None:
    repo.run("checkout", "-q", some(repo, rng, "heads").removeprefix("refs/heads/"))


def delete_branch(repo: Repo, rng: random.Random) -> None:
    repo.run("branch", "-q", "-D", some(repo, rng, "heads").removeprefix("refs/heads/"))


def tag(repo: Repo, rng: random.Random) -> None:
    options = rng.choice([(), ("-a", "-m", "annotated")])
    repo.run("tag", *options, f"t{rng.random()}", rng.choice(["HEAD", "HEAD~1"]))


def delete_tag(repo: Repo, rng: random.Random) -> None:
    repo.run("tag", "-d", some(repo, rng, "tags").removeprefix("refs/tags/"))


def merge(repo: Repo, rng: random.Random) -> None:
    try:
        repo.run("merge", "-q", "-X", "ours", "-m", f"merge {rng.random()}", some(repo, rng, "heads"))
    except CalledProcessError:
        repo.run("reset", "-q", "--hard")


def rebase(repo: Repo, rng: random.Random) -> None:
    try:
        repo.run("rebase", "-q", "-X", "theirs", some(repo, rng, "heads"))
    except CalledProcessError:
        repo.run("rebase", "--abort")


def reset(repo: Repo, rng: random.Random) -> None:
    repo.run("reset", "-q", "--hard", "HEAD~1")


def detach(repo: Repo, rng: random.Random) -> None:
    repo.run("checkout", "-q", "--detach")
    commit(repo, rng)


def fetch(repo: Repo, rng: random.Random) -> None:
    upstream = Repo(repo.place.parent / "upstream")
    upstream.now = repo.now
    for _ in range(rng.randrange(1, 4)):
        commit(upstream, rng)
    repo.run("fetch", "-q", "--force", str(upstream.place), "+refs/heads/*:refs/remotes/up/*")


def linked(repo: Repo, rng: random.Random) -> None:
    place = repo.place.parent / f"linked{rng.random()}"
    repo.run("worktree", "add", "-q", "--detach", str(place))
    other = Repo(place)
    other.now = repo.now
    commit(other, rng)


def unlink(repo: Repo, rng: random.Random) -> None:
    trees = repo.run("worktree", "list", "--porcelain").split("worktree ")[2:]
    repo.run("worktree", "remove", "--force", rng.choice(trees).splitlines()[0])


def gc(repo: Repo, rng: random.Random) -> None:
    repo.run("reflog", "expire", "--expire=now", "--all")
    repo.run("gc", "-q", "--prune=now")


def pack(repo: Repo, rng: random.Random) -> None:
    repo.run("pack-refs", "--all")


STEPS: tuple[Step, ...] = (
    commit, commit, commit, back_dated, back_dated_in_a_row, amend, branch, switch, delete_branch, tag, delete_tag,
    merge, rebase, reset, detach, fetch, linked, unlink, gc, pack,
)  # fmt: skip


def opened(tmp_path: Path, name: str, **changes: object) -> Engine:
    settings = Settings(encoder="none", data_dir=tmp_path / "data", workers=1, **changes)  # type: ignore[arg-type]
    return Engine(settings, tmp_path / name / "index.db", create=True)


def state(engine: Engine) -> tuple[object, ...]:
    """All that two equal indexes have in common, besides when they were made."""
    commits = Scope(kinds=("commit",))
    chunks = [(it.record.path, it.chunk) for it in engine.export() if it.record.kind == "commit"]
    records = [
        (it.path, it.title, it.timestamp_ns, it.digest, dict(it.facets))
        for it in engine._core.store.catalog.select(commits)
    ]
    links = [engine._core.store.catalog.links(it) for it in engine._core.store.catalog.select(commits)]
    listed = [it.listed for it in engine.histories.collections()]
    return chunks, sorted(records, key=str), sorted(map(str, links)), listed


def fresh(tmp_path: Path, root: Path, name: str, **changes: object) -> tuple[object, ...]:
    with opened(tmp_path, name, **changes) as engine:
        engine.index([root])
        engine.histories.index_history()
        return state(engine)


def reachable(repo: Repo) -> set[str]:
    heads = [it.split()[0] for it in repo.run("worktree", "list", "--porcelain").split("HEAD ")[1:]]
    return set(repo.run("rev-list", "--branches", "--tags", "--remotes", *heads).split())


@pytest.mark.parametrize("seed", range(4))
def test_any_sequence_of_steps(tmp_path: Path, root: Path, seed: int) -> None:
    rng = random.Random(seed)
    repo = Repo(root)
    for _ in range(3):
        commit(repo, rng)
    with opened(tmp_path, "index") as engine:
        engine.index([root])
        engine.histories.index_history()
        for number in range(3):
            done = []
            for step in rng.choices(STEPS, k=rng.randrange(1, 5)):
                with suppress(CalledProcessError, IndexError):
                    step(repo, rng)
                    done.append(step.__name__)
            # Few commits come in with a question, everything with a run; one must not keep the other from being right.
            if rng.random() < 0.5:
                engine.search(Query("line"))
            if rng.random() < 0.5 or engine.histories.outdated_histories():
                engine.histories.index_history()
            names = {it.path for it in engine._core.store.catalog.select(Scope(kinds=("commit",)))}
            assert names == reachable(repo), done
            assert state(engine) == fresh(tmp_path, root, f"fresh{number}"), done
        assert engine.histories.index_history().indexed == 0


@pytest.mark.parametrize("by_a_question", [False, True])
def test_a_history_that_is_cut_follows_the_newest(tmp_path: Path, root: Path, by_a_question: bool) -> None:
    rng = random.Random(1)
    repo = Repo(root)
    for _ in range(5):
        commit(repo, rng)
    with opened(tmp_path, "index", max_commits=5, freshness_timeout_ms=10_000) as engine:
        engine.index([root])
        engine.histories.index_history()
        for beyond in range(1, 4):
            commit(repo, rng)
            if by_a_question:
                assert not engine.search(Query("line")).completeness.disk_freshness.sentences()
            else:
                report = engine.histories.index_history()
                # The one that is the first beyond now is among what is skipped.
                assert (report.indexed, report.skipped, report.unchanged, len(report.notes)) == (1, 1, 4, 1)
            assert not engine.histories.outdated_histories()
            assert engine.history.commit_count() == 5
            assert f"5 of {5 + beyond} commits indexed, {beyond} skipped" in engine.completeness().sentence(0)
            assert state(engine) == fresh(tmp_path, root, f"fresh{beyond}", max_commits=5)


@pytest.mark.parametrize("seed", range(4))
def test_any_sequence_of_steps_in_a_history_that_is_cut(tmp_path: Path, root: Path, seed: int) -> None:
    rng = random.Random(seed)
    repo = Repo(root)
    for _ in range(6):
        commit(repo, rng)
    with opened(tmp_path, "index", max_commits=6, freshness_timeout_ms=10_000) as engine:
        engine.index([root])
        engine.histories.index_history()
        for number in range(3):
            done = []
            for step in rng.choices(STEPS, k=rng.randrange(1, 4)):
                with suppress(CalledProcessError, IndexError):
                    step(repo, rng)
                    done.append(step.__name__)
            engine.search(Query("line"))
            if engine.histories.outdated_histories():
                engine.histories.index_history()
            assert state(engine) == fresh(tmp_path, root, f"fresh{number}", max_commits=6), done
            left_out = len(reachable(repo)) - engine.history.commit_count()
            assert sum(map(left_out_by, engine.status().skipped)) == left_out, done


@pytest.mark.parametrize("max_commits", [100, 8])
def test_what_back_dated_commits_lead_to_stays_and_counts_once(tmp_path: Path, root: Path, max_commits: int) -> None:
    rng = random.Random(3)
    repo = Repo(root)
    for _ in range(10):
        commit(repo, rng)
    repo.run("checkout", "-q", "-b", "work")
    commit(repo, rng)
    behind = repo.run("rev-parse", "HEAD")
    with opened(tmp_path, "index", max_commits=max_commits, freshness_timeout_ms=10_000) as engine:
        engine.index([root])
        engine.histories.index_history()
        steps: tuple[Step, ...] = (
            back_dated_in_a_row,  # from which git does not find the way to those before
            lambda repo, rng: repo.run("branch", "again", behind),
            lambda repo, rng: repo.run("branch", "-D", "again"),
        )
        for number, step in enumerate(steps):
            step(repo, rng)
            assert not engine.search(Query("line")).completeness.disk_freshness.sentences()
            assert state(engine) == fresh(tmp_path, root, f"fresh{number}", max_commits=max_commits)
            left_out = sum(map(left_out_by, engine.status().skipped))
            assert engine.history.commit_count() + left_out == len(reachable(repo)) == 14


def test_a_shallow_clone_that_is_deepened(tmp_path: Path, root: Path) -> None:
    rng = random.Random(2)
    upstream = Repo(tmp_path / "upstream")
    for _ in range(6):
        commit(upstream, rng)
    Repo(tmp_path / "home").run("clone", "-q", "--depth=2", f"file://{upstream.place}", str(root))
    clone = Repo(root)
    with opened(tmp_path, "index") as engine:
        engine.index([root])
        assert engine.histories.index_history().indexed == 2
        for number, how in enumerate(("--deepen=2", "--unshallow")):
            clone.run("fetch", "-q", how)
            engine.search(Query("line"))
            engine.histories.index_history()
            assert state(engine) == fresh(tmp_path, root, f"fresh{number}")
        assert engine._core.store.catalog.count(Scope(kinds=("commit",))) == 6
