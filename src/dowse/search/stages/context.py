"""Context of a hit: neighbouring passages or the enclosing section."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from dowse.model import Hit, StoredChunk
from dowse.search.run import SearchRun
from dowse.search.stages.base import rescore

_PassageReader = Callable[[Hit], list[StoredChunk]]


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Adds up to `n` passages before and after each hit, unless they are hits or belong to a better one."""

    n: int = 1
    max_chars: int = 4000

    def __call__(self, hits: list[Hit], run: SearchRun) -> list[Hit]:
        passages = _passage_reader(run)
        shown = {hit.stored.key for hit in hits}
        widened: list[Hit] = []
        for hit in hits:
            span = self._span(hit, passages(hit), shown)
            shown.update(it.key for it in span)
            widened.append(_widen_hit(hit, span))
        return widened

    def _span(self, hit: Hit, passages: Sequence[StoredChunk], shown: Collection[int]) -> Sequence[StoredChunk]:
        place = _position_of(hit, passages)
        if place is None:
            return ()
        first = last = place
        for _ in range(self.n):
            if first > 0 and self._may_join(passages[first - 1], passages[first - 1 : last + 1], shown):
                first -= 1
            if last + 1 < len(passages) and self._may_join(passages[last + 1], passages[first : last + 2], shown):
                last += 1
        return passages[first : last + 1]

    def _may_join(self, one: StoredChunk, together: Sequence[StoredChunk], shown: Collection[int]) -> bool:
        return one.key not in shown and len(_join_passages(together)) <= self.max_chars


@dataclass(frozen=True, slots=True)
class ParentSection:
    """Widens a hit to its parent section, or else its own, if that fits. Other hits in that section are folded."""

    max_chars: int = 4000

    def __call__(self, hits: list[Hit], run: SearchRun) -> list[Hit]:
        passages = _passage_reader(run)
        shown: set[int] = set()
        widened: list[Hit] = []
        for hit in hits:
            if hit.stored.key in shown:
                continue
            span = self._section(hit, passages(hit), shown)
            shown.update((hit.stored.key, *(it.key for it in span)))
            widened.append(_widen_hit(hit, span))
        if len(widened) < len(hits):
            run.notes.append(f"hits folded into the section of a better one: {len(hits) - len(widened)}")
        return widened

    def _section(self, hit: Hit, passages: Sequence[StoredChunk], shown: Collection[int]) -> Sequence[StoredChunk]:
        place, trail = _position_of(hit, passages), hit.stored.chunk.trail
        if place is None or not trail:
            return ()
        for above in (trail[:-1], trail):
            span = _passages_below(above, passages, place)
            if len(_join_passages(span)) <= self.max_chars and not any(it.key in shown for it in span):
                return span
        return ()


def _passage_reader(run: SearchRun) -> _PassageReader:
    """Return a function that reads the passages of a hit's record with the same role, in order. Each record is read
    once."""
    read: dict[tuple[str, str], list[StoredChunk]] = {}

    def passages(hit: Hit) -> list[StoredChunk]:
        record = hit.stored.record
        if (record.collection, record.path) not in read:
            read[record.collection, record.path] = run.view.chunks(record)
        return [it for it in read[record.collection, record.path] if it.chunk.role == hit.stored.chunk.role]

    return passages


def _position_of(hit: Hit, passages: Sequence[StoredChunk]) -> int | None:
    """Return the hit's position, or None if its record was re-indexed meanwhile."""
    return next((place for place, it in enumerate(passages) if it.key == hit.stored.key), None)


def _passages_below(trail: tuple[str, ...], passages: Sequence[StoredChunk], place: int) -> Sequence[StoredChunk]:
    """Return the contiguous passages around `place` below this heading path; a heading may occur twice."""
    first = last = place
    while first > 0 and passages[first - 1].chunk.trail[: len(trail)] == trail:
        first -= 1
    while last + 1 < len(passages) and passages[last + 1].chunk.trail[: len(trail)] == trail:
        last += 1
    return passages[first : last + 1]


def _widen_hit(hit: Hit, span: Sequence[StoredChunk]) -> Hit:
    """Return the hit with the text and lines of the whole span; its key and id stay."""
    if len(span) < 2:
        return hit
    first, last = span[0].chunk.start_line, span[-1].chunk.end_line
    chunk = replace(hit.stored.chunk, text=_join_passages(span), start_line=first, end_line=last)
    return replace(
        rescore(hit, hit.score, context_chunks=len(span)),
        stored=replace(hit.stored, chunk=chunk),
    )


def _join_passages(span: Sequence[StoredChunk]) -> str:
    """Join passages as they are in the file; chunks omit only the whitespace between them."""
    parts = [span[0].chunk.text]
    for one, following in pairwise(span):
        breaks = following.chunk.start_line - one.chunk.end_line
        parts += ["\n" * breaks or " ", following.chunk.text]
    return "".join(parts)
