"""One answer of several: what each root found, merged by how sure one may be of each hit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from dowse.model import Answer, Completeness, Hit, Query, Seen, Share, Step
from dowse.search.refine.limits import packed_within

_EXAMPLES = 3


def merge_answers(query: Query, answers: Mapping[str, Answer], roots: Mapping[str, Mapping[str, str]]) -> Answer:
    """The answers by the names of their roots. `roots` says for each where its collections lie: what two roots share,
    the history of one repository or a user's memories, is shown once."""
    found = list(_unlike(_best_first(answers), roots))
    hits, notes = packed_within(found[: query.limit], query.budget_tokens)
    steps = [replace(it, root=root) for root, answer in answers.items() for it in answer.steps]
    before = sum(len(it.hits) for it in answers.values())
    merging = Step("merge", before, len(hits), 0.0, "; ".join(notes))
    return Answer(
        query,
        tuple(hits),
        (*steps, merging),
        _completeness({root: it.completeness for root, it in answers.items()}),
        max(it.at for it in answers.values()),
        "" if hits else "; ".join(f"{root}: {it.abstained}" for root, it in answers.items() if it.abstained),
        {root: it.completeness for root, it in answers.items()},
    )


def _best_first(answers: Mapping[str, Answer]) -> Iterator[Hit]:
    """The surest of the first ones left, each root's in their own order: its ranking knows more than one figure."""
    left = {root: list(answer.hits) for root, answer in answers.items()}
    while any(left.values()):
        root = max((it for it in left if left[it]), key=lambda it: left[it][0].evidence.get("confidence", 0.0))
        yield replace(left[root].pop(0), root=root)


def _unlike(hits: Iterator[Hit], roots: Mapping[str, Mapping[str, str]]) -> Iterator[Hit]:
    seen: set[tuple[str, str, int]] = set()
    for hit in hits:
        record = hit.stored.record
        folder = roots[hit.root].get(record.collection, f"{hit.root}/{record.collection}").rstrip("/")
        place = folder, record.path, hit.stored.chunk.ordinal
        if place not in seen:
            seen.add(place)
            yield hit


def _completeness(parts: Mapping[str, Completeness]) -> Completeness:
    every = list(parts.values())
    sources = dict.fromkeys(share.source for it in every for share in it.others)
    return Completeness(
        indexed=sum(it.indexed for it in every),
        listed=sum(it.listed for it in every),
        skipped=sum(it.skipped for it in every),
        left_out=sum(it.left_out for it in every),
        chunks=sum(it.chunks for it in every),
        vectors=sum(it.vectors for it in every),
        synced_at=min(it.synced_at for it in every),
        notes=tuple(f"{root}: {note}" for root, it in parts.items() for note in it.notes),
        seen=_seen({root: it.seen for root, it in parts.items()}),
        others=tuple(_sum(name, [share for it in every for share in it.others]) for name in sources),
    )


def _sum(source: str, shares: Sequence[Share]) -> Share:
    total = Share(source, 0, 0)
    for it in shares:
        total = total.plus(it) if it.source == source else total
    return total


def _seen(parts: Mapping[str, Seen]) -> Seen:
    examples = [f"{root}/{path}" for root, it in parts.items() for path in it.examples]
    return Seen(
        min(it.as_of for it in parts.values()),
        sum(it.pending for it in parts.values()),
        tuple(examples[:_EXAMPLES]),
        tuple(f"{root}: {note}" for root, it in parts.items() for note in it.notes),
        all(it.complete for it in parts.values()),
    )
