"""How sure one may be of a hit: of one scale for every recipe and kind, whatever the scores are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_hits import hit

from dowse.encoders.base import EncoderTraits
from dowse.model import Hit, Query
from dowse.search.confidence import add_confidence, confidence_scores, query_stems, stem_coverage
from dowse.search.run import QueryVector, SearchModels, SearchRun
from dowse.store.types import ColumnWeights
from oracle.dict_store import DictStore
from support import OpenEngine, write

ASKED = "parser configuration"
BOTH, ONE, NEITHER = "Configurations of parsers", "the parser", "bananas"


def sureness(hits: list[Hit], text: str = ASKED, unrelated: float = 0.0) -> list[float]:
    return [it.evidence["confidence"] for it in add_confidence(hits, text, unrelated)]


def test_more_words_a_nearer_meaning_and_a_better_rank_make_it_surer() -> None:
    assert sureness([hit(BOTH)]) > sureness([hit(ONE)]) > sureness([hit(NEITHER)])
    nearer, farther, no_nearer = ([hit(ONE, cosine=it)] for it in (0.9, 0.7, 0.5))
    assert sureness(nearer, unrelated=0.6) > sureness(farther, unrelated=0.6) > sureness(no_nearer, unrelated=0.6)
    assert sureness([hit(ONE)] * 5) == sorted(sureness([hit(ONE)] * 5), reverse=True)


def test_what_an_encoder_says_counts_only_where_it_is_known_what_unrelated_texts_have() -> None:
    assert sureness([hit(ONE, cosine=0.99)]) == sureness([hit(ONE)])


def test_neither_scores_nor_kinds_make_a_difference() -> None:
    one, other = hit(ONE), replace(hit(ONE, kind="memory"), score=0.001)
    assert sureness([one]) == sureness([other])
    told = add_confidence([other], ASKED, 0.0)
    assert (told[0].score, told[0].stored) == (other.score, other.stored)


def test_what_is_shown_instead_of_what_was_found_is_as_sure_as_that() -> None:
    found = hit(BOTH, cosine=0.8)
    for shown in (hit(NEITHER), hit(NEITHER, cosine=0.1)):
        assert sureness([replace(shown, replaces=found)], unrelated=0.6) == sureness([found], unrelated=0.6)


def run_for_asked(unrelated: float = 0.0) -> SearchRun:
    run = SearchRun(
        Query(ASKED), DictStore().view(), SearchModels(lambda _: QueryVector(None)), 100, ColumnWeights(), 60
    )
    run.vector = QueryVector(None, traits=EncoderTraits(similarity_floor=unrelated))
    return run


def keyed(*hits: Hit) -> list[Hit]:
    return [replace(it, stored=replace(it.stored, key=key)) for key, it in enumerate(hits)]


def scored(*hits: Hit, unrelated: float = 0.0) -> list[float]:
    return [it.score for it in confidence_scores(keyed(*hits), run_for_asked(unrelated))]


def test_as_a_score_it_is_that_of_the_first_whatever_the_rank_and_the_fused_score() -> None:
    (first,) = sureness([hit(BOTH)])
    assert scored(*[hit(BOTH)] * 30) == [first] * 30
    assert scored() == []


def test_as_a_score_it_keeps_the_order() -> None:
    none, one, both = (sureness([hit(it)])[0] for it in (NEITHER, ONE, BOTH))
    assert scored(hit(NEITHER), hit(ONE), hit(BOTH), hit(ONE), hit(NEITHER)) == [both, both, both, one, none]


def test_as_a_score_words_alone_may_vouch_and_so_may_meaning() -> None:
    (by_words,) = sureness([hit(BOTH)])
    assert scored(hit(BOTH, cosine=0.61), unrelated=0.6) == [by_words]
    assert scored(hit(NEITHER, cosine=0.95), unrelated=0.6) == sureness([hit(NEITHER, cosine=0.95)], unrelated=0.6)


def test_what_is_linked_with_a_hit_has_a_share_of_what_that_has() -> None:
    sure, unsure, linked = keyed(hit(BOTH), hit(ONE), replace(hit(NEITHER), evidence={"link_factor": 0.5}))
    for source, expected in ((sure, sureness([sure])[0] / 2), (unsure, sureness([linked])[0])):
        run = run_for_asked()
        run.linked_from[linked.stored.key] = source.stored.key
        assert confidence_scores([sure, unsure, linked], run)[-1].score == pytest.approx(expected, abs=1e-4)


@given(
    st.text(max_size=60),
    st.lists(st.tuples(st.text(max_size=60), st.floats(-1, 1)), max_size=5),
    st.floats(0, 0.99),
)
def test_it_is_a_share_whatever_is_asked(text: str, found: list[tuple[str, float]], unrelated: float) -> None:
    hits = [hit(words, cosine) for words, cosine in found]
    assert all(0 <= it <= 1 for it in sureness(hits, text, unrelated))
    assert [it.stored for it in add_confidence(hits, text, unrelated)] == [it.stored for it in hits]


@pytest.mark.parametrize(
    ("asked", "text", "share"),
    [("id of db", "the identity of a db", 0.5), ("id", "an_id", 1.0), ("parsers", "PARSER.parse()", 1.0), ("?", "", 1)],
)
def test_short_words_stand_alone_and_long_ones_may_end_otherwise(asked: str, text: str, share: float) -> None:
    assert stem_coverage(hit(text), query_stems(asked)) == share


def test_every_recipe_tells_it(tmp_path: Path, open_engine: OpenEngine) -> None:
    write(
        tmp_path / "notes", {"a.md": "# Retries\n\nA request is tried again.\n", "b.md": "# Tea\n\nLeaves and water.\n"}
    )
    engine = open_engine()
    engine.index([tmp_path / "notes"])
    for recipe in ("auto", "lexical", "hybrid", "hybrid-files"):
        first, *_ = engine.search(Query("when is a request tried again", recipe=recipe)).hits
        assert first.stored.record.path == "a.md" and first.evidence["confidence"] > 0.5
