"""The tools of Rifflux, and its settings."""

from __future__ import annotations

import stat
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from dowse.config import Settings
from dowse.engine import Engine
from dowse.errors import BadInput, IndexUnusable, replace_repair_command
from dowse.live.job import Job, JobContext, JobProgress
from dowse.live.jobs import JobQueue
from dowse.live.maintenance import LeaderStatus
from dowse.model import (
    BREADCRUMB_SEPARATOR,
    FILE_KINDS,
    FILES,
    FRESHNESS_UNKNOWN,
    Hit,
    Query,
    Scope,
    StoredChunk,
    SyncReport,
)
from dowse.paths import check_root
from dowse.text.globs import compile_globs
from dowse.tools.tool import ContractWording, Param, Tool, ToolReply, ToolSet, optional_pending_json

# --------------------------------------------------------------------------------------------------
# Answers of the Rifflux contract, under its keys.

RiffluxMode = Literal["lexical", "semantic", "hybrid"]


def optional_list(key: str, values: Sequence[object]) -> dict[str, object]:
    """Return a key beyond the contract only if it has values."""
    return {key: list(values)} if values else {}


def rifflux_chunk_json(stored: StoredChunk) -> dict[str, object]:
    return {
        "chunk_id": stored.chunk_id,
        "path": stored.record.path,
        "heading_path": BREADCRUMB_SEPARATOR.join(stored.chunk.trail),
        "chunk_index": stored.chunk.ordinal,
        "content": stored.chunk.text,
    }


def rifflux_scores_json(hit: Hit, mode: RiffluxMode) -> dict[str, object]:
    """Return the evidence under the contract's names; bm25 has SQLite's sign, where lower is better."""
    evidence = hit.evidence
    if mode == "lexical":
        return {"bm25_score": -evidence["bm25"], "score_breakdown": {"bm25": -evidence["bm25"]}}
    if mode == "semantic":
        return {"cosine": evidence["cosine"], "score_breakdown": {"cosine": evidence["cosine"]}}
    ranks = {name: evidence.get(name) for name in ("lexical_rank", "semantic_rank")}
    return {"score_breakdown": {"rrf": evidence["rrf"], **ranks}}


def rifflux_report_json(report: SyncReport) -> dict[str, object]:
    return {
        "indexed_files": report.indexed,
        "skipped_files": report.unchanged + report.touched + report.skipped,
        "deleted_files": report.deleted,
    }


def embedding_backend(encoder_name: str) -> str:
    if ":" in encoder_name:
        return "http"
    return "hash" if encoder_name.startswith("hash") else "none" if encoder_name == "none" else "onnx"


def rifflux_job_json(job: Job, elapsed_s: float) -> dict[str, object]:
    return {
        "job_id": job.id,
        "status": "failed" if job.status == "cancelled" else job.status,  # the contract has no other status for it
        "elapsed_seconds": round(elapsed_s, 3),
        "result": job.result,
        "error": job.error,
        "retries": job.retries,
    }


def rifflux_watcher_json(
    keeping: LeaderStatus | None, watched: Sequence[Path], settings: Settings
) -> dict[str, object]:
    """Return the state of the file watcher; only `enabled` if this server watches nothing."""
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


# --------------------------------------------------------------------------------------------------
# Settings of a Rifflux server: its defaults, and the original's environment variables.

RIFFLUX_INDEX_PATH = Path(".tmp/rifflux/rifflux.db")

# The contract's globs alone decide what is indexed, so .gitignore and Dowse's default excludes are off.
RIFFLUX_DEFAULTS = Settings(
    index=RIFFLUX_INDEX_PATH,
    git=False,
    watch=False,
    freshness_timeout_ms=0,
    gitignore=False,
    default_excludes=False,
    include=("*.md",),
    exclude=(
        ".git/*", ".venv/*", "**/__pycache__/*", "**/.pytest_cache/*", "**/.ruff_cache/*", "**/node_modules/*",
    ),
)  # fmt: skip

