"""Engines, jobs and tool sets of one server process."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from dowse.config import Settings, load_settings
from dowse.engine import Engine
from dowse.errors import BadInput
from dowse.live.job_log import JobLog
from dowse.live.jobs import JobQueue
from dowse.live.maintenance import Maintenance
from dowse.paths import check_root
from dowse.processes import collect_garbage_rarely
from dowse.server.contract_settings import ragdocs_workspace
from dowse.server.relocation import BroadRootGuard
from dowse.server.workspace import Workspace, find_workspace
from dowse.tools import codesearch
from dowse.tools import rifflux as rifflux_settings
from dowse.tools.all import combine_tool_sets
from dowse.tools.codesearch_context import CodeSearchOptions, ToolContext
from dowse.tools.core import CoreTools
from dowse.tools.core_roots import MultiRootCore, ServedRoot, name_roots
from dowse.tools.ragdocs import RagdocsTools
from dowse.tools.rifflux import RiffluxTools, resolve_index_location
from dowse.tools.tool import ToolSet

# Every write is a transaction, so a job that takes longer is cut off without harm.
_JOB_SHUTDOWN_SECONDS = 1.2


class EnginePool:
    """The server's own engine and, by path, any other that a client names; each is opened once."""

    def __init__(
        self,
        workspace: Workspace,
        breadth: BroadRootGuard | None = None,
        on_open: Callable[[Engine], None] = lambda _: None,
    ) -> None:
        self._workspace = workspace
        self._on_open = on_open
        self._breadth = breadth
        self._lock = threading.Lock()
        self._opened_engines: dict[Path, tuple[Engine, object]] = {}

    def own_engine(self) -> Engine:
        """Return the server's engine; refuse while nobody has confirmed that a broad root is to be indexed."""
        if self._breadth and (problem := self._breadth.problem()):
            raise BadInput(problem)
        return self._get(self._workspace.index, create=True)

    def query_engine(self) -> Engine:
        """Return the server's engine for a question; background work yields to it."""
        engine = self.own_engine()
        engine.queries.note()
        return engine

    def at(self, path: str | None) -> Engine:
        """Return the engine of the index at this path, which must exist; None means the server's own."""
        return self.query_engine() if path is None else self._get(_check_index_path(path), create=False)

    def require_own_engine(self, path: str | None) -> Engine:
        """Return the server's engine, also if named by its path; refuse any other."""
        if path is not None and _check_index_path(path).resolve() != self._workspace.index.resolve():
            raise BadInput(f"this server answers only from {self._workspace.index}; leave out db_path")
        return self.query_engine()

    def _get(self, index: Path, *, create: bool) -> Engine:
        with self._lock:
            engine, file = self._opened_engines.get(index, (None, None))
            if engine is None or _index_file_identity(index) != file:
                # Not open yet, or another process has replaced the file by a rebuilt index.
                workspace = self._workspace
                is_own = index == workspace.index
                engine = workspace.open(create=create) if is_own else Engine(workspace.settings, index, create=create)
                self._on_open(engine)
                self._opened_engines[index] = engine, _index_file_identity(index)
            return engine


def _check_index_path(path: str) -> Path:
    try:
        index = Path(path).absolute()
        _index_file_identity(index)
    except (OSError, ValueError) as error:
        raise BadInput(f"db_path {path[:100]!r} cannot be used: {error.args[-1]}"[:300]) from None
    return index


def _index_file_identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_dev, status.st_ino


@dataclass(frozen=True, slots=True)
class IndexRuntime:
    """The runtime of one tool set; tool sets on the same index share it."""

    engines: EnginePool
    maintenance: Maintenance
    jobs: JobQueue

    @property
    def engine(self) -> Callable[[], Engine]:
        return self.engines.query_engine


