"""How good a ranking is: gold sets, metrics, scores per recipe, and whether one recipe beats another."""

from __future__ import annotations

from dowse.evaluate.compare import Comparison, compare, compare_scores
from dowse.evaluate.gold import ByDocument, ByPath, Gold, GoldQuery
from dowse.evaluate.questions import ORIGINS, Question
from dowse.evaluate.readers import read_beir, read_gold, read_gold_lines
from dowse.evaluate.report import comparison_dict, comparison_line, format_table, scores_dict
from dowse.evaluate.sample import Sample, draw, gold_queries
from dowse.evaluate.scores import MEASURES, QueryScore, Scores, evaluate
from dowse.evaluate.tune import Advice, Weights, advise

__all__ = [
    "MEASURES",
    "ORIGINS",
    "Advice",
    "ByDocument",
    "ByPath",
    "Comparison",
    "Gold",
    "GoldQuery",
    "QueryScore",
    "Question",
    "Sample",
    "Scores",
    "Weights",
    "advise",
    "compare",
    "compare_scores",
    "comparison_dict",
    "comparison_line",
    "draw",
    "evaluate",
    "format_table",
    "gold_queries",
    "read_beir",
    "read_gold",
    "read_gold_lines",
    "scores_dict",
]
