"""The Rifflux contract, told in engine verbs: the same tools, parameters, defaults, bounds and keys."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

from dowse.config import Settings
from dowse.engine import Engine
from dowse.errors import IndexUnusable, advised
from dowse.live.jobs import Job, Jobs
from dowse.live.keeping import Keeping
from dowse.model import FILES, IN_FILES, NOT_LOOKED, Hit, Query, Scope
from dowse.profiles.pending import if_pending
from dowse.profiles.rifflux_indexing import AutoReindex, Reindexing, located
from dowse.profiles.rifflux_json import Mode, backend, chunk_json, if_any, job_json, scores_json, watcher_json
from dowse.profiles.rifflux_settings import Options
from dowse.profiles.tool import Param, Profile, Reply, Tool, Wording

MENDING = "rifflux-rebuild"  # the command that makes an index of this contract anew
INSTRUCTIONS = """\
Hybrid search over the Markdown files indexed on this machine. `reindex` brings files in, `search_rifflux` finds \
chunks (hybrid, lexical or semantic), `get_chunk` and `get_file` read them, `index_status` tells the state."""

ChunkId = Annotated[str, Param("The chunk_id of a search result")]
DbPath = Annotated[str | None, Param("Another index file than the server's own")]


class Rifflux:
    """The tools, bound to the engines, the queue and the working directory of one server."""

    def __init__(
        self,
        engine: Callable[[str | None], Engine],
        jobs: Jobs,
        cwd: Path,
        settings: Settings,
        options: Options,
        clock: Callable[[], float] = time.monotonic,
        keeping: Callable[[], Keeping] | None = None,
        within: Path | None = None,
    ) -> None:
        self._keeping = keeping
        self._within = within
        self._open = engine
        self._jobs = jobs
        self._cwd = cwd
        self._settings = settings
        self._options = options
        self._auto_reindex = AutoReindex(self._engine, jobs, cwd, options, clock)

    def profile(self) -> Profile:
        tools = (
            Tool(self.search_rifflux, "Search the indexed Markdown"),
            Tool(self.get_chunk, "Read one chunk"),
            Tool(self.get_file, "Read one file's chunks"),
            Tool(self.index_status, "State of the index"),
            Tool(self.reindex, "Index files", read_only=False),
        )
        return Profile("rifflux", "rifflux", INSTRUCTIONS, tools, Wording(mending=MENDING))

    # --- the tools ---

    def search_rifflux(
        self,
        query: Annotated[str, Param("What to look for")],
        top_k: Annotated[int, Param("How many results at most", ge=1, le=100)] = 10,
        mode: Annotated[Mode, Param("hybrid fuses lexical and semantic ranks")] = "hybrid",
        db_path: DbPath = None,
    ) -> Reply:
        """Search indexed Markdown chunks by words (BM25), by meaning (vectors), or both fused by reciprocal rank."""
        engine = self._engine(db_path)
        auto_reindex = self._auto_reindex.ask() if db_path is None else None
        hits: Sequence[Hit] = ()
        seen = NOT_LOOKED
        if query.strip():
            answer = engine.search(Query(query, Scope(kinds=IN_FILES), limit=top_k, recipe=f"rifflux-{mode}"))
            hits, seen = answer.hits, answer.completeness.seen
        results = [{**chunk_json(it.stored), **scores_json(it, mode)} for it in hits]
        return Reply(
            {
                "query": query,
                "mode": mode,
                "count": len(results),
                "embedding_model": engine.encoder_name,
                "auto_reindex": auto_reindex,
                "results": results,
                **if_pending(seen),
            }
        )

    def get_chunk(self, chunk_id: ChunkId, db_path: DbPath = None) -> Reply:
        """The chunk with this id, or null."""
        found = self._engine(db_path).chunk(chunk_id)
        return Reply({"chunk": chunk_json(found[0]) if found else None})

    def get_file(self, path: Annotated[str, Param("The path of a search result")], db_path: DbPath = None) -> Reply:
        """All chunks of the file with this path, in order, or null."""
        engine = self._engine(db_path)
        found = engine.record(path)
        if not found:
            return Reply({"file": None})
        record = found[0]
        keys = ("chunk_id", "heading_path", "chunk_index", "content")
        chunks = [{key: chunk_json(it)[key] for key in keys} for it in engine.chunks(record)]
        return Reply({"file": {"path": record.path, "chunks": chunks}})

    def index_status(self, db_path: DbPath = None) -> Reply:
        """How many files, chunks and embeddings there are, with which model, and what runs in the background."""
        engine = self._engine(db_path)
        status = engine.status()
        return Reply(
            {
                "files": status.counts.records,
                "chunks": status.counts.chunks,
                "embeddings": status.counts.vectors,
                "db_path": str(engine.index_path),
                "embedding_backend": backend(status.encoder),
                "embedding_model": status.encoder,
                "index_include_globs": list(engine.settings.include),
                "index_exclude_globs": list(engine.settings.exclude),
                "git_fingerprint": engine.fingerprint([Path(it.root) for it in status.of(FILES)]),
                "background_jobs": [self._job_json(job) for job in self._jobs.all()],
                "file_watcher": self._watcher_json(),
                **if_any("skipped", [{"path": it.path, "reason": it.reason} for it in status.skipped]),
            }
        )

    def reindex(
        self,
        path: Annotated[str | None, Param("A directory or file; default: the server's working directory")] = None,
        paths: Annotated[list[str] | None, Param("Several of them; wins over path when not empty")] = None,
        force: Annotated[bool, Param("Index unchanged files again too")] = False,
        prune_missing: Annotated[bool, Param("Drop files that are gone from these locations")] = True,
        background: Annotated[bool, Param("Return a job at once instead of waiting")] = False,
    ) -> Reply:
        """Index one or more locations; only new and changed files are read."""
        given = paths or [path or "."]
        locations = tuple(located(it, self._cwd, self._settings, self._within) for it in given)
        asked = Reindexing(locations, force, prune_missing, several=bool(paths))
        if background:
            return Reply(self._job_json(asked.submitted("reindex", self._jobs, self._engine)))
        return Reply(asked.done_by(self._engine(), lambda stage, done, total: None))

    # --- how they do it ---

    def _engine(self, db_path: str | None = None) -> Engine:
        try:
            return self._open(db_path)
        except IndexUnusable as error:
            text = advised(str(error), MENDING)
            hint = "" if MENDING in text else f" (for this server: `{MENDING}`)"
            raise type(error)(f"{text}{hint}") from error

    def _job_json(self, job: Job) -> dict[str, object]:
        return job_json(job, self._jobs.elapsed_s(job))

    def _watcher_json(self) -> dict[str, object]:
        keeping = self._keeping() if self._keeping and self._options.watched else None
        return watcher_json(keeping, [(self._cwd / it).resolve() for it in self._options.watched], self._settings)
