"""The native tools: few, and understood at once. Also the JSON that `--json` and the tools share."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

from dowse.engine import Engine, Status
from dowse.errors import BadInput
from dowse.lookup.read import Passage, within
from dowse.model import TRAIL_SEPARATOR, Answer, Hit, Query, Scope, Stored, SyncReport
from dowse.profiles.pending import pending_json
from dowse.profiles.tool import Param, Profile, Reply, Tool
from dowse.text.times import ago, iso, parse_moment

if TYPE_CHECKING:
    from dowse.live.jobs import Job, Jobs
    from dowse.live.upkeep import Keeping, Upkeep

INSTRUCTIONS = """\
Dowse searches this project's files (documents and code) on this machine; nothing leaves it.
- `search` first, with a question or keywords; put a "phrase" in quotes to require it. Hits come with \
path, lines, the trail of headings and an id.
- `fetch` an id or a path to read more: lines around a hit, or a whole file.
- `grep` finds every line with a pattern, `symbols` what is defined (by name, base, attribute, or at path:line), \
`calls` who calls a function or what it calls. All three are exact and need no reading of files.
- Files saved before a question are in its answer, or the answer says which are not; a hit marked `changed` or `gone` \
is older than the file on disk: `index`, then search again.
- No hits? Look at `completeness` in the answer: it says what was searched and what was not. `status` says more.
- `abstained` says why nothing is shown although something was found: ask in the words the files might use, or give \
a `hypothesis`, a sentence such as the answer might be.
- Leave `recipe` to `auto`; `lexical` is words alone, `semantic` meaning alone, `late` looks at the best hits twice."""

_SHOWN_JOBS = 20
_ECHOED_CHARS = 1000
_SHOWN_SKIPPED = 50  # an answer must not flood its reader; `dowse status --json` has all

RecipeName = Literal["auto", "hybrid", "lexical", "semantic", "late", "rerank", "ragdocs"]
_DECISIONS = ("freshness", "plan", "abstain")
_WHOLE_FILES = ("auto", "hybrid", "lexical", "semantic", "late", "rerank")


class Core:
    """The tools, bound to the engine and the job queue of one server."""

    def __init__(self, engine: Callable[[], Engine], jobs: Jobs, upkeep: Upkeep) -> None:
        self._engine = engine
        self._jobs = jobs
        self._upkeep = upkeep

    def profile(self) -> Profile:
        from dowse.profiles.core_code import CodeTools  # brings the call graph with it; the command line imports us too

        tools = (
            Tool(self.search, "Search documents and code"),
            Tool(self.fetch, "Read a hit or a file"),
            *CodeTools(self._engine).tools(),
            Tool(self.index, "Bring the index up to date", read_only=False),
            Tool(self.status, "State of the index"),
        )
        return Profile("core", "dowse", INSTRUCTIONS, tools)

    def search(
        self,
        query: Annotated[str, Param('What to look for: a question, keywords, an identifier, or a "phrase" in quotes')],
        limit: Annotated[int, Param("How many hits at most", ge=1, le=100)] = 8,
        recipe: Annotated[
            RecipeName,
            Param(
                "auto picks by the query's form; hybrid: words and meaning; lexical: words; semantic: meaning; late, "
                "rerank: a second look at the best; ragdocs: few passages, nothing twice, whole sections"
            ),
        ] = "auto",
        kinds: Annotated[list[Literal["doc", "code"]] | None, Param("Only these kinds of content")] = None,
        paths: Annotated[list[str] | None, Param("Only files matching these globs, e.g. docs/** or *.py")] = None,
        not_paths: Annotated[list[str] | None, Param("No files matching these globs")] = None,
        tags: Annotated[list[str] | None, Param("Only documents with any of these tags")] = None,
        since: Annotated[str | None, Param("Only files changed since: 2026-11-02, 7d, 12h")] = None,
        until: Annotated[str | None, Param("Only files last changed before this")] = None,
        files: Annotated[bool, Param("Each file once, by its best passage")] = False,
        hypothesis: Annotated[
            str, Param("A sentence such as the answer might be: compared by meaning in place of the query")
        ] = "",
        budget_tokens: Annotated[int, Param("About how long the answer's texts may be", ge=50, le=100_000)] = 3000,
        explain: Annotated[bool, Param("Also say what each step did and cost")] = False,
    ) -> Reply:
        """Search the indexed files and get ranked passages with path, lines, heading trail, why each was found,
        whether its file has changed since, and how complete the index is."""
        scope = make_scope(kinds or (), paths or (), tags or (), since, until, not_paths or ())
        name = of_files(recipe) if files else recipe
        answer = self._engine().search(Query(query, scope, limit, name, budget_tokens, hypothesis))
        return Reply(answer_json(answer, self._running()), answer_text(answer, explain, self._running()))

    def fetch(
        self,
        id: Annotated[str, Param("A hit's chunk_id, or a path relative to the root")],
        start_line: Annotated[int | None, Param("First line to read", ge=1)] = None,
        end_line: Annotated[int | None, Param("Last line to read", ge=1)] = None,
        collection: Annotated[str | None, Param("Which root, where several are indexed")] = None,
        budget_tokens: Annotated[int, Param("About how long the text may be", ge=50, le=100_000)] = 6000,
    ) -> Reply:
        """Read lines of an indexed file as they are on disk now: of the passage with this chunk_id, or of this path.
        What does not fit the budget is left out, and `next_line` says where to go on."""
        passage = within(read(self._engine(), id, start_line, end_line, collection), budget_tokens)
        return Reply(passage_json(passage), passage_text(passage))

    def index(
        self,
        force: Annotated[bool, Param("Read every file again, even unchanged ones")] = False,
        wait: Annotated[bool, Param("Answer when it is done instead of at once")] = True,
        cancel: Annotated[str | None, Param("Only stop the job with this id; `status` lists them")] = None,
    ) -> Reply:
        """Bring the index in line with the files on disk: new, changed and deleted ones. Quick when little changed."""
        if cancel is not None:
            return Reply(self._job_json(self._cancelled(cancel)))
        job = self._upkeep.index(force=force)
        if wait:
            self._jobs.wait(job)
        if job.error:
            raise BadInput(job.error)
        data = self._job_json(job)
        if wait and isinstance(job.result, Mapping):
            data["result"] = {**job.result, **self._vectors_made()}
        return Reply(data)

    def _vectors_made(self) -> dict[str, object]:
        """Waits until there are vectors for everything; other work may come between."""
        made = {"embedded": 0, "reused": 0}
        while (job := self._jobs.running("encode")) is not None:
            self._jobs.wait(job)
            made = {key: count + int(str((job.result or {}).get(key, 0))) for key, count in made.items()}
        return dict(made)

    def _cancelled(self, id: str) -> Job:
        job = next((it for it in self._jobs.all() if it.id == id), None)
        if job is None or not self._jobs.cancel(id):
            raise BadInput(f"no job {id[:50]!r} is queued or running here; `status` lists those that are")
        return job

    def status(self) -> Reply:
        """What is indexed, how fresh and complete it is, which encoder is used and why, and what was skipped."""
        status = self._engine().status()
        data = status_json(status, self._engine())
        data["watcher"] = watcher_json(self._upkeep.keeping())
        data["jobs"] = [self._job_json(job) for job in self._jobs.all()[-_SHOWN_JOBS:]]
        data["skipped"] = status_skipped(status)[:_SHOWN_SKIPPED]
        data["quarantined"] = status_quarantined(status)[:_SHOWN_SKIPPED]
        return Reply(data)

    def _running(self) -> str:
        return running_text(self._jobs)

    def _job_json(self, job: Job) -> dict[str, object]:
        return {
            "job_id": job.id,
            "name": job.kind,
            "status": job.status,
            "stage": job.stage,
            "done": job.done,
            "total": job.total,
            "elapsed_seconds": round(self._jobs.elapsed_s(job), 3),
            "result": job.result,
            "error": job.error,
            "current": job.current,
            "eta_seconds": None if job.eta_s is None else round(job.eta_s, 1),
            "requests": job.requests,
            "retries": job.retries,
        }


_MAKE_INCOMPLETE = {
    "index": "indexing is running",
    "reconcile": "indexing is running",
    "heal": "damage is being mended",
}


def running_text(jobs: Jobs) -> str:
    """What answers have to do without until it is done; of vectors that are being made they tell by themselves."""
    found = next((job for kind in _MAKE_INCOMPLETE if (job := jobs.running(kind)) is not None), None)
    if found is None:
        return ""
    return f"{_MAKE_INCOMPLETE[found.kind]} ({found.stage or found.status} {found.done:,} of {found.total:,})"


def make_scope(
    kinds: Sequence[str] = (),
    paths: Sequence[str] = (),
    tags: Sequence[str] = (),
    since: str | None = None,
    until: str | None = None,
    excluded: Sequence[str] = (),
) -> Scope:
    now = time.time()
    return Scope(
        kinds=tuple(kinds),
        paths=tuple(paths),
        excluded=tuple(excluded),
        tags=tuple(tags),
        since=None if since is None else parse_moment(since, now),
        until=None if until is None else parse_moment(until, now),
    )


def of_files(recipe: str) -> str:
    """The recipe that gives each file once."""
    if recipe not in _WHOLE_FILES:
        raise BadInput(f"whole files are ranked by the recipes {', '.join(_WHOLE_FILES)}, not by {recipe!r}")
    return f"{recipe}-files"


def read(engine: Engine, target: str, start_line: int | None, end_line: int | None, collection: str | None) -> Passage:
    """A chunk by its id or a record by its path: the lines asked for, else the passage, else the whole."""
    chunks = engine.chunk(target, collection)
    records = [it.record for it in chunks] or engine.record(target, collection)
    if not records:
        raise BadInput(f"nothing indexed has the id or path {target[:200]!r}; a search gives both")
    if len(records) > 1:
        names = ", ".join(it.collection for it in records)
        raise BadInput(f"{target!r} is in several collections ({names}); say which one with `collection`")
    if chunks and start_line is None and end_line is None:
        return engine.passage(chunks[0])
    first = start_line or (chunks[0].chunk.start_line if chunks else 1)
    return engine.lines(records[0], first, end_line)


# --- JSON: keys are added, never renamed ---


def answer_json(answer: Answer, running: str = "") -> dict[str, object]:
    return {
        "query": answer.query.text[:_ECHOED_CHARS],
        "recipe": answer.query.recipe,
        "count": len(answer.hits),
        "hits": [hit_json(rank, hit) for rank, hit in enumerate(answer.hits, 1)],
        "steps": [
            {"name": it.name, "before": it.before, "after": it.after, "ms": it.ms, "note": it.note}
            for it in answer.steps
        ],
        "abstained": answer.abstained,
        "completeness": {
            "text": _completeness_text(answer, running),
            "complete": answer.completeness.complete and not running,
            "indexed": answer.completeness.indexed,
            "listed": answer.completeness.listed,
            "skipped": answer.completeness.skipped,
            "chunks": answer.completeness.chunks,
            "vectors": answer.completeness.vectors,
            "as_of": iso(answer.completeness.as_of) if answer.completeness.as_of else None,
            "pending": pending_json(answer.completeness.seen),
        },
    }


def hit_json(rank: int, hit: Hit) -> dict[str, object]:
    chunk, record = hit.stored.chunk, hit.stored.record
    return {
        "rank": rank,
        "chunk_id": hit.stored.chunk_id,
        "collection": record.collection,
        "kind": record.kind,
        "path": record.path,
        "start_line": chunk.start_line,
        "end_line": chunk.end_line,
        "trail": list(chunk.trail),
        "title": record.title,
        "score": hit.score,
        "text": chunk.text,
        "evidence": dict(hit.evidence),
        "freshness": hit.freshness,
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
    }


def report_json(report: SyncReport) -> dict[str, object]:
    return {
        "listed": report.listed,
        "indexed": report.indexed,
        "unchanged": report.unchanged,
        "touched": report.touched,
        "deleted": report.deleted,
        "skipped": report.skipped,
        "embedded": report.embedded,
        "reused": report.reused,
        "notes": list(report.notes),
    }


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


def status_quarantined(status: Status) -> list[dict[str, str]]:
    """Files that are indexed as plain text, because their parser failed."""
    return [{"collection": it.collection, "path": it.path, "reason": it.reason} for it in status.quarantined]


def status_json(status: Status, engine: Engine, leader: int | None = None) -> dict[str, object]:
    completeness = engine.completeness()
    counts = status.counts
    return {
        "root": status.collections[0].root if status.collections else None,
        "index": str(status.index),
        "collections": [
            {
                "name": it.name,
                "root": it.root,
                "listed": it.listed,
                "synced_at": iso(it.synced_at) if it.synced_at else None,
            }
            for it in status.collections
        ],
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
        "freshness": {
            "as_of": iso(completeness.synced_at) if completeness.synced_at else None,
            "complete": completeness.complete,
            "notes": list(completeness.notes),
        },
    }


# --- text for a model to read ---


def answer_text(answer: Answer, explain: bool = False, running: str = "") -> str:
    lines = [_completeness_text(answer, running), "", *([answer.abstained, ""] if answer.abstained else [])]
    for rank, hit in enumerate(answer.hits, 1):
        chunk = hit.stored.chunk
        trail = TRAIL_SEPARATOR.join(chunk.trail)
        stale = "" if hit.freshness == "fresh" else f" [{hit.freshness}]"
        lines += [
            f"{rank}. {place_text(hit, answer)}{f'  {trail}' if trail else ''}{stale}",
            f"   id {hit.stored.chunk_id}; {evidence_text(hit.evidence)}",
            chunk.text,
            "",
        ]
    notes = shown_notes(answer)
    if explain:
        notes = [
            f"{it.name}: {it.before} → {it.after} in {it.ms:.1f} ms{f' ({it.note})' if it.note else ''}"
            for it in answer.steps
        ]
    return "\n".join(lines + notes).rstrip() + "\n"


def shown_notes(answer: Answer) -> list[str]:
    """What the reader should know of the steps: why one did less than usual, not what was decided as always."""
    return [f"{step.name}: {step.note}" for step in answer.steps if step.note and step.name not in _DECISIONS]


def place_text(hit: Hit, answer: Answer) -> str:
    """Path and lines; with the collection where hits come from several."""
    chunk, record = hit.stored.chunk, hit.stored.record
    several = len({it.stored.record.collection for it in answer.hits}) > 1
    return f"{f'[{record.collection}] ' if several else ''}{record.path}:{chunk.start_line}-{chunk.end_line}"


def evidence_text(evidence: Mapping[str, float]) -> str:
    return ", ".join(
        f"{name.replace('_', ' ')} {value:.4g}" if name != "rrf" else f"rrf {value:.4f}"
        for name, value in evidence.items()
    )


def passage_text(passage: Passage) -> str:
    stale = "" if passage.freshness == "fresh" else f" [{passage.freshness}]"
    lines = f"lines {passage.start_line}-{passage.end_line} of {passage.total_lines}"
    cut = " … this line is longer and was cut" if passage.cut else ""
    more = f"… go on with start_line={passage.next_line}\n" if passage.next_line else ""
    return f"{passage.record.path} ({lines}){stale}\n{passage.text}{cut}\n{more}"


def _completeness_text(answer: Answer, running: str) -> str:
    state = answer.completeness
    sentence = state.sentence(len(answer.hits))
    moment = "now" if state.seen.complete else ago(state.as_of, time.time())
    as_of = f"as of {moment}" if state.synced_at else "not synced yet"
    return "; ".join(part for part in (sentence, as_of, running) if part)