class ServerRuntime:
    """One job queue per index, and one maintenance per index and settings.

    `jobs` is the queue of the first index; there are others only if several roots are served. `on_open` is called with
    every engine.
    """

    def __init__(self, on_open: Callable[[Engine], None] = lambda _: None) -> None:
        self._on_open = on_open
        self.jobs = JobQueue()
        self._queues: dict[Path, JobQueue] = {}
        self._lock = threading.Lock()
        self._runtimes: dict[tuple[Path, Settings], IndexRuntime] = {}

    def index_runtime(
        self, workspace: Workspace, *roots: Path, vectors: bool = True, asks: bool = True
    ) -> IndexRuntime:
        """Return the runtime of a tool set that serves these roots; `start` starts its work. `asks`: a broad root is
        indexed only after confirmation."""
        with self._lock:
            key = workspace.index.resolve(), workspace.settings
            if key not in self._runtimes:
                self._runtimes[key] = self._make_runtime(workspace, vectors, BroadRootGuard(workspace, asks=asks))
            runtime = self._runtimes[key]
        runtime.maintenance.add_roots(roots)
        return runtime

    def runtimes(self) -> list[IndexRuntime]:
        """Return one runtime per index and settings."""
        return list(self._runtimes.values())

    def is_idle(self) -> bool:
        """Return whether no job runs and the watchers know of no change that is not indexed yet."""
        return all(it.jobs.running() is None and it.engine().freshness.has_nothing_pending() for it in self.runtimes())

    def start(self) -> None:
        """Start maintenance of every index that is not started yet and has something to work on."""
        for index_runtime in self.runtimes():
            index_runtime.maintenance.start()

    def _make_runtime(self, workspace: Workspace, vectors: bool, breadth: BroadRootGuard) -> IndexRuntime:
        jobs = self._queues.setdefault(workspace.index.resolve(), JobQueue() if self._queues else self.jobs)
        if jobs.history is None:
            jobs.history = JobLog(workspace.index)
        engines = EnginePool(workspace, breadth, self._on_open)
        maintenance = Maintenance(
            engines.own_engine, jobs, workspace.settings, workspace.index, vectors=vectors, confirm=breadth.confirm
        )
        return IndexRuntime(engines, maintenance, jobs)

    def close(self) -> None:
        """Accept no new work, then end the work in progress."""
        for index_runtime in self.runtimes():
            index_runtime.maintenance.close()
        closing = [
            threading.Thread(target=thread.close, args=(_JOB_SHUTDOWN_SECONDS,)) for thread in self._queues.values()
        ]
        for thread in closing:  # in parallel: many roots take no longer than one
            thread.start()
        for thread in closing:
            thread.join()


# --------------------------------------------------------------------------------------------------
# Create a profile for a server: find its workspace, and bind its tools to the runtime.


def serve_profile(
    name: str,
    *,
    roots: tuple[Path, ...],
    flags: Mapping[str, object],
    environment: Mapping[str, str],
    cwd: Path,
) -> None:
    """Serve until the client leaves. The handshake never waits for the index."""
    serve_with(
        lambda server_runtime: make_profile(
            name, roots=roots, flags=flags, environment=environment, cwd=cwd, server_runtime=server_runtime
        ),
        environment,
    )


def serve_with(make: Callable[[ServerRuntime], ToolSet], environment: Mapping[str, str]) -> None:
    log_to_stderr(environment)
    server_runtime = ServerRuntime()
    profile = make(server_runtime)
    server_runtime.start()
    from dowse.server.mcp import serve_stdio

    collect_garbage_rarely()
    serve_stdio(profile, on_exit=server_runtime.close)


def make_profile(
    name: str,
    *,
    roots: tuple[Path, ...],
    flags: Mapping[str, object],
    environment: Mapping[str, str],
    cwd: Path,
    server_runtime: ServerRuntime,
) -> ToolSet:
    """Create the tools, bound to a runtime that is started afterwards."""
    if name == "rifflux":
        return _make_rifflux_profile(roots, flags, environment, cwd, server_runtime)
    if name == "codesearch":
        workspace = codesearch_workspace(roots, flags=flags, environment=environment, cwd=cwd)
        return codesearch_profile(workspace, server_runtime)
    if name == "ragdocs":
        workspace, setup = ragdocs_workspace(roots, flags=flags, environment=environment, cwd=cwd)
        runtime = server_runtime.index_runtime(workspace, *_served_roots(workspace, setup.roots, cwd))
        patience_s = workspace.settings.first_answer_timeout_s
        return RagdocsTools(runtime.engine, runtime.jobs, patience_s, setup.memory, setup.tuning, setup.files).profile()
    if name == "all" and len(roots) > 1:
        raise BadInput("the profile 'all' serves one directory; start a server for each")
    workspaces = [find_workspace(cwd=cwd, environment=environment, flags=flags, root=it) for it in roots or (None,)]
    indexes: dict[Path, list[Workspace]] = {}
    for workspace in workspaces:
        indexes.setdefault(workspace.index, []).append(workspace)
    runtimes = [server_runtime.index_runtime(it[0], *(one.root for one in it)) for it in indexes.values()]
    if name == "all":
        return combine_tool_sets(*_all_profiles(workspaces[0], runtimes[0], cwd, environment))
    if len(runtimes) == 1:  # one root, or several in one named index
        return CoreTools(runtimes[0].engine, runtimes[0].jobs, runtimes[0].maintenance).profile()
    paths = [it[0].root for it in indexes.values()]
    named = zip(name_roots(paths), paths, runtimes, strict=True)
    return MultiRootCore(
        [ServedRoot(name, path, it.engine, it.jobs, it.maintenance) for name, path, it in named]
    ).profile()


