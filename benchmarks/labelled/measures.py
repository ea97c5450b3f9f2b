"""How each labelled set scores one question, as its authors do."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log2
from typing import NamedTuple

from dowse.evaluate import metrics
from dowse.evaluate.gold import DocumentJudge
from labelled.model import Found, Judge

TOP = 10


class Target(NamedTuple):
    """Lines of a file that answer a question; without lines, the whole file does."""

    path: str
    start_line: int = 0
    end_line: int = 0
    gain: float = 1.0

    def matches(self, found: Found) -> bool:
        if found.path != self.path:
            return False
        return not self.end_line or (found.start_line <= self.end_line and found.end_line >= self.start_line)


def documents(relevant: Mapping[str, float]) -> Judge:
    """Whole documents by their ids: nDCG, recall, and what a first page of three holds."""

    def judge(found: Sequence[Found]) -> dict[str, float]:
        gold = DocumentJudge(relevant)
        gains, ideal = gold.gains(distinct_paths(found)), gold.ideal()
        values = {"ndcg@10": metrics.ndcg(gains, ideal, TOP), "recall@100": metrics.recall(gains, ideal, 100)}
        values |= {"precision@3": metrics.precision(gains, 3), "recall@3": metrics.recall(gains, ideal, 3)}
        values |= {"mrr@3": metrics.reciprocal_rank(gains[:3]), "mrr": metrics.reciprocal_rank(gains)}
        return values | {f"pass@{k}": metrics.recall(gains, ideal, k) for k in (5, 10, 20)}

    return judge


def line_ranges(targets: Sequence[Target]) -> Judge:
    """Graded line ranges: a hit is credited for the best range it overlaps that is still open, each range once."""

    def judge(found: Sequence[Found]) -> dict[str, float]:
        left = sorted(targets, key=lambda it: -it.gain)
        ideal = [it.gain for it in left]
        gains = [_credit(hit, left) for hit in found[:TOP]]
        values = {"ndcg@10": metrics.ndcg(gains, ideal, TOP), "mrr": metrics.reciprocal_rank(gains)}
        return values | {f"hit@{k}": metrics.hit_rate(gains, k) for k in (5, 10)}

    return judge


def _credit(hit: Found, left: list[Target]) -> float:
    for place, target in enumerate(left):
        if target.matches(hit):
            del left[place]
            return target.gain
    return 0.0


def first_ranks(targets: Sequence[Target]) -> Judge:
    """Each target counts at the first of ten hits that matches it; repetitions of a file only waste places."""

    def judge(found: Sequence[Found]) -> dict[str, float]:
        ranks = [_first_rank(target, found[:TOP]) for target in targets]
        reached = sum(1 / log2(rank + 1) for rank in ranks if rank)
        best = sum(1 / log2(rank + 1) for rank in range(1, min(TOP, len(targets)) + 1))
        return {"ndcg@10": reached / best}

    return judge


def _first_rank(target: Target, found: Sequence[Found]) -> int:
    """From 1; 0 where nothing matches."""
    return next((rank for rank, hit in enumerate(found, 1) if target.matches(hit)), 0)


def all_files(gold: frozenset[str]) -> Judge:
    """Whether every file that has to be changed is among the first k distinct files."""

    def judge(found: Sequence[Found]) -> dict[str, float]:
        paths = distinct_paths(found)
        ndcg = metrics.ndcg([float(path in gold) for path in paths], [1.0] * len(gold), TOP)
        return {f"acc@{k}": float(gold <= set(paths[:k])) for k in (1, 3, 5, 10)} | {"ndcg@10": ndcg}

    return judge


class Span(NamedTuple):
    """Characters of a text, the end not included."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Lined:
    """A text and where its lines start, with its end as the last."""

    text: str
    starts: tuple[int, ...]

    @classmethod
    def of(cls, text: str) -> Lined:
        ends = (match.end() for match in re.finditer("\n", text))
        return cls(text, (0, *ends, len(text)))


def coverage(path: str, references: Sequence[Span], texts: Mapping[str, Lined]) -> Judge:
    """How much of the referenced characters the passages hold, and how much else.

    Characters that come twice are covered once and retrieved twice.
    """

    def judge(found: Sequence[Found]) -> dict[str, float]:
        passages = [(hit.path, span_of(hit, texts[hit.path])) for hit in found if hit.path in texts]
        retrieved = sum(span.end - span.start for _, span in passages)
        wanted = _union(references)
        held = _union([span for where, span in passages if where == path])
        covered = sum(max(0, min(a.end, b.end) - max(a.start, b.start)) for a in wanted for b in held)
        whole = sum(span.end - span.start for span in wanted)
        precision = covered / retrieved if retrieved else 0.0
        values = {"recall": covered / whole, "precision": precision, "iou": covered / (retrieved + whole - covered)}
        return values | {"ndcg@10": _ndcg_of_spans(passages, path, references)}

    return judge


def _ndcg_of_spans(passages: Sequence[tuple[str, Span]], path: str, references: Sequence[Span]) -> float:
    """Each reference counts at the first passage that overlaps it."""
    left, gains = list(references), []
    for where, span in passages:
        met = [it for it in left if where == path and it.start < span.end and span.start < it.end]
        left = [it for it in left if it not in met]
        gains.append(float(bool(met)))
    return metrics.ndcg(gains, [1.0] * max(1, int(sum(gains)) + len(left)), TOP)


def span_of(hit: Found, lined: Lined) -> Span:
    """Where a passage stands; one that is not a verbatim slice is taken by its lines."""
    starts = lined.starts
    from_line = starts[min(hit.start_line, len(starts)) - 1]
    place = lined.text.find(hit.text, from_line) if hit.text else -1
    if place >= 0 and bisect_right(starts, place) == hit.start_line:
        return Span(place, place + len(hit.text))
    return Span(from_line, starts[min(hit.end_line, len(starts) - 1)])


def _union(spans: Sequence[Span]) -> list[Span]:
    """The same characters in spans that do not overlap."""
    joined: list[Span] = []
    for span in sorted(spans):
        if joined and span.start <= joined[-1].end:
            joined[-1] = Span(joined[-1].start, max(joined[-1].end, span.end))
        else:
            joined.append(span)
    return joined


def distinct_paths(found: Sequence[Found]) -> list[str]:
    return list(dict.fromkeys(hit.path for hit in found))


def resolved(label: str, paths: Sequence[str]) -> str:
    """The file of a corpus that a label means, whose path names the layout of a whole repository.

    Of the files that end like the label, or that the label ends like, the one with most in common.
    """
    ending = [path for path in paths if f"/{label}".endswith(f"/{path}") or f"/{path}".endswith(f"/{label}")]
    return max(ending, key=lambda path: (min(len(path), len(label)), -len(path)), default=label)
