"""Whether what a memory says still counts: others may have taken its place, and its time may be over."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dowse.model import Record
from dowse.text.memory_edges import Edges, key
from dowse.text.memory_facts import moment_of


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


def standing(record: Record, supersedes: Edges, now: float) -> Standing:
    facets = record.facets
    valid_from, valid_until = facets.get("valid_from", ""), facets.get("valid_until", "")
    return Standing(
        superseded_by=tuple(successors(record, supersedes)),
        archived=facets.get("status", "").lower() == "archived",
        not_before=valid_from if _seconds_from(now, valid_from) > 0 else "",
        not_after=valid_until if _seconds_from(now, valid_until) < 0 else "",
    )


def successors(record: Record, supersedes: Edges) -> Iterator[str]:
    """Those that took its place; of memories that supersede each other in a circle, none did."""
    for edge in supersedes.to(key(record)):
        if not supersedes.in_a_circle(edge):
            yield edge.source.name


def _seconds_from(now: float, text: str) -> float:
    moment = moment_of(text)
    return 0.0 if moment is None else moment - now