def _served_roots(workspace: Workspace, roots: tuple[Path, ...], cwd: Path) -> tuple[Path, ...]:
    return tuple(check_root(cwd / it, allow_any_root=workspace.settings.allow_any_root) for it in roots) or (
        workspace.root,
    )


def _all_profiles(
    workspace: Workspace, runtime: IndexRuntime, cwd: Path, environment: Mapping[str, str]
) -> tuple[ToolSet, ...]:
    """Return every contract on one index, with all tools on the same engine."""
    settings = workspace.settings
    options = replace(rifflux_settings.parse_rifflux_options(environment), auto_reindex=False, watched=())
    folder = workspace.root if workspace.root.is_dir() else workspace.root.parent
    start = cwd if cwd.resolve().is_relative_to(folder) else folder
    engine, status = runtime.engines.require_own_engine, runtime.maintenance.leader_status
    compatible = RiffluxTools(engine, runtime.jobs, start, settings, options, keeping=status, within=folder)
    context = ToolContext(
        runtime.engine, runtime.jobs, workspace.root, CodeSearchOptions(max_response_kb=settings.max_response_kb)
    )
    core = CoreTools(runtime.engine, runtime.jobs, runtime.maintenance).profile()
    documents = RagdocsTools(runtime.engine, runtime.jobs, settings.first_answer_timeout_s).profile()
    return core, compatible.profile(), documents, codesearch.codesearch_tool_set(context)


def _make_rifflux_profile(
    roots: tuple[Path, ...],
    flags: Mapping[str, object],
    environment: Mapping[str, str],
    cwd: Path,
    server_runtime: ServerRuntime,
) -> ToolSet:
    """Create the Rifflux profile: its contract works in the current directory and indexes only on request."""
    workspace = rifflux_workspace(flags=flags, environment=environment, cwd=cwd, root=roots[0] if roots else None)
    options = rifflux_settings.parse_rifflux_options(environment)
    if workspace.settings.watch:
        options = replace(options, watched=(*map(str, roots), *options.watched))
    watched = [resolve_index_location(it, cwd, workspace.settings) for it in options.watched]
    runtime = server_runtime.index_runtime(workspace, *watched, asks=False)
    tools = RiffluxTools(
        runtime.engines.at, runtime.jobs, cwd, workspace.settings, options, keeping=runtime.maintenance.leader_status
    )
    if roots and not watched:
        tools.reindex(paths=[str(it) for it in roots], background=True)
    return tools.profile()


def codesearch_workspace(
    roots: tuple[Path, ...], *, flags: Mapping[str, object], environment: Mapping[str, str], cwd: Path
) -> Workspace:
    if len(roots) > 1:
        raise BadInput("the codesearch profile serves one directory; start a server for each")
    return find_workspace(
        cwd=cwd,
        environment=environment,
        flags=flags,
        root=roots[0] if roots else None,
        defaults=codesearch.CODESEARCH_DEFAULTS,
    )


def codesearch_profile(
    workspace: Workspace, server_runtime: ServerRuntime, extensions: tuple[str, ...] = (), *, metrics: bool = False
) -> ToolSet:
    """Create the code search profile without vectors, because none of its tools searches by meaning."""
    if not workspace.root.is_dir():
        raise BadInput(f"{workspace.root} is not a directory; pass a directory")
    runtime = server_runtime.index_runtime(workspace, workspace.root, vectors=False)
    options = CodeSearchOptions(extensions, workspace.settings.max_response_kb, metrics)
    return codesearch.codesearch_tool_set(ToolContext(runtime.engine, runtime.jobs, workspace.root, options))


def rifflux_workspace(
    *, flags: Mapping[str, object], environment: Mapping[str, str], cwd: Path, root: Path | None = None
) -> Workspace:
    """Find the workspace; any working directory will do, even a broad one, because nothing is indexed until it is
    named."""
    folder = cwd if root is None else cwd / root
    settings = load_settings(
        flags=flags,
        environment=rifflux_settings.apply_aliases(environment),
        folder=folder,
        defaults=rifflux_settings.RIFFLUX_DEFAULTS,
    )
    return Workspace(settings, folder, cwd / (settings.index or rifflux_settings.RIFFLUX_INDEX_PATH))


def log_to_stderr(environment: Mapping[str, str]) -> None:
    level = environment.get("DOWSE_LOG_LEVEL") or environment.get("RIFFLUX_LOG_LEVEL") or "WARNING"
    known = logging.getLevelNamesMapping()
    logging.basicConfig(level=known.get(level.upper(), logging.WARNING), format="%(name)s %(levelname)s %(message)s")
