"""The Markdown that the ragdocs contract answers with: numbered results, what was left out, what could not be done."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath

from dowse.model import TRAIL_SEPARATOR, Answer, Hit, Record
from dowse.text.untrusted import WARNING, escaped, is_instruction_like, one_line

_CUT_CHARS = 200
_NO_SECTION = "(no section)"
HEADER = re.compile(r"^\[\d+\] .+ § .+ \(\d\.\d\d\)", re.MULTILINE)
"""What a result begins with; a document must not have one of its own."""

# A question that asks for understanding gets whole passages, one that looks something up gets their beginnings. The
# first that is in the question decides; a question mark asks for understanding, and all else looks something up.
_UNDERSTANDING = (
    "why", "explain", "architecture", "design", "compare", "difference", "overview", "concept", "understand",
    "background", "getting started", "how to", "steps to", "guide",
)  # fmt: skip
_LOOKING_UP = (
    "what is", "define", "syntax", "example", "command", "configure", "config", "setup", "install", "enable",
    "disable", "usage",
)  # fmt: skip

_RETRIEVERS = ("lexical", "semantic")
_DEDUPLICATION = ("semantic_dedup", "ngram_dedup", "exact_dedup")  # the last that was done comes first
_STALE = {"changed": "has changed since it was indexed", "gone": "is gone since it was indexed"}


def is_factual(query: str) -> bool:
    text = query.lower()
    if any(words in text for words in _UNDERSTANDING):
        return False
    return any(words in text for words in _LOOKING_UP) or "?" not in text


def results_text(answer: Answer, place: Callable[[Record], str], passage: Callable[[Hit], str]) -> str:
    """`[1] path § headings (0.83)` and the passage below it, for each; of an empty answer what was searched."""
    if not answer.hits:
        return "; ".join(it for it in (answer.abstained, answer.completeness.sentence(0)) if it)
    return "\n\n".join(
        f"{one_line(_header(rank, hit, place))}\n{escaped(passage(hit), HEADER)}"
        for rank, hit in enumerate(answer.hits, 1)
    )


def _header(rank: int, hit: Hit, place: Callable[[Record], str]) -> str:
    return f"[{rank}] {place(hit.stored.record)} § {headings(hit) or _NO_SECTION} ({_score(hit):.2f})"


def result_json(hit: Hit, path: str) -> dict[str, object]:
    return {
        "chunk_id": hit.stored.chunk_id,
        "doc_id": PurePosixPath(path).with_suffix("").as_posix(),
        "score": _score(hit),
        "header_path": headings(hit),
        "file_path": path,
        "content": hit.stored.chunk.text,
    }


def headings(hit: Hit) -> str:
    return TRAIL_SEPARATOR.join(hit.stored.chunk.trail)


def _score(hit: Hit) -> float:
    return max(0.0, min(1.0, hit.score))


def whole_passage(hit: Hit) -> str:
    return hit.stored.chunk.text


def beginning(text: str) -> str:
    return f"{text[:_CUT_CHARS].rstrip()}..." if len(text) > _CUT_CHARS else text


def stats_text(answer: Answer, per_document: int, *, always: bool) -> str:
    """How many results each kind of compression left; empty when there was none and nobody asked."""
    left = {step.name: step.after for step in answer.steps}
    before = {step.name: step.before for step in answer.steps}
    once = next(left[name] for name in _DEDUPLICATION if name in left)
    limited = left.get("per_record", once)
    if not always and left["load"] == once:
        return ""
    lines = [
        f"- Original results: {left['load']}",
        f"- After score filter (≥{answer.query.min_score}): {left['min_confidence']}",
        f"- After deduplication: {once}",
    ]
    if per_document == 1 or limited < once:
        lines.append(f"- After document limit ({per_document} per doc): {limited}")
    merged = before.get("semantic_dedup", once) - once
    return "\n".join(["# Compression Stats", "", *lines, f"- Clusters merged: {merged}"])


def notes_text(answer: Answer, *states: str) -> str:
    """Whatever makes the answer less than it could be; empty when nothing does."""
    notes = [
        it
        for it in (*states, *answer.completeness.notes, *answer.completeness.seen.sentences(), *_shortfalls(answer))
        if it
    ]
    return "\n".join(["# Notes", "", *(f"- {note}" for note in notes)]) if notes else ""


def _shortfalls(answer: Answer) -> Iterator[str]:
    for step in answer.steps:
        if step.note and step.name in _RETRIEVERS:
            yield f"{step.name}: {step.note}"
    for rank, hit in enumerate(answer.hits, 1):
        if hit.freshness in _STALE:
            yield f"[{rank}] {_STALE[hit.freshness]}"
        if is_instruction_like(hit.stored.chunk.text):
            yield f"[{rank}] {WARNING}"
