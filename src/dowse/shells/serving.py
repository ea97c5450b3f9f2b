"""A profile brought to life for one server: its workspace found, its tools bound to what works behind them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from dowse.config import load_settings
from dowse.errors import BadInput
from dowse.places import checked_root
from dowse.processes import collect_garbage_rarely
from dowse.profiles import codesearch, rifflux_settings
from dowse.profiles.all import every_tool
from dowse.profiles.codesearch_desk import Desk, Options
from dowse.profiles.core import Core
from dowse.profiles.core_roots import CoreOfRoots, Root, root_names
from dowse.profiles.ragdocs import Ragdocs
from dowse.profiles.rifflux import Rifflux
from dowse.profiles.rifflux_indexing import located
from dowse.profiles.tool import Profile
from dowse.shells.backstage import Backstage, Behind
from dowse.shells.ragdocs_settings import ragdocs_workspace
from dowse.shells.workspace import Workspace, find_workspace


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
        lambda backstage: make_profile(
            name, roots=roots, flags=flags, environment=environment, cwd=cwd, backstage=backstage
        ),
        environment,
    )


def serve_made(make: Callable[[Backstage], Profile], environment: Mapping[str, str]) -> None:
    log_to_stderr(environment)
    backstage = Backstage()
    profile = make(backstage)
    backstage.start()
    from dowse.shells.mcp import serve_stdio

    collect_garbage_rarely()
    serve_stdio(profile, on_exit=backstage.close)


def make_profile(
    name: str,
    *,
    roots: tuple[Path, ...],
    flags: Mapping[str, object],
    environment: Mapping[str, str],
    cwd: Path,
    backstage: Backstage,
) -> Profile:
    """The tools, bound to what works behind them once that is started."""
    if name == "rifflux":
        return _rifflux(roots, flags, environment, cwd, backstage)
    if name == "codesearch":
        workspace = codesearch_workspace(roots, flags=flags, environment=environment, cwd=cwd)
        return codesearch_profile(workspace, backstage)
    if name == "ragdocs":
        workspace, setup = ragdocs_workspace(roots, flags=flags, environment=environment, cwd=cwd)
        behind = backstage.behind(workspace, *_places(workspace, setup.roots, cwd))
        patience_s = workspace.settings.first_answer_s
        return Ragdocs(behind.engine, behind.jobs, patience_s, setup.memory, setup.tuning, setup.files).profile()
    if name == "all" and len(roots) > 1:
        raise BadInput("the profile all serves one directory; start a server for each")
    served = [find_workspace(cwd=cwd, environment=environment, flags=flags, root=it) for it in roots or (None,)]
    indexes: dict[Path, list[Workspace]] = {}
    for it in served:
        indexes.setdefault(it.index, []).append(it)
    behinds = [backstage.behind(it[0], *(one.root for one in it)) for it in indexes.values()]
    if name == "all":
        return every_tool(*_families(served[0], behinds[0], cwd, environment))
    if len(behinds) == 1:  # one root, or several in the one index that was named for them
        return Core(behinds[0].engine, behinds[0].jobs, behinds[0].upkeep).profile()
    paths = [it[0].root for it in indexes.values()]
    named = zip(root_names(paths), paths, behinds, strict=True)
    return CoreOfRoots([Root(name, path, it.engine, it.jobs, it.upkeep) for name, path, it in named]).profile()


def _places(workspace: Workspace, roots: tuple[Path, ...], cwd: Path) -> tuple[Path, ...]:
    return tuple(checked_root(cwd / it, any_root=workspace.settings.any_root) for it in roots) or (workspace.root,)


def _families(workspace: Workspace, behind: Behind, cwd: Path, environment: Mapping[str, str]) -> tuple[Profile, ...]:
    """Every contract on one index: in each, what is asked is asked of the same engine."""
    settings = workspace.settings
    options = replace(rifflux_settings.options_from(environment), auto_reindex=False, watched=())
    folder = workspace.root if workspace.root.is_dir() else workspace.root.parent
    start = cwd if cwd.resolve().is_relative_to(folder) else folder
    engine, keeping = behind.engines.only_own, behind.upkeep.keeping
    compatible = Rifflux(engine, behind.jobs, start, settings, options, keeping=keeping, within=folder)
    desk = Desk(behind.engine, behind.jobs, workspace.root, Options(max_response_kb=settings.max_response_kb))
    core = Core(behind.engine, behind.jobs, behind.upkeep).profile()
    documents = Ragdocs(behind.engine, behind.jobs, settings.first_answer_s).profile()
    return core, compatible.profile(), documents, codesearch.codesearch(desk)


def _rifflux(
    roots: tuple[Path, ...],
    flags: Mapping[str, object],
    environment: Mapping[str, str],
    cwd: Path,
    backstage: Backstage,
) -> Profile:
    """The contract works in the current directory and indexes what it is told to, when it is told to."""
    workspace = rifflux_workspace(flags=flags, environment=environment, cwd=cwd, root=roots[0] if roots else None)
    options = rifflux_settings.options_from(environment)
    if workspace.settings.watch:
        options = replace(options, watched=(*map(str, roots), *options.watched))
    watched = [located(it, cwd, workspace.settings) for it in options.watched]
    behind = backstage.behind(workspace, *watched, asks=False)
    tools = Rifflux(behind.engines.at, behind.jobs, cwd, workspace.settings, options, keeping=behind.upkeep.keeping)
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
        defaults=codesearch.DEFAULTS,
    )


def codesearch_profile(
    workspace: Workspace, backstage: Backstage, extensions: tuple[str, ...] = (), *, metrics: bool = False
) -> Profile:
    """Nothing there is compared by meaning: vectors are left to those who ask for them."""
    if not workspace.root.is_dir():
        raise BadInput(f"{workspace.root} is not a directory; name one")
    behind = backstage.behind(workspace, workspace.root, vectors=False)
    options = Options(extensions, workspace.settings.max_response_kb, metrics)
    return codesearch.codesearch(Desk(behind.engine, behind.jobs, workspace.root, options))


def rifflux_workspace(
    *, flags: Mapping[str, object], environment: Mapping[str, str], cwd: Path, root: Path | None = None
) -> Workspace:
    """Any working directory will do, even one too broad to be indexed: nothing is until it is named."""
    folder = cwd if root is None else cwd / root
    settings = load_settings(
        flags=flags,
        environment=rifflux_settings.with_aliases(environment),
        folder=folder,
        defaults=rifflux_settings.DEFAULTS,
    )
    return Workspace(settings, folder, cwd / (settings.index or rifflux_settings.INDEX))


def log_to_stderr(environment: Mapping[str, str]) -> None:
    level = environment.get("DOWSE_LOG_LEVEL") or environment.get("RIFFLUX_LOG_LEVEL") or "WARNING"
    known = logging.getLevelNamesMapping()
    logging.basicConfig(level=known.get(level.upper(), logging.WARNING), format="%(name)s %(levelname)s %(message)s")
