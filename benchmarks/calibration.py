"""Whether the confidence of a hit is what it says: of hits with a confidence of one half, half should be right.

It also fits its constants anew (`dowse/search/confidence.py` has them rounded), and once more without each set, to say
how well they carry over to a set nobody has fitted them to.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dowse.encoders.base import get_traits
from dowse.encoders.choose import choose_encoder
from dowse.engine import Engine
from dowse.model import Query, Scope
from dowse.search.confidence import query_stems, stem_coverage
from labelled.model import Found, LabelledSet, Part
from measuring import Bench, say
from report import Section, table

CALIBRATED = ("anthropic_docs", "anthropic_codebase", "octocode_docs", "cranfield", "scifact")
"""Sets in which what is not labelled is mostly not right, so that a share of right ones means something."""
QUESTIONS = 150
RECIPE, LIMIT = "hybrid", 10
_BINS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.01)
_ROUNDS = 60
_SMALL = 1e-3

Array = np.ndarray
Row = tuple[tuple[float, float, float], float, bool]


@dataclass(frozen=True, slots=True)
class Judged:
    """The hits of one set: what is known of each (share of words, nearness, logarithm of the rank), what it said of
    itself, and whether it was right."""

    name: str
    encoder: str
    known: Array
    said: Array
    right: Array


def measure(bench: Bench, sets: Sequence[LabelledSet], encoders: Sequence[str]) -> Section:
    found = {encoder: [_judged(bench, it.sampled(QUESTIONS), encoder) for it in sets] for encoder in encoders}
    return Section(
        "calibration", "Confidence calibration", [line for judged in found.values() for line in _lines(judged)]
    )


def _judged(bench: Bench, labelled: LabelledSet, encoder: str) -> Judged:
    say(f"calibration: {labelled.name}, {encoder}")
    unrelated = get_traits(choose_encoder(encoder, cache_dir=bench.work / "data" / "models").encoder).similarity_floor
    with bench.opened(labelled, encoder) as parts:
        rows = [row for engine, part in parts for row in _rows(engine, part, labelled.kinds, unrelated)]
    known, said, right = zip(*rows, strict=True)
    return Judged(labelled.name, encoder, np.array(known), np.array(said), np.array(right, dtype=float))


def _rows(engine: Engine, part: Part, kinds: tuple[str, ...], unrelated: float) -> Iterator[Row]:
    for question in part.questions:
        stems = query_stems(question.text)
        answer = engine.search(Query(question.text, Scope(kinds=kinds), limit=LIMIT, recipe=RECIPE))
        for rank, hit in enumerate(answer.hits, 1):
            chunk, cosine = hit.stored.chunk, hit.evidence.get("cosine", unrelated)
            found = Found(hit.stored.record.path, chunk.start_line, chunk.end_line, chunk.text)
            nearness = (cosine - unrelated) / (1 - unrelated) if unrelated else 0.0
            right = any(value > 0 for value in question.judge([found]).values())
            yield (stem_coverage(hit, stems), nearness, float(np.log(rank))), hit.evidence["confidence"], right


def _lines(judged: Sequence[Judged]) -> list[str]:
    rows = [[it.name, *_bins(it.said, it.right), *_quality(it.said, it.right)] for it in judged]
    for it in judged:
        others = [other for other in judged if other is not it]
        if others:
            said = _shares(_fitted(others), it.known)
            rows.append([f"{it.name}, fitted to the other sets", *_bins(said, it.right), *_quality(said, it.right)])
    everything = (np.concatenate([it.said for it in judged]), np.concatenate([it.right for it in judged]))
    rows.append(["**all**", *_bins(*everything), *_quality(*everything)])
    header = [f"{low:g}–{min(high, 1):g}" for low, high in pairwise(_BINS)]
    base, words, meaning, rank = _fitted(judged)
    return [
        f"### {judged[0].encoder}",
        "",
        f"The first {LIMIT} hits of `{RECIPE}` for {QUESTIONS} questions of each set, grouped by confidence. A cell "
        "shows: mean confidence → share of correct hits (number of hits). Brier is the mean squared error; the next "
        "column is the error of always predicting the set's base rate.",
        "",
        *table(["set", *header, "Brier", "Brier of the base rate", "AUC"], rows),
        "",
        f"Fitted to all sets: {base:.2f} {words:+.2f} words {meaning:+.2f} meaning {rank:+.2f} ln(rank).",
        "",
    ]


def _bins(said: Array, right: Array) -> Iterator[str]:
    for low, high in pairwise(_BINS):
        inside = (said >= low) & (said < high)
        yield f"{said[inside].mean():.2f} → {right[inside].mean():.2f} ({inside.sum():,})" if inside.any() else ""


def _quality(said: Array, right: Array) -> list[str]:
    share = right.mean()
    brier = float(((said - right) ** 2).mean())
    return [f"{brier:.3f}", f"{share * (1 - share):.3f}", f"{_auc(said, right):.3f}"]


def _auc(said: Array, right: Array) -> float:
    """How often a right one is told to be surer than a wrong one; as often as not where both are the same."""
    better = said[right == 1][:, None] - said[right == 0][None, :]
    return float(((better > 0) + 0.5 * (better == 0)).mean())


def _fitted(judged: Sequence[Judged]) -> Array:
    """Logistic regression by Newton's steps, in which each set counts the same."""
    known = np.concatenate([it.known for it in judged])
    right = np.concatenate([it.right for it in judged])
    weight = np.concatenate([np.full(len(it.right), 1000 / len(it.right)) for it in judged])
    columns = np.column_stack([np.ones(len(known)), known])
    odds = np.zeros(columns.shape[1])
    for _ in range(_ROUNDS):
        share = 1 / (1 + np.exp(-columns @ odds))
        slope = columns.T @ (weight * (right - share)) - _SMALL * odds
        bend = (columns * (weight * share * (1 - share))[:, None]).T @ columns + _SMALL * np.eye(len(odds))
        odds = odds + np.linalg.solve(bend, slope)
    return odds


def _shares(odds: Array, known: Array) -> Array:
    return 1 / (1 + np.exp(-(odds[0] + known @ odds[1:])))
