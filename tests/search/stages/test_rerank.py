"""A reranker is heard beside the order it is given; whatever it does, no hit is lost."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refine_support import hits, places, put, run_over, scores

from dowse.model import Hit
from dowse.search.run import QueryVector, RerankResult, SearchModels, SearchRun
from dowse.search.stages.recency import HalfLifeDecay
from dowse.search.stages.rerank import Rerank
from dowse.search.stages.scores import Combine, blend_signals, scale_min_max
from oracle.dict_store import DictStore

FUSED = {"a.md": 0.05, "b.md": 0.04, "c.md": 0.03, "d.md": 0.02}
Judge = Callable[[str, str, Sequence[str]], RerankResult]


@pytest.fixture
def four(memory: DictStore) -> DictStore:
    for path in FUSED:
        put(memory, path, f"text of {path}", title=f"Title {path[0]}", trails=[("Part", "Detail")])
    return memory


def judged_by(store: DictStore, judge: Judge) -> SearchRun:
    run = run_over(store)
    run.models = SearchModels(lambda _: QueryVector(None), judge)
    return run


def saying(*numbers: float) -> Judge:
    return lambda reranker, query, texts: RerankResult(numbers)


@pytest.mark.parametrize(
    ("weight", "order"),
    [(0.0, "abcd"), (0.2, "abcd"), (0.5, "adbc"), (0.7, "dabc"), (1.0, "dacb")],
)
def test_weight_is_the_share_of_the_reranker(four: DictStore, weight: float, order: str) -> None:
    found = Rerank("cross", weight)(hits(four, FUSED), judged_by(four, saying(2.0, -3.0, -2.9, 7.0)))
    assert [place[0] for place in places(found)] == list(order)
    assert [hit.score for hit in found] == list(FUSED.values())


def test_evidence_has_the_raw_score_and_the_blend(four: DictStore) -> None:
    found = Rerank("cross", 0.25)(hits(four, FUSED), judged_by(four, saying(1.0, 5.0, 3.0, 1.0)))
    evidence = {hit.stored.record.path: hit.evidence for hit in found}
    assert evidence["b.md"]["rerank"] == 5.0
    assert evidence["b.md"]["blend"] == pytest.approx(0.75 * 2 / 3 + 0.25)
    assert evidence["c.md"]["blend"] == pytest.approx(0.75 / 3 + 0.25 / 2)


def test_what_is_behind_the_top_keeps_place_and_score(four: DictStore) -> None:
    before = hits(four, FUSED)
    found = Rerank("cross", 1.0, top=2)(before, judged_by(four, saying(0.0, 1.0)))
    assert places(found) == ["b.md#0", "a.md#0", "c.md#0", "d.md#0"]
    assert found[2:] == before[2:]


def test_other_kinds_keep_their_places(four: DictStore) -> None:
    put(four, "x.py", "def x(): ...", kind="code")
    given_texts: list[Sequence[str]] = []

    def judge(reranker: str, query: str, texts: Sequence[str]) -> RerankResult:
        given_texts.append(texts)
        return RerankResult((0.0, 1.0))

    found = Rerank("cross", 1.0, top=3)(
        hits(four, {"a.md": 3, "x.py": 2, "b.md": 1, "c.md": 0.5}), judged_by(four, judge)
    )
    assert scores(found) == {"b.md#0": 3, "x.py#0": 2, "a.md#0": 1, "c.md#0": 0.5}
    assert places(found) == ["b.md#0", "x.py#0", "a.md#0", "c.md#0"]
    assert [len(texts) for texts in given_texts] == [2]
    assert "rerank" not in found[1].evidence


def test_only_other_kinds_are_not_judged_and_the_step_says_so(memory: DictStore) -> None:
    put(memory, "x.py", "def x(): ...", kind="code")
    before, run = hits(memory, {"x.py": 1.0}), judged_by(memory, saying())
    assert Rerank("cross", 0.5)(before, run) == before
    assert run.notes == ["skipped: no hit of a kind that is reranked (doc, memory)"]


def test_it_sees_the_query_and_where_each_text_stands(four: DictStore) -> None:
    put(four, "e.md", "# Own heading\n\nbody", title="Own heading", trails=[("Own heading",)])
    put(four, "f.md", "x" * 9_000)
    seen: list[tuple[str, str, Sequence[str]]] = []

    def judge(reranker: str, query: str, texts: Sequence[str]) -> RerankResult:
        seen.append((reranker, query, texts))
        return RerankResult((0.0,) * len(texts))

    Rerank("late", 0.5, chars=40)(hits(four, {"a.md": 3, "e.md": 2, "f.md": 1}), judged_by(four, judge))
    texts = ["Title a > Part > Detail\n\ntext of a.md", "# Own heading\n\nbody", "x" * 40]
    assert seen == [("late", "anything", texts)]


def test_one_hit_is_judged_for_its_evidence(four: DictStore) -> None:
    (found,) = Rerank("cross", 0.5)(hits(four, {"a.md": 0.3}), judged_by(four, saying(-4.0)))
    assert (found.score, found.evidence["rerank"], found.evidence["blend"]) == (0.3, -4.0, 1.0)


def test_no_hits_ask_nobody(memory: DictStore) -> None:
    run = judged_by(memory, lambda *_: pytest.fail("asked"))
    assert Rerank("cross", 0.5)([], run) == []
    assert run.notes == []


def raising(reranker: str, query: str, texts: Sequence[str]) -> RerankResult:
    raise RuntimeError("out of memory")


@pytest.mark.parametrize(
    ("judge", "note"),
    [
        (lambda *_: RerankResult(None, "skipped: install it"), "skipped: install it"),
        (raising, "failed and skipped: RuntimeError: out of memory"),
    ],
)
def test_a_reranker_that_cannot_leaves_the_order_and_a_note(four: DictStore, judge: Judge, note: str) -> None:
    before, run = hits(four, FUSED), judged_by(four, judge)
    assert Rerank("cross", 0.5)(before, run) == before
    assert run.notes == [note]


def test_without_any_model_the_step_says_so(four: DictStore) -> None:
    before, run = hits(four, FUSED), run_over(four)
    assert Rerank("cross", 0.5)(before, run) == before
    assert run.notes == ["skipped: no reranker 'cross'"]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=30), st.floats(0, 1))
def test_any_finite_opinion_gives_every_hit_once_in_falling_blend(opinion: list[float], weight: float) -> None:
    store = DictStore()
    store.writer.add_collection("/work/notes")
    for number in range(len(opinion)):
        put(store, f"{number}.md", "text")
    before = hits(store, {f"{number}.md": 1 / (60 + number) for number in range(len(opinion))})
    found = Rerank("cross", weight, top=99)(before, judged_by(store, saying(*opinion)))
    assert sorted(places(found)) == sorted(places(before))
    blends = [hit.evidence["blend"] for hit in found]
    assert blends == sorted(blends, reverse=True)
    assert all(0 <= blend <= 1 + 1e-9 for blend in blends)


# --- blending ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("signal", "expected"),
    [
        ([3.0], [1.0]),
        ([2.0, 2.0], [1.0, 1.0]),
        ([1.0, 3.0, 2.0], [0.0, 1.0, 0.5]),
        ([1.0, None, 3.0], [0.0, 0.0, 1.0]),
        ([-1e308, 1e308, 0.0], [0.0, 1.0, 0.5]),
        ([0.0, 5e-324], [1.0, 1.0]),
    ],
)
def test_min_max(signal: list[float | None], expected: list[float]) -> None:
    assert scale_min_max(signal) == expected


def test_weights_count_by_their_ratio_and_without_what_nobody_says() -> None:
    signals = {"bm25": [1.0, 3.0], "cosine": [0.9, 0.1], "rerank": [None, None]}
    assert blend_signals(signals, {"bm25": 2, "cosine": 6, "rerank": 100}) == pytest.approx([0.75, 0.25])


def with_evidence(found: list[Hit], **signals: list[float | None]) -> list[Hit]:
    columns = {
        name: dict(zip((hit.stored.key for hit in found), values, strict=True)) for name, values in signals.items()
    }
    return [
        replace(hit, evidence={name: value for name in columns if (value := columns[name][hit.stored.key]) is not None})
        for hit in found
    ]


def test_combine_scores_by_evidence(four: DictStore) -> None:
    found = with_evidence(
        hits(four, FUSED), bm25=[10, 20, None, 15], cosine=[0.5, None, 0.9, 0.7], rerank=[0.0, 8.0, 4.0, -8.0]
    )
    run = run_over(four)
    combined = Combine()(found, run)
    assert scores(combined) == {"b.md#0": 0.7, "c.md#0": 0.675, "a.md#0": 0.25, "d.md#0": 0.25}
    assert combined[0].evidence["fused"] == 0.04
    assert run.notes == []


def test_combine_fades_with_age(memory: DictStore) -> None:
    put(memory, "old.md", "old", age_days=180)
    put(memory, "new.md", "new")
    found = with_evidence(hits(memory, {"old.md": 2, "new.md": 1}), bm25=[2, 1], cosine=[1, 1], rerank=[1, 1])
    run = run_over(memory)
    faded = HalfLifeDecay(180, 0.5)(Combine()(found, run), run)
    assert scores(faded) == {"new.md#0": 0.8, "old.md#0": 0.75}


def test_combine_without_a_reranker_says_so_and_weighs_the_rest(four: DictStore) -> None:
    run = run_over(four)
    found = with_evidence(hits(four, {"a.md": 2, "b.md": 1}), bm25=[1, 2], cosine=[0.2, 0.4])
    assert scores(Combine()(found, run)) == {"b.md#0": 1.0, "a.md#0": 0.0}
    assert run.notes == ["no hit has rerank"]


def test_combine_without_any_evidence_leaves_the_order(four: DictStore) -> None:
    before, run = hits(four, FUSED), run_over(four)
    assert Combine()(before, run) == before
    assert run.notes == ["skipped: no hit has any of the weighted evidence"]
    assert Combine()([], run) == []


def test_blends_are_finite_for_hostile_numbers() -> None:
    values = blend_signals({"x": [-1.7e308, 1.7e308, 0.0], "y": [5e-324, 0.0, 1.0]}, {"x": 0.5, "y": 0.5})
    assert all(map(math.isfinite, values))
