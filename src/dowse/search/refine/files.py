"""Whole files from passages."""

from __future__ import annotations

from dataclasses import dataclass

from dowse.model import Hit
from dowse.search.refine.stage import by_score, rescored
from dowse.search.run import Run


@dataclass(frozen=True, slots=True)
class FileScores:
    """Each record once, by its best passage, with the scores of its next ones counting less and less.

    A file that says much about a question beats one that mentions it once; passages never see this, because
    several hits of one file would push out all others.
    """

    decay: float = 0.5
    passages: int = 8

    def __call__(self, hits: list[Hit], run: Run) -> list[Hit]:
        of_record: dict[tuple[str, str], list[Hit]] = {}
        for hit in hits:
            record = hit.stored.record
            of_record.setdefault((record.collection, record.path), []).append(hit)
        return by_score([self._whole(found) for found in of_record.values()])

    def _whole(self, found: list[Hit]) -> Hit:
        counted = found[: self.passages]
        score = sum(hit.score * self.decay**place for place, hit in enumerate(counted))
        return rescored(found[0], score, passages=len(found))
