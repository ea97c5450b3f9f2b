"""The call graph, judged by the suite: what the engine answers at its default confidence, in both directions."""

from __future__ import annotations

import pytest
from call_cases import LANGUAGES, all_cases
from call_report import Result, ask, mistakes, table, total
from call_scores import DIRECTIONS, Direction

MIN_PRECISION, MIN_RECALL = 0.97, 0.92


@pytest.fixture(scope="module")
def results() -> list[Result]:
    return [ask(case) for case in all_cases()]


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_call_graph_is_right(results: list[Result], language: str, direction: Direction) -> None:
    score = total(results, language, direction)
    said = "\n".join([*mistakes(results), *table(results)])
    assert score.precision >= MIN_PRECISION and score.recall >= MIN_RECALL, said


def test_trees_keep_classes_apart(results: list[Result]) -> None:
    assert not [(it.case.title, it.strays) for it in results if it.strays]


def test_trees_reach_the_callers_of_callers(results: list[Result]) -> None:
    wanted = sum(len(tree.chains) for it in results for tree in it.case.trees)
    broken = [(it.case.title, it.broken) for it in results if it.broken]
    assert sum(len(chains) for _, chains in broken) <= wanted * (1 - MIN_RECALL), broken
