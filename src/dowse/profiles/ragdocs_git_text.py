"""The Markdown that the ragdocs contract tells commits in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import dropwhile

from dowse.model import Chunk, Hit, Record
from dowse.text.untrusted import escaped, fence

_HASH_CHARS = 8
_MAX_FILES = 10
_MAX_DELTA_CHARS = 1000
_NS_PER_SECOND = 1_000_000_000
_DELTA = "diff --git "
_HEADER = re.compile(
    r"^(?:## \d+\. |\*\*(?:Commit|Author|Date|Score):\*\* |### (?:Message|Files Changed|Delta)\b)", re.MULTILINE
)


def head_text(query: str, indexed: int, returned: int) -> str:
    return "\n".join(
        [
            "# Git History Search Results",
            "",
            f"**Query:** {' '.join(query.split())}",
            f"**Total Commits Indexed:** {indexed}",
            f"**Results Returned:** {returned}",
        ]
    )


def commit_text(rank: int, hit: Hit, files: Sequence[str], chunks: Sequence[Chunk]) -> str:
    """`chunks` are those of the whole commit, in order; without them, nothing of what it changed is shown."""
    record = hit.stored.record
    moment = datetime.fromtimestamp(record.moment_ns / _NS_PER_SECOND, UTC)
    head = [
        f"## {rank}. {record.title}",
        "",
        f"**Commit:** `{record.path[:_HASH_CHARS]}`",
        f"**Author:** {record.facets.get('author', '')}",
        f"**Date:** {moment.strftime('%Y-%m-%d %H:%M:%S UTC')}",
        f"**Score:** {max(0.0, min(1.0, hit.score)):.3f}",
    ]
    parts = (_message(record), _files(files), _delta(record, chunks))
    return "\n\n".join(["\n".join(head), *(it for it in parts if it), "---"])


def _message(record: Record) -> str:
    message = record.facets.get("message", "")
    return f"### Message\n\n{escaped(message, _HEADER)}" if message else ""


def _files(files: Sequence[str]) -> str:
    if not files:
        return ""
    more = len(files) - _MAX_FILES
    shown = [f"- `{it}`" for it in files[:_MAX_FILES]] + ([f"- ... and {more} more"] if more > 0 else [])
    return "\n".join([f"### Files Changed ({len(files)})", "", *shown])


def _delta(record: Record, chunks: Sequence[Chunk]) -> str:
    delta = _changed(record, chunks)
    if not delta:
        return ""
    cut = f"{delta[:_MAX_DELTA_CHARS]}\n... (truncated for display)" if len(delta) > _MAX_DELTA_CHARS else delta
    return f"### Delta (truncated)\n\n{fence(cut)}diff\n{cut}\n{fence(cut)}"


def _changed(record: Record, chunks: Sequence[Chunk]) -> str:
    """What stands behind the people of the text that was indexed, wherever it was cut; a message may hold a diff."""
    said = [it for it in (record.title, record.facets.get("message", "")) if it]
    people = sum(it.count("\n") + 2 for it in said) + 2
    numbered = (it for chunk in chunks for it in enumerate(chunk.text.split("\n"), chunk.start_line))
    lines = dropwhile(lambda it: not it.startswith(_DELTA), (line for number, line in numbered if number > people))
    return "\n".join(lines).rstrip()
