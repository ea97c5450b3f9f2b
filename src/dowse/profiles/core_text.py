"""Answers as text, for a model or a person to read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from dowse.model import Answer, Hit
from dowse.text.times import ago, iso

if TYPE_CHECKING:
    from dowse.live.jobs import Jobs

_NS = 1_000_000_000
_SHORT_HASH = 10
_DECISIONS = ("freshness", "plan", "retry", "abstain", "quotas")
_MAKE_INCOMPLETE = {
    "index": "indexing is running",
    "reconcile": "indexing is running",
    "history": "the history of git is being read",
    "heal": "damage is being mended",
}


def running_text(jobs: Jobs) -> str:
    """What answers have to do without until it is done; of vectors that are being made they tell by themselves."""
    found = next((job for kind in _MAKE_INCOMPLETE if (job := jobs.running(kind)) is not None), None)
    if found is None:
        return ""
    return f"{_MAKE_INCOMPLETE[found.kind]} ({found.stage or found.status} {found.done:,} of {found.total:,})"


def shown_notes(answer: Answer) -> list[str]:
    """What the reader should know of the steps: why one did less than usual, not what was decided as always."""
    return [f"{step.label}: {step.note}" for step in answer.steps if step.note and step.name not in _DECISIONS]


def place_text(hit: Hit, answer: Answer) -> str:
    """Where it is, as its kind is named; with the root where several were asked, else with the collection where hits of
    that kind come from several."""
    record = hit.stored.record
    if hit.root:
        return f"[{hit.root}] {_PLACES.get(record.kind, _lines_of)(hit, answer.at)}"
    several = len({it.stored.record.collection for it in answer.hits if it.stored.record.kind == record.kind}) > 1
    return f"{f'[{record.collection}] ' if several else ''}{_PLACES.get(record.kind, _lines_of)(hit, answer.at)}"


def _lines_of(hit: Hit, now: float) -> str:
    return f"{hit.path}:{hit.stored.chunk.start_line}-{hit.stored.chunk.end_line}"


def _commit(hit: Hit, now: float) -> str:
    record = hit.stored.record
    author = record.facets.get("author", "").partition(" <")[0]
    return f"commit {record.path[:_SHORT_HASH]} {iso(record.moment_ns / _NS)[:10]} {author}: {record.title}"


def _memory(hit: Hit, now: float) -> str:
    record = hit.stored.record
    told = [record.facets.get("type", ""), ago(record.moment_ns / _NS, now)]
    told += ["superseded"] if "superseded" in hit.evidence else []
    return f"{_lines_of(hit, now)} ({', '.join(filter(None, told))})"


# How a hit is told that is not just lines of a file.
_PLACES: Mapping[str, Callable[[Hit, float], str]] = {"commit": _commit, "memory": _memory}


def evidence_text(evidence: Mapping[str, float]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value:.4g}" for name, value in evidence.items())


def completeness_text(answer: Answer, running: str) -> str:
    state = answer.completeness
    sentence = state.sentence(len(answer.hits))
    moment = "now" if state.seen.complete else ago(state.as_of, answer.at)
    as_of = f"as of {moment}" if state.synced_at else "not synced yet"
    return "; ".join(part for part in (sentence, as_of, running) if part)