# The original's variables, and the Dowse settings they map to.
RIFFLUX_ALIASES: Mapping[str, str] = {
    "RIFFLUX_DB_PATH": "DOWSE_INDEX",
    "RIFFLUX_MAX_CHUNK_CHARS": "DOWSE_MAX_CHUNK_CHARS",
    "RIFFLUX_MIN_CHUNK_CHARS": "DOWSE_MIN_CHUNK_CHARS",
    "RIFFLUX_RRF_K": "DOWSE_RRF_K",
    "RIFFLUX_EMBEDDING_BACKEND": "DOWSE_ENCODER",
    "RIFFLUX_INDEX_INCLUDE_GLOBS": "DOWSE_INCLUDE",
    "RIFFLUX_INDEX_EXCLUDE_GLOBS": "DOWSE_EXCLUDE",
    "RIFFLUX_FILE_WATCHER": "DOWSE_WATCH",
    "RIFFLUX_FILE_WATCHER_DEBOUNCE_MS": "DOWSE_DEBOUNCE_MS",
}

_TRUE_WORDS = ("1", "true", "yes", "on")


@dataclass(frozen=True, slots=True)
class RiffluxOptions:
    """Options from the original's variables that have no Dowse setting."""

    auto_reindex: bool = False
    auto_reindex_paths: tuple[str, ...] = (".",)
    auto_reindex_min_interval_s: float = 2.0
    watched: tuple[str, ...] = ()


