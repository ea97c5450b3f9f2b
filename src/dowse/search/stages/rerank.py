"""Reranking of the best hits by a model that reads query and passage together."""

from __future__ import annotations

from dataclasses import dataclass

from dowse.model import BREADCRUMB_SEPARATOR, Hit
from dowse.search.run import RerankResult, SearchRun
from dowse.search.stages.base import relevance, rescore
from dowse.search.stages.scores import blend_signals


@dataclass(frozen=True, slots=True)
class Rerank:
    """Reorders the first `top` hits by a blend of the reranker's score (`weight`) and the previous order.

    Hits of other kinds keep their positions. Scores stay with the positions, because a reranker's scores have another
    scale; they are recorded in the evidence.
    """

    reranker: str
    weight: float
    top: int = 20
    kinds: tuple[str, ...] = ("doc", "memory")
    chars: int = 2_000

    def __call__(self, hits: list[Hit], run: SearchRun) -> list[Hit]:
        places = [place for place, hit in enumerate(hits[: self.top]) if hit.stored.record.kind in self.kinds]
        if not places:
            if hits:
                run.notes.append(f"skipped: no hit of a kind that is reranked ({', '.join(self.kinds)})")
            return hits
        candidates = [hits[place] for place in places]
        result = self._score(candidates, run)
        if result.scores is None:
            run.notes.append(result.skip_reason)
            return hits
        return _put_into_positions(hits, places, self._blend_and_sort(candidates, result.scores))

    def _score(self, hits: list[Hit], run: SearchRun) -> RerankResult:
        try:
            return run.models.judge(self.reranker, run.query.text, [_reranker_text(hit)[: self.chars] for hit in hits])
        except Exception as error:  # noqa: BLE001 - a model or a driver may raise anything here
            return RerankResult(None, f"failed and skipped: {type(error).__name__}: {error}")

    def _blend_and_sort(self, hits: list[Hit], rerank_scores: tuple[float, ...]) -> list[Hit]:
        fused = [relevance(hit) for hit in hits]
        blend = blend_signals(
            {"fused": fused, "rerank": rerank_scores}, {"fused": 1 - self.weight, "rerank": self.weight}
        )
        scored = [
            rescore(hit, hit.score, rerank=score, blend=blended_score)
            for hit, score, blended_score in zip(hits, rerank_scores, blend, strict=True)
        ]
        return sorted(scored, key=lambda hit: -hit.evidence["blend"])


def _put_into_positions(hits: list[Hit], places: list[int], ordered: list[Hit]) -> list[Hit]:
    """Put the reordered hits into the given positions, each with the score of its position."""
    placed = list(hits)
    for place, hit in zip(places, ordered, strict=True):
        placed[place] = rescore(hit, hits[place].score)
    return placed


def _reranker_text(hit: Hit) -> str:
    """Return the heading path followed by the passage."""
    text, trail = hit.stored.chunk.text, hit.stored.chunk.trail
    heading = BREADCRUMB_SEPARATOR.join(dict.fromkeys(part for part in (hit.stored.record.title, *trail) if part))
    return text if not heading or text.lstrip("# ").startswith(heading) else f"{heading}\n\n{text}"
