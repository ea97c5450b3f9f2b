"""The native tools: few, and understood at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Literal

from dowse.engine import Engine
from dowse.errors import BadInput
from dowse.lookup.read import within
from dowse.model import Answer, Query
from dowse.profiles.core_asking import file_kinds, make_scope, of_files, read
from dowse.profiles.core_json import (
    answer_json,
    passage_json,
    status_json,
    status_quarantined,
    status_skipped,
    watcher_json,
)
from dowse.profiles.core_text import answer_text, passage_text, running_text
from dowse.profiles.tool import Param, Profile, Reply, Tool

if TYPE_CHECKING:
    from dowse.live.jobs import Job, Jobs
    from dowse.live.upkeep import Upkeep

INSTRUCTIONS = """\
Dowse searches this project's documents, code, git history and memories on this machine; nothing leaves it.
- `search` first, with a question or keywords; put a "phrase" in quotes to require it. Hits come with \
path (of a commit: its hash), lines, the trail of headings and an id. `kinds` picks doc, code, commit or memory.
- `fetch` an id or a path to read more: lines around a hit, or a whole file.
- `grep` finds every line with a pattern, `symbols` what is defined (by name, base, attribute, or at path:line), \
`calls` who calls a function or what it calls. All three are exact and need no reading of files.
- `why` before you change something: one call for a line (src/app.py:12) or a symbol gives its definition, callers, \
tests, the commits that shaped it and what documents and memories say of it. `related` follows links from anything.
- `remember` keeps a note (a decision, a plan, a finding) for later sessions; anchor it to the code it is about.
- Files saved before a question are in its answer, or the answer says which are not; a hit marked `changed` or `gone` \
is older than the file on disk: `index`, then search again.
- No hits? Look at `completeness` in the answer: it says what was searched and what was not. `status` says more.
- `abstained` says why nothing is shown although something was found: ask in the words the files might use, or give \
a `hypothesis`, a sentence such as the answer might be.
- Leave `recipe` to `auto`; `lexical` is words alone, `semantic` meaning alone, `late` looks at the best hits twice."""

_SHOWN_JOBS = 20
_SHOWN_SKIPPED = 50  # an answer must not flood its reader; `dowse status --json` has all

RecipeName = Literal["auto", "hybrid", "lexical", "semantic", "late", "rerank", "ragdocs"]


class Core:
    """The tools, bound to the engine and the job queue of one server. `search` asks several roots in place of one."""

    def __init__(
        self,
        engine: Callable[[], Engine],
        jobs: Jobs,
        upkeep: Upkeep,
        search: Callable[[Query], Answer] | None = None,
    ) -> None:
        self._engine = engine
        self._search = search
        self._jobs = jobs
        self._upkeep = upkeep

    def profile(self) -> Profile:
        # These bring much with them, and the command line imports us too.
        from dowse.profiles.core_code import CodeTools
        from dowse.profiles.core_memories import MemoryTools
        from dowse.profiles.core_why import WhyTools

        tools = (
            Tool(self.search, "Search documents, code, commits and memories"),
            Tool(self.fetch, "Read a hit or a file"),
            *CodeTools(self._engine).tools(),
            *WhyTools(self._engine).tools(),
            *MemoryTools(self._engine).tools(),
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
        kinds: Annotated[
            list[Literal["doc", "code", "commit", "memory"]] | None, Param("Only these kinds of content")
        ] = None,
        paths: Annotated[
            list[str] | None, Param("Only files matching these globs, e.g. docs/** or *.py; commits that touch them")
        ] = None,
        not_paths: Annotated[list[str] | None, Param("No files matching these globs")] = None,
        tags: Annotated[list[str] | None, Param("Only documents and memories with any of these tags")] = None,
        authors: Annotated[list[str] | None, Param("Only commits by any of these: parts of names or addresses")] = None,
        since: Annotated[str | None, Param("Only what was changed or made since: 2026-11-02, 7d, 12h")] = None,
        until: Annotated[str | None, Param("Only what was last changed or made before this")] = None,
        files: Annotated[bool, Param("Each file once, by its best passage")] = False,
        hypothesis: Annotated[
            str, Param("A sentence such as the answer might be: compared by meaning in place of the query")
        ] = "",
        budget_tokens: Annotated[int, Param("About how long the answer's texts may be", ge=50, le=100_000)] = 3000,
        explain: Annotated[bool, Param("Also say what each step did and cost")] = False,
    ) -> Reply:
        """Search files, commits and memories and get ranked passages with path, lines, heading trail, why each was
        found, whether its file has changed since, and how complete the index is."""
        wanted = file_kinds(kinds or (), files)
        engine = self._engine()
        scope = make_scope(wanted, paths or (), tags or (), since, until, not_paths or (), authors or (), engine.now)
        name = of_files(recipe) if files else recipe
        answer = (self._search or engine.search)(Query(query, scope, limit, name, budget_tokens, hypothesis))
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
            data["result"] = {**job.result, **self._behind_files()}
        return Reply(data)

    def _behind_files(self) -> dict[str, object]:
        """Waits until histories are read and there are vectors for everything; other work may come between."""
        made = {"commits": 0, "embedded": 0, "reused": 0}
        while (job := self._jobs.running("history") or self._jobs.running("encode")) is not None:
            self._jobs.wait(job)
            told = {**(job.result or {}), "commits": (job.result or {}).get("indexed", 0)}
            made = {key: count + int(str(told.get(key, 0))) for key, count in made.items()}
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
