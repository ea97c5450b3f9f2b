"""Answers of the core tools as text and JSON, within a size limit."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from dowse.engine import Engine, IndexStatus
from dowse.lookup.targets import Passage
from dowse.model import (
    BREADCRUMB_SEPARATOR,
    CHARS_PER_TOKEN,
    COMMITS,
    FILES,
    MEMORIES,
    Answer,
    Collection,
    Completeness,
    Hit,
    StoredChunk,
    SyncReport,
)
from dowse.search.best_lines import LineSelector, QueryWords, parse_query_words
from dowse.text.times import format_ago, format_iso
from dowse.text.untrusted import UNTRUSTED_WARNING, is_instruction_like, number_lines, to_one_line
from dowse.tools.tool import ToolReply, pending_json

if TYPE_CHECKING:
    from dowse.live.jobs import JobQueue
    from dowse.live.maintenance import LeaderStatus

# --------------------------------------------------------------------------------------------------
# Answers as text for a model or a person.

_NS = 1_000_000_000
_SHORT_HASH = 10
_ROUTINE_STEPS = ("freshness", "plan", "retry", "abstain", "quotas")
_INCOMPLETE_DURING = {
    "index": "indexing is running",
    "reconcile": "indexing is running",
    "history": "git history is being read",
    "heal": "the index is being repaired",
}


def running_job_text(jobs: JobQueue) -> str:
    """Describe the running job that makes answers incomplete. Embedding jobs are left out: answers report missing
    vectors themselves."""
    running = next((job for kind in _INCOMPLETE_DURING if (job := jobs.running(kind)) is not None), None)
    if running is None:
        return ""
    return (
        f"{_INCOMPLETE_DURING[running.kind]} ({running.stage or running.status} {running.done:,} of {running.total:,})"
    )


def notable_step_notes(answer: Answer) -> list[str]:
    """Return the step notes a reader should see: deviations from the normal flow, not routine decisions."""
    return [f"{step.label}: {step.note}" for step in answer.steps if step.note and step.name not in _ROUTINE_STEPS]


def hit_location_text(hit: Hit, answer: Answer) -> str:
    """Format the location of a hit. Prefix the root if several were searched, else the collection if hits of that kind
    come from several."""
    record = hit.stored.record
    location = _LOCATION_FORMATTERS.get(record.kind, _format_lines)(hit, answer.at)
    if hit.root:
        return f"[{hit.root}] {location}"
    several = len({it.stored.record.collection for it in answer.hits if it.stored.record.kind == record.kind}) > 1
    return f"[{record.collection}] {location}" if several else location


def _format_lines(hit: Hit, now: float) -> str:
    pages = f" {pages_text(hit.pages)}" if hit.pages else ""
    return f"{hit.path}:{hit.stored.chunk.start_line}-{hit.stored.chunk.end_line}{pages}"


def pages_text(pages: Sequence[int]) -> str:
    """Cite pages: `p. 12` or `pp. 12-13`."""
    return f"p. {pages[0]}" if len(pages) == 1 else f"pp. {pages[0]}-{pages[-1]}"


def _format_commit(hit: Hit, now: float) -> str:
    record = hit.stored.record
    author = record.facets.get("author", "").partition(" <")[0]
    return f"commit {record.path[:_SHORT_HASH]} {format_iso(record.timestamp_ns / _NS)[:10]} {author}: {record.title}"


def _format_memory(hit: Hit, now: float) -> str:
    record = hit.stored.record
    details = [record.facets.get("type", ""), format_ago(record.timestamp_ns / _NS, now)]
    details += ["superseded"] if "superseded" in hit.evidence else []
    return f"{_format_lines(hit, now)} ({', '.join(filter(None, details))})"


# Kinds whose location is more than the lines of a file.
_LOCATION_FORMATTERS: Mapping[str, Callable[[Hit, float], str]] = {"commit": _format_commit, "memory": _format_memory}


def evidence_text(evidence: Mapping[str, float]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value:.4g}" for name, value in evidence.items())


def completeness_text(answer: Answer, running: str) -> str:
    state = answer.completeness
    sentence = state.sentence(len(answer.hits))
    moment = "now" if state.disk_freshness.complete else format_ago(state.as_of, answer.at)
    as_of = f"as of {moment}" if state.synced_at else "not synced yet"
    return "; ".join(part for part in (sentence, as_of, running) if part)


# --------------------------------------------------------------------------------------------------
# JSON shared by the tools and `--json`. Keys are added, never renamed.

_ECHOED_CHARS = 1000
_FACET_CHARS = 200


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
        "by_source": [it._asdict() for it in answer.completeness.by_source],
        "as_of": format_iso(answer.completeness.as_of) if answer.completeness.as_of else None,
        "pending": pending_json(answer.completeness.disk_freshness),
    }


def roots_json(answer: Answer) -> dict[str, object]:
    """Return the completeness of each root, if several were searched."""
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
        "at": format_iso(record.timestamp_ns / _NS),
        "tags": list(record.tags),
        "facets": {name: value for name, value in record.facets.items() if len(value) <= _FACET_CHARS},
        "notes": list(hit.notes),
        **_places_json(hit),
        **({"root": hit.root} if hit.root else {}),
    }


def _places_json(hit: Hit) -> dict[str, object]:
    """Return pages and boxes of a hit in a document; a box is left, top, right, bottom in points from the top left."""
    if not hit.pages:
        return {}
    boxes = [{"page": it.page, "box": it.box} for it in hit.fragments if it.box]
    return {"pages": list(hit.pages), "boxes": boxes}


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


def export_json(stored: StoredChunk) -> dict[str, object]:
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


def watcher_json(keeping: LeaderStatus) -> dict[str, object]:
    """Return who watches the files, with details if this process does."""
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


def status_skipped(status: IndexStatus) -> list[dict[str, str]]:
    return [{"collection": it.collection, "path": it.path, "reason": it.reason} for it in status.skipped]


def status_left_out(status: IndexStatus) -> list[dict[str, object]]:
    """Count the files that the default rules exclude, by collection and reason, with their suffixes."""
    return [
        {"collection": name, "reason": reason, "files": sum(suffixes.values()), "suffixes": dict(suffixes)}
        for name, it in status.omissions.items()
        for reason, suffixes in it.files.items()
    ]


def _passed_over(status: IndexStatus) -> dict[str, int]:
    """Count the directories that were not entered, by name."""
    return dict(sum((Counter(it.directories) for it in status.omissions.values()), Counter[str]()))


def status_quarantined(status: IndexStatus) -> list[dict[str, str]]:
    """List the files indexed as plain text because their parser failed."""
    return [{"collection": it.collection, "path": it.path, "reason": it.reason} for it in status.quarantined]


def _collection_json(collection: Collection, status: IndexStatus) -> dict[str, object]:
    return {
        "name": collection.name,
        "root": collection.root,
        "listed": collection.listed,
        "synced_at": format_iso(collection.synced_at) if collection.synced_at else None,
        "indexed": status.sizes.get(collection.name, 0),
    }


def status_json(status: IndexStatus, engine: Engine, leader: int | None = None) -> dict[str, object]:
    completeness = engine.completeness()
    counts = status.counts
    return {
        "root": status.collections_of(FILES)[0].root if status.collections_of(FILES) else None,
        "index": str(status.index),
        "collections": [_collection_json(it, status) for it in status.collections_of(FILES)],
        "histories": [_collection_json(it, status) for it in status.collections_of(COMMITS)],
        "memories": [_collection_json(it, status) for it in status.collections_of(MEMORIES)],
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
            "as_of": format_iso(completeness.synced_at) if completeness.synced_at else None,
            "complete": completeness.complete,
            "notes": list(completeness.notes),
        },
    }


ReplyShape = dict[str, Any]

DEFAULT_REPLY_TOKENS = 2_000
"""8,000 characters, which every client shows a model in full. Codex cuts the middle out of longer answers."""

_HIT_LINES, _HIT_CHARS = 10, 900  # per hit, within the default budget
_MIN_HIT_LINES, _MIN_HIT_CHARS = 3, 160
# Fractions of lines and characters, down to the minimum.
_DETAIL_FRACTIONS = ((0.8, 0.75), (0.6, 0.55), (0.5, 0.4), (0.4, 0.3))


def budget_chars(budget_tokens: int) -> int:
    return budget_tokens * CHARS_PER_TOKEN


def fit_reply(make: Callable[[int], ToolReply], most: int, room: int) -> ToolReply:
    """Return the most detailed reply of which both forms fit into `room` characters, else the least detailed one.

    `make` builds the reply for a level of detail from 0 to `most`; a higher level is never shorter.
    """
    best = make(most)
    if most <= 0 or reply_length(best) <= room:
        return best
    # Most answers are only slightly too long: step down from the top in growing steps, then bisect.
    fitting, too_long, step = 0, most, 1
    while too_long - fitting > 1:
        level = max(too_long - step, fitting + 1) if not fitting else (fitting + too_long) // 2
        reply = make(level)
        if reply_length(reply) <= room:
            fitting, best = level, reply
        else:
            too_long, step = level, step * 2
    return best if fitting else make(0)


def reply_length(reply: ToolReply) -> int:
    """Return the number of characters of the longer form, as the server sends it."""
    data = json.dumps(reply.data, ensure_ascii=False, separators=(",", ":"))
    return max(len(data), len(reply.text or ""))


def drop_empty(shape: Mapping[str, object]) -> ReplyShape:
    """Drop None, False, zero, and empty strings, lists and mappings."""
    return {key: value for key, value in shape.items() if value}


def round_significant(number: float) -> float:
    """Round to four significant digits."""
    return float(f"{number:.4g}")


def instruction_warning(*texts: str) -> str:
    joined = "\n".join(texts)
    # The checks for invisible and bidirectional characters work on one text at a time.
    is_flagged = is_instruction_like(joined) if joined.isascii() else any(map(is_instruction_like, texts))
    return UNTRUSTED_WARNING if is_flagged else ""


def index_state_text(completeness: Completeness, found: int, running: str = "") -> str:
    """Describe why an answer is incomplete; for an empty answer, also how much was searched."""
    with_counts = not found or not all(it.complete for it in completeness.shares)
    shares = ", ".join(f"{it.indexed:,} of {it.listed:,} {it.source}" for it in completeness.shares)
    left_out = f", {completeness.left_out:,} left out (see `status`)" if completeness.left_out else ""
    parts = (
        f"{shares} indexed{left_out}" if with_counts else "",
        *completeness.notes,
        *completeness.disk_freshness.sentences(),
        running,
    )
    return adapt_advice_for_tools("; ".join(filter(None, parts)))


def adapt_advice_for_tools(sentence: str) -> str:
    """Replace advice to run a command by the tool to call: an MCP client has no command line."""
    return sentence.replace("`dowse index`", "`index`")


# --- search ---


def search_reply(answer: Answer, budget_tokens: int, explain: bool, running: str) -> ToolReply:
    """Return every hit with its best lines. A small budget shortens all hits before it drops any."""
    words = parse_query_words(f"{answer.query.text} {answer.query.hypothesis}")
    levels = list(_levels(len(answer.hits), budget_tokens / DEFAULT_REPLY_TOKENS))
    several = _kinds_of_several_collections(answer)
    shown = [_ShownHit(hit, words, answer.at, several) for hit in answer.hits]

    def make(level: int) -> ToolReply:
        count, lines, chars = levels[level]
        hits = [hit.shape(lines, chars) for hit in shown[:count]]
        shape = _answer_shape(answer, hits, running)
        return ToolReply(shape, search_text(shape))

    reply = fit_reply(make, len(levels) - 1, budget_chars(budget_tokens))
    if not explain:
        return reply
    shape = {**reply.data, **_explanation(answer, running)}
    for shown, hit in zip(shape["hits"], answer.hits, strict=False):
        evidence = {name: round_significant(it) for name, it in hit.evidence.items() if name != "confidence"}
        shown |= {"score": round_significant(hit.score), "evidence": evidence}
    return ToolReply(shape, search_text(shape))


def _levels(hits: int, scale: float) -> Iterator[tuple[int, int, int]]:
    """Yield levels of (hits, lines per hit, characters per hit), from one short hit to all hits in detail."""
    yield from ((count, _MIN_HIT_LINES, _MIN_HIT_CHARS) for count in range(min(hits, 1), hits + 1))
    shares = [(lines * scale, chars * scale) for lines, chars in (*reversed(_DETAIL_FRACTIONS), (1.0, 1.0))]
    sizes = ((int(_HIT_LINES * lines), int(_HIT_CHARS * chars)) for lines, chars in shares)
    yield from ((hits, lines, chars) for lines, chars in sizes if lines > _MIN_HIT_LINES and chars > _MIN_HIT_CHARS)


def _kinds_of_several_collections(answer: Answer) -> frozenset[str]:
    locations = {(it.stored.record.kind, it.root, it.stored.record.collection) for it in answer.hits}
    kinds = [(kind, root) for kind, root, _ in locations]
    return frozenset(kind for kind, root in kinds if kinds.count((kind, root)) > 1)


class _ShownHit:
    """A hit to be shown at several lengths; everything independent of the length is computed once."""

    def __init__(self, hit: Hit, words: QueryWords, now: float, several: frozenset[str]) -> None:
        chunk, record = hit.stored.chunk, hit.stored.record
        self._hit = hit
        self._choice = LineSelector(chunk.text, words)
        self._location = _location_shape(hit, now)
        self._collection = record.collection if record.kind in several else ""
        self._warning = instruction_warning(chunk.text, record.path, record.title, *chunk.trail)

    def shape(self, max_lines: int, max_chars: int) -> ReplyShape:
        hit, chunk, record = self._hit, self._hit.stored.chunk, self._hit.stored.record
        best = self._choice.best(max_lines, max_chars)
        first_line = chunk.start_line + best.start
        heading = best.heading if record.kind == "code" else None
        shape = {
            "chunk_id": hit.stored.chunk_id,
            "root": hit.root,
            **self._location,
            "collection": self._collection,
            "start_line": first_line,
            "end_line": first_line + len(best.lines) - 1,
            "passage": [chunk.start_line, chunk.end_line] if best.cut else None,
            "pages": list(hit.pages),
            "trail": BREADCRUMB_SEPARATOR.join(chunk.trail),
            "confidence": round_significant(hit.evidence["confidence"]) if "confidence" in hit.evidence else None,
            "freshness": "" if hit.freshness in ("fresh", "unknown") else hit.freshness,
            "notes": list(hit.notes),
            "heading": {"line": chunk.start_line + heading[0], "text": heading[1][:max_chars]} if heading else None,
            "text": "\n".join(best.lines),
            "warning": self._warning,
        }
        return drop_empty(shape)


def _location_shape(hit: Hit, now: float) -> ReplyShape:
    """Return the fields that identify a file, a commit or a memory."""
    record = hit.stored.record
    if record.kind == "commit":
        author = record.facets.get("author", "").partition(" <")[0]
        at = format_iso(record.timestamp_ns / _NS)[:10]
        return {"kind": "commit", "path": record.path, "at": at, "author": author, "title": record.title}
    if record.kind == "memory":
        superseded = "superseded" in hit.evidence
        age = format_ago(record.timestamp_ns / _NS, now)
        type_ = record.facets.get("type", "")
        return {"kind": "memory", "path": hit.path, "type": type_, "age": age, "superseded": superseded}
    return {"path": record.path}


def _answer_shape(answer: Answer, hits: Sequence[ReplyShape], running: str) -> ReplyShape:
    hidden = len(answer.hits) - len(hits)
    shape = {
        "hits": hits,
        "more": f"{hidden} more hits left out (raise `budget_tokens` or lower `limit`)" if hidden else "",
        "abstained": _abstention(answer),
        "notes": [adapt_advice_for_tools(it) for it in notable_step_notes(answer)],
        "index": index_state_text(answer.completeness, len(answer.hits), running),
    }
    return {"hits": hits, **drop_empty(shape)}


def _abstention(answer: Answer) -> str:
    """Say why there are no hits. A missing quoted phrase is reported as it is; other reasons become advice for tool
    callers."""
    requires = any(it.name == "phrases" for it in answer.steps)
    return answer.abstained if requires or not answer.abstained else _ABSTAINED


_ABSTAINED = (
    "nothing relevant found; ask in the words the files might use, pass `hypothesis`, or pass recipe `hybrid` to see "
    "the nearest passages anyway"
)


def _explanation(answer: Answer, running: str) -> ReplyShape:
    steps = [
        drop_empty(
            {"name": it.label, "before": it.before, "after": it.after, "ms": round_significant(it.ms), "note": it.note}
        )
        for it in answer.steps
    ]
    completeness = {"completeness": completeness_json(answer, running), **roots_json(answer)}
    return {"recipe": answer.query.recipe, "steps": steps, **completeness}


def search_text(shape: ReplyShape) -> str:
    count = len(shape["hits"])
    lines = [f"{count} hit{'' if count == 1 else 's'}"]
    lines += [shape[key] for key in ("index", "abstained") if key in shape]
    for rank, hit in enumerate(shape["hits"], 1):
        lines += ["", *_hit_lines(rank, hit)]
    lines += [to_one_line(it) for it in (shape.get("more", ""), *shape.get("notes", ())) if it]
    lines += [f"{it['name']}: {_step_text(it)}" for it in shape.get("steps", ())]
    return "\n".join(lines) + "\n"


def _step_text(step: ReplyShape) -> str:
    note = f" ({step['note']})" if "note" in step else ""
    return to_one_line(f"{step.get('before', 0)} → {step.get('after', 0)} in {step.get('ms', 0)} ms{note}")


def _hit_lines(rank: int, hit: ReplyShape) -> Iterator[str]:
    trail = hit.get("trail", "")
    confidence = f"confidence {hit['confidence']}" if "confidence" in hit else ""
    passage_lines = f"of {hit['passage'][0]}-{hit['passage'][1]}" if "passage" in hit else ""
    pages = pages_text(hit["pages"]) if "pages" in hit else ""
    parts = (_location_text(hit), passage_lines, pages, trail, confidence, f"id {hit['chunk_id']}")
    yield to_one_line(f"{rank}. {'  '.join(filter(None, parts))}{_state_text(hit)}")
    if "evidence" in hit:
        yield f"   score {hit['score']}: {evidence_text(hit['evidence'])}"
    yield from _remark_lines(hit)
    if "heading" in hit:
        yield from (*number_lines([hit["heading"]["text"]], hit["heading"]["line"]), "…")
    yield from number_lines(hit.get("text", "").split("\n"), hit["start_line"])


def _location_text(hit: ReplyShape) -> str:
    names = "/".join(hit[key] for key in ("root", "collection") if key in hit)
    collection = f"[{names}] " if names else ""
    lines = f"{hit['start_line']}-{hit['end_line']}"
    if hit.get("kind") == "commit":
        author_and_title = f"{hit['at']} {hit.get('author', '')}: {hit.get('title', '')}"
        return f"{collection}commit {hit['path'][:_SHORT_HASH]} {author_and_title}"
    if hit.get("kind") == "memory":
        details = (hit.get("type", ""), hit["age"], "superseded" if "superseded" in hit else "")
        return f"{collection}{hit['path']}:{lines} ({', '.join(filter(None, details))})"
    return f"{collection}{hit['path']}:{lines}"


def _state_text(shape: ReplyShape) -> str:
    return f"  [{shape['freshness']}]" if "freshness" in shape else ""


def _remark_lines(shape: ReplyShape) -> Iterator[str]:
    yield from (f"   {to_one_line(note)}" for note in shape.get("notes", ()))
    if "warning" in shape:
        yield f"   ! {shape['warning']}"


# --- fetch ---


def passage_reply(passage: Passage, budget_tokens: int) -> ToolReply:
    """Return as many whole lines as fit, and the line to continue with. A first line that is too long is cut."""
    room = budget_chars(budget_tokens)
    min_chars = min(len(passage.text), room // 2)

    def make(level: int) -> ToolReply:
        shape = _passage_shape(_truncate_passage(passage, min_chars + level))
        return ToolReply(shape, passage_text(shape))

    return fit_reply(make, min(len(passage.text), room) - min_chars, room)


def _truncate_passage(passage: Passage, chars: int) -> Passage:
    if len(passage.text) <= chars:
        return passage
    end = passage.text.rfind("\n", 0, chars + 1)
    text = passage.text[: chars if end < 0 else end]
    last = passage.start_line + text.count("\n")
    next_line = last + 1 if last < passage.end_line else None
    return replace(passage, text=text, end_line=last, next_line=next_line, cut=end < 0)


def _passage_shape(passage: Passage) -> ReplyShape:
    record = passage.record
    shape = {
        "path": record.path,
        "kind": record.kind if record.kind in ("commit", "memory") else "",
        "start_line": passage.start_line,
        "end_line": passage.end_line,
        "total_lines": passage.total_lines,
        "freshness": "" if passage.freshness == "fresh" else passage.freshness,
        "notes": list(passage.notes),
        "text": passage.text,
        "cut": passage.cut,
        "next_line": passage.next_line,
        "warning": instruction_warning(passage.text, record.path),
    }
    return {"text": passage.text, **drop_empty(shape)}


def passage_text(shape: ReplyShape) -> str:
    lines = f"lines {shape['start_line']}-{shape['end_line']} of {shape['total_lines']}"
    kind = f"{shape['kind']} " if "kind" in shape else ""
    ends = [
        f"… line {shape['end_line']} is cut (raise `budget_tokens`)" if "cut" in shape else "",
        f"… continue with start_line={shape['next_line']}" if "next_line" in shape else "",
    ]
    return "\n".join(
        (
            to_one_line(f"{kind}{shape['path']} ({lines}){_state_text(shape)}"),
            *_remark_lines(shape),
            *number_lines(shape["text"].split("\n"), shape["start_line"]),
            *filter(None, ends),
            "",
        )
    )


# --- replies that are only data ---


def lists_reply(shape: ReplyShape, lists: Mapping[str, Sequence[object]]) -> ToolReply:
    """Return a shape with lists, whose rows are only counted where they do not fit. Its text is its JSON."""

    def make(level: int) -> ToolReply:
        shown = drop_empty({name: list(rows[:level]) for name, rows in lists.items()})
        hidden = {name: len(rows) - level for name, rows in lists.items() if len(rows) > level}
        more = {"more": {**hidden, "see": "`dowse status` in a terminal"}} if hidden else {}
        whole = {**shape, **shown, **more}
        return ToolReply(whole, json.dumps(whole, ensure_ascii=False))

    return fit_reply(make, max((len(it) for it in lists.values()), default=0), budget_chars(DEFAULT_REPLY_TOKENS))
