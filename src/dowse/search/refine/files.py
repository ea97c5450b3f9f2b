"""Whole files from passages."""

from __future__ import annotations

from dataclasses import dataclass

from dowse.model import Hit
from dowse.search.refine.stage import by_score, rescored
from dowse.search.run import Run


@dataclass(frozen=True, slots=True)
class FileScores:
    """Each record once, by its best passage, with the scores of its next ones counting less and less.

    Code that says much about a question beats code that mentions it once; of the other kinds only the best passage
    counts, because long documents are not better ones.
    """

    decay: float = 0.5
    passages: int = 8
    kinds: tuple[str, ...] = ("code",)

    def __call__(self, hits: list[Hit], run: Run) -> list[Hit]:
        of_record: dict[tuple[str, str], list[Hit]] = {}
        for hit in hits:
            record = hit.stored.record
            of_record.setdefault((record.collection, record.path), []).append(hit)
        return by_score([self._whole(found) for found in of_record.values()])

    def _whole(self, found: list[Hit]) -> Hit:
        counted = found[: self.passages if found[0].stored.record.kind in self.kinds else 1]
        score = sum(hit.score * self.decay**place for place, hit in enumerate(counted))
        return rescored(found[0], score, passages=len(found))


def one_file(hits: list[Hit], run: Run) -> list[Hit]:
    """Each record once, with what all retrievers say of it added up."""
    of_record: dict[tuple[str, str], Hit] = {}
    for hit in hits:
        record = hit.stored.record
        best = of_record.get((record.collection, record.path))
        of_record[record.collection, record.path] = hit if best is None else rescored(best, best.score + hit.score)
    return by_score(list(of_record.values()))
