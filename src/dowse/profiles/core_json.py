"""The JSON that tools and `--json` share: keys are added, never renamed."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING

from dowse.engine import Engine, Status
from dowse.lookup.read import Passage
from dowse.model import COMMITS, FILES, MEMORIES, Answer, Collection, Hit, Stored, SyncReport
from dowse.profiles.core_text import completeness_text
from dowse.profiles.pending import pending_json
from dowse.text.times import iso

if TYPE_CHECKING:
    from dowse.live.keeping import Keeping

_ECHOED_CHARS = 1000
_FACET_CHARS = 200
_NS = 1_000_000_000


def answer_json(answer: Answer, running: str = "") -> dict[str, object]:
    return {
        "query": answer.query.text[:_ECHOED_CHARS],
        "recipe": answer.query.recipe,
        "count": len(answer.hits),
        "hits": [hit_json(rank, hit) for rank, hit in enumerate(answer.hits, 1)],
        "steps": [
            {"name": it.label, "before": it.before, "after": it.after, "ms": it.ms, "note": it.note}
            for it in answer.steps
        ],
        "abstained": answer.abstained,
        "completeness": completeness_json(answer, running),
        **roots_json(answer),
    }


def completeness_json(answer: Answer, running: str = "") -> dict[str, object]:
    return {
        "text": completeness_text(answer, running),
        "complete": answer.completeness.complete and not running,
        "indexed": answer.completeness.indexed,
        "listed": answer.completeness.listed,
        "skipped": answer.completeness.skipped,
        "left_out": answer.completeness.left_out,
        "chunks": answer.completeness.chunks,
        "vectors": answer.completeness.vectors,
        "others": [it._asdict() for it in answer.completeness.others],
        "as_of": iso(answer.completeness.as_of) if answer.completeness.as_of else None,
        "pending": pending_json(answer.completeness.seen),
    }


def roots_json(answer: Answer) -> dict[str, object]:
    """How complete each root is, where several were asked."""
    roots = [
        {"root": name, "complete": it.complete, "text": it.sentence(sum(hit.root == name for hit in answer.hits))}
        for name, it in answer.roots.items()
    ]
    return {"roots": roots} if roots else {}


def hit_json(rank: int, hit: Hit) -> dict[str, object]:
    chunk, record = hit.stored.chunk, hit.stored.record
    return {
        "rank": rank,
        "chunk_id": hit.stored.chunk_id,
        "collection": record.collection,
        "kind": record.kind,
        "path": hit.path,
        "start_line": chunk.start_line,
        "end_line": chunk.end_line,
        "trail": list(chunk.trail),
        "title": record.title,
        "score": hit.score,
        "text": chunk.text,
        "evidence": dict(hit.evidence),
        "freshness": hit.freshness,
        "at": iso(record.moment_ns / _NS),
        "tags": list(record.tags),
        "facets": {name: value for name, value in record.facets.items() if len(value) <= _FACET_CHARS},
        "notes": list(hit.notes),
        **({"root": hit.root} if hit.root else {}),
    }


def passage_json(passage: Passage) -> dict[str, object]:
    return {
        "collection": passage.record.collection,
        "path": passage.record.path,
        "kind": passage.record.kind,
        "title": passage.record.title,
        "start_line": passage.start_line,
        "end_line": passage.end_line,
        "total_lines": passage.total_lines,
        "next_line": passage.next_line,
        "cut": passage.cut,
        "freshness": passage.freshness,
        "text": passage.text,
        "notes": list(passage.notes),
    }


def export_json(stored: Stored) -> dict[str, object]:
    return {
        "path": stored.record.path,
        "chunk_index": stored.chunk.ordinal,
        "trail": list(stored.chunk.trail),
        "start_line": stored.chunk.start_line,
        "end_line": stored.chunk.end_line,
        "text": stored.chunk.text,
        "collection": stored.record.collection,
        "chunk_id": stored.chunk_id,
        "kind": stored.record.kind,
    }


def report_json(report: SyncReport) -> dict[str, object]:
    return asdict(report)


def watcher_json(keeping: Keeping) -> dict[str, object]:
    """Who follows the files; how, if it is this process."""
    data: dict[str, object] = {
        "enabled": keeping.enabled,
        "leading": keeping.leading,
        "leader": keeping.leader,
        "problem": keeping.problem,
    }
    if keeping.watch is None:
        return data
    watch = keeping.watch
    return data | {
        "running": watch.running,
        "method": watch.method,
        "why": watch.why,
        "directories": watch.directories,
        "events": watch.events,
        "batches": watch.batches,
        "restarts": watch.restarts,
        "pending": watch.pending,
    }


def status_skipped(status: Status) -> list[dict[str, str]]:
    return [{"collection": it.collection, "path": it.path, "reason": it.reason} for it in status.skipped]


def status_left_out(status: Status) -> list[dict[str, object]]:
    """How many files the default rules leave out, by collection and reason, with their suffixes."""
    return [
        {"collection": name, "reason": reason, "files": sum(suffixes.values()), "suffixes": dict(suffixes)}
        for name, it in status.omissions.items()
        for reason, suffixes in it.files.items()
    ]


def _passed_over(status: Status) -> dict[str, int]:
    """How many directories were not looked into, by name."""
    return dict(sum((Counter(it.directories) for it in status.omissions.values()), Counter[str]()))


def status_quarantined(status: Status) -> list[dict[str, str]]:
    """Files that are indexed as plain text, because their parser failed."""
    return [{"collection": it.collection, "path": it.path, "reason": it.reason} for it in status.quarantined]


def _collection_json(collection: Collection, status: Status) -> dict[str, object]:
    return {
        "name": collection.name,
        "root": collection.root,
        "listed": collection.listed,
        "synced_at": iso(collection.synced_at) if collection.synced_at else None,
        "indexed": status.sizes.get(collection.name, 0),
    }


def status_json(status: Status, engine: Engine, leader: int | None = None) -> dict[str, object]:
    completeness = engine.completeness()
    counts = status.counts
    return {
        "root": status.of(FILES)[0].root if status.of(FILES) else None,
        "index": str(status.index),
        "collections": [_collection_json(it, status) for it in status.of(FILES)],
        "histories": [_collection_json(it, status) for it in status.of(COMMITS)],
        "memories": [_collection_json(it, status) for it in status.of(MEMORIES)],
        "records": counts.records,
        "chunks": counts.chunks,
        "symbols": counts.symbols,
        "links": counts.links,
        "calls": counts.calls,
        "vectors": counts.vectors,
        "encoder": status.encoder,
        "encoder_why": status.encoder_why,
        "reranker": status.reranker,
        "reranker_why": status.reranker_why,
        "schema": status.schema,
        "jobs": [],
        "watcher": {"enabled": False, "leader": leader},
        "skipped": status_skipped(status),
        "skipped_count": len(status.skipped),
        "quarantined": status_quarantined(status),
        "left_out": status_left_out(status),
        "passed_over": _passed_over(status),
        "held_back": dict(status.held_back),
        "freshness": {
            "as_of": iso(completeness.synced_at) if completeness.synced_at else None,
            "complete": completeness.complete,
            "notes": list(completeness.notes),
        },
    }
