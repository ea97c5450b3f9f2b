"""Words of the passages near a query's meaning."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from understand_support import paths, run_for

from dowse.model import Query, Scope
from dowse.search.query_features import QueryExpansion
from dowse.search.run import QueryVector, SearchModels, SearchRun
from dowse.store.base import Store
from dowse.store.types import ColumnWeights
from oracle.dict_store import DictStore
from search.stages.refine_support import put, vectors

NEAR, FAR = [1.0, 0.1], [0.1, 1.0]


def fill(store: Store) -> None:
    """Four passages near the query say `jitter`, eight far ones say `pasta`; one far one has no vector."""
    for number in range(4):
        put(store, f"near{number}.md", f"waiting with jitter before the next try, case {number}")
    for number in range(8):
        put(store, f"far{number}.md", f"pasta with salt before the meal, course {number}")
    vectors(store, {f"near{number}.md": NEAR for number in range(4)})
    vectors(store, {f"far{number}.md": FAR for number in range(8)})
    put(store, "unread.md", "what jitter is")


def test_a_word_of_the_nearest_passages_finds_more(store: Store) -> None:
    fill(store)
    run = run_for(store, "backoff", vector=[1.0, 0.0])
    expanded = QueryExpansion(min_standard_errors=2.0)
    assert expanded.concepts(run) == ["case", "jitter", "next", "try", "waiting"]
    found = paths(store, expanded(run))
    assert "unread.md" in found and not any(path.startswith("far") for path in found)
    assert run.notes == ["added words: case, jitter, next, try, waiting"]


def test_words_of_the_query_and_their_forms_are_no_news(store: Store) -> None:
    fill(store)
    run = run_for(store, "jittering, wait: a case to try", vector=[1.0, 0.0])
    assert QueryExpansion().concepts(run) == ["next"]


def test_words_of_the_query_still_count_and_phrases_are_still_required(store: Store) -> None:
    fill(store)
    put(store, "plain.md", "on backoff")
    assert "plain.md" in paths(store, QueryExpansion()(run_for(store, "backoff", vector=[1.0, 0.0])))
    assert paths(store, QueryExpansion()(run_for(store, '"on backoff"', vector=[1.0, 0.0]))) == ["plain.md"]


def test_only_the_nearest_passages_are_read(store: Store) -> None:
    put(store, "best.md", "jitter")
    put(store, "good.md", "rest")
    put(store, "far.md", "pasta")
    vectors(store, {"best.md": [1.0, 0.0], "good.md": [1.0, 0.5], "far.md": [0.0, 1.0]})
    run = run_for(store, "backoff", vector=[1.0, 0.0])
    assert QueryExpansion(neighbours=2, min_frequency=1, min_standard_errors=0.9).concepts(run) == ["jitter"]
    assert QueryExpansion(neighbours=3, min_frequency=1, min_standard_errors=0.1).concepts(run) == ["jitter", "rest"]


def test_bounds(store: Store) -> None:
    fill(store)
    run = run_for(store, "backoff", vector=[1.0, 0.0])
    assert "the" not in QueryExpansion(limit=99, min_frequency=1, min_standard_errors=-99).concepts(run)
    assert QueryExpansion(limit=1).concepts(run) == ["case"]
    assert QueryExpansion(min_frequency=5).concepts(run) == []
    assert QueryExpansion(min_standard_errors=4.0).concepts(run) == []
    assert run.notes == ["the nearest passages have no distinctive words"] * 2


def test_words_out_of_scope_do_not_leak_in(store: Store) -> None:
    fill(store)
    run = run_for(store, "backoff", Scope(paths=("far*",)), vector=[1.0, 0.0])
    assert QueryExpansion()(run) == []


def test_without_vectors_it_says_so(store: Store) -> None:
    fill(store)
    run = run_for(store, "backoff")
    assert QueryExpansion()(run) == [] and run.notes == ["no encoder here"]


def test_the_query_is_encoded_once(store: Store) -> None:
    fill(store)
    asked: list[str] = []

    def encode(text: str) -> QueryVector:
        asked.append(text)
        return QueryVector(None, "none")

    run = SearchRun(
        Query("backoff", hypothesis="wait longer"), store.view(), SearchModels(encode), 10, ColumnWeights(), 60
    )
    QueryExpansion()(run)
    QueryExpansion()(run)
    assert asked == ["wait longer"]


@settings(max_examples=50)
@given(st.lists(st.text(max_size=30), max_size=6), st.text(max_size=30))
def test_any_texts(texts: list[str], query: str) -> None:
    store = DictStore()
    store.writer.add_collection("/work/notes")
    for number, text in enumerate(texts):
        put(store, f"{number}.md", text)
        vectors(store, {f"{number}.md": [1.0, number]})
    expanded = QueryExpansion(min_frequency=1, min_standard_errors=0.0)
    run = run_for(store, query, vector=[1.0, 0.0])
    assert len(expanded.concepts(run)) <= 5
    assert len(expanded(run)) <= len(texts)
