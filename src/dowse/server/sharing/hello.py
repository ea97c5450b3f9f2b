"""The first message on a connection, and the socket's path."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import socket
import stat
import struct
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, get_args

import dowse
from dowse.config import SECRET_SETTINGS, SETTINGS
from dowse.errors import DowseError
from dowse.paths import DataPaths
from dowse.server.workspace import Workspace, find_workspace

# --------------------------------------------------------------------------------------------------
# Where the shared server of an index and its clients meet: a socket, its locks and its log, private to one user.

_MAX_SOCKET_BYTES = 103  # limit for the address of a Unix socket on every system, including its terminator
_SOCKET_KEY_CHARS = 16
_LINUX_PEER_CREDENTIALS = struct.Struct("3i")  # process, user, group


class DaemonUnavailable(DowseError):
    """The reason why no shared server can serve this client, in one sentence."""


class BuildMismatch(DaemonUnavailable):
    """The client runs another version of Dowse, whose server should replace this one."""


@dataclass(frozen=True, slots=True)
class SocketPaths:
    folder: Path
    key: str

    @property
    def socket(self) -> Path:
        return self.folder / f"{self.key}.sock"

    @property
    def lock(self) -> Path:
        """Held by the shared server while it lives; contains its process id."""
        return self.folder / f"{self.key}.lock"

    @property
    def start_lock(self) -> Path:
        """Held by the one client that starts a server."""
        return self.folder / f"{self.key}.starting"

    @property
    def log(self) -> Path:
        return self.folder / f"{self.key}.log"


def socket_paths(index: Path, data_dir: Path, temporary: Path) -> SocketPaths:
    """Return the paths in the data directory or, if those are too long for a socket address, in the temporary
    directory."""
    key = hashlib.sha256(os.fsencode(index)).hexdigest()[:_SOCKET_KEY_CHARS]
    place = SocketPaths(data_dir / "run", key)
    if len(os.fsencode(place.socket)) > _MAX_SOCKET_BYTES:
        place = SocketPaths(temporary / f"dowse-{os.getuid()}", key)
    if len(os.fsencode(place.socket)) > _MAX_SOCKET_BYTES:
        raise DaemonUnavailable(f"{place.folder} is too long a path for a socket; choose a shorter --data-dir")
    return place


def make_private_folder(folder: Path) -> None:
    """Create the directory and check that it is private: anyone who could write to it could put their own server
    there."""
    try:
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.lstat()
    except OSError as error:
        raise DaemonUnavailable(f"cannot create {folder}: {error.strerror}; choose another --data-dir") from error
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or stat.S_IMODE(status.st_mode) & 0o077:
        raise DaemonUnavailable(
            f"{folder} must be your directory with mode 0700; remove it, or choose another --data-dir"
        )


def try_lock(path: Path) -> int | None:
    """Lock the file and return the descriptor that holds the lock until closed; None if another process holds it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def is_same_user(peer: socket.socket) -> bool:
    """Return whether this user runs the other end; if the system cannot tell, directory permissions keep others out."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    _, user, _ = _LINUX_PEER_CREDENTIALS.unpack(
        peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _LINUX_PEER_CREDENTIALS.size)
    )
    return int(user) == os.getuid()


HELLO_PROTOCOL = 1
HelloVerb = Literal["serve", "status", "stop"]
# Idle time and sharing do not affect answers; the paths are compared in resolved form instead.
_IGNORED_SETTINGS = {"share", "background", "daemon_idle_s", "index", "data_dir"}


@dataclass(frozen=True, slots=True)
class ClientArguments:
    """The arguments a client was started with, as text."""

    profile: str
    roots: tuple[str, ...]
    cwd: str

    @property
    def paths(self) -> tuple[Path, ...]:
        return tuple(map(Path, self.roots))


@dataclass(frozen=True, slots=True)
class ClientHello:
    verb: HelloVerb
    build: str
    client: ClientArguments
    settings: Mapping[str, str]
    protocol: int = HELLO_PROTOCOL

    def line(self) -> bytes:
        return json.dumps(asdict(self)).encode() + b"\n"


def parse_hello(line: bytes) -> ClientHello:
    """Parse the hello; raise an error that says what was expected otherwise."""
    try:
        table = json.loads(line)
        arguments = table["client"]
        hello = ClientHello(
            table["verb"],
            str(table["build"]),
            ClientArguments(str(arguments["profile"]), tuple(map(str, arguments["roots"])), str(arguments["cwd"])),
            {str(name): str(value) for name, value in table["settings"].items()},
            int(table["protocol"]),
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise DaemonUnavailable("the first line must be a Dowse handshake; use `dowse mcp`") from None
    if hello.verb not in get_args(HelloVerb):
        raise DaemonUnavailable("the shared server does not know this request; `dowse daemon restart` replaces it")
    return hello


def workspace_for(client: ClientArguments, flags: Mapping[str, object], environment: Mapping[str, str]) -> Workspace:
    """Find the workspace that `dowse mcp` would serve with these arguments."""
    roots, cwd = client.paths, Path(client.cwd)
    if client.profile == "rifflux":
        from dowse.server.runtime import rifflux_workspace

        root = roots[0] if roots else None
        workspace = rifflux_workspace(flags=flags, environment=environment, cwd=cwd, root=root)
        return Workspace(workspace.settings, workspace.root, workspace.index.resolve())
    if client.profile == "codesearch":
        from dowse.server.runtime import codesearch_workspace

        return codesearch_workspace(roots, flags=flags, environment=environment, cwd=cwd)
    if client.profile == "ragdocs":
        from dowse.server.contract_settings import ragdocs_workspace

        return ragdocs_workspace(roots, flags=flags, environment=environment, cwd=cwd)[0]
    return find_workspace(cwd=cwd, environment=environment, flags=flags, root=roots[0] if roots else None)


def settings_fingerprint(
    workspace: Workspace, client: ClientArguments, environment: Mapping[str, str]
) -> dict[str, str]:
    """Return everything an answer may depend on, as text; secrets are hashed, so that they can only be compared."""
    cwd = Path(client.cwd)
    table = {
        name: _setting_text(name, getattr(workspace.settings, name), cwd)
        for name in SETTINGS
        if name not in _IGNORED_SETTINGS
    }
    table["index"] = str(workspace.index)
    table["data_dir"] = str(cwd / DataPaths.of(workspace.settings).data_dir)
    if client.profile == "rifflux":
        table |= {name: text for name, text in environment.items() if name.startswith("RIFFLUX_")}
    return table


def _setting_text(name: str, value: object, cwd: Path) -> str:
    if name in SECRET_SETTINGS:
        return hashlib.sha256(str(value).encode("utf-8", "surrogateescape")).hexdigest()
    return str(cwd / value) if isinstance(value, Path) else str(value)


def differing_settings(ours: Mapping[str, str], theirs: Mapping[str, str]) -> list[str]:
    return sorted(name for name in {*ours, *theirs} if ours.get(name) != theirs.get(name))


def build_fingerprint() -> str:
    """Return a fingerprint of the installed files by size and time, because two builds of one version may differ."""
    digest = hashlib.sha256()
    for folder, folders, files in os.walk(os.path.dirname(dowse.__file__ or "")):  # noqa: PTH120 - quick start
        folders[:] = sorted(it for it in folders if it != "__pycache__")
        for name in sorted(files):
            status = os.stat(os.path.join(folder, name))  # noqa: PTH116, PTH118
            digest.update(f"{name}\0{status.st_size}\0{status.st_mtime_ns}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()[:16]
