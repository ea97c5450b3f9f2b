"""What is asked for at the same time gives what it gives one by one, and is told in the same order."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NoReturn

import numpy as np
import pytest
from families_support import fill

from dowse.errors import BadInput
from dowse.model import Query, ScoredChunk
from dowse.search.recipes import RECIPES
from dowse.search.run import QueryVector, SearchModels, SearchRun
from dowse.search.search import SearchResult, search
from oracle.dict_store import DictStore, DictTables

Work = Callable[[], list[ScoredChunk]]


@pytest.fixture(scope="module")
def store() -> DictStore:
    store = DictStore()
    fill(store)
    return store


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as pool:
        yield pool


def encoded(text: str) -> QueryVector:
    vector = np.array([float(len(text)), 1.0, 2.0], dtype=np.float32)
    return QueryVector(vector)


def told(found: SearchResult) -> object:
    """All but what goes with the time of day."""
    hits = [
        (hit.stored.key, {name: round(it, 9) for name, it in hit.evidence.items() if name not in ("age_days", "decay")})
        for hit in found.hits
    ]
    return hits, [(it.name, it.before, it.after, it.note) for it in found.steps]


@pytest.mark.parametrize("recipe", RECIPES)
def test_threads_change_nothing(store: DictStore, pool: ThreadPoolExecutor, recipe: str) -> None:
    query = Query("anchor kite\nand more", recipe=recipe)
    plain = search(query, store.view(), SearchModels(encoded), rrf_k=60)
    apart = search(query, store.view(), SearchModels(encoded), rrf_k=60, begin=lambda work: pool.submit(work).result)
    assert told(apart) == told(plain)


def test_meaning_is_asked_for_while_words_are(store: DictStore, pool: ThreadPoolExecutor) -> None:
    met = threading.Barrier(2)

    class Meeting(DictTables):
        def match(self, *args: object) -> list[ScoredChunk]:
            met.wait(30)
            return []

    def encode(text: str) -> QueryVector:
        met.wait(30)
        return QueryVector(None, "skipped: it was only here to meet")

    found = search(
        Query("anchor", recipe="hybrid"),
        DictStore(Meeting()).view(),
        SearchModels(encode),
        rrf_k=60,
        begin=lambda work: pool.submit(work).result,
    )
    assert [(it.name, it.note) for it in found.steps][:2] == [
        ("lexical", ""),
        ("semantic", "skipped: it was only here to meet"),
    ]


def test_it_is_encoded_once_for_all_who_need_it(store: DictStore, pool: ThreadPoolExecutor) -> None:
    asked: list[str] = []

    def encode(text: str) -> QueryVector:
        asked.append(text)
        return encoded(text)

    query = Query("anchor", recipe="ragdocs")
    search(query, store.view(), SearchModels(encode), rrf_k=60, begin=lambda work: pool.submit(work).result)
    assert asked == ["anchor"]


def test_one_that_fails_is_told_or_raised_as_ever(store: DictStore, pool: ThreadPoolExecutor) -> None:
    def ask(error: Exception) -> SearchResult:
        def encode(text: str) -> QueryVector:
            raise error

        query = Query("anchor", recipe="hybrid")
        return search(query, store.view(), SearchModels(encode), rrf_k=60, begin=lambda work: pool.submit(work).result)

    notes = {it.name: it.note for it in ask(RuntimeError("gone")).steps}
    assert notes["semantic"] == "failed and skipped: RuntimeError: gone"
    with pytest.raises(BadInput, match="no such model"):
        ask(BadInput("no such model"))


def test_a_route_alone_is_not_begun_apart(store: DictStore) -> None:
    def never(work: Work) -> Work:
        raise AssertionError("there is nothing to do meanwhile")

    assert search(Query("anchor", recipe="semantic"), store.view(), SearchModels(encoded), rrf_k=60, begin=never).steps


def test_the_kinds_of_candidates_are_not_iterated_while_another_route_adds_to_them(
    store: DictStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    class LookedUpOnly(dict[int, str]):
        def items(self) -> NoReturn:
            raise AssertionError("it may change size meanwhile")

        keys = values = __iter__ = items

    kinds = LookedUpOnly()
    monkeypatch.setattr("dowse.search.search.SearchRun", partial(SearchRun, kinds=kinds))
    query = Query("anchor kite", recipe="hybrid")
    assert search(query, store.view(), SearchModels(encoded), rrf_k=60).hits and len(kinds)
