"""A profile brought to life for one server: its engine opened on first use, its jobs, its end."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from dowse.engine import Engine
from dowse.live.jobs import Jobs
from dowse.places import checked_root
from dowse.profiles import rifflux
from dowse.profiles.core import Core
from dowse.profiles.tool import Profile
from dowse.shells.workspace import Workspace, find_workspace

PROFILES = ("core", "rifflux")


class Engines:
    """The server's own engine and, by path, any other a client names; each opened once."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._turn = threading.Lock()
        self._open: dict[Path, Engine] = {}

    def own(self) -> Engine:
        return self._get(self._workspace.index, create=True)

    def at(self, path: str | None) -> Engine:
        """The index at this path, which must exist; None is the server's own."""
        return self.own() if path is None else self._get(Path(path).absolute(), create=False)

    def _get(self, index: Path, *, create: bool) -> Engine:
        with self._turn:
            if index not in self._open:
                self._open[index] = Engine(self._workspace.settings, index, create=create)
            return self._open[index]


def serve(
    name: str,
    *,
    roots: tuple[Path, ...],
    flags: Mapping[str, object],
    environment: Mapping[str, str],
    cwd: Path,
) -> None:
    """Serve until the client leaves. The handshake never waits for the index."""
    _log_to_stderr(environment)
    jobs = Jobs()
    profile, start = make_profile(name, roots=roots, flags=flags, environment=environment, cwd=cwd, jobs=jobs)
    start()
    from dowse.shells.mcp import serve_stdio

    serve_stdio(profile, on_exit=jobs.close)


def make_profile(
    name: str,
    *,
    roots: tuple[Path, ...],
    flags: Mapping[str, object],
    environment: Mapping[str, str],
    cwd: Path,
    jobs: Jobs,
) -> tuple[Profile, Callable[[], object]]:
    """The profile, and what to start behind it."""
    if name == "rifflux":
        return _rifflux(roots, flags, environment, cwd, jobs)
    workspace = find_workspace(cwd=cwd, environment=environment, flags=flags, root=roots[0] if roots else None)
    places = tuple(checked_root(cwd / it, any_root=workspace.settings.any_root) for it in roots) or (workspace.root,)
    core = Core(Engines(workspace).own, jobs, places)
    return core.profile(), core.start_indexing


def _rifflux(
    roots: tuple[Path, ...],
    flags: Mapping[str, object],
    environment: Mapping[str, str],
    cwd: Path,
    jobs: Jobs,
) -> tuple[Profile, Callable[[], object]]:
    """The contract works in the current directory and indexes what it is told to, when it is told to."""
    workspace = rifflux_workspace(flags=flags, environment=environment, cwd=cwd, root=roots[0] if roots else None)
    options = rifflux.options_from(environment)
    tools = rifflux.Rifflux(Engines(workspace).at, jobs, cwd, options)
    return tools.profile(), (
        lambda: tools.reindex(paths=[str(it) for it in roots], background=True)
    ) if roots else _nothing


def _nothing() -> None:
    pass


def rifflux_workspace(
    *, flags: Mapping[str, object], environment: Mapping[str, str], cwd: Path, root: Path | None = None
) -> Workspace:
    return find_workspace(
        cwd=cwd,
        environment=rifflux.with_aliases(environment),
        flags=flags,
        root=root or cwd,
        defaults=rifflux.DEFAULTS,
    )


def _log_to_stderr(environment: Mapping[str, str]) -> None:
    level = environment.get("DOWSE_LOG_LEVEL") or environment.get("RIFFLUX_LOG_LEVEL") or "WARNING"
    known = logging.getLevelNamesMapping()
    logging.basicConfig(level=known.get(level.upper(), logging.WARNING), format="%(name)s %(levelname)s %(message)s")
