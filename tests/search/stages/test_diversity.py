"""New things move up, and a record does not fill the answer."""

from __future__ import annotations

import pytest
from refine_support import hits, places, put, run_over, scores, vectors

from dowse.search.stages.dedup import Mmr, PerRecord
from dowse.store.base import Store
from oracle.dict_store import DictStore

ROWS = {"a.md#0": [1.0, 0.0], "a.md#1": [1.0, 0.0], "a.md#2": [0.0, 1.0]}
SCORES = {"a.md#0": 0.9, "a.md#1": 0.8, "a.md#2": 0.4}


@pytest.mark.parametrize(
    ("lambda_", "expected"),
    [
        (1.0, {"a.md#0": 1.0, "a.md#1": 0.8, "a.md#2": 0.0}),
        (0.7, {"a.md#0": 1.0, "a.md#1": 0.56, "a.md#2": 0.3}),
        (0.5, {"a.md#0": 1.0, "a.md#2": 0.5, "a.md#1": 0.4}),
        (0.0, {"a.md#0": 1.0, "a.md#2": 1.0, "a.md#1": 0.0}),
    ],
)
def test_mmr_mixes_relevance_and_novelty(store: Store, lambda_: float, expected: dict[str, float]) -> None:
    put(store, "a.md", "one", "two", "three")
    vectors(store, ROWS)
    found = Mmr(lambda_)(hits(store, SCORES), run_over(store))
    assert [(place, round(it.evidence["mmr"], 6)) for place, it in zip(places(found), found, strict=True)] == list(
        expected.items()
    )
    assert [it.score for it in found] == [*SCORES.values()]
    evidence = {place: hit.evidence for place, hit in zip(places(found), found, strict=True)}
    assert evidence["a.md#1"]["relevance"] == pytest.approx(0.8)
    assert evidence["a.md#1"]["novelty"] == pytest.approx(0.0)
    assert evidence["a.md#2"]["novelty"] == pytest.approx(1.0)


def test_opposites_are_no_newer_than_strangers(store: Store) -> None:
    put(store, "a.md", "one", "two", "three")
    vectors(store, {"a.md#0": [1, 0], "a.md#1": [0, 1], "a.md#2": [-1, 0]})
    found = Mmr(0.5)(hits(store, {"a.md#0": 3, "a.md#1": 2, "a.md#2": 1}), run_over(store))
    assert places(found) == ["a.md#0", "a.md#1", "a.md#2"]


def test_equal_scores_are_equally_relevant(store: Store) -> None:
    put(store, "a.md", "one", "two", "three")
    vectors(store, ROWS)
    found = Mmr()(hits(store, dict.fromkeys(SCORES, 0.2)), run_over(store))
    assert [round(it.evidence["mmr"], 6) for it in found] == [1.0, 1.0, 0.7]
    assert scores(found) == {"a.md#0": 0.2, "a.md#2": 0.2, "a.md#1": 0.2}


def test_mmr_needs_vectors_and_says_so(store: Store) -> None:
    put(store, "a.md", "one", "two", "three")
    found, run = hits(store, SCORES), run_over(store)
    assert Mmr()(found, run) == found
    assert run.notes == ["skipped: the hits have no vectors"]
    assert Mmr()([], run) == []


@pytest.mark.parametrize(
    ("limit", "kept"),
    [
        (0, []),
        (1, ["a.md#1", "b.md#0"]),
        (2, ["a.md#1", "b.md#0", "a.md#0", "b.md#1"]),
        (9, ["a.md#1", "b.md#0", "a.md#0", "a.md#2", "b.md#1"]),
    ],
)
def test_passages_per_record(memory: DictStore, limit: int, kept: list[str]) -> None:
    put(memory, "a.md", "one", "two", "three")
    put(memory, "b.md", "four", "five")
    found = hits(memory, {"a.md#1": 5, "b.md#0": 4, "a.md#0": 3, "a.md#2": 2, "b.md#1": 1})
    assert places(PerRecord(limit)(found, run_over(memory))) == kept
