"""The Markdown in which the memory tools of the ragdocs contract answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Sized

from dowse.lookup.memories.counts import MemoryCounts
from dowse.lookup.memories.tags import Clustered, Related, TagGraph
from dowse.lookup.memories.walk import Step, Walk
from dowse.model import Record
from dowse.profiles.ragdocs_text import HEADER
from dowse.text.times import iso
from dowse.text.untrusted import WARNING, escaped, is_instruction_like, one_line

_NO_SECTION = "(no section)"
_MOST_CHARS = 20_000  # of one memory among several
_MOST_TAGS = 100
_MOST_PAIRS = 200
_MOST_STEPS = 50
_NS_PER_SECOND = 1_000_000_000


def page(title: str, *blocks: str) -> str:
    return "\n\n".join([f"# {title}", *(it for it in blocks if it)])


def notes(sentences: Iterable[str]) -> str:
    told = [f"- {it}" for it in sentences]
    return "\n".join(["# Notes", "", *told]) if told else ""


def memories(count: int) -> str:
    return "1 memory" if count == 1 else f"{count:,} memories"


def list_of(lines: Iterable[str], most: int = 1_000_000) -> str:
    """One line each; of very many the first, and how many more there are."""
    known = list(lines)
    told = [f"- {it}" for it in known[:most]]
    return "\n".join([*told, f"- … and {len(known) - most:,} more"] if len(known) > most else told)


# --- one memory ---


def facts(record: Record) -> str:
    told = {
        "Type": record.facets.get("type", ""),
        "Status": record.facets.get("status", ""),
        "Tags": ", ".join(record.tags),
        "Created": created(record),
    }
    return " | ".join(f"{name}: {value}" for name, value in told.items() if value)


def created(record: Record) -> str:
    return iso(record.moment_ns / _NS_PER_SECOND)


def cut(text: str) -> str:
    if len(text) <= _MOST_CHARS:
        return text
    return f"{text[:_MOST_CHARS].rstrip()}\n… ({len(text) - _MOST_CHARS:,} more characters; read_memory has them)"


def result(rank: int, record: Record, headings: str, score: float, lines: Iterable[str], content: str) -> str:
    head = f"[{rank}] {record.path} § {headings or _NO_SECTION} ({max(0.0, min(1.0, score)):.2f})"
    warning = [WARNING] if is_instruction_like(content) else []
    return "\n".join([one_line(head), facts(record), *lines, *warning, escaped(content.strip("\n"), HEADER)])


# --- many memories ---


def counts_text(counts: MemoryCounts, folder: str, lacking: Sequence[str]) -> str:
    span = [
        f"- {name}: {iso(moment)}"
        for name, moment in (("Oldest", counts.oldest), ("Newest", counts.newest))
        if moment is not None
    ]
    overall = [f"- Total: {counts.memories:,}", f"- Size: {counts.size_bytes:,} bytes", f"- Folder: {folder}", *span]
    return page(
        "Memory Statistics",
        "\n".join(overall),
        _section("By Type", _counted(counts.types)),
        _section("By Status", _counted(counts.statuses)),
        _section("Tags", [f"{tag}: {count:,}" for tag, count in counts.tags], _MOST_TAGS),
        notes(lacking),
    )


def _counted(counts: Mapping[str, int]) -> list[str]:
    return [f"{name or '(none)'}: {count:,}" for name, count in sorted(counts.items(), key=lambda it: (-it[1], it[0]))]


def _section(title: str, lines: Sequence[str], most: int = 1_000_000) -> str:
    return f"## {title}\n\n{list_of(lines, most)}" if lines else ""


def tag_graph_text(graph: TagGraph, lacking: Sequence[str]) -> str:
    if not graph.used:
        return page("Tag Graph", f"No tags; {memories(graph.memories)} looked at.", notes(lacking))
    tags = [f"{tag} ({count:,})" for tag, count in graph.by_use()]
    pairs = [f"{first} — {second} ({count:,})" for (first, second), count in graph.by_pairing()]
    unpaired = [f"not all tags are paired of {memories(graph.unpaired)} that have very many"] * bool(graph.unpaired)
    return page(
        "Tag Graph",
        f"{_count(graph.used, 'tag')} on {memories(graph.memories)}, {_count(graph.pairs, 'pair')} used together.",
        _section("Tags", tags, _MOST_TAGS),
        _section("Used Together", pairs, _MOST_PAIRS),
        notes([*unpaired, *lacking]),
    )


def _count(things: Sized, name: str) -> str:
    return f"{len(things):,} {name}" + "s" * (len(things) != 1)


def related_text(tag: str, related: Sequence[Related], graph: TagGraph, lacking: Sequence[str]) -> str:
    title = f"Tags Related to {tag}"
    if tag not in graph.used:
        return page(title, f"No memory has this tag; {memories(graph.memories)} looked at.", notes(lacking))
    if not related:
        alone = f"It stands on {memories(graph.used[tag])}, and on none with another tag."
        return page(title, alone, notes(lacking))
    lines = [f"{it.tag} (on {memories(it.together)} together, {it.share:.0%} of those with either)" for it in related]
    return page(title, list_of(lines, _MOST_TAGS), notes(lacking))


def cluster_text(tag: str, found: Sequence[Clustered], limit: int, total: int, lacking: Sequence[str]) -> str:
    title = f"Memories around the Tag {tag}"
    if not found:
        return page(title, f"No memory has this tag; {memories(total)} looked at.", notes(lacking))
    blocks = [
        f"[{rank}] {it.record.path} (distance {it.distance}, by {', '.join(it.tags)})\n{facts(it.record)}"
        f"\n{it.record.title}"
        for rank, it in enumerate(found[:limit], 1)
    ]
    more = [f"{len(found) - limit:,} more are within this depth; ask for a larger limit"] * (len(found) > limit)
    return page(title, *blocks, notes([*more, *lacking]))


# --- how they follow each other ---


def walk_text(title: str, walk: Walk, none: str) -> str:
    lines = [_step(it) for it in walk.steps]
    more = ["\nThere are more than are shown."] * walk.more
    return "\n".join([f"## {title}", "", list_of(lines, _MOST_STEPS) or none, *more])


def _step(step: Step) -> str:
    """What was reached, how far away, and the words that say so."""
    state = facts(step.record) if step.record else "there is no such memory"
    told = f"{step.edge.told.path}, line {step.edge.link.line}: {step.edge.link.context}"
    return f"{step.name} (distance {step.distance}; {state})\n  {told}"
