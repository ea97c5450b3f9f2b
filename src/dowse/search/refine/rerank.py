"""A second look at the best hits by a model that reads query and passage together; it is heard, it does not decide."""

from __future__ import annotations

from dataclasses import dataclass

from dowse.model import TRAIL_SEPARATOR, Hit
from dowse.search.refine.blend import blended
from dowse.search.refine.stage import relevance, rescored
from dowse.search.run import Judged, Run


@dataclass(frozen=True, slots=True)
class Rerank:
    """Reorders the first `top` hits: `weight` is the reranker's share, the rest is that of the order they came in.

    Hits of other kinds keep their places, and so do those behind. Scores stay with the places, because those of a
    reranker are of another scale than those before and behind; its own are the hit's evidence.
    """

    reranker: str
    weight: float
    top: int = 20
    kinds: tuple[str, ...] = ("doc", "memory")
    chars: int = 2_000

    def __call__(self, hits: list[Hit], run: Run) -> list[Hit]:
        places = [place for place, hit in enumerate(hits[: self.top]) if hit.stored.record.kind in self.kinds]
        if not places:
            if hits:
                run.notes.append(f"skipped: no hit is of a kind that is judged ({', '.join(self.kinds)})")
            return hits
        judged = [hits[place] for place in places]
        opinion = self._judged(judged, run)
        if opinion.scores is None:
            run.notes.append(opinion.why_not)
            return hits
        return _placed(hits, places, self._ordered(judged, opinion.scores))

    def _judged(self, hits: list[Hit], run: Run) -> Judged:
        try:
            return run.models.judge(self.reranker, run.query.text, [_text(hit)[: self.chars] for hit in hits])
        except Exception as error:  # noqa: BLE001 - a model or a driver may raise anything here
            return Judged(None, f"failed and was left out: {type(error).__name__}: {error}")

    def _ordered(self, hits: list[Hit], opinion: tuple[float, ...]) -> list[Hit]:
        fused = [relevance(hit) for hit in hits]
        blend = blended({"fused": fused, "rerank": opinion}, {"fused": 1 - self.weight, "rerank": self.weight})
        scored = [
            rescored(hit, hit.score, rerank=score, blend=both)
            for hit, score, both in zip(hits, opinion, blend, strict=True)
        ]
        return sorted(scored, key=lambda hit: -hit.evidence["blend"])


def _placed(hits: list[Hit], places: list[int], ordered: list[Hit]) -> list[Hit]:
    """The ordered ones at the places they hold together, each with the score of its place."""
    placed = list(hits)
    for place, hit in zip(places, ordered, strict=True):
        placed[place] = rescored(hit, hits[place].score)
    return placed


def _text(hit: Hit) -> str:
    """Where the passage stands, then the passage."""
    text, trail = hit.stored.chunk.text, hit.stored.chunk.trail
    heading = TRAIL_SEPARATOR.join(dict.fromkeys(part for part in (hit.stored.record.title, *trail) if part))
    return text if not heading or text.lstrip("# ").startswith(heading) else f"{heading}\n\n{text}"
