"""The Markdown that the ragdocs contract tells commits in."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from dowse.model import Hit, Record

_HASH_CHARS = 8
_MAX_FILES = 10
_MAX_DELTA_CHARS = 1000
_NS_PER_SECOND = 1_000_000_000
_DELTA = "diff --git "


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


def commit_text(rank: int, hit: Hit, files: Sequence[str], chunks: Sequence[str]) -> str:
    """`chunks` are the texts of the whole commit, in order; without them, nothing of what it changed is shown."""
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
    return f"### Message\n\n{message}" if message else ""


def _files(files: Sequence[str]) -> str:
    if not files:
        return ""
    more = len(files) - _MAX_FILES
    shown = [f"- `{it}`" for it in files[:_MAX_FILES]] + ([f"- ... and {more} more"] if more > 0 else [])
    return "\n".join([f"### Files Changed ({len(files)})", "", *shown])


def _delta(record: Record, chunks: Sequence[str]) -> str:
    """What stands behind the people and paths of the text that was indexed."""
    text = "\n".join(chunks)
    _, _, rest = text.partition(f"\nCommitter: {record.facets.get('committer', '')}\n")
    _, found, delta = rest.partition(f"\n\n{_DELTA}")
    if not found:
        return ""
    delta = (_DELTA + delta).rstrip()
    cut = f"{delta[:_MAX_DELTA_CHARS]}\n... (truncated for display)" if len(delta) > _MAX_DELTA_CHARS else delta
    return f"### Delta (truncated)\n\n```diff\n{cut}\n```"
