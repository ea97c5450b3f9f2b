"""How much comes back: as many hits as asked for, each record once, no more text than the budget allows."""

from __future__ import annotations

from dataclasses import replace

from dowse.model import CHARS_PER_TOKEN, Hit
from dowse.search.run import Run


def best_first(hits: list[Hit], run: Run) -> list[Hit]:
    """As many as asked for."""
    return hits[: run.query.limit]


def within_budget(hits: list[Hit], run: Run) -> list[Hit]:
    """What fits into the token budget, best first; the best one is cut rather than left out."""
    packed, notes = packed_within(hits, run.query.budget_tokens)
    run.notes += notes
    return packed


def packed_within(hits: list[Hit], budget_tokens: int | None) -> tuple[list[Hit], list[str]]:
    """The same, with what is to be said of it."""
    if budget_tokens is None:
        return hits, []
    left = budget_tokens * CHARS_PER_TOKEN
    packed: list[Hit] = []
    notes: list[str] = []
    for hit in hits:
        size = len(hit.stored.chunk.text)
        if size > left and not packed:
            packed.append(_cut(hit, left))
            notes.append("the best hit was cut to fit the budget; read it whole by its chunk_id")
            break
        if size <= left:
            packed.append(hit)
            left -= size
    if len(packed) < len(hits):
        notes.append(f"{len(hits) - len(packed)} hits did not fit into {budget_tokens} tokens")
    return packed, notes


def _cut(hit: Hit, size: int) -> Hit:
    text = hit.stored.chunk.text[:size]
    chunk = replace(hit.stored.chunk, text=text[: text.rfind("\n")] if "\n" in text else text)
    return replace(hit, stored=replace(hit.stored, chunk=chunk))
