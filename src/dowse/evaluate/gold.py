"""Gold sets: queries with a judge that turns a ranked list of documents into gains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from dowse.errors import BadInput


class Judge(Protocol):
    def gains(self, ranking: Sequence[str]) -> list[float]:
        """One gain per rank, 0 where nothing new and relevant is found."""
        ...

    def ideal(self) -> list[float]:
        """The gains of the best possible ranking, best first."""
        ...


@dataclass(frozen=True, slots=True)
class ByDocument:
    """Relevance by exact document id; all gains are above zero."""

    relevant: Mapping[str, float]

    def gains(self, ranking: Sequence[str]) -> list[float]:
        left = dict(self.relevant)
        return [left.pop(document, 0.0) for document in ranking]

    def ideal(self) -> list[float]:
        return sorted(self.relevant.values(), reverse=True)


@dataclass(frozen=True, slots=True)
class ByPath:
    """Relevance by a part of the path, case-sensitive, as (part, gain) pairs; all gains are above zero.

    Each pair is credited once, at the first path that holds it. A path is credited for one pair only,
    the best still open: with two at one rank a ranking could score above the ideal.
    """

    parts: tuple[tuple[str, float], ...]

    def gains(self, ranking: Sequence[str]) -> list[float]:
        left = self._best_first()
        credited = {path: _credit(path, left) for path in dict.fromkeys(ranking)}
        return [credited.pop(path, 0.0) for path in ranking]

    def ideal(self) -> list[float]:
        return [gain for _, gain in self._best_first()]

    def _best_first(self) -> list[tuple[str, float]]:
        return sorted(self.parts, key=lambda pair: pair[1], reverse=True)


def _credit(path: str, left: list[tuple[str, float]]) -> float:
    """The gain of the best pair that matches; takes it out of `left`."""
    for place, (part, gain) in enumerate(left):
        if part in path:
            del left[place]
            return gain
    return 0.0


@dataclass(frozen=True, slots=True)
class GoldQuery:
    """A question and how to judge its answers; `collection` is where it was asked, empty for anywhere."""

    id: str
    text: str
    judge: Judge
    collection: str = ""


@dataclass(frozen=True, slots=True)
class Gold:
    """Judged queries under the name they were read from; `unjudged` were left out for lack of judgements."""

    name: str
    queries: tuple[GoldQuery, ...]
    unjudged: int = 0

    def __post_init__(self) -> None:
        if not self.queries:
            raise BadInput(f"{self.name}: no query has a relevant document; add judgements with a score above 0")
