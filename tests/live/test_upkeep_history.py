"""A server reads the histories of its repositories behind its files, and follows them whoever moves their refs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dowse.config import Settings
from dowse.engine import Engine
from dowse.live.job import JobContext
from dowse.live.jobs import IndexHistoriesWork, JobQueue
from dowse.live.maintenance import Maintenance
from dowse.model import Query, Scope
from gits import Repo
from support import eventually

QUICK = {"encoder": "hashing", "debounce_ms": 30, "git_debounce_s": 0.05, "reconcile_s": 0.0, "freshness_timeout_ms": 0}
COMMIT = Scope(kinds=("commit",))


class Server:
    def __init__(self, root: Path, data: Path, **changes: object) -> None:
        settings = Settings(**{**QUICK, "data_dir": data, "workers": 1, **changes})  # type: ignore[arg-type]
        self.jobs = JobQueue(retry_waits_s=(0.05, 0.1))
        self.engine = Engine(settings, data / "index.db", create=True)
        self.upkeep = Maintenance(lambda: self.engine, self.jobs, settings, data / "index.db", tick_s=0.02)
        self.upkeep.take([root])
        self.upkeep.start()

    def titles(self) -> set[str]:
        return {it.title for it in self.engine._core.store.catalog.select(COMMIT)}

    def close(self) -> None:
        self.upkeep.close()
        self.jobs.close(5)
        self.engine.close()


@pytest.fixture
def repo(root: Path) -> Repo:
    made = Repo(root)
    made.commit("First", {"a.md": "# Alpha\n\nanchor\n"})
    return made


@pytest.fixture
def serve(root: Path, tmp_path: Path) -> Iterator[Callable[..., Server]]:
    servers: list[Server] = []

    def make(**changes: object) -> Server:
        servers.append(Server(root, tmp_path / "data", **changes))
        return servers[-1]

    yield make
    for server in servers:
        server.close()


def _of(server: Server, history: str) -> set[str]:
    return {it.title for it in server.engine._core.store.catalog.select(Scope(collections=(history,)))}


def test_histories_are_read_behind_the_files_and_then_encoded(serve, repo: Repo) -> None:
    server = serve()
    eventually(lambda: server.titles() == {"First"})
    eventually(lambda: server.engine.completeness().complete)
    kinds = [it.kind for it in server.jobs.all()]
    # Encoding may be asked for as soon as the files are there; it gives way to the history all the same.
    assert kinds.index("index") < kinds.index("history") and "encode" in kinds
    assert server.engine.search(Query("first", scope=COMMIT)).hits


def test_commits_tags_fetches_and_deletions_are_followed(serve, repo: Repo, tmp_path: Path) -> None:
    server = serve()
    eventually(lambda: server.titles() == {"First"})
    repo.commit("Second")
    eventually(lambda: server.titles() == {"First", "Second"})
    other = Repo(tmp_path / "other")
    other.commit("Theirs")
    repo.run("fetch", "-q", str(other.place), "main:refs/remotes/other/main")
    eventually(lambda: "Theirs" in server.titles())
    repo.run("tag", "kept")
    repo.run("reset", "-q", "--hard", "HEAD~1")
    repo.run("update-ref", "-d", "refs/remotes/other/main")
    eventually(lambda: server.titles() == {"First", "Second"})
    repo.run("tag", "-d", "kept")
    eventually(lambda: server.titles() == {"First"})


def test_a_repository_that_comes_later_is_followed(serve, repo: Repo, root: Path) -> None:
    server = serve()
    eventually(lambda: server.titles() == {"First"})
    repo.run("clone", "-q", str(root), str(root / "inner"))
    inner = Repo(root / "inner")
    inner.now = repo.now + 1
    eventually(lambda: len(server.engine.histories.collections()) == 2)
    inner.commit("Inner")
    eventually(lambda: "Inner" in server.titles())


def test_a_bare_repository_is_followed(serve, repo: Repo, root: Path) -> None:
    repo.run("clone", "-q", "--bare", str(root), str(root / "mirror.git"))
    server = serve()
    eventually(lambda: _of(server, "mirror.git") == {"First"})
    repo.commit("Pushed")
    repo.run("push", "-q", str(root / "mirror.git"), "main:pushed")
    eventually(lambda: _of(server, "mirror.git") == {"First", "Pushed"})


def test_a_bare_repository_that_comes_later_is_found(serve, repo: Repo, root: Path) -> None:
    server = serve()
    eventually(lambda: server.titles() == {"First"})
    eventually(lambda: server.engine.completeness().complete)
    repo.run("clone", "-q", "--bare", str(root), str(root / "mirror.git"))
    eventually(lambda: _of(server, "mirror.git") == {"First"})
    assert {it.path for it in server.engine._core.store.catalog.select(Scope(collections=("root",)))} == {"a.md"}


def test_a_work_tree_that_is_added_to_a_bare_repository_is_indexed(serve, repo: Repo, root: Path) -> None:
    repo.run("clone", "-q", "--bare", str(root), str(root / "project"))
    server = serve()
    eventually(lambda: server.engine.completeness().complete and server.titles() == {"First"})
    Repo(root / "project").run("worktree", "add", "-q", "--detach", "topic/one")
    files = {"a.md", "project/topic/one/a.md"}
    eventually(
        lambda: {it.path for it in server.engine._core.store.catalog.select(Scope(collections=("root",)))} == files
    )


def test_without_watching_histories_are_read_once(serve, repo: Repo) -> None:
    server = serve(watch=False)
    eventually(lambda: server.titles() == {"First"})


def test_without_git_there_is_no_such_job(serve, repo: Repo) -> None:
    server = serve(git=False)
    eventually(lambda: server.engine.completeness().complete)
    assert "history" not in [it.kind for it in server.jobs.all()]
    assert server.titles() == set()


def test_a_server_without_git_drops_what_another_had_indexed(serve, repo: Repo) -> None:
    server = serve()
    eventually(lambda: server.titles() == {"First"})
    server.close()
    server = serve(git=False)
    eventually(lambda: server.titles() == set() and not server.engine.histories.collections())
    (job,) = [it for it in server.jobs.all() if it.kind == "history"]
    eventually(lambda: job.result)
    assert job.result["deleted"] == 1 and "git = false" in job.result["notes"][0]


def test_it_gives_way_to_other_work_and_goes_on(repo: Repo, root: Path, open_engine) -> None:
    repo.many(450)
    engine = open_engine()
    engine.index([root])
    wanted = threading.Event()
    done: list[str] = []

    def step(stage: str, at: int, total: int) -> None:
        if at >= 100:
            wanted.set()

    work = IndexHistoriesWork(lambda: engine, lambda: done.append("again"), lambda: done.append("then"))
    report = work(JobContext(step, lambda what: None, wanted.is_set))
    assert done == ["again"]
    assert 0 < int(str(report["indexed"])) < 451
    wanted.clear()
    rest = work(JobContext(lambda *_: None, lambda what: None, wanted.is_set))
    assert done == ["again", "then"]
    assert int(str(report["indexed"])) + int(str(rest["indexed"])) == 451
