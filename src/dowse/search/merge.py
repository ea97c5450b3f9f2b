"""Merging of the answers of several roots, by confidence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from dowse.model import Answer, Completeness, DiskFreshness, Hit, Query, SourceCoverage, Step
from dowse.search.stages.base import fit_into_budget

_MAX_PENDING_EXAMPLES = 3


def merge_answers(query: Query, answers: Mapping[str, Answer], roots: Mapping[str, Mapping[str, str]]) -> Answer:
    """Merge answers given by root name.

    `roots` maps each root's collections to their folders, so that a history or memory shared by two roots appears once.
    """
    found = list(_drop_shared_duplicates(_merge_by_confidence(answers), roots))
    hits, notes = fit_into_budget(found[: query.limit], query.budget_tokens)
    steps = [replace(it, root=root) for root, answer in answers.items() for it in answer.steps]
    hits_before = sum(len(it.hits) for it in answers.values())
    merging = Step("merge", hits_before, len(hits), 0.0, "; ".join(notes))
    return Answer(
        query,
        tuple(hits),
        (*steps, merging),
        _merge_completeness({root: it.completeness for root, it in answers.items()}),
        max(it.at for it in answers.values()),
        "" if hits else "; ".join(f"{root}: {it.abstained}" for root, it in answers.items() if it.abstained),
        {root: it.completeness for root, it in answers.items()},
    )


def _merge_by_confidence(answers: Mapping[str, Answer]) -> Iterator[Hit]:
    """Yield the hit with the highest confidence among the first of each root.

    The order within a root is kept: its ranking uses more than confidence.
    """
    remaining = {root: list(answer.hits) for root, answer in answers.items()}
    while any(remaining.values()):
        root = max(
            (it for it in remaining if remaining[it]), key=lambda it: remaining[it][0].evidence.get("confidence", 0.0)
        )
        yield replace(remaining[root].pop(0), root=root)


def _drop_shared_duplicates(hits: Iterator[Hit], roots: Mapping[str, Mapping[str, str]]) -> Iterator[Hit]:
    seen: set[tuple[str, str, int]] = set()
    for hit in hits:
        record = hit.stored.record
        folder = roots[hit.root].get(record.collection, f"{hit.root}/{record.collection}").rstrip("/")
        place = folder, record.path, hit.stored.chunk.ordinal
        if place not in seen:
            seen.add(place)
            yield hit


def _merge_completeness(parts: Mapping[str, Completeness]) -> Completeness:
    every = list(parts.values())
    sources = dict.fromkeys(share.source for it in every for share in it.by_source)
    return Completeness(
        indexed=sum(it.indexed for it in every),
        listed=sum(it.listed for it in every),
        skipped=sum(it.skipped for it in every),
        left_out=sum(it.left_out for it in every),
        chunks=sum(it.chunks for it in every),
        vectors=sum(it.vectors for it in every),
        synced_at=min(it.synced_at for it in every),
        notes=tuple(f"{root}: {note}" for root, it in parts.items() for note in it.notes),
        disk_freshness=_merge_freshness({root: it.disk_freshness for root, it in parts.items()}),
        by_source=tuple(_sum_shares(name, [share for it in every for share in it.by_source]) for name in sources),
    )


def _sum_shares(source: str, shares: Sequence[SourceCoverage]) -> SourceCoverage:
    total = SourceCoverage(source, 0, 0)
    for share in shares:
        total = total.add(share) if share.source == source else total
    return total


def _merge_freshness(parts: Mapping[str, DiskFreshness]) -> DiskFreshness:
    examples = [f"{root}/{path}" for root, it in parts.items() for path in it.examples]
    return DiskFreshness(
        min(it.as_of for it in parts.values()),
        sum(it.pending for it in parts.values()),
        tuple(examples[:_MAX_PENDING_EXAMPLES]),
        tuple(f"{root}: {note}" for root, it in parts.items() for note in it.notes),
        all(it.complete for it in parts.values()),
    )
