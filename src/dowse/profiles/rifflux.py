"""The Rifflux contract, told in engine verbs: the same tools, parameters, defaults, bounds and keys."""

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
from dowse.errors import BadInput, IndexUnusable
from dowse.live.jobs import Job, Jobs, Progress, Task
from dowse.live.keeping import Keeping
from dowse.model import FILES, IN_FILES, NOT_LOOKED, TRAIL_SEPARATOR, Hit, Query, Scope, Stored, SyncReport
from dowse.places import checked_root
from dowse.profiles.pending import if_pending
from dowse.profiles.tool import Param, Profile, Reply, Tool
from dowse.text.globs import compile_globs

INSTRUCTIONS = """\
Hybrid search over the Markdown files indexed on this machine. `reindex` brings files in, `search_rifflux` finds \
chunks (hybrid, lexical or semantic), `get_chunk` and `get_file` read them, `index_status` tells the state."""

INDEX = Path(".tmp/rifflux/rifflux.db")

# The contract's globs alone decide what is indexed, so what git ignores or we would leave out is taken too.
DEFAULTS = Settings(
    index=INDEX,
    git=False,
    watch=False,
    repair_ms=0,
    gitignore=False,
    default_excludes=False,
    include=("*.md",),
    exclude=(
        ".git/*", ".venv/*", "**/__pycache__/*", "**/.pytest_cache/*", "**/.ruff_cache/*", "**/node_modules/*",
    ),
)  # fmt: skip

