"""How good a ranking is: gold sets, metrics, scores per recipe, and whether one recipe beats another."""

from __future__ import annotations

from dowse.search.evaluate.compare import Comparison, compare, compare_scores
from dowse.search.evaluate.gold import ByDocument, ByPath, Gold, GoldQuery
from dowse.search.evaluate.questions import ORIGINS, Question
from dowse.search.evaluate.readers import read_beir, read_gold, read_gold_lines
from dowse.search.evaluate.report import comparison_dict, comparison_line, format_table, scores_dict
from dowse.search.evaluate.sample import Sample, draw, gold_queries
from dowse.search.evaluate.scores import QueryScore, Scores, evaluate
from dowse.search.evaluate.tune import Advice, Weights, advise

__all__ = [
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
