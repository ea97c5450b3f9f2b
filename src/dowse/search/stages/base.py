"""The type of a stage, and scores and limits that stages share."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from dowse.model import CHARS_PER_TOKEN, Hit, Record, Scope, StoredChunk
from dowse.search.run import SearchRun
from dowse.store.view import StoreView
from dowse.text.code_names import scope_predicate

Stage = Callable[[list[Hit], SearchRun], list[Hit]]


@dataclass(frozen=True, slots=True)
class KindFilteredStage:
    """A stage that is skipped if none of these kinds is searchable."""

    kinds: tuple[str, ...]
    stage: Stage


def stage_name(stage: Callable[..., object]) -> str:
    """Return the name of a step: that of the function, or of the class in snake case."""
    name = getattr(stage, "__name__", type(stage).__name__)
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def rescore(hit: Hit, score: float, **evidence: float) -> Hit:
    """Return the hit with a new score and additional evidence."""
    return replace(hit, score=score, evidence={**hit.evidence, **evidence})


UNSCALED_SCORE = "unscaled"


def relevance(hit: Hit) -> float:
    """Return the score before it was replaced by a confidence. Many hits may share a confidence."""
    return hit.evidence.get(UNSCALED_SCORE, hit.score)


def sort_by_score(hits: list[Hit]) -> list[Hit]:
    """Sort by score, best first; ties keep their order."""
    return sorted(hits, key=lambda hit: -hit.score)


# --------------------------------------------------------------------------------------------------
# Score multiplication that also works for negative scores.


def scale_score(score: float, factor: float) -> float:
    """Multiply so that a factor above 1 always raises the score; a plain product would lower a negative cosine."""
    return score * factor if score >= 0 else score * (2 - factor)


def multiply_score(hit: Hit, factor: float, **evidence: float) -> Hit:
    """Return the hit with its score multiplied and the evidence added; unchanged if the factor is 1."""
    return hit if factor == 1 else rescore(hit, scale_score(hit.score, factor), **evidence)


# --------------------------------------------------------------------------------------------------
# Limits on the answer: the number of hits and the token budget.


def best_first(hits: list[Hit], run: SearchRun) -> list[Hit]:
    """Keep the requested number of hits."""
    return hits[: run.query.limit]


def within_budget(hits: list[Hit], run: SearchRun) -> list[Hit]:
    """Keep the best hits that fit into the token budget; the first hit is cut rather than dropped."""
    packed, notes = fit_into_budget(hits, run.query.budget_tokens)
    run.notes += notes
    return packed


def fit_into_budget(hits: list[Hit], budget_tokens: int | None) -> tuple[list[Hit], list[str]]:
    """Return the hits that fit into the budget, and notes about those that do not."""
    if budget_tokens is None:
        return hits, []
    left = budget_tokens * CHARS_PER_TOKEN
    kept: list[Hit] = []
    notes: list[str] = []
    for hit in hits:
        size = len(hit.stored.chunk.text)
        if size > left and not kept:
            kept.append(_cut_hit(hit, left))
            notes.append("the best hit was cut to fit the budget; read its chunk_id for the full text")
            break
        if size <= left:
            kept.append(hit)
            left -= size
    if len(kept) < len(hits):
        notes.append(f"{len(hits) - len(kept)} more hits left out (budget {budget_tokens} tokens)")
    return kept, notes


def _cut_hit(hit: Hit, size: int) -> Hit:
    text = hit.stored.chunk.text[:size]
    chunk = replace(hit.stored.chunk, text=text[: text.rfind("\n")] if "\n" in text else text)
    return replace(hit, stored=replace(hit.stored, chunk=chunk))


# --------------------------------------------------------------------------------------------------
# Helpers for records that join the hits without being retrieved, if they are in scope.

InScope = Callable[[Record], bool]


def in_scope(scope: Scope, view: StoreView) -> InScope:
    holds = scope_predicate(scope)
    return lambda record: holds(record, view.links(record) if scope.links else ())


def load_first_passage(record: Record, is_wanted: InScope, view: StoreView) -> StoredChunk | None:
    """Return the record's first passage if it is in scope. The scope is checked before reading, and again on the stored
    state."""
    passages = view.chunks(record) if is_wanted(record) else []
    return passages[0] if passages and is_wanted(passages[0].record) else None
