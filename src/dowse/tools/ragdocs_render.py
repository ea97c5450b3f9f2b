"""Answers of the ragdocs tools as Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from datetime import UTC, datetime
from itertools import dropwhile
from pathlib import PurePosixPath

from dowse.lookup.memories import ClusteredMemory, MemoryCounts, MemoryStep, MemoryWalk, RelatedTag, TagGraph
from dowse.model import BREADCRUMB_SEPARATOR, Answer, Chunk, Hit, Record
from dowse.text.times import format_iso
from dowse.text.untrusted import UNTRUSTED_WARNING, code_fence, escape_markdown, is_instruction_like, to_one_line

_BEGINNING_CHARS = 200
_NO_SECTION = "(no section)"
RESULT_HEADER = re.compile(r"^\[\d+\] .+ § .+ \(\d\.\d\d\)", re.MULTILINE)
"""The first line of a result; text in a document that looks like one is escaped."""

# A conceptual question gets whole passages, a lookup only their beginnings. Conceptual words decide first, then lookup
# words; otherwise a question mark makes a question conceptual.
_CONCEPTUAL_WORDS = (
    "why", "explain", "architecture", "design", "compare", "difference", "overview", "concept", "understand",
    "background", "getting started", "how to", "steps to", "guide",
)  # fmt: skip
_LOOKUP_WORDS = (
    "what is", "define", "syntax", "example", "command", "configure", "config", "setup", "install", "enable",
    "disable", "usage",
)  # fmt: skip

_RETRIEVERS = ("lexical", "semantic")
_DEDUPLICATION = ("semantic_dedup", "ngram_dedup", "exact_dedup")  # the last step comes first
_STALE = {"changed": "has changed since it was indexed", "gone": "was deleted since it was indexed"}


def is_factual(query: str) -> bool:
    text = query.lower()
    if any(words in text for words in _CONCEPTUAL_WORDS):
        return False
    return any(words in text for words in _LOOKUP_WORDS) or "?" not in text


def results_text(answer: Answer, format_path: Callable[[Record], str], passage: Callable[[Hit], str]) -> str:
    """Format each hit as `[1] path § headings (0.83)` with its passage below; without hits, say what was searched."""
    if not answer.hits:
        return "; ".join(it for it in (answer.abstained, answer.completeness.sentence(0)) if it)
    return "\n\n".join(
        f"{to_one_line(_header(rank, hit, format_path))}\n{escape_markdown(passage(hit), RESULT_HEADER)}"
        for rank, hit in enumerate(answer.hits, 1)
    )


def _header(rank: int, hit: Hit, format_path: Callable[[Record], str]) -> str:
    return f"[{rank}] {format_path(hit.stored.record)} § {heading_path_text(hit) or _NO_SECTION} ({_score(hit):.2f})"


def result_json(hit: Hit, path: str) -> dict[str, object]:
    return {
        "chunk_id": hit.stored.chunk_id,
        "doc_id": PurePosixPath(path).with_suffix("").as_posix(),
        "score": _score(hit),
        "header_path": heading_path_text(hit),
        "file_path": path,
        "content": hit.stored.chunk.text,
    }


def heading_path_text(hit: Hit) -> str:
    return BREADCRUMB_SEPARATOR.join(hit.stored.chunk.trail)


def _score(hit: Hit) -> float:
    return max(0.0, min(1.0, hit.score))


def whole_passage(hit: Hit) -> str:
    return hit.stored.chunk.text


def passage_beginning(text: str) -> str:
    return f"{text[:_BEGINNING_CHARS].rstrip()}..." if len(text) > _BEGINNING_CHARS else text


def compression_stats_text(answer: Answer, per_document: int, *, always: bool) -> str:
    """Format how many results each filter left; empty if no result was dropped, unless `always`."""
    after = {step.name: step.after for step in answer.steps}
    before = {step.name: step.before for step in answer.steps}
    deduplicated = next(after[name] for name in _DEDUPLICATION if name in after)
    limited = after.get("per_record", deduplicated)
    if not always and after["load"] == deduplicated:
        return ""
    lines = [
        f"- Original results: {after['load']}",
        f"- After score filter (≥{answer.query.min_score}): {after['min_confidence']}",
        f"- After deduplication: {deduplicated}",
    ]
    if per_document == 1 or limited < deduplicated:
        lines.append(f"- After document limit ({per_document} per doc): {limited}")
    merged = before.get("semantic_dedup", deduplicated) - deduplicated
    return "\n".join(["# Compression Stats", "", *lines, f"- Clusters merged: {merged}"])


def notes_text(answer: Answer, *states: str) -> str:
    """List everything that makes the answer incomplete; empty if nothing does."""
    notes = [
        it
        for it in (
            *states,
            *answer.completeness.notes,
            *answer.completeness.disk_freshness.sentences(),
            *_shortfall_notes(answer),
        )
        if it
    ]
    return "\n".join(["# Notes", "", *(f"- {note}" for note in notes)]) if notes else ""


def _shortfall_notes(answer: Answer) -> Iterator[str]:
    for step in answer.steps:
        if step.note and step.name in _RETRIEVERS:
            yield f"{step.name}: {step.note}"
    for rank, hit in enumerate(answer.hits, 1):
        if hit.freshness in _STALE:
            yield f"[{rank}] {_STALE[hit.freshness]}"
        if is_instruction_like(hit.stored.chunk.text):
            yield f"[{rank}] {UNTRUSTED_WARNING}"


# --------------------------------------------------------------------------------------------------
# Commits as Markdown of the ragdocs contract.

_HASH_CHARS = 8
_MAX_FILES = 10
_MAX_DELTA_CHARS = 1000
_NS_PER_SECOND = 1_000_000_000
_DIFF_START = "diff --git "
_COMMIT_HEADER = re.compile(
    r"^(?:## \d+\. |\*\*(?:Commit|Author|Date|Score):\*\* |### (?:Message|Files Changed|Delta)\b)", re.MULTILINE
)


def commits_heading_text(query: str, indexed: int, returned: int) -> str:
    return "\n".join(
        [
            "# Git History Search Results",
            "",
            f"**Query:** {' '.join(query.split())}",
            f"**Total Commits Indexed:** {indexed}",
            f"**Results Returned:** {returned}",
        ]
    )


def commit_markdown(rank: int, hit: Hit, files: Sequence[str], chunks: Sequence[Chunk]) -> str:
    """Format one commit. `chunks` are all its chunks in order; without them, no diff is shown."""
    record = hit.stored.record
    moment = datetime.fromtimestamp(record.timestamp_ns / _NS_PER_SECOND, UTC)
    head = [
        f"## {rank}. {record.title}",
        "",
        f"**Commit:** `{record.path[:_HASH_CHARS]}`",
        f"**Author:** {record.facets.get('author', '')}",
        f"**Date:** {moment.strftime('%Y-%m-%d %H:%M:%S UTC')}",
        f"**Score:** {max(0.0, min(1.0, hit.score)):.3f}",
    ]
    parts = (_message_section(record), _files_section(files), _diff_section(record, chunks))
    return "\n\n".join(["\n".join(head), *(it for it in parts if it), "---"])


def _message_section(record: Record) -> str:
    message = record.facets.get("message", "")
    return f"### Message\n\n{escape_markdown(message, _COMMIT_HEADER)}" if message else ""


def _files_section(files: Sequence[str]) -> str:
    if not files:
        return ""
    more = len(files) - _MAX_FILES
    shown = [f"- `{it}`" for it in files[:_MAX_FILES]] + ([f"- ... and {more} more"] if more > 0 else [])
    return "\n".join([f"### Files Changed ({len(files)})", "", *shown])


def _diff_section(record: Record, chunks: Sequence[Chunk]) -> str:
    diff = _indexed_diff(record, chunks)
    if not diff:
        return ""
    cut = f"{diff[:_MAX_DELTA_CHARS]}\n... (truncated for display)" if len(diff) > _MAX_DELTA_CHARS else diff
    return f"### Delta (truncated)\n\n{code_fence(cut)}diff\n{cut}\n{code_fence(cut)}"


def _indexed_diff(record: Record, chunks: Sequence[Chunk]) -> str:
    """Return the diff from the indexed text, which follows title, message and people. Those lines are skipped by
    number, because a message may contain a diff."""
    parts = [it for it in (record.title, record.facets.get("message", "")) if it]
    header_lines = sum(it.count("\n") + 2 for it in parts) + 2
    numbered = (it for chunk in chunks for it in enumerate(chunk.text.split("\n"), chunk.start_line))
    lines = dropwhile(
        lambda it: not it.startswith(_DIFF_START), (line for number, line in numbered if number > header_lines)
    )
    return "\n".join(lines).rstrip()


# --------------------------------------------------------------------------------------------------
# Memories as Markdown of the ragdocs contract.

_MAX_MEMORY_CHARS = 20_000  # per memory, in a list of several
_MAX_TAGS_SHOWN = 100
_MAX_PAIRS_SHOWN = 200
_MAX_STEPS_SHOWN = 50


def markdown_page(title: str, *blocks: str) -> str:
    return "\n\n".join([f"# {title}", *(it for it in blocks if it)])


def notes_section(sentences: Iterable[str]) -> str:
    lines = [f"- {it}" for it in sentences]
    return "\n".join(["# Notes", "", *lines]) if lines else ""


def memory_count_text(count: int) -> str:
    return "1 memory" if count == 1 else f"{count:,} memories"


def _bullet_list(lines: Iterable[str], most: int = 1_000_000) -> str:
    """Format one item per line; beyond `most`, only count the rest."""
    items = list(lines)
    shown = [f"- {it}" for it in items[:most]]
    return "\n".join([*shown, f"- … and {len(items) - most:,} more"] if len(items) > most else shown)


# --- one memory ---


def _facts_line(record: Record) -> str:
    fields = {
        "Type": record.facets.get("type", ""),
        "Status": record.facets.get("status", ""),
        "Tags": ", ".join(record.tags),
        "Created": _created_at(record),
    }
    return " | ".join(f"{name}: {value}" for name, value in fields.items() if value)


def _created_at(record: Record) -> str:
    return format_iso(record.timestamp_ns / _NS_PER_SECOND)


def truncate_memory(text: str) -> str:
    if len(text) <= _MAX_MEMORY_CHARS:
        return text
    return (
        f"{text[:_MAX_MEMORY_CHARS].rstrip()}\n… ({len(text) - _MAX_MEMORY_CHARS:,} more characters; see read_memory)"
    )


def memory_result_text(
    rank: int, record: Record, headings: str, score: float, lines: Iterable[str], content: str
) -> str:
    head = f"[{rank}] {record.path} § {headings or _NO_SECTION} ({max(0.0, min(1.0, score)):.2f})"
    warning = [UNTRUSTED_WARNING] if is_instruction_like(content) else []
    return "\n".join(
        [to_one_line(head), _facts_line(record), *lines, *warning, escape_markdown(content.strip("\n"), RESULT_HEADER)]
    )


# --- many memories ---


def memory_counts_text(counts: MemoryCounts, folder: str, index_notes: Sequence[str]) -> str:
    span = [
        f"- {name}: {format_iso(moment)}"
        for name, moment in (("Oldest", counts.oldest), ("Newest", counts.newest))
        if moment is not None
    ]
    overall = [f"- Total: {counts.memories:,}", f"- Size: {counts.size_bytes:,} bytes", f"- Folder: {folder}", *span]
    return markdown_page(
        "Memory Statistics",
        "\n".join(overall),
        _section("By Type", _count_lines(counts.types)),
        _section("By Status", _count_lines(counts.statuses)),
        _section("Tags", [f"{tag}: {count:,}" for tag, count in counts.tags], _MAX_TAGS_SHOWN),
        notes_section(index_notes),
    )


def _count_lines(counts: Mapping[str, int]) -> list[str]:
    return [f"{name or '(none)'}: {count:,}" for name, count in sorted(counts.items(), key=lambda it: (-it[1], it[0]))]


def _section(title: str, lines: Sequence[str], most: int = 1_000_000) -> str:
    return f"## {title}\n\n{_bullet_list(lines, most)}" if lines else ""


def tag_graph_text(graph: TagGraph, index_notes: Sequence[str]) -> str:
    if not graph.counts:
        return markdown_page(
            "Tag Graph", f"No tags; {memory_count_text(graph.memories)} searched.", notes_section(index_notes)
        )
    tags = [f"{tag} ({count:,})" for tag, count in graph.by_use()]
    pairs = [f"{first} — {second} ({count:,})" for (first, second), count in graph.by_pairing()]
    unpaired = [f"{memory_count_text(graph.unpaired)} with very many tags: not all pairs are counted"] * bool(
        graph.unpaired
    )
    return markdown_page(
        "Tag Graph",
        f"{_count(graph.counts, 'tag')} on {memory_count_text(graph.memories)}, "
        f"{_count(graph.pairs, 'pair')} used together.",
        _section("Tags", tags, _MAX_TAGS_SHOWN),
        _section("Used Together", pairs, _MAX_PAIRS_SHOWN),
        notes_section([*unpaired, *index_notes]),
    )


def _count(things: Sized, name: str) -> str:
    return f"{len(things):,} {name}" + "s" * (len(things) != 1)


def related_tags_text(tag: str, related: Sequence[RelatedTag], graph: TagGraph, index_notes: Sequence[str]) -> str:
    title = f"Tags Related to {tag}"
    if tag not in graph.counts:
        return markdown_page(
            title, f"No memory has this tag; {memory_count_text(graph.memories)} searched.", notes_section(index_notes)
        )
    if not related:
        note = f"It is on {memory_count_text(graph.counts[tag])}, never together with another tag."
        return markdown_page(title, note, notes_section(index_notes))
    lines = [
        f"{it.tag} (on {memory_count_text(it.shared_memories)} together, {it.share:.0%} of those with either)"
        for it in related
    ]
    return markdown_page(title, _bullet_list(lines, _MAX_TAGS_SHOWN), notes_section(index_notes))


def tag_cluster_text(
    tag: str, found: Sequence[ClusteredMemory], limit: int, total: int, index_notes: Sequence[str]
) -> str:
    title = f"Memories around the Tag {tag}"
    if not found:
        return markdown_page(
            title, f"No memory has this tag; {memory_count_text(total)} searched.", notes_section(index_notes)
        )
    blocks = [
        f"[{rank}] {it.record.path} (distance {it.distance}, by {', '.join(it.tags)})\n{_facts_line(it.record)}"
        f"\n{it.record.title}"
        for rank, it in enumerate(found[:limit], 1)
    ]
    more = [f"{len(found) - limit:,} more are within this depth; raise limit"] * (len(found) > limit)
    return markdown_page(title, *blocks, notes_section([*more, *index_notes]))


# --- chains of memories ---


def link_chain_text(title: str, walk: MemoryWalk, none: str) -> str:
    lines = [_step_text(it) for it in walk.steps]
    more = ["\nOnly some of them are shown."] * walk.has_more
    return "\n".join([f"## {title}", "", _bullet_list(lines, _MAX_STEPS_SHOWN) or none, *more])


def _step_text(step: MemoryStep) -> str:
    """Format a step: the memory reached, its distance, and the words around the link."""
    state = _facts_line(step.record) if step.record else "no such memory"
    link_text = f"{step.edge.declared_by.path}, line {step.edge.link.line}: {step.edge.link.context}"
    return f"{step.name} (distance {step.distance}; {state})\n  {link_text}"
