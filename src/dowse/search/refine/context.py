"""More around a hit: the passages before and after it, or the whole section it stands in."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from dowse.model import Hit, Stored
from dowse.search.refine.stage import rescored
from dowse.search.run import Run

_Passages = Callable[[Hit], list[Stored]]


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Up to `n` passages before and after a hit join it; none that is a hit itself or has joined a better one."""

    n: int = 1
    max_chars: int = 4000

    def __call__(self, hits: list[Hit], run: Run) -> list[Hit]:
        passages = _reader(run)
        shown = {hit.stored.key for hit in hits}
        widened: list[Hit] = []
        for hit in hits:
            span = self._span(hit, passages(hit), shown)
            shown.update(it.key for it in span)
            widened.append(_widened(hit, span))
        return widened

    def _span(self, hit: Hit, passages: Sequence[Stored], shown: Collection[int]) -> Sequence[Stored]:
        place = _place(hit, passages)
        if place is None:
            return ()
        first = last = place
        for _ in range(self.n):
            if first > 0 and self._may_join(passages[first - 1], passages[first - 1 : last + 1], shown):
                first -= 1
            if last + 1 < len(passages) and self._may_join(passages[last + 1], passages[first : last + 2], shown):
                last += 1
        return passages[first : last + 1]

    def _may_join(self, one: Stored, together: Sequence[Stored], shown: Collection[int]) -> bool:
        return one.key not in shown and len(_joined(together)) <= self.max_chars


@dataclass(frozen=True, slots=True)
class ParentSection:
    """A hit becomes the section above its own, or else its own, if that fits; other hits in there fold into it."""

    max_chars: int = 4000

    def __call__(self, hits: list[Hit], run: Run) -> list[Hit]:
        passages = _reader(run)
        shown: set[int] = set()
        widened: list[Hit] = []
        for hit in hits:
            if hit.stored.key in shown:
                continue
            span = self._section(hit, passages(hit), shown)
            shown.update((hit.stored.key, *(it.key for it in span)))
            widened.append(_widened(hit, span))
        if len(widened) < len(hits):
            run.notes.append(f"{len(hits) - len(widened)} hits lie in the section of a better one")
        return widened

    def _section(self, hit: Hit, passages: Sequence[Stored], shown: Collection[int]) -> Sequence[Stored]:
        place, trail = _place(hit, passages), hit.stored.chunk.trail
        if place is None or not trail:
            return ()
        for above in (trail[:-1], trail):
            span = _below(above, passages, place)
            if len(_joined(span)) <= self.max_chars and not any(it.key in shown for it in span):
                return span
        return ()


def _reader(run: Run) -> _Passages:
    """The passages of a hit's record that are of its role, in order; each record is read once."""
    read: dict[tuple[str, str], list[Stored]] = {}

    def passages(hit: Hit) -> list[Stored]:
        record = hit.stored.record
        if (record.collection, record.path) not in read:
            read[record.collection, record.path] = run.store.chunks(record)
        return [it for it in read[record.collection, record.path] if it.chunk.role == hit.stored.chunk.role]

    return passages


def _place(hit: Hit, passages: Sequence[Stored]) -> int | None:
    """Where the hit stands; nowhere any more when its record was indexed anew since."""
    return next((place for place, it in enumerate(passages) if it.key == hit.stored.key), None)


def _below(trail: tuple[str, ...], passages: Sequence[Stored], place: int) -> Sequence[Stored]:
    """The passages around the place without a gap whose trails begin with this one: a heading may come twice."""
    first = last = place
    while first > 0 and passages[first - 1].chunk.trail[: len(trail)] == trail:
        first -= 1
    while last + 1 < len(passages) and passages[last + 1].chunk.trail[: len(trail)] == trail:
        last += 1
    return passages[first : last + 1]


def _widened(hit: Hit, span: Sequence[Stored]) -> Hit:
    """The hit, still under its own key and id, with the text and the lines of the whole span."""
    if len(span) < 2:
        return hit
    first, last = span[0].chunk.start_line, span[-1].chunk.end_line
    chunk = replace(hit.stored.chunk, text=_joined(span), start_line=first, end_line=last)
    return replace(
        rescored(hit, hit.score, context_chunks=len(span)),
        stored=replace(hit.stored, chunk=chunk),
    )


def _joined(span: Sequence[Stored]) -> str:
    """As they stand in the file: chunks leave out nothing but the blanks between them."""
    parts = [span[0].chunk.text]
    for one, following in pairwise(span):
        breaks = following.chunk.start_line - one.chunk.end_line
        parts += ["\n" * breaks or " ", following.chunk.text]
    return "".join(parts)
