"""Questions a history is asked: some words of a commit's title, with and without what else is known of it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import median

from dowse.engine import Engine
from dowse.model import FacetFilter, LinkFilter, Query, Record, Scope
from dowse.store.base import Catalog
from timing import timed

QUESTIONS = 100
ROUNDS = 3
_WORDS = 4
_SHORTEST = 4
_AROUND_S = 90 * 86_400
COMMITS = Scope(kinds=("commit",))


@dataclass(frozen=True, slots=True)
class Asked:
    """Milliseconds of each question, and of how many of them the commit they were made of was among the hits."""

    way: str
    ms: Sequence[float]
    found: int


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    commit: Record
    path: str


def questions(store: Catalog, seed: int, count: int = QUESTIONS) -> list[Question]:
    """Of as many commits that touch a file and have words enough, drawn at random."""
    commits = store.select(COMMITS)
    random.Random(seed).shuffle(commits)
    return list(islice(_questions(store, commits), count))


def _questions(store: Catalog, commits: Sequence[Record]) -> Iterator[Question]:
    for commit in commits:
        words = [it for it in commit.title.split() if len(it) >= _SHORTEST and it.isalnum()][:_WORDS]
        touched = [it.target for it in store.links(commit) if it.kind == "touches"]
        if len(words) > 1 and touched:
            yield Question(" ".join(words), commit, touched[0])


def ask(engine: Engine, asked: Sequence[Question], recipe: str) -> list[Asked]:
    """Each way with all questions, after a round that warms everything up."""
    _round(engine, asked, recipe, lambda _: COMMITS)
    return [Asked(name, *_quickest(engine, asked, recipe, scope)) for name, scope in WAYS.items()]


def _quickest(
    engine: Engine, asked: Sequence[Question], recipe: str, scope: Callable[[Question], Scope]
) -> tuple[list[float], int]:
    """Of several rounds, because the machine is shared with others who come and go."""
    return min((_round(engine, asked, recipe, scope) for _ in range(ROUNDS)), key=lambda it: median(it[0]))


def _round(
    engine: Engine, asked: Sequence[Question], recipe: str, scope: Callable[[Question], Scope]
) -> tuple[list[float], int]:
    times, found = [], 0
    for it in asked:
        answer, ms = timed(engine.search, Query(it.text, scope=scope(it), recipe=recipe))
        times.append(ms)
        found += it.commit.path in {hit.stored.record.path for hit in answer.hits}
    return times, found


def _by_author(it: Question) -> Scope:
    return Scope(kinds=COMMITS.kinds, facets=(FacetFilter("author", it.commit.facets["author"], exact=False),))


def _by_path(it: Question) -> Scope:
    folder = it.path.rpartition("/")[0]
    return Scope(kinds=COMMITS.kinds, links=(LinkFilter("touches", f"{folder}/**" if folder else it.path),))


def _by_time(it: Question) -> Scope:
    moment = it.commit.timestamp_ns / 1e9
    return Scope(kinds=COMMITS.kinds, since=moment - _AROUND_S, until=moment + _AROUND_S)


WAYS: dict[str, Callable[[Question], Scope]] = {
    "everything": lambda _: Scope(),
    "commits only": lambda _: COMMITS,
    "by author": _by_author,
    "by folder": _by_path,
    "within half a year": _by_time,
}
