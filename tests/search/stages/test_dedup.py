"""Repetitions fold into the best of them, which counts them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from refine_support import hits, places, put, run_over, vectors

from dowse.encoders.base import EncoderTraits
from dowse.search.run import QueryVector
from dowse.search.stages.base import Stage
from dowse.search.stages.dedup import NgramDedup, SemanticDedup, exact_dedup
from dowse.store.base import Store
from oracle.dict_store import DictStore

LONG = "a failed request is retried with exponential backoff up to five times"


def kept(store: Store, stage: Stage, *texts: str) -> dict[int, float]:
    """Which of the texts stay, ranked as given, and how many each stands for besides itself."""
    put(store, "a.md", *texts)
    found = hits(store, {f"a.md#{place}": 1 - place / 10 for place in range(len(texts))})
    return {hit.stored.chunk.ordinal: hit.evidence.get("duplicates", 0) for hit in stage(found, run_over(store))}


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ((), {}),
        (("one",), {0: 0}),
        (("one", "two", "one"), {0: 1, 1: 0}),
        (("Same  text", "same\n text", "SAME TEXT "), {0: 2}),
        (("ﬁne", "fine", "fi ne"), {0: 1, 2: 0}),
    ],
)
def test_exact(memory: DictStore, texts: tuple[str, ...], expected: dict[int, float]) -> None:
    assert kept(memory, exact_dedup, *texts) == expected


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ((), {}),
        ((LONG,), {0: 0}),
        ((LONG, LONG.upper()), {0: 1}),
        ((LONG, f"{LONG} again"), {0: 1}),
        ((LONG, LONG.replace("request", "message").replace("five", "six")), {0: 0, 1: 0}),
        ((LONG, "something else entirely is said here", f"{LONG}!"), {0: 1, 1: 0}),
        (("one two", "One, two", "two one", "one"), {0: 1, 2: 0, 3: 0}),  # shorter than an n-gram
        (("?!", "--", "?!"), {0: 0, 1: 0, 2: 0}),  # no words to compare
    ],
)
def test_ngrams(memory: DictStore, texts: tuple[str, ...], expected: dict[int, float]) -> None:
    assert kept(memory, NgramDedup(), *texts) == expected


@pytest.mark.parametrize(("threshold", "left"), [(0.6, 1), (0.61, 2)])
def test_the_threshold_is_a_jaccard_index(memory: DictStore, threshold: float, left: int) -> None:
    texts = ("a b c d e f", "a b c d e x")  # three of five 3-grams are shared
    assert len(kept(memory, NgramDedup(threshold), *texts)) == left


def test_a_repetition_goes_to_the_best_that_is_kept(memory: DictStore) -> None:
    # The second repeats the first, the third only the second: which is gone, so the third stays.
    texts = ("a b c d e f g h", "b c d e f g h i", "c d e f g h i j")
    assert kept(memory, NgramDedup(0.7), *texts) == {0: 1, 2: 0}


def test_of_two_that_it_repeats_the_better_one_counts_it(memory: DictStore) -> None:
    assert kept(memory, NgramDedup(0.4), "a b c d e f", "c d e f g h", "b c d e f g") == {0: 1, 1: 0}


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([[1, 0], [1, 0]], {0: 1}),
        ([[1, 0], [0, 1]], {0: 0, 1: 0}),
        ([[1, 0], [0, 1], [3, 0.1], [0, 2]], {0: 1, 1: 1}),
        ([[1, 0], [-1, 0]], {0: 0, 1: 0}),
        ([[0, 0], [0, 0]], {0: 0, 1: 0}),
        ([[0.6, 0.8], [0.28, 0.96], [-0.1, 1]], {0: 1, 2: 0}),  # greedy: from the best down
    ],
)
def test_semantic(store: Store, rows: list[list[float]], expected: dict[int, float]) -> None:
    put(store, "a.md", *(f"{LONG} {place}" for place in range(len(rows))))
    vectors(store, {f"a.md#{place}": row for place, row in enumerate(rows)})
    found = hits(store, {f"a.md#{place}": 1 - place / 10 for place in range(len(rows))})
    run = run_over(store)
    assert {it.stored.chunk.ordinal: it.evidence.get("duplicates", 0) for it in SemanticDedup()(found, run)} == expected
    assert run.notes == []


def test_the_same_vector_and_words_are_alike_at_any_threshold(store: Store) -> None:
    put(store, "a.md", "one two", "two one")
    vectors(store, {"a.md#0": [0.1, 0.2, 0.3], "a.md#1": [0.1, 0.2, 0.3]})
    assert places(SemanticDedup(1.0)(hits(store, {"a.md#0": 2, "a.md#1": 1}), run_over(store))) == ["a.md#0"]


def test_without_vectors_nothing_is_compared_and_the_step_says_so(store: Store) -> None:
    put(store, "a.md", "one", "two", "one")
    found, run = hits(store, {"a.md#0": 3, "a.md#1": 2, "a.md#2": 1}), run_over(store)
    assert SemanticDedup()(found, run) == found
    assert run.notes == ["skipped: the hits have no vectors"]
    vectors(store, {"a.md#0": [1, 0], "a.md#2": [1, 0]})
    run.notes.clear()
    assert places(SemanticDedup()(found, run)) == ["a.md#0", "a.md#1"]
    assert run.notes == ["1 of 3 hits have no vector and count as dissimilar"]


@pytest.mark.parametrize(
    ("other", "left"),
    [
        (f"{LONG} again and again", 1),
        ("what is sent once more after an error waits twice as long each time and gives up after the fifth", 2),
    ],
)
def test_vectors_alone_do_not_make_two_passages_the_same(store: Store, other: str, left: int) -> None:
    put(store, "a.md", LONG, other)
    vectors(store, {"a.md#0": [1, 0], "a.md#1": [1, 0.01]})
    assert len(SemanticDedup()(hits(store, {"a.md#0": 2, "a.md#1": 1}), run_over(store))) == left


@pytest.mark.parametrize(
    ("same", "asked", "left"),
    [(0.85, 0.85, 1), (0.95, 0.85, 2), (0.95, 0.8, 1), (0.95, 0.5, 1), (0.85, 0.95, 2)],
)
def test_the_threshold_is_converted_to_the_scale_of_the_encoder(
    store: Store, same: float, asked: float, left: int
) -> None:
    put(store, "a.md", LONG, f"{LONG} again")
    vectors(store, {"a.md#0": [1, 0], "a.md#1": [0.94, 0.3412]})  # a cosine of 0.94
    run = run_over(store)
    run.query = replace(run.query, dedup_threshold=asked)
    run.vector = QueryVector(None, traits=EncoderTraits(duplicate_similarity=same))
    assert len(SemanticDedup()(hits(store, {"a.md#0": 2, "a.md#1": 1}), run)) == left


@pytest.mark.parametrize("stage", [NgramDedup(), SemanticDedup()])
@pytest.mark.parametrize(("copies", "left"), [(2, 1), (40, 40)])
def test_passages_of_one_form_are_different_where_many_have_that_form(
    store: Store, stage: Stage, copies: int, left: int
) -> None:
    form = "release {0} is out please back up the database before the upgrade and read the notes of the product first"
    put(store, "a.md", *(form.format(f"r{it}") for it in range(copies)))
    vectors(store, {f"a.md#{it}": [1, it / 1000] for it in range(copies)})
    found = hits(store, {f"a.md#{it}": 1 - it / 100 for it in range(copies)})
    assert len(stage(found, run_over(store))) == left


def test_counts_add_up_over_stages(memory: DictStore) -> None:
    put(memory, "a.md", LONG, f"{LONG} again", f"{LONG.upper()} again")
    run, found = run_over(memory), hits(memory, {"a.md#0": 3, "a.md#1": 2, "a.md#2": 1})
    (hit,) = NgramDedup()(exact_dedup(found, run), run)
    assert hit.evidence == {"duplicates": 2}
