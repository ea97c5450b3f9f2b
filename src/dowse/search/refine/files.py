"""Whole files from passages."""

from __future__ import annotations

from dataclasses import dataclass

from dowse.model import Hit
from dowse.search.refine.stage import by_score
from dowse.search.run import Run


@dataclass(frozen=True, slots=True)
class FileScores:
    """Each record once, by its best passage, with the scores of its next ones counting less and less.

    Code that says much about a question beats code that mentions it once; of the other kinds only the best passage
    counts, because long documents are not better ones.
    """

    decay: float = 0.7
    passages: int = 8
    kinds: tuple[str, ...] = ("code",)

    def __call__(self, hits: list[Hit], run: Run) -> list[Hit]:
        of_record: dict[tuple[str, str], list[Hit]] = {}
        for hit in hits:
            record = hit.stored.record
            of_record.setdefault((record.collection, record.path), []).append(hit)
        return by_score([self._whole(found, run) for found in of_record.values()])

    def _whole(self, found: list[Hit], run: Run) -> Hit:
        record = found[0].stored.record
        counted = found[: self.passages if record.kind in self.kinds else 1]
        score = sum(hit.score * self.decay**place for place, hit in enumerate(counted))
        # All retrievers must mean the same when they speak of a file: the passage the first of them liked best.
        face = run.faces.setdefault((record.collection, record.path), found[0].stored)
        return Hit(face, score, {**found[0].evidence, "passages": len(found)})
