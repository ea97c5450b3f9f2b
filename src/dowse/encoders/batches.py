"""Splitting many texts into groups of similar length, so that long work can be stored as it goes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dowse.encoders.base import Encoder, Matrix

# About 6,000 tokens, or 15 texts for all cores: a third of a second of the transformer on two cores.
GROUP_CHARS = 24_000
# What is beyond this is mostly cut off by the model, so it costs nothing and must not count.
COUNTED_CHARS = 2_400


def in_batches(encoder: Encoder, texts: Sequence[str]) -> Iterator[tuple[list[int], Matrix]]:
    """(positions in `texts`, their rows) in the order of work, short texts first, each position once."""
    for positions in similar(texts):
        yield positions, encoder.encode([texts[position] for position in positions])


def similar(texts: Sequence[str]) -> Iterator[list[int]]:
    """All positions of `texts`, in groups of like length that are about equally much work."""
    lengths = [min(len(text), COUNTED_CHARS) + 1 for text in texts]
    return packed(lengths, GROUP_CHARS)


def packed(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Positions by rising length, grouped so that members × the longest stays within the budget."""
    group: list[int] = []
    for position in sorted(range(len(lengths)), key=lengths.__getitem__):
        if group and lengths[position] * (len(group) + 1) > budget:
            yield group
            group = []
        group.append(position)
    if group:
        yield group


def equal(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Positions by rising length, in groups of one length whose sum stays within the budget."""
    by_length: dict[int, list[int]] = {}
    for position, length in enumerate(lengths):
        by_length.setdefault(length, []).append(position)
    for length, positions in sorted(by_length.items()):
        count = max(1, budget // max(1, length))
        yield from (positions[start : start + count] for start in range(0, len(positions), count))
