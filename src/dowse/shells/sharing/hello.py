"""The first line a client says to the shared server: who it is and how it is set up, so that both mean the same."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, get_args

import dowse
from dowse.config import SECRETS, SETTINGS
from dowse.places import Places
from dowse.shells.sharing.place import Unshared
from dowse.shells.workspace import Workspace, find_workspace

PROTOCOL = 1
Verb = Literal["serve", "status", "stop"]
# How long a server stays and whether one is wanted say nothing about its answers; the paths are told as they resolve.
_NOT_COMPARED = {"share", "background", "daemon_idle_s", "index", "data_dir"}


@dataclass(frozen=True, slots=True)
class Asked:
    """What a client was started with, as words."""

    profile: str
    roots: tuple[str, ...]
    cwd: str

    @property
    def paths(self) -> tuple[Path, ...]:
        return tuple(map(Path, self.roots))


@dataclass(frozen=True, slots=True)
class Hello:
    verb: Verb
    build: str
    asked: Asked
    settings: Mapping[str, str]
    protocol: int = PROTOCOL

    def line(self) -> bytes:
        return json.dumps(asdict(self)).encode() + b"\n"


def read_hello(line: bytes) -> Hello:
    """The hello in this line; whoever says anything else is told what was expected."""
    try:
        table = json.loads(line)
        asked = table["asked"]
        hello = Hello(
            table["verb"],
            str(table["build"]),
            Asked(str(asked["profile"]), tuple(map(str, asked["roots"])), str(asked["cwd"])),
            {str(name): str(value) for name, value in table["settings"].items()},
            int(table["protocol"]),
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise Unshared("the first line must be a hello of Dowse; use `dowse mcp`") from None
    if hello.verb not in get_args(Verb):
        raise Unshared("this shared server does not know what is asked of it; `dowse daemon restart` replaces it")
    return hello


def workspace_for(asked: Asked, flags: Mapping[str, object], environment: Mapping[str, str]) -> Workspace:
    """Where a profile works with what it was started with: the same place `dowse mcp` would serve."""
    roots, cwd = asked.paths, Path(asked.cwd)
    if asked.profile == "rifflux":
        from dowse.shells.serving import rifflux_workspace

        root = roots[0] if roots else None
        workspace = rifflux_workspace(flags=flags, environment=environment, cwd=cwd, root=root)
        return Workspace(workspace.settings, workspace.root, workspace.index.resolve())
    if asked.profile == "codesearch":
        from dowse.shells.serving import codesearch_workspace

        return codesearch_workspace(roots, flags=flags, environment=environment, cwd=cwd)
    if asked.profile == "ragdocs":
        from dowse.shells.ragdocs_settings import ragdocs_workspace

        return ragdocs_workspace(roots, flags=flags, environment=environment, cwd=cwd)[0]
    return find_workspace(cwd=cwd, environment=environment, flags=flags, root=roots[0] if roots else None)


def told_settings(workspace: Workspace, asked: Asked, environment: Mapping[str, str]) -> dict[str, str]:
    """Everything an answer may depend on, as text; of secrets only whether they are the same can be seen."""
    cwd = Path(asked.cwd)
    table = {
        name: _told(name, getattr(workspace.settings, name), cwd) for name in SETTINGS if name not in _NOT_COMPARED
    }
    table["index"] = str(workspace.index)
    table["data_dir"] = str(cwd / Places.of(workspace.settings).data_dir)
    if asked.profile == "rifflux":
        table |= {name: text for name, text in environment.items() if name.startswith("RIFFLUX_")}
    return table


def _told(name: str, value: object, cwd: Path) -> str:
    if name in SECRETS:
        return hashlib.sha256(str(value).encode("utf-8", "surrogateescape")).hexdigest()
    return str(cwd / value) if isinstance(value, Path) else str(value)


def differences(ours: Mapping[str, str], theirs: Mapping[str, str]) -> list[str]:
    return sorted(name for name in {*ours, *theirs} if ours.get(name) != theirs.get(name))


def this_build() -> str:
    """Which code runs here: the installed files, by size and time. Two of the same version may still differ."""
    digest = hashlib.sha256()
    for folder, folders, files in os.walk(os.path.dirname(dowse.__file__ or "")):  # noqa: PTH120 - quick start
        folders[:] = sorted(it for it in folders if it != "__pycache__")
        for name in sorted(files):
            status = os.stat(os.path.join(folder, name))  # noqa: PTH116, PTH118
            digest.update(f"{name}\0{status.st_size}\0{status.st_mtime_ns}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()[:16]
