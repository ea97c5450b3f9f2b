"""Golden rankings: which recipes and queries, how a ranking is written down, what it is worth."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from itertools import zip_longest
from pathlib import Path

from dowse.engine import Engine
from dowse.evaluate import GoldQuery, GoldSet, PathJudge, evaluate
from dowse.model import Hit, Query

HERE = Path(__file__).parent
# The one place to name a recipe that is to be watched: `pytest tests/golden --update` writes its files.
RECIPES = ("lexical", "semantic", "hybrid", "lexical-files", "hybrid-files", "ragdocs", "auto")
MEASURES = ("ndcg@10", "mrr", "recall@10")
DEPTH = 10  # hits per query that are measured
SHOWN = 5  # of them, in a ranking

_NUMBER = re.compile(r"-?\d+\.\d{4}\b")
# Machines differ in the last bits of a cosine, which may fall on both sides of a rounding.
_ROUNDING = 0.000101


@dataclass(frozen=True, slots=True)
class Labelled:
    kind: str
    text: str
    relevant: tuple[tuple[str, float], ...]


Answers = Mapping[str, Sequence[Hit]]


def queries() -> list[Labelled]:
    table = tomllib.loads((HERE / "queries.toml").read_text(encoding="utf-8"))
    return [Labelled(it["kind"], it["text"], tuple(it.get("relevant", {}).items())) for it in table["query"]]


def answers(engine: Engine, recipe: str) -> Answers:
    return {it.text: engine.search(Query(it.text, limit=DEPTH, recipe=recipe)).hits for it in queries()}


# --- rankings -------------------------------------------------------------------------------


def ranking_text(found: Answers) -> str:
    """Every query with its best hits, in the order of the queries file."""
    return "\n".join(line for query in queries() for line in _query_lines(query, found[query.text][:SHOWN]))


def _query_lines(query: Labelled, hits: Sequence[Hit]) -> list[str]:
    lines = [_hit_line(rank, hit) for rank, hit in enumerate(hits, 1)]
    return [f"[{query.kind}] {query.text}", *(lines or ["  nothing"]), ""]


def _hit_line(rank: int, hit: Hit) -> str:
    chunk = hit.stored.chunk
    place = f"{hit.stored.record.path}:{chunk.start_line}-{chunk.end_line}"
    evidence = "  ".join(f"{name} {_number(value)}" for name, value in sorted(hit.evidence.items()))
    return f"  {rank}. {place}  {hit.score:.4f}  {evidence}"


def _number(value: float) -> str:
    """Ranks and counts as they are, measurements rounded."""
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def difference(before: str, after: str) -> str:
    """What a reviewer should see; empty when they differ by no more than roundings."""
    old, new = before.splitlines(), after.splitlines()
    if all(_same(one, other) for one, other in zip_longest(old, new)):
        return ""
    return "\n".join(unified_diff(old, new, "committed", "now", lineterm="", n=2))


def _same(old: str | None, new: str | None) -> bool:
    if old is None or new is None or _NUMBER.sub("#", old) != _NUMBER.sub("#", new):
        return False
    numbers = zip(_NUMBER.findall(old), _NUMBER.findall(new), strict=True)
    return all(abs(float(one) - float(other)) <= _ROUNDING for one, other in numbers)


# --- metrics --------------------------------------------------------------------------------

Figures = dict[str, dict[str, float]]


def measured(recipe: str, found: Answers) -> dict[str, float]:
    """The means over the labelled queries; whole files are judged by their path alone."""
    whole = recipe.endswith("-files")
    labelled = [it for it in queries() if it.relevant]
    gold = GoldSet("golden", tuple(GoldQuery(it.text, it.text, _judge(it, whole)) for it in labelled))
    scores = evaluate(gold, lambda text: [_place(hit, whole) for hit in found[text]], ks=(DEPTH,))
    return {measure: round(scores.mean(measure), 4) for measure in MEASURES}


def _judge(query: Labelled, whole: bool) -> PathJudge:
    if not whole:
        return PathJudge(query.relevant)
    best: dict[str, float] = {}
    for label, gain in query.relevant:
        path = label.partition(" > ")[0]
        best[path] = max(gain, best.get(path, 0.0))
    return PathJudge(tuple(best.items()))


def _place(hit: Hit, whole: bool) -> str:
    trail = () if whole else hit.stored.chunk.trail
    return " > ".join([hit.stored.record.path, *trail])


def metrics_text(encoder: str, figures: Figures) -> str:
    header = (
        f"# What each recipe scores on the labelled queries of queries.toml with the encoder {encoder}, from 0 to 1.\n"
        "# Written by `pytest tests/golden --update`. A figure that falls needs its reason in the commit's message.\n"
    )
    return header + "".join(map(_table, figures, figures.values()))


def _table(recipe: str, values: Mapping[str, float]) -> str:
    return "".join([f'\n["{recipe}"]\n', *(f'"{measure}" = {value:.4f}\n' for measure, value in values.items())])


def fallen(before: Figures, now: Figures, hair: float) -> list[str]:
    """Which figures are lower by more than a hair, as lines."""
    return [
        f"{recipe} {measure}: {before[recipe][measure]:.4f} → {value:.4f}"
        for recipe, measure, value in _each(now)
        if value < before[recipe][measure] - hair
    ]


def _each(figures: Figures) -> Iterable[tuple[str, str, float]]:
    return ((recipe, measure, value) for recipe, of in figures.items() for measure, value in of.items())
