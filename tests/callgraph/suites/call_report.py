"""The whole suite asked once, and its table: by language, direction and theme."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from call_cases import LANGUAGES, Case
from call_scores import DIRECTIONS, Direction, Score, graph, judged


@dataclass(frozen=True, slots=True)
class Result:
    """`strays` are definitions that a tree of callers must not hold, `broken` the chains it should have and has not."""

    case: Case
    scores: dict[Direction, Score]
    strays: tuple[str, ...]
    broken: tuple[tuple[str, ...], ...]


def ask(case: Case) -> Result:
    with graph(case) as asked:
        scores = {direction: judged(case, asked.edges(direction), direction) for direction in DIRECTIONS}
        strays: list[str] = []
        broken: list[tuple[str, ...]] = []
        for tree in case.trees:
            chains = asked.chains(tree)
            strays += sorted({name for chain in chains for name in chain} & tree.never)
            broken += [chain for chain in tree.chains if chain not in chains]
    return Result(case, scores, tuple(strays), tuple(broken))


def total(results: Sequence[Result], language: str, direction: Direction, theme: str = "") -> Score:
    chosen = (it for it in results if it.case.language == language and theme in ("", it.case.theme))
    return sum((it.scores[direction] for it in chosen), Score())


def table(results: Sequence[Result]) -> list[str]:
    lines = [
        f"{'':26}{'cases':>6}{'edges':>7}{'down':>16}{'up':>16}",
        f"{'':39}{'prec.  recall':>16}{'prec.  recall':>16}",
    ]
    for language in LANGUAGES:
        lines.append(_row(results, language, ""))
        themes = sorted({it.case.theme for it in results if it.case.language == language})
        lines += [_row(results, language, theme) for theme in themes]
    return lines


def _row(results: Sequence[Result], language: str, theme: str) -> str:
    cases = [it.case for it in results if it.case.language == language and theme in ("", it.case.theme)]
    edges = sum(len(case.calls) for case in cases)
    figures = (total(results, language, direction, theme) for direction in DIRECTIONS)
    columns = "".join(f"{it.precision:9.3f}{it.recall:7.3f}" for it in figures)
    return f"{f'  {theme}' if theme else language:26}{len(cases):6}{edges:7}{columns}"


def mistakes(results: Sequence[Result]) -> Iterator[str]:
    """Everything that is not as it should be, below the case it belongs to."""
    for result in results:
        lines = [*_differences(result), *(f"    stray   {name}" for name in result.strays)]
        lines += [f"    broken  {' <- '.join(chain)}" for chain in result.broken]
        if lines:
            yield f"{result.case.title}"
            yield from lines


def _differences(result: Result) -> Iterator[str]:
    for direction, score in result.scores.items():
        yield from (f"    {direction:4} invented  {caller} -> {callee}" for caller, callee in score.invented)
        yield from (f"    {direction:4} missed    {caller} -> {callee}" for caller, callee in score.missed)