# The original's variables, and the settings they stand for here.
ALIASES: Mapping[str, str] = {
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

Mode = Literal["lexical", "semantic", "hybrid"]
ChunkId = Annotated[str, Param("The chunk_id of a search result")]
DbPath = Annotated[str | None, Param("Another index file than the server's own")]


@dataclass(frozen=True, slots=True)
class Options:
    """What the original's other variables switch."""

    auto_reindex: bool = False
    auto_reindex_paths: tuple[str, ...] = (".",)
    auto_reindex_min_interval_s: float = 2.0
    watched: tuple[str, ...] = ()


def with_aliases(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment with `RIFFLUX_…` standing in for `DOWSE_…` where only the former is set."""
    renamed = {ours: environment[theirs] for theirs, ours in ALIASES.items() if environment.get(theirs)}
    return renamed | {name: text for name, text in environment.items() if text}


def options_from(environment: Mapping[str, str]) -> Options:
    seconds = environment.get("RIFFLUX_AUTO_REINDEX_MIN_INTERVAL_SECONDS") or "2.0"
    paths = environment.get("RIFFLUX_AUTO_REINDEX_PATHS") or "."
    try:
        interval_s = max(0.0, float(seconds))
    except ValueError:
        raise BadInput(f"RIFFLUX_AUTO_REINDEX_MIN_INTERVAL_SECONDS must be a number, not {seconds!r}") from None
    enabled = environment.get("RIFFLUX_AUTO_REINDEX_ON_SEARCH", "0").strip().lower() in (
        "1",
        "true",
        "yes",
        "on",
    )
    return Options(enabled, _listed(paths), interval_s, _watched(environment))


def _watched(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Without paths of its own, the watcher follows what is indexed before a search."""
    if environment.get("RIFFLUX_FILE_WATCHER", "0").strip().lower() not in ("1", "true", "yes", "on"):
        return ()
    return _listed(
        environment.get("RIFFLUX_FILE_WATCHER_PATHS") or environment.get("RIFFLUX_AUTO_REINDEX_PATHS") or "."
    )


def _listed(paths: str) -> tuple[str, ...]:
    return tuple(it.strip() for it in paths.split(",") if it.strip())


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
    ) -> None:
        self._keeping = keeping
        self._open = engine
        self._jobs = jobs
        self._cwd = cwd
        self._settings = settings
        self._options = options
        self._clock = clock
        self._turn = threading.Lock()
        self._last_auto_reindex: float | None = None

    def profile(self) -> Profile:
        tools = (
            Tool(self.search_rifflux, "Search the indexed Markdown"),
            Tool(self.get_chunk, "Read one chunk"),
            Tool(self.get_file, "Read one file's chunks"),
            Tool(self.index_status, "State of the index"),
            Tool(self.reindex, "Index files", read_only=False),
        )
        return Profile("rifflux", "rifflux", INSTRUCTIONS, tools)

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
        auto_reindex = self._auto_reindex(db_path)
        hits: Sequence[Hit] = ()
        seen = NOT_LOOKED
        if query.strip():
            answer = engine.search(Query(query, Scope(kinds=IN_FILES), limit=top_k, recipe=f"rifflux-{mode}"))
            hits, seen = answer.hits, answer.completeness.seen
        results = [{**_chunk_json(it.stored), **_scores_json(it, mode)} for it in hits]
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
        return Reply({"chunk": _chunk_json(found[0]) if found else None})

    def get_file(self, path: Annotated[str, Param("The path of a search result")], db_path: DbPath = None) -> Reply:
        """All chunks of the file with this path, in order, or null."""
        engine = self._engine(db_path)
        found = engine.record(path)
        if not found:
            return Reply({"file": None})
        record = found[0]
        keys = ("chunk_id", "heading_path", "chunk_index", "content")
        chunks = [{key: _chunk_json(it)[key] for key in keys} for it in engine.chunks(record)]
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
                "embedding_backend": _backend(status.encoder),
                "embedding_model": status.encoder,
                "index_include_globs": list(engine.settings.include),
                "index_exclude_globs": list(engine.settings.exclude),
                "git_fingerprint": engine.fingerprint([Path(it.root) for it in status.of(FILES)]),
                "background_jobs": [self._job_json(job) for job in self._jobs.all()],
                "file_watcher": self._watcher_json(),
                **_if_any("skipped", [{"path": it.path, "reason": it.reason} for it in status.skipped]),
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
        locations = [located(it, self._cwd, self._settings) for it in (paths or [path or "."])]

        def work(progress: Progress) -> Mapping[str, object]:
            return self._reindexed(locations, force, prune_missing, several=bool(paths), progress=progress)

        if background:
            key = (tuple(locations), force, prune_missing, bool(paths))
            return Reply(self._job_json(self._jobs.submit("reindex", lambda task: work(_on(locations, task)), key=key)))
        return Reply(work(lambda stage, done, total: None))

    # --- how they do it ---

    def _engine(self, db_path: str | None) -> Engine:
        try:
            return self._open(db_path)
        except IndexUnusable as error:
            raise IndexUnusable(f"{error} (for this server: `rifflux-rebuild`)") from error

    def _reindexed(
        self,
        locations: Sequence[Path],
        force: bool,
        prune_missing: bool,
        *,
        several: bool,
        progress: Progress,
    ) -> dict[str, object]:
        engine = self._engine(None)
        report = engine.index(locations, force=force, prune=prune_missing, progress=progress)
        return {
            **_report_json(report),
            **_if_any("indexed_paths", [str(it) for it in locations] if several else []),
            "embedding_model": engine.encoder_name,
            "embedding_backend": _backend(engine.encoder_name),
            "git_fingerprint": engine.fingerprint(locations),
            "prune_missing": prune_missing,
            **_if_any("notes", report.notes),
        }

    def _auto_reindex(self, db_path: str | None) -> dict[str, object] | None:
        """Bring the index up to date behind the search, at most once per interval and one at a time."""
        if not self._options.auto_reindex or db_path is not None:
            return None
        locations = [(self._cwd / it).resolve() for it in self._options.auto_reindex_paths]
        with self._turn:
            now, last = self._clock(), self._last_auto_reindex
            if last is not None and now - last < self._options.auto_reindex_min_interval_s:
                return {
                    "enabled": True,
                    "executed": False,
                    "reason": "throttled",
                    "min_interval_seconds": self._options.auto_reindex_min_interval_s,
                }
            job = self._submit_auto_reindex(locations)
            self._last_auto_reindex = now
        return {"enabled": True, "executed": "background", "job_id": job.id, "paths": [str(it) for it in locations]}

    def _submit_auto_reindex(self, locations: Sequence[Path]) -> Job:
        # Many requests make one run, unless they come when it has begun: it may have passed what they are about.
        return self._jobs.submit(
            "auto-reindex",
            lambda task: self._reindexed(locations, False, False, several=True, progress=_on(locations, task)),
            key=tuple(locations),
        )

    def _watcher_json(self) -> dict[str, object]:
        keeping = self._keeping() if self._keeping and self._options.watched else None
        if keeping is None or not keeping.enabled:
            return {"enabled": False}
        watch, settings = keeping.watch, self._settings
        return {
            "enabled": True,
            "running": bool(watch and watch.running),
            "watch_paths": [str((self._cwd / it).resolve()) for it in self._options.watched],
            "include_globs": list(settings.include),
            "exclude_globs": list(settings.exclude),
            "debounce_ms": settings.debounce_ms,
            "events_received": watch.events if watch else 0,
            "jobs_submitted": watch.batches if watch else 0,
            "crash_restarts": watch.restarts if watch else 0,
            **({"leader": keeping.leader} if not keeping.leading else {}),
        }

    def _job_json(self, job: Job) -> dict[str, object]:
        return {
            "job_id": job.id,
            "status": "failed" if job.status == "cancelled" else job.status,  # the contract knows no other word
            "elapsed_seconds": round(self._jobs.elapsed_s(job), 3),
            "result": job.result,
            "error": job.error,
            "retries": job.retries,
        }


def _on(locations: Sequence[Path], task: Task) -> Task:
    return task.on(", ".join(map(str, locations)))


def located(given: str, cwd: Path, settings: Settings) -> Path:
    """The directory or file to index; of anything else, what is wrong with it."""
    place = checked_root(cwd / given, any_root=settings.any_root)
    mode = place.stat().st_mode
    if stat.S_ISREG(mode) and not _is_included(place, settings.include):
        raise BadInput(f"{place} is not a file this index takes; the include globs are {', '.join(settings.include)}")
    if not stat.S_ISDIR(mode) and not stat.S_ISREG(mode):
        raise BadInput(f"{place} is neither a directory nor a regular file; name one of these")
    return place


def _is_included(file: Path, include: Sequence[str]) -> bool:
    """Whether the globs take it in any of the directories above it: which one is its root is not known here."""
    wanted = compile_globs(include or ("**",))
    return any(wanted("/".join(file.parts[at:])) for at in range(1, len(file.parts)))


def _if_any(key: str, values: Sequence[object]) -> dict[str, object]:
    """Keys beyond the contract only show when they have something to say."""
    return {key: list(values)} if values else {}


def _chunk_json(stored: Stored) -> dict[str, object]:
    return {
        "chunk_id": stored.chunk_id,
        "path": stored.record.path,
        "heading_path": TRAIL_SEPARATOR.join(stored.chunk.trail),
        "chunk_index": stored.chunk.ordinal,
        "content": stored.chunk.text,
    }


def _scores_json(hit: Hit, mode: Mode) -> dict[str, object]:
    """The evidence under the contract's names; bm25 with SQLite's sign, where lower is better."""
    evidence = hit.evidence
    if mode == "lexical":
        return {"bm25_score": -evidence["bm25"], "score_breakdown": {"bm25": -evidence["bm25"]}}
    if mode == "semantic":
        return {"cosine": evidence["cosine"], "score_breakdown": {"cosine": evidence["cosine"]}}
    ranks = {name: evidence.get(name) for name in ("lexical_rank", "semantic_rank")}
    return {"score_breakdown": {"rrf": evidence["rrf"], **ranks}}


def _report_json(report: SyncReport) -> dict[str, object]:
    return {
        "indexed_files": report.indexed,
        "skipped_files": report.unchanged + report.touched + report.skipped,
        "deleted_files": report.deleted,
    }


def _backend(encoder_name: str) -> str:
    if ":" in encoder_name:
        return "http"
    return "hash" if encoder_name.startswith("hash") else "none" if encoder_name == "none" else "onnx"
