"""A profile brought to life for one server: its engine opened on first use, its jobs, its end."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from dowse.config import load_settings
from dowse.engine import Engine
from dowse.errors import BadInput
from dowse.live.history import History
from dowse.live.jobs import Jobs
from dowse.places import checked_root
from dowse.profiles import codesearch, rifflux
from dowse.profiles.codesearch_desk import Desk, Options
from dowse.profiles.core import Core
from dowse.profiles.ragdocs import Ragdocs
from dowse.profiles.tool import Profile
from dowse.shells.workspace import Workspace, find_workspace

# Every write is a transaction of its own, so a job that takes longer is cut off without harm.
_LAST_JOB_S = 2.0

Made = tuple[Profile, Callable[[], object]]
"""A profile, and what to start behind it."""


class Engines:
    """The server's own engine and, by path, any other a client names; each opened once."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._turn = threading.Lock()
        self._open: dict[Path, tuple[Engine, object]] = {}

    def own(self) -> Engine:
        return self._get(self._workspace.index, create=True)

    def at(self, path: str | None) -> Engine:
        """The index at this path, which must exist; None is the server's own."""
        return self.own() if path is None else self._get(_checked(path), create=False)

    def _get(self, index: Path, *, create: bool) -> Engine:
        with self._turn:
            engine, file = self._open.get(index, (None, None))
            if engine is None or _file_at(index) != file:
                # Not there yet, or another process has put a rebuilt index in its place.
                engine = Engine(self._workspace.settings, index, create=create)
                self._open[index] = engine, _file_at(index)
            return engine


def _checked(path: str) -> Path:
    try:
        index = Path(path).absolute()
        _file_at(index)
    except (OSError, ValueError) as error:
        raise BadInput(f"db_path {path[:100]!r} can not be used: {error.args[-1]}"[:300]) from None
    return index


def _file_at(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_dev, status.st_ino


def serve(
    name: str,
    *,
    roots: tuple[Path, ...],
    flags: Mapping[str, object],
    environment: Mapping[str, str],
    cwd: Path,
) -> None:
    """Serve until the client leaves. The handshake never waits for the index."""
    serve_made(
        lambda jobs: make_profile(name, roots=roots, flags=flags, environment=environment, cwd=cwd, jobs=jobs),
        environment,
    )


def serve_made(make: Callable[[Jobs], Made], environment: Mapping[str, str]) -> None:
    log_to_stderr(environment)
    jobs = Jobs()
    profile, start = make(jobs)
    start()
    from dowse.shells.mcp import serve_stdio

    serve_stdio(profile, on_exit=lambda: jobs.close(_LAST_JOB_S))


def make_profile(
    name: str,
    *,
    roots: tuple[Path, ...],
    flags: Mapping[str, object],
    environment: Mapping[str, str],
    cwd: Path,
    jobs: Jobs,
    engines_of: Callable[[Workspace], Engines] = Engines,
) -> Made:
    """`engines_of`: where several profiles live in one process, those of one index share its engine."""
    if name == "rifflux":
        return _rifflux(roots, flags, environment, cwd, jobs, engines_of)
    if name == "codesearch":
        workspace = codesearch_workspace(roots, flags=flags, environment=environment, cwd=cwd)
        return codesearch_profile(workspace, jobs, engines_of=engines_of)
    workspace = find_workspace(cwd=cwd, environment=environment, flags=flags, root=roots[0] if roots else None)
    places = tuple(checked_root(cwd / it, any_root=workspace.settings.any_root) for it in roots) or (workspace.root,)
    jobs.history = History(workspace.index)
    engines = engines_of(workspace)
    core = Core(engines.own, jobs, places)
    if name == "ragdocs":
        tools = Ragdocs(engines.own, jobs, patience_s=workspace.settings.first_answer_s)
        return tools.profile(), core.start_indexing
    return core.profile(), core.start_indexing


def _rifflux(
    roots: tuple[Path, ...],
    flags: Mapping[str, object],
    environment: Mapping[str, str],
    cwd: Path,
    jobs: Jobs,
    engines_of: Callable[[Workspace], Engines],
) -> Made:
    """The contract works in the current directory and indexes what it is told to, when it is told to."""
    workspace = rifflux_workspace(flags=flags, environment=environment, cwd=cwd, root=roots[0] if roots else None)
    jobs.history = History(workspace.index)
    options = rifflux.options_from(environment)
    tools = rifflux.Rifflux(engines_of(workspace).at, jobs, cwd, workspace.settings, options)
    return tools.profile(), (
        lambda: tools.reindex(paths=[str(it) for it in roots], background=True)
    ) if roots else _nothing


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
        defaults=codesearch.DEFAULTS,
    )


def codesearch_profile(
    workspace: Workspace,
    jobs: Jobs,
    extensions: tuple[str, ...] = (),
    *,
    metrics: bool = False,
    engines_of: Callable[[Workspace], Engines] = Engines,
) -> Made:
    if not workspace.root.is_dir():
        raise BadInput(f"{workspace.root} is not a directory; name one")
    jobs.history = History(workspace.index)
    options = Options(extensions, workspace.settings.max_response_kb, metrics)
    desk = Desk(engines_of(workspace).own, jobs, workspace.root, options)
    return codesearch.codesearch(desk), desk.start_indexing


def _nothing() -> None:
    pass


def rifflux_workspace(
    *, flags: Mapping[str, object], environment: Mapping[str, str], cwd: Path, root: Path | None = None
) -> Workspace:
    """Any working directory will do, even one too broad to be indexed: nothing is until it is named."""
    folder = cwd if root is None else cwd / root
    settings = load_settings(
        flags=flags, environment=rifflux.with_aliases(environment), folder=folder, defaults=rifflux.DEFAULTS
    )
    return Workspace(settings, folder, cwd / (settings.index or rifflux.INDEX))


def log_to_stderr(environment: Mapping[str, str]) -> None:
    level = environment.get("DOWSE_LOG_LEVEL") or environment.get("RIFFLUX_LOG_LEVEL") or "WARNING"
    known = logging.getLevelNamesMapping()
    logging.basicConfig(level=known.get(level.upper(), logging.WARNING), format="%(name)s %(levelname)s %(message)s")
