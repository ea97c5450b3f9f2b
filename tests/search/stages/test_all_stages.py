"""What holds of every stage: any hits in, ordered finite scores out, no key from nowhere."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refine_support import put, run_over

from dowse.model import Hit
from dowse.search.confidence import confidence_scores
from dowse.search.run import SearchRun
from dowse.search.stages.base import Stage, stage_name
from dowse.search.stages.context import Neighbours, ParentSection
from dowse.search.stages.dedup import Mmr, NgramDedup, PerRecord, SemanticDedup, exact_dedup, subject_priors
from dowse.search.stages.graph import CommunityBoost, GraphNeighbours
from dowse.search.stages.recency import AgeDecay, HalfLifeDecay, RecencyTiers, SuccessorBoost, Validity
from dowse.search.stages.scores import Calibrate, MinConfidence, Quotas
from oracle.dict_store import DictStore

# Doing them twice does no more than doing them once.
SETTLING: tuple[Stage, ...] = (
    exact_dedup, NgramDedup(), SemanticDedup(), PerRecord(1), MinConfidence(0.2), Neighbours(), ParentSection(30),
)  # fmt: skip
STAGES: tuple[Stage, ...] = (
    *SETTLING, confidence_scores, RecencyTiers(), HalfLifeDecay(30, 0.9), HalfLifeDecay(0, 1), Mmr(), Mmr(0.2),
    Calibrate(), CommunityBoost(), subject_priors, AgeDecay(), Validity(), SuccessorBoost(), Quotas(),
)  # fmt: skip

WORDS = st.lists(st.sampled_from(["retry", "Retry", "cache", "über", "?", "\n", "猫"]), max_size=8).map(" ".join)
TRAILS = st.lists(st.sampled_from("AB"), max_size=2).map(tuple)
CHUNKS = st.lists(st.tuples(WORDS, TRAILS), max_size=4)
TARGETS = st.lists(st.sampled_from(["0", "1.md", "2", "./3", "ghost", "#x"]), max_size=3)
RECORDS = st.lists(st.tuples(CHUNKS, TARGETS, st.floats(-10, 100)), max_size=4)
SCORES = st.one_of(st.floats(-1, 1), st.floats(-1e6, 1e6), st.sampled_from([0.0, 0.5, 1 / 61]))
RUNS = st.lists(st.sampled_from(STAGES), min_size=1, max_size=5)
# What adds hits stands first, before anything is dropped.
FIRST: tuple[Stage, ...] = (lambda hits, run: hits, GraphNeighbours(), GraphNeighbours(0.9, limit=1))
PRIORS = st.dictionaries(st.tuples(st.just("notes"), st.sampled_from(["0.md", "1.md"])), st.floats(0.1, 5))


@st.composite
def searches(draw: st.DrawFn) -> tuple[list[Hit], SearchRun]:
    """Some chunks of a small store, ranked in any way; some of its chunks have vectors."""
    store = DictStore()
    store.writer.add_collection("/work/notes")
    for number, (chunks, links, age_days) in enumerate(draw(RECORDS)):
        texts, trails = [text for text, _ in chunks], [trail for _, trail in chunks]
        put(store, f"{number}.md", *texts, trails=trails, links=links, age_days=age_days)
    stored = list(store.catalog.export())
    keys = [it.key for it in stored if draw(st.booleans())]
    rows = [draw(st.lists(st.integers(-3, 3), min_size=2, max_size=2)) for _ in keys]
    store.vectors.put_vectors(keys, np.array(rows, dtype=np.float32).reshape(-1, 2))
    chosen = draw(st.permutations(stored))[: draw(st.integers(0, len(stored)))]
    ranked = sorted((draw(SCORES) for _ in chosen), reverse=True)
    return [Hit(it, score, {"bm25": score}) for it, score in zip(chosen, ranked, strict=True)], replace(
        run_over(store), priors=draw(PRIORS)
    )


def keys(hits: Sequence[Hit]) -> list[int]:
    return [hit.stored.key for hit in hits]


@settings(max_examples=200)
@given(searches(), st.sampled_from(FIRST), RUNS)
def test_stages_in_any_order(search: tuple[list[Hit], SearchRun], first: Stage, stages: list[Stage]) -> None:
    hits, run = first(*search), search[1]
    found = reduce(lambda before, stage: stage(before, run), stages, hits)
    scores = [hit.score for hit in found]
    assert all(map(math.isfinite, scores)) and scores == sorted(scores, reverse=True)
    assert len(set(keys(found))) == len(found)
    assert set(keys(found)) <= set(keys(hits))
    assert all(math.isfinite(value) for hit in found for value in hit.evidence.values())
    assert all("bm25" in hit.evidence or "linked_from_rank" in hit.evidence for hit in found)


@given(searches(), st.sampled_from(SETTLING))
def test_twice_is_once(search: tuple[list[Hit], SearchRun], stage: Stage) -> None:
    hits, run = search
    once = stage(hits, run)
    assert stage(once, run) == once


@given(searches(), st.sampled_from((*STAGES, *FIRST)))
def test_the_same_again(search: tuple[list[Hit], SearchRun], stage: Stage) -> None:
    hits, run = search
    before = list(hits)
    assert stage(hits, run) == stage(hits, run)
    assert hits == before


@pytest.mark.parametrize("stage", (*STAGES, *FIRST), ids=stage_name)
def test_nothing_stays_nothing(memory: DictStore, stage: Stage) -> None:
    assert stage([], run_over(memory)) == []
