"""A whole history, however long: what indexing it takes, what is asked meanwhile and afterwards, what kills leave."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from subprocess import Popen

from dowse.engine import Engine
from dowse.model import Query
from histories.asking import COMMITS, Asked, Question, ask, questions
from histories.building import WORDS_ONLY, index_in, opened, root_of, settings_of
from histories.sampling import Sample, indexed, watch
from measuring import say
from processes import run_ms, serving
from timing import ms

PARTS = 5
_PAUSE_S = 0.25
_MEANWHILE_S = 1.0
_ALL = 2**40
"""More commits than any repository has."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How many questions are asked, how often a tool is called, and how often indexing is killed."""

    questions: int = 50
    times: int = 3
    kills: int = 3


FULL = Effort()


@dataclass(frozen=True, slots=True)
class Indexed:
    """`meanwhile` are milliseconds of searches while it ran."""

    samples: Sequence[Sample]
    wall_s: float
    commits: int
    index_bytes: int
    meanwhile: Sequence[float]

    @property
    def most_resident(self) -> int:
        return max(it.resident for it in self.samples)

    @property
    def longest_log(self) -> int:
        return max(it.log for it in self.samples)

    def rates(self, parts: int = PARTS) -> list[tuple[float, float]]:
        """Commits in each second, and in each second of CPU, of parts of the history that are about as long."""
        writing = [it for it in self.samples if it.commits]
        whole = writing[-1].commits
        edges = [next(it for it in writing if it.commits * parts >= whole * at) for at in range(parts + 1)]
        pairs = [(a, b) for a, b in pairwise(edges) if b.commits > a.commits]
        return [
            ((b.commits - a.commits) / (b.at_s - a.at_s), (b.commits - a.commits) / max(b.cpu_s - a.cpu_s, 0.01))
            for a, b in pairs
        ]


@dataclass(frozen=True, slots=True)
class Killed:
    """How many commits were there for good after each kill, and at the end."""

    after: Sequence[int]
    finally_there: int


@dataclass(slots=True)
class Whole:
    name: str
    indexed: Indexed
    asked: Sequence[Asked]
    once: dict[str, float] = field(default_factory=dict)
    """Milliseconds of what is done once."""
    killed: Killed | None = None


@dataclass(frozen=True, slots=True)
class Ground:
    """A repository with a root that leads to it, and an index of its own."""

    repository: Path
    place: Path

    @property
    def root(self) -> Path:
        return self.place / "root"

    @property
    def index(self) -> Path:
        return index_in(self.place)

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "dowse", *words, "--index", str(self.index)]

    @property
    def environment(self) -> Mapping[str, str]:
        own = {"DOWSE_ENCODER": WORDS_ONLY, "DOWSE_DATA_DIR": str(self.place / "data"), "DOWSE_ALLOW_ANY_ROOT": "true"}
        return {**os.environ, **own, "DOWSE_MAX_COMMITS": str(_ALL), "DOWSE_GIT_DIRECTORIES": "/"}

    def open(self) -> Engine:
        return Engine(settings_of(WORDS_ONLY, _ALL, self.place / "data"), self.index, create=False)


def ground(repository: Path, place: Path) -> Ground:
    place.mkdir(parents=True)
    root_of(repository, place / "root")
    return Ground(repository, place.resolve())


def measure(name: str, repository: Path, place: Path, seed: int, effort: Effort = FULL) -> Whole:
    """Writes one more commit into the repository."""
    say(f"history: all of {name}")
    it = ground(repository, place / "whole")
    done = index_whole(it)
    with opened(it.place) as store:
        asked = questions(store.catalog, seed, effort.questions)
    first = run_ms(it.command("search", "--mode", "lexical", asked[0].text), it.environment, it.root)
    status = run_ms(it.command("status"), it.environment, it.root)
    with it.open() as engine:
        searched = ask(engine, asked, "lexical")
    whole = Whole(name, done, searched, {"first search, new process": first, "`dowse status`": status})
    whole.once |= _tools(it, asked, effort.times)
    add_commit(repository)
    whole.once["sync after one more commit"] = run_ms(it.command("index"), it.environment, it.root)
    say(f"history: kills over {name}")
    whole.killed = kill(ground(repository, place / "killed"), done, effort.kills, random.Random(seed))
    return whole


def index_whole(it: Ground) -> Indexed:
    samples: list[Sample] = []
    with _indexing(it) as process, _asking(it, process) as meanwhile:
        samples += watch(process, it.index, _PAUSE_S)
    if process.returncode:
        raise SystemExit(f"indexing the history of {it.repository} failed with {process.returncode}")
    size = sum(file.stat().st_size for file in it.place.glob(f"{it.index.name}*"))
    return Indexed(samples, samples[-1].at_s, indexed(it.index), size, meanwhile)


@contextmanager
def _indexing(it: Ground) -> Iterator[Popen[bytes]]:
    words = it.command("index", str(it.root))
    with Popen(words, env=it.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        yield process


@contextmanager
def _asking(it: Ground, process: Popen[bytes]) -> Iterator[list[float]]:
    """Somebody who asks again and again as long as it runs, from another process."""
    times: list[float] = []
    over = threading.Event()

    def run() -> None:
        while not indexed(it.index) and not over.wait(_MEANWHILE_S):
            pass
        with it.open() as engine:
            while process.poll() is None and not over.wait(_MEANWHILE_S):
                times.append(ms(engine.search, Query("fix test", scope=COMMITS, recipe="lexical")))

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield times
    finally:
        over.set()
        thread.join()


def _tools(it: Ground, asked: Sequence[Question], times: int) -> dict[str, float]:
    """The quickest of a few, by what is asked of the server."""
    one = asked[0]
    author, word = one.commit.facets["author"].rpartition(" <")[0], one.text.split()[0]
    calls: list[tuple[str, dict[str, str]]] = [
        ("search_git_history", {"file": one.path}),
        ("search_git_history", {"file": one.path, "author": author}),
        ("search_git_history", {"file": one.path, "message": word}),
        ("search_git_authors", {}),
        ("search_git_authors", {"message": word}),
        ("search_git_activity", {}),
        ("search_git_activity", {"author": author}),
        ("search_git_activity", {"message": word}),
    ]
    with serving(it.command("mcp", "--profile", "codesearch"), it.environment, it.root) as server:
        return {
            " ".join([f"`{tool}`", *(f"by {name}" for name in filters)]): min(
                ms(server.call, tool, {"repo": str(it.root), **filters}) for _ in range(times)
            )
            for tool, filters in calls
        }


def add_commit(repository: Path) -> None:
    """On top of the branch that is at its head, without a work tree."""
    git = ["git", "-C", str(repository), "-c", "user.name=Ann", "-c", "user.email=ann@example.org"]
    made = subprocess.run(
        [*git, "commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "One more"], check=True, stdout=subprocess.PIPE
    )
    subprocess.run([*git, "update-ref", "HEAD", made.stdout.decode().strip()], check=True)


def kill(it: Ground, whole: Indexed, kills: int, rng: random.Random) -> Killed:
    """Ended at once, a few times, each at some moment before so many are there as the next one begins with."""
    after = []
    for number in range(kills):
        enough = whole.commits * (number + rng.random()) / (kills + 1)
        with _indexing(it) as process:
            for sample in watch(process, it.index, _PAUSE_S):
                if sample.commits > enough:
                    break
            process.send_signal(signal.SIGKILL)
        after.append(indexed(it.index))
    with _indexing(it):
        pass
    return Killed(after, indexed(it.index))