def apply_aliases(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment with unset `DOWSE_…` variables taken from `RIFFLUX_…`."""
    renamed = {ours: environment[theirs] for theirs, ours in RIFFLUX_ALIASES.items() if environment.get(theirs)}
    return renamed | {name: text for name, text in environment.items() if text}


def parse_rifflux_options(environment: Mapping[str, str]) -> RiffluxOptions:
    seconds = environment.get("RIFFLUX_AUTO_REINDEX_MIN_INTERVAL_SECONDS") or "2.0"
    paths = environment.get("RIFFLUX_AUTO_REINDEX_PATHS") or "."
    try:
        interval_s = max(0.0, float(seconds))
    except ValueError:
        raise BadInput(f"RIFFLUX_AUTO_REINDEX_MIN_INTERVAL_SECONDS must be a number, not {seconds!r}") from None
    enabled = _is_on(environment, "RIFFLUX_AUTO_REINDEX_ON_SEARCH")
    return RiffluxOptions(enabled, _split_paths(paths), interval_s, _watch_paths(environment))


def _watch_paths(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the paths to watch; without any of its own, the watcher uses those of the automatic reindex."""
    if not _is_on(environment, "RIFFLUX_FILE_WATCHER"):
        return ()
    return _split_paths(
        environment.get("RIFFLUX_FILE_WATCHER_PATHS") or environment.get("RIFFLUX_AUTO_REINDEX_PATHS") or "."
    )


def _split_paths(paths: str) -> tuple[str, ...]:
    return tuple(it.strip() for it in paths.split(",") if it.strip())


def _is_on(environment: Mapping[str, str], variable: str) -> bool:
    return environment.get(variable, "").strip().lower() in _TRUE_WORDS


# --------------------------------------------------------------------------------------------------
# Indexing in the Rifflux contract: named locations on request, and configured locations behind a search.


@dataclass(frozen=True, slots=True)
class ReindexRequest:
    """One request to reindex locations. `lists_locations`: the answer lists them."""

    locations: tuple[Path, ...]
    force: bool
    prune_missing: bool
    lists_locations: bool

    def run(self, engine: Engine, progress: JobProgress) -> Mapping[str, object]:
        report = engine.index(self.locations, force=self.force, prune=self.prune_missing, progress=progress)
        return {
            **rifflux_report_json(report),
            **optional_list("indexed_paths", [str(it) for it in self.locations] if self.lists_locations else []),
            "embedding_model": engine.state.encoder_name,
            "embedding_backend": embedding_backend(engine.state.encoder_name),
            "git_fingerprint": engine.state.fingerprint(self.locations),
            "prune_missing": self.prune_missing,
            **optional_list("notes", report.notes),
        }

    def submit(self, kind: str, jobs: JobQueue, engine: Callable[[], Engine]) -> Job:
        """Submit a background job. Equal requests share a queued job, but not a running one, which may have passed the
        changed files already."""
        location_text = ", ".join(map(str, self.locations))

        def work(task: JobContext) -> Mapping[str, object]:
            return self.run(engine(), task.set_current(location_text))

        return jobs.submit(kind, work, key=self)


class AutoReindex:
    """Background reindexing triggered by searches: at most once per interval, one run at a time."""

    def __init__(
        self,
        engine: Callable[[], Engine],
        jobs: JobQueue,
        cwd: Path,
        options: RiffluxOptions,
        clock: Callable[[], float],
    ) -> None:
        self._engine = engine
        self._jobs = jobs
        self._cwd = cwd
        self._options = options
        self._clock = clock
        self._lock = threading.Lock()
        self._last: float | None = None

    def ask(self) -> dict[str, object] | None:
        """Start a reindex unless throttled, and return what the search answer says about it; None if disabled."""
        if not self._options.auto_reindex:
            return None
        locations = tuple((self._cwd / it).resolve() for it in self._options.auto_reindex_paths)
        with self._lock:
            now = self._clock()
            if self._last is not None and now - self._last < self._options.auto_reindex_min_interval_s:
                return self._throttled_json()
            request = ReindexRequest(locations, force=False, prune_missing=False, lists_locations=True)
            job = request.submit("auto-reindex", self._jobs, self._engine)
            self._last = now
        return {"enabled": True, "executed": "background", "job_id": job.id, "paths": [str(it) for it in locations]}

    def _throttled_json(self) -> dict[str, object]:
        return {
            "enabled": True,
            "executed": False,
            "reason": "throttled",
            "min_interval_seconds": self._options.auto_reindex_min_interval_s,
        }


def resolve_index_location(argument: str, cwd: Path, settings: Settings, within: Path | None = None) -> Path:
    """Resolve a directory or file to index; raise BadInput for anything else. `within` is the only root that the index
    may hold, unless the index is the client's own."""
    location = check_root(cwd / argument, allow_any_root=settings.allow_any_root)
    if within is not None and not location.is_relative_to(within):
        raise BadInput(
            f"{location} is outside {within}, the root of this server; start another server with `dowse mcp --root`"
        )
    mode = location.stat().st_mode
    if stat.S_ISREG(mode) and not _is_included(location, settings.include):
        raise BadInput(f"{location} does not match the include globs of this index: {', '.join(settings.include)}")
    if not stat.S_ISDIR(mode) and not stat.S_ISREG(mode):
        raise BadInput(f"{location} is neither a directory nor a regular file; name one of these")
    return location


def _is_included(file: Path, include: Sequence[str]) -> bool:
    """Return whether the globs match the file relative to any directory above it; its root is not known here."""
    matches = compile_globs(include or ("**",))
    return any(matches("/".join(file.parts[start:])) for start in range(1, len(file.parts)))


RIFFLUX_REBUILD_COMMAND = "rifflux-rebuild"  # the contract's command that rebuilds its index
RIFFLUX_INSTRUCTIONS = """\
Hybrid search over the Markdown files indexed on this machine. `reindex` indexes files, `search_rifflux` finds \
chunks (hybrid, lexical or semantic), `get_chunk` and `get_file` read them, `index_status` shows the index state."""

ChunkId = Annotated[str, Param("The chunk_id of a search result")]
DbPath = Annotated[str | None, Param("Index file to use instead of the server's")]


class RiffluxTools:
    """The tools, bound to the engines, job queue and working directory of one server."""

    def __init__(
        self,
        engine: Callable[[str | None], Engine],
        jobs: JobQueue,
        cwd: Path,
        settings: Settings,
        options: RiffluxOptions,
        clock: Callable[[], float] = time.monotonic,
        keeping: Callable[[], LeaderStatus] | None = None,
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

    def profile(self) -> ToolSet:
        tools = (
            Tool(self.search_rifflux, "Search the indexed Markdown"),
            Tool(self.get_chunk, "Read one chunk"),
            Tool(self.get_file, "Read one file's chunks"),
            Tool(self.index_status, "Index status"),
            Tool(self.reindex, "Index files", read_only=False),
        )
        return ToolSet(
            "rifflux", "rifflux", RIFFLUX_INSTRUCTIONS, tools, ContractWording(rebuild_command=RIFFLUX_REBUILD_COMMAND)
        )

    # --- the tools ---

    def search_rifflux(
        self,
        query: Annotated[str, Param("What to look for")],
        top_k: Annotated[int, Param("Maximum number of results", ge=1, le=100)] = 10,
        mode: Annotated[RiffluxMode, Param("hybrid fuses lexical and semantic ranks")] = "hybrid",
        db_path: DbPath = None,
    ) -> ToolReply:
        """Search indexed Markdown chunks by words (BM25), by meaning (vectors), or both fused by reciprocal rank."""
        engine = self._engine(db_path)
        auto_reindex = self._auto_reindex.ask() if db_path is None else None
        hits: Sequence[Hit] = ()
        seen = FRESHNESS_UNKNOWN
        if query.strip():
            answer = engine.search(Query(query, Scope(kinds=FILE_KINDS), limit=top_k, recipe=f"rifflux-{mode}"))
            hits, seen = answer.hits, answer.completeness.disk_freshness
        results = [{**rifflux_chunk_json(it.stored), **rifflux_scores_json(it, mode)} for it in hits]
        return ToolReply(
            {
                "query": query,
                "mode": mode,
                "count": len(results),
                "embedding_model": engine.state.encoder_name,
                "auto_reindex": auto_reindex,
                "results": results,
                **optional_pending_json(seen),
            }
        )

    def get_chunk(self, chunk_id: ChunkId, db_path: DbPath = None) -> ToolReply:
        """Return the chunk with this id, or null."""
        matches = self._engine(db_path).passages.chunk(chunk_id)
        return ToolReply({"chunk": rifflux_chunk_json(matches[0]) if matches else None})

    def get_file(self, path: Annotated[str, Param("The path of a search result")], db_path: DbPath = None) -> ToolReply:
        """Return all chunks of the file with this path, in order, or null."""
        engine = self._engine(db_path)
        records = engine.record(path)
        if not records:
            return ToolReply({"file": None})
        record = records[0]
        keys = ("chunk_id", "heading_path", "chunk_index", "content")
        chunks = [{key: rifflux_chunk_json(it)[key] for key in keys} for it in engine.passages.chunks(record)]
        return ToolReply({"file": {"path": record.path, "chunks": chunks}})

    def index_status(self, db_path: DbPath = None) -> ToolReply:
        """Show the number of files, chunks and embeddings, the embedding model, and background jobs."""
        engine = self._engine(db_path)
        status = engine.status()
        return ToolReply(
            {
                "files": status.counts.records,
                "chunks": status.counts.chunks,
                "embeddings": status.counts.vectors,
                "db_path": str(engine.index_path),
                "embedding_backend": embedding_backend(status.encoder),
                "embedding_model": status.encoder,
                "index_include_globs": list(engine.settings.include),
                "index_exclude_globs": list(engine.settings.exclude),
                "git_fingerprint": engine.state.fingerprint([Path(it.root) for it in status.collections_of(FILES)]),
                "background_jobs": [self._job_json(job) for job in self._jobs.all()],
                "file_watcher": self._watcher_json(),
                **optional_list("skipped", [{"path": it.path, "reason": it.reason} for it in status.skipped]),
            }
        )

    def reindex(
        self,
        path: Annotated[str | None, Param("A directory or file; default: the server's working directory")] = None,
        paths: Annotated[list[str] | None, Param("Several locations; overrides path if not empty")] = None,
        force: Annotated[bool, Param("Also index unchanged files again")] = False,
        prune_missing: Annotated[bool, Param("Remove files that no longer exist in these locations")] = True,
        background: Annotated[bool, Param("Return a job immediately instead of waiting")] = False,
    ) -> ToolReply:
        """Index one or more locations; only new and changed files are read."""
        requested = paths or [path or "."]
        locations = tuple(resolve_index_location(it, self._cwd, self._settings, self._within) for it in requested)
        request = ReindexRequest(locations, force, prune_missing, lists_locations=bool(paths))
        if background:
            return ToolReply(self._job_json(request.submit("reindex", self._jobs, self._engine)))
        return ToolReply(request.run(self._engine(), lambda stage, done, total: None))

    # --- helpers ---

    def _engine(self, db_path: str | None = None) -> Engine:
        try:
            return self._open(db_path)
        except IndexUnusable as error:
            text = replace_repair_command(str(error), RIFFLUX_REBUILD_COMMAND)
            hint = "" if RIFFLUX_REBUILD_COMMAND in text else f" (for this server: `{RIFFLUX_REBUILD_COMMAND}`)"
            raise type(error)(f"{text}{hint}") from error

    def _job_json(self, job: Job) -> dict[str, object]:
        return rifflux_job_json(job, self._jobs.elapsed_s(job))

    def _watcher_json(self) -> dict[str, object]:
        keeping = self._keeping() if self._keeping and self._options.watched else None
        return rifflux_watcher_json(
            keeping, [(self._cwd / it).resolve() for it in self._options.watched], self._settings
        )
