"""How good a ranking is: gold sets, metrics, scores per recipe, and whether one recipe beats another."""

from __future__ import annotations

from dowse.search.evaluate.compare import Comparison, compare, compare_scores
from dowse.search.evaluate.gold import ByDocument, ByPath, Gold, GoldQuery
from dowse.search.evaluate.readers import read_beir, read_gold, read_gold_lines
from dowse.search.evaluate.report import comparison_dict, format_table, scores_dict
from dowse.search.evaluate.scores import QueryScore, Scores, evaluate

__all__ = [
    "ByDocument",
    "ByPath",
    "Comparison",
    "Gold",
    "GoldQuery",
    "QueryScore",
    "Scores",
    "compare",
    "compare_scores",
    "comparison_dict",
    "evaluate",
    "format_table",
    "read_beir",
    "read_gold",
    "read_gold_lines",
    "scores_dict",
]
