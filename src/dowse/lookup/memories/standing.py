"""Whether what a memory says still counts: others may have taken its place, and its time may be over."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from dowse.errors import BadInput
from dowse.lookup.memories.edges import Edges, key
from dowse.lookup.memories.walk import follow
from dowse.model import Record
from dowse.text.times import parse_moment

_DAY: Final = len("2026-11-02")
_SECONDS_PER_DAY: Final = 86_400


@dataclass(frozen=True, slots=True)
class Standing:
    """`not_before` and `not_after` are as written, and empty where the memory is valid in that respect."""

    superseded_by: tuple[Record, ...] = ()
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
        superseded_by=tuple(_successors(record, supersedes)),
        archived=facets.get("status", "").lower() == "archived",
        not_before=valid_from if _moment(valid_from, now, now) > now else "",
        not_after=valid_until if _moment(valid_until, now, now + 1, end=True) <= now else "",
    )


def _successors(record: Record, supersedes: Edges) -> Iterator[Record]:
    """Those that took its place; of memories that supersede each other in a circle, none did."""
    older = {key(it.record) for it in follow(supersedes, record).steps if it.record}
    for edge in supersedes.to(record):
        if key(edge.source) not in older:
            yield edge.source


def _moment(text: str, now: float, unknown: float, *, end: bool = False) -> float:
    """A day without a time ends when it is over."""
    try:
        moment = parse_moment(text, now) if text else unknown
    except BadInput:
        return unknown
    return moment + _SECONDS_PER_DAY if end and text and len(text.strip()) == _DAY else moment
