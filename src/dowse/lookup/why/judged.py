"""Memories with what they say, and with why that may be so no more; only of those that can be shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from dowse.lookup.memories.edges import edges
from dowse.lookup.memories.standing import Standing, standing
from dowse.lookup.why.budget import cost
from dowse.lookup.why.question import Ground, Neighbour
from dowse.lookup.why.shortened import shortened
from dowse.model import Record, Scope
from dowse.text.memory_edges import SUPERSEDES

MEMORY = "memory"


def judged(ground: Ground, memories: Sequence[tuple[Neighbour, Record]], room: int) -> list[Neighbour]:
    """Those against which something speaks last. To compare one with the code takes long, so that this is done of as
    many as have room, and of those first that other memories and the time say nothing against."""
    ordered = sorted(memories, key=lambda it: not _standing(ground, it[1]).counts)
    least = min((cost(replace(it, text="", how="")) for it, _ in ordered), default=1)
    most = room // least
    shown = [as_memory(ground, *it) for it in ordered[:most]]
    return [*sorted(shown, key=lambda it: bool(it.warning)), *(it for it, _ in ordered[most:])]


def as_memory(ground: Ground, it: Neighbour, record: Record) -> Neighbour:
    """With what it says, where the link itself is no part of that, and with why that may be so no more."""
    chunks = ground.store.chunks(record) if not it.text else []
    text = it.text or shortened(chunks[0].chunk.text if chunks else "")
    return replace(it, text=text, warning="; ".join(_warnings(ground, record)))


def _warnings(ground: Ground, record: Record) -> Iterator[str]:
    told = _standing(ground, record)
    yield from replace(told, superseded_by=told.superseded_by[:1]).sentences()
    yield from ground.stale(record)


def _standing(ground: Ground, record: Record) -> Standing:
    among = edges(ground.store, Scope(collections=(record.collection,), kinds=(MEMORY,)), SUPERSEDES)
    return standing(record, among, ground.now)
