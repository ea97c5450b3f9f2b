"""A gold set run through a search, and how its scores are shown."""

from __future__ import annotations

import json

import pytest

from dowse.errors import BadInput
from dowse.evaluate import (
    DocumentJudge,
    GoldQuery,
    GoldSet,
    PathJudge,
    QueryScore,
    Scores,
    compare,
    comparison_dict,
    evaluate,
    format_table,
    scores_dict,
)

GOLD = GoldSet(
    "hand-made",
    (
        GoldQuery("q1", "wings", DocumentJudge({"d1": 1.0, "d2": 1.0})),
        GoldQuery("q2", "heat", PathJudge((("guide/", 2.0),))),
    ),
    unjudged=3,
)
ANSWERS = {"wings": ["d1", "x", "d2"], "heat": ["x", "guide/heat.md"]}


class Ticks:
    """A clock that shows the given moments, one per look."""

    def __init__(self, *moments):
        self.moments = iter(moments)

    def __call__(self):
        return next(self.moments)


def test_evaluate_scores_each_query():
    scores = evaluate(GOLD, ANSWERS.__getitem__, ks=(1, 10), perf=Ticks(0, 0.002, 5, 5.5))
    first, second = scores.queries
    assert (first.id, first.ms, second.id, second.ms) == ("q1", 2, "q2", 500)
    assert first.values == pytest.approx(
        {
            "mrr": 1.0,
            "ndcg@1": 1.0,
            "recall@1": 0.5,
            "precision@1": 1.0,
            "hit@1": 1.0,
            "ndcg@10": 1.5 / 1.63093,
            "recall@10": 1.0,
            "precision@10": 0.2,
            "hit@10": 1.0,
        },
        abs=1e-5,
    )
    assert second.values["mrr"] == 0.5
    assert second.values["hit@1"] == 0.0
    assert scores.mean("recall@1") == 0.25
    assert scores.unjudged == 3


def test_the_usual_ranks_are_scored_without_asking():
    scores = evaluate(GOLD, ANSWERS.__getitem__)
    assert {"mrr", "ndcg@10", "recall@5", "recall@10", "recall@100"} <= set(scores.measures)
    assert all(query.ms >= 0 for query in scores.queries)


@pytest.mark.parametrize("ks", [(), (0,), (10, -1)])
def test_ranks_below_one_are_refused(ks):
    with pytest.raises(BadInput, match="each 1 or more"):
        evaluate(GOLD, ANSWERS.__getitem__, ks)


def test_errors_of_the_search_are_not_hidden():
    with pytest.raises(KeyError):
        evaluate(GOLD, {}.__getitem__)


def timed(*latencies):
    return Scores(tuple(QueryScore(str(n), {"mrr": 0.0}, ms) for n, ms in enumerate(latencies)))


PERCENTILES = [
    ([7], 7, 7),
    ([9, 1], 1, 9),
    ([3, 1, 2], 2, 3),
    (range(1, 101), 50, 95),
    (range(1, 21), 10, 19),
]


@pytest.mark.parametrize(("latencies", "p50", "p95"), PERCENTILES)
def test_latency_percentiles_are_measured_values(latencies, p50, p95):
    scores = timed(*latencies)
    assert (scores.latency_ms(50), scores.latency_ms(95)) == (p50, p95)


def recipe(ndcg, recall, ms):
    values = {"mrr": recall, "ndcg@10": ndcg, "recall@5": recall, "hit@5": 1.0}
    return Scores((QueryScore("q", values, ms),), unjudged=2)


RECIPES = {"lexical": recipe(0.5, 0.25, 1.5), "hybrid|wide": recipe(0.6666, 1.0, 120.04)}


def test_plain_table():
    assert format_table(RECIPES).split("\n") == [
        "recipe       ndcg@10  recall@5    mrr  p50 ms  p95 ms",
        "lexical        0.500     0.250  0.250     1.5     1.5",
        "hybrid|wide    0.667     1.000  1.000   120.0   120.0",
    ]


def test_markdown_table():
    assert format_table(RECIPES, ["hit@5"], markdown=True).split("\n") == [
        "| recipe | hit@5 | p50 ms | p95 ms |",
        "| --- | ---: | ---: | ---: |",
        "| lexical | 1.000 | 1.5 | 1.5 |",
        "| hybrid\\|wide | 1.000 | 120.0 | 120.0 |",
    ]


def test_tables_that_cannot_be_made():
    with pytest.raises(BadInput, match="evaluate at least one recipe"):
        format_table({})
    with pytest.raises(BadInput, match=r"'ndcg@3' was not scored; choose from hit@5, mrr"):
        format_table(RECIPES, ["ndcg@3"])


def test_scores_as_json():
    plain = scores_dict(RECIPES["lexical"])
    assert plain == {
        "queries": 1,
        "unjudged": 2,
        "means": {"mrr": 0.25, "ndcg@10": 0.5, "recall@5": 0.25, "hit@5": 1.0},
        "latency_ms": {"p50": 1.5, "p95": 1.5},
    }
    full = scores_dict(RECIPES["lexical"], per_query=True)
    assert full["per_query"] == [{"id": "q", "ms": 1.5, "values": plain["means"]}]
    assert json.loads(json.dumps(full)) == full


def test_comparison_as_json():
    result = comparison_dict(compare([0.5] * 40, [0.75] * 40, seed=1))
    p_value = result.pop("p_value")
    assert p_value < 0.05
    assert result == {
        "queries": 40,
        "mean_difference": 0.25,
        "wins": 40,
        "losses": 0,
        "ties": 0,
        "low": 0.25,
        "high": 0.25,
        "verdict": "better",
    }
