"""Evaluation of rankings: gold sets, metrics, scores per recipe, and significance tests."""

from __future__ import annotations

from dowse.evaluate.gold import DocumentJudge, GoldQuery, GoldSet, PathJudge, read_beir, read_gold, read_gold_lines
from dowse.evaluate.metrics import (
    EVALUATION_MEASURES,
    Comparison,
    QueryScore,
    Scores,
    compare,
    compare_scores,
    evaluate,
)
from dowse.evaluate.self_eval import (
    QUESTION_ORIGINS,
    Advice,
    FusionWeights,
    Sample,
    SyntheticQuestion,
    advise,
    comparison_dict,
    comparison_line,
    draw_sample,
    format_table,
    gold_queries,
    scores_dict,
)

__all__ = [
    "EVALUATION_MEASURES",
    "QUESTION_ORIGINS",
    "Advice",
    "Comparison",
    "DocumentJudge",
    "FusionWeights",
    "GoldQuery",
    "GoldSet",
    "PathJudge",
    "QueryScore",
    "Sample",
    "Scores",
    "SyntheticQuestion",
    "advise",
    "compare",
    "compare_scores",
    "comparison_dict",
    "comparison_line",
    "draw_sample",
    "evaluate",
    "format_table",
    "gold_queries",
    "read_beir",
    "read_gold",
    "read_gold_lines",
    "scores_dict",
]
