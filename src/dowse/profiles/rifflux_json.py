"""The answers of the Rifflux contract, under its own keys."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from dowse.config import Settings
from dowse.live.jobs import Job
from dowse.live.keeping import Keeping
from dowse.model import TRAIL_SEPARATOR, Hit, Stored, SyncReport

Mode = Literal["lexical", "semantic", "hybrid"]


def if_any(key: str, values: Sequence[object]) -> dict[str, object]:
    """Keys beyond the contract only show when they have something to say."""
    return {key: list(values)} if values else {}


def chunk_json(stored: Stored) -> dict[str, object]:
    return {
        "chunk_id": stored.chunk_id,
        "path": stored.record.path,
        "heading_path": TRAIL_SEPARATOR.join(stored.chunk.trail),
        "chunk_index": stored.chunk.ordinal,
        "content": stored.chunk.text,
    }


def scores_json(hit: Hit, mode: Mode) -> dict[str, object]:
    """The evidence under the contract's names; bm25 with SQLite's sign, where lower is better."""
    evidence = hit.evidence
    if mode == "lexical":
        return {"bm25_score": -evidence["bm25"], "score_breakdown": {"bm25": -evidence["bm25"]}}
    if mode == "semantic":
        return {"cosine": evidence["cosine"], "score_breakdown": {"cosine": evidence["cosine"]}}
    ranks = {name: evidence.get(name) for name in ("lexical_rank", "semantic_rank")}
    return {"score_breakdown": {"rrf": evidence["rrf"], **ranks}}


def report_json(report: SyncReport) -> dict[str, object]:
    return {
        "indexed_files": report.indexed,
        "skipped_files": report.unchanged + report.touched + report.skipped,
        "deleted_files": report.deleted,
    }


def backend(encoder_name: str) -> str:
    if ":" in encoder_name:
        return "http"
    return "hash" if encoder_name.startswith("hash") else "none" if encoder_name == "none" else "onnx"


def job_json(job: Job, elapsed_s: float) -> dict[str, object]:
    return {
        "job_id": job.id,
        "status": "failed" if job.status == "cancelled" else job.status,  # the contract knows no other word
        "elapsed_seconds": round(elapsed_s, 3),
        "result": job.result,
        "error": job.error,
        "retries": job.retries,
    }


def watcher_json(keeping: Keeping | None, watched: Sequence[Path], settings: Settings) -> dict[str, object]:
    """Of a server that watches nothing of its own, only that."""
    if keeping is None or not keeping.enabled:
        return {"enabled": False}
    watch = keeping.watch
    return {
        "enabled": True,
        "running": bool(watch and watch.running),
        "watch_paths": [str(it) for it in watched],
        "include_globs": list(settings.include),
        "exclude_globs": list(settings.exclude),
        "debounce_ms": settings.debounce_ms,
        "events_received": watch.events if watch else 0,
        "jobs_submitted": watch.batches if watch else 0,
        "crash_restarts": watch.restarts if watch else 0,
        **({"leader": keeping.leader} if not keeping.leading else {}),
    }
