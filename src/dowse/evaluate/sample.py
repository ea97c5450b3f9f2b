"""A fair sample of questions that does not change when it is drawn again."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from statistics import fmean

from dowse.evaluate.gold import ByDocument, GoldQuery
from dowse.evaluate.questions import ORIGINS, Question


@dataclass(frozen=True, slots=True)
class Sample:
    """Questions in the order drawn, of `possible` ones; `ambiguous` have several answers and were left out."""

    questions: tuple[Question, ...]
    possible: int
    ambiguous: int

    def of(self, origin: str) -> list[Question]:
        return [it for it in self.questions if it.origin == origin]

    def ids(self, origin: str) -> frozenset[str]:
        return frozenset(map(question_id, self.of(origin)))

    def origins(self) -> Mapping[str, tuple[int, float]]:
        """How many questions each origin gave, and their mean overlap."""
        found = {origin: self.of(origin) for origin in ORIGINS}
        return {origin: (len(of), fmean([it.overlap for it in of] or [0.0])) for origin, of in found.items()}


def draw(questions: Iterable[Question], size: int, seed: int) -> Sample:
    """As many of each origin as there are, in turns; among them first those whose words do not all stand elsewhere
    in the answer too, because the others are found by any search."""
    made = list(questions)
    times = Counter(_plain(it.text) for it in made)
    clear = [it for it in made if times[_plain(it.text)] == 1]
    ordered = sorted(clear, key=lambda it: (it.overlap == 1.0, _lot(it, seed)))
    turns = zip_longest(*([it for it in ordered if it.origin == origin] for origin in ORIGINS))
    taken = islice((it for it in chain.from_iterable(turns) if it is not None), size)
    return Sample(tuple(taken), len(clear), len(made) - len(clear))


def halves(questions: Sequence[Question]) -> tuple[frozenset[str], frozenset[str]]:
    """The ids of two halves, with as many questions of each origin in both."""
    places = {origin: iter(range(len(questions))) for origin in ORIGINS}
    first = frozenset(question_id(it) for it in questions if next(places[it.origin]) % 2 == 0)
    return first, frozenset(map(question_id, questions)) - first


def gold_queries(questions: Iterable[Question]) -> Iterator[GoldQuery]:
    return (GoldQuery(question_id(it), it.text, ByDocument(dict.fromkeys(it.relevant, 1.0))) for it in questions)


def question_id(question: Question) -> str:
    """The text is enough: no two questions of a sample have the same."""
    return f"{question.origin}: {question.text}"


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


def _lot(question: Question, seed: int) -> bytes:
    """Drawn from the question itself, so that a file more or less does not change the rest of the sample."""
    return hashlib.sha256(f"{seed}:{question_id(question)}".encode("utf-8", "surrogateescape")).digest()
