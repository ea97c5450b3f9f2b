"""Whether what a memory says still counts: others may have taken its place, and its time may be over."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dowse.model import Record
from dowse.text.memory_edges import Edges, key
from dowse.text.memory_facts import ARCHIVED, out_of_time


@dataclass(frozen=True, slots=True)
class Standing:
    """`superseded_by` are names; `not_before` and `not_after` are as written, and empty where they do not speak against
    the memory."""

    superseded_by: tuple[str, ...] = ()
    archived: bool = False
    not_before: str = ""
    not_after: str = ""

    @property
    def counts(self) -> bool:
        return not (self.superseded_by or self.archived or self.not_before or self.not_after)

    def sentences(self) -> Iterator[str]:
        """Why it may not count."""
        if self.superseded_by:
            yield f"superseded by {', '.join(self.superseded_by)}"
        if self.archived:
            yield ARCHIVED
        if self.not_before:
            yield f"not valid before {self.not_before}"
        if self.not_after:
            yield f"not valid any more since {self.not_after}"


def standing(record: Record, supersedes: Edges, now: float) -> Standing:
    not_before, not_after = out_of_time(record.facets, now)
    return Standing(
        superseded_by=tuple(successors(record, supersedes)),
        archived=record.facets.get("status", "").lower() == ARCHIVED,
        not_before=not_before,
        not_after=not_after,
    )


def successors(record: Record, supersedes: Edges) -> Iterator[str]:
    """Those that took its place; of memories that supersede each other in a circle, none did."""
    for edge in supersedes.to(key(record)):
        if not supersedes.in_a_circle(edge):
            yield edge.source.name
