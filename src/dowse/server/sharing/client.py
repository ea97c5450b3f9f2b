"""Connect to the shared server of an index, or start it."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from dowse.config import SETTINGS
from dowse.paths import DataPaths
from dowse.server.sharing.hello import (
    ClientArguments,
    ClientHello,
    DaemonUnavailable,
    HelloVerb,
    SocketPaths,
    build_fingerprint,
    is_same_user,
    make_private_folder,
    settings_fingerprint,
    socket_paths,
    try_lock,
    workspace_for,
)
from dowse.server.workspace import Workspace

# On a busy machine, one more model would make it worse. Clients do not wait unanswered: the front replies to them.
START_TIMEOUT_S = 30.0
HELLO_REPLY_TIMEOUT_S = 30.0  # a new server listens before it has imported its modules
_CONNECT_TIMEOUT_S = 2.0
_CONNECT_RETRY_SECONDS = 0.02
_REPLY_POLL_SECONDS = 0.1
_REPLY_BYTES = 65_536
HelloReply = Mapping[str, object]
ShouldStop = Callable[[], bool]
ReportProgress = Callable[[str], None]


def _never_stop() -> bool:
    return False


def print_to_terminal(sentence: str) -> None:
    """Print a line for a person who waits; a stderr that is not a terminal gets none."""
    if sys.stderr is not None and sys.stderr.isatty():
        print(f"dowse: {sentence}", file=sys.stderr, flush=True)  # noqa: T201


@dataclass(frozen=True, slots=True)
class DaemonClient:
    """The socket paths, the hello to send there, and the command that starts a server."""

    socket_paths: SocketPaths
    hello: ClientHello
    command: list[str]

    def connect_or_start(
        self, stopped: ShouldStop = _never_stop, report: ReportProgress = print_to_terminal
    ) -> socket.socket:
        """Return a connection to a server that accepts us; report if a server has to be started first.

        Raise with the reason if there is none, or as soon as `stopped` returns true.
        """
        make_private_folder(self.socket_paths.folder)
        began = time.monotonic()
        deadline = began + START_TIMEOUT_S
        starting, launched = None, False
        try:
            while time.monotonic() < deadline and not stopped():
                if (connection := self._try_connect(stopped)) is not None:
                    if launched:
                        report(f"the shared server is ready, after {time.monotonic() - began:.1f} s")
                    return connection
                if starting is None:
                    starting = try_lock(self.socket_paths.start_lock)
                elif not launched:
                    report(f"starting the shared server of this index; its log is\n  {self.socket_paths.log}")
                    start_detached(self.command, self.socket_paths)
                    launched = True
                time.sleep(_CONNECT_RETRY_SECONDS)
        except OSError as error:
            raise DaemonUnavailable(f"the shared server cannot be reached: {error}") from error
        finally:
            if starting is not None:
                os.close(starting)
        raise DaemonUnavailable(
            f"no shared server could be started within {START_TIMEOUT_S:g} s; see {self.socket_paths.log}"
        )

    def _try_connect(self, stopped: ShouldStop) -> socket.socket | None:
        with ExitStack() as unless_welcome:
            connection = connect_socket(self.socket_paths)
            if connection is None:
                return None
            unless_welcome.callback(connection.close)
            reply = exchange_hello(connection, self.hello, stopped)
            if reply is None:
                return None
            if reply.get("retired"):
                return None  # another version, which has made room for ours
            if not reply.get("ok"):
                raise DaemonUnavailable(str(reply.get("why", "the shared server refused this client without a reason")))
            unless_welcome.pop_all()
            return connection


def connect_socket(place: SocketPaths) -> socket.socket | None:
    """Connect to the server that listens there; None if there is none, even if a killed server left its socket."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(_CONNECT_TIMEOUT_S)
    try:
        connection.connect(str(place.socket))
    except (FileNotFoundError, ConnectionRefusedError):
        connection.close()
        return None
    except OSError:
        connection.close()
        raise
    if not is_same_user(connection):
        connection.close()
        raise DaemonUnavailable(f"the server at {place.socket} belongs to another user; remove the socket")
    return connection


def exchange_hello(
    connection: socket.socket, hello: ClientHello, stopped: ShouldStop = _never_stop
) -> HelloReply | None:
    """Send the hello and return the answer; None if the server closed the connection."""
    line = b""
    deadline = time.monotonic() + HELLO_REPLY_TIMEOUT_S
    try:
        connection.sendall(hello.line())
        connection.settimeout(_REPLY_POLL_SECONDS)
        while not line.endswith(b"\n"):
            data = _receive_reply(connection, deadline, stopped)
            if not data:
                return None
            line += data
        reply = json.loads(line)
    except (BrokenPipeError, ConnectionResetError):
        return None
    except ValueError:
        raise DaemonUnavailable(
            "the shared server sent an invalid answer; `dowse daemon restart` replaces it"
        ) from None
    return reply if isinstance(reply, dict) else {}


def _receive_reply(connection: socket.socket, deadline: float, stopped: ShouldStop) -> bytes:
    while time.monotonic() < deadline and not stopped():
        with suppress(TimeoutError):
            return connection.recv(_REPLY_BYTES)
    raise DaemonUnavailable(
        "the shared server did not answer in time; `dowse daemon stop` stops it or names the process to kill"
    )


def daemon_command(client: ClientArguments, flags: Mapping[str, object]) -> list[str]:
    """Return the command that starts a server for this client; -P keeps modules in the start directory from being
    imported."""
    words = [sys.executable, "-P", "-m", "dowse", "daemon", "run", "--detached", "--profile", client.profile]
    words += [f"--root={root}" for root in client.roots]
    return words + settings_as_flags(flags)


def settings_as_flags(flags: Mapping[str, object]) -> list[str]:
    """Return the settings among these flags as command-line words for another process."""
    words: list[str] = []
    for name, value in flags.items():
        flag = name.replace("_", "-")
        if isinstance(value, bool) and name in SETTINGS:
            words.append(f"--{flag}" if value else f"--no-{flag}")
        elif value is not None and name in SETTINGS:
            words.append(f"--{flag}={value}")
    return words


def start_detached(command: list[str], place: SocketPaths) -> None:
    """Run the command detached, in its own session and not as our child, so that it never becomes our zombie."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    log = os.open(place.log, flags, 0o600)
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    child = os.fork()
    if child == 0:
        _exec_detached(command, nothing, log)
    os.close(log)
    os.close(nothing)
    os.waitpid(child, 0)


def _exec_detached(command: list[str], nothing: int, log: int) -> None:
    try:
        os.setsid()
        if os.fork() == 0:
            for source, target in ((nothing, 0), (nothing, 1), (log, 2)):
                os.dup2(source, target)
            os.execv(command[0], command)
    finally:
        os._exit(0)


# --------------------------------------------------------------------------------------------------
# The arguments of a process, and what follows from them: the index, and the socket of its shared server.

_CLIENT_ONLY_FLAGS = ("share",)


@dataclass(frozen=True, slots=True)
class LaunchConfig:
    client: ClientArguments
    flags: Mapping[str, object]
    environment: Mapping[str, str]
    workspace: Workspace

    @classmethod
    def of(
        cls,
        profile: str,
        *,
        roots: tuple[Path, ...],
        flags: Mapping[str, object],
        environment: Mapping[str, str],
        cwd: Path,
    ) -> LaunchConfig:
        client = ClientArguments(profile, tuple(map(str, roots)), str(cwd))
        return cls(client, flags, environment, workspace_for(client, flags, environment))

    @property
    def socket_paths(self) -> SocketPaths:
        temporary = Path(self.environment.get("TMPDIR") or "/tmp").absolute()
        return socket_paths(self.workspace.index, DataPaths.of(self.workspace.settings).data_dir, temporary)

    def hello(self, verb: HelloVerb) -> ClientHello:
        return ClientHello(
            verb, build_fingerprint(), self.client, settings_fingerprint(self.workspace, self.client, self.environment)
        )

    def daemon_client(self) -> DaemonClient:
        flags = {name: value for name, value in self.flags.items() if name not in _CLIENT_ONLY_FLAGS}
        return DaemonClient(self.socket_paths, self.hello("serve"), daemon_command(self.client, flags))


# --------------------------------------------------------------------------------------------------
# The socket of a shared server: taken by one process at a time, released when it exits or dies.

_LOCK_RETRY_SECONDS = 0.02
_BACKLOG = 256


class ListeningSocket:
    """A listening socket; the lock is held while it is open."""

    def __init__(self, place: SocketPaths, lock: int, listener: socket.socket) -> None:
        self.place = place
        self.socket = listener
        self._lock: int | None = lock
        self._file = _socket_file_identity(place.socket)

    def is_ours(self) -> bool:
        """Return whether clients still find this server here; the socket may have been removed or replaced."""
        return self._file is not None and _socket_file_identity(self.place.socket) == self._file

    def close(self) -> None:
        """Let another server take the place, while this one answers pending requests."""
        if self._lock is None:
            return
        if self.is_ours():
            self.place.socket.unlink(missing_ok=True)
        self.socket.close()
        os.close(self._lock)
        self._lock = None


def acquire_socket(place: SocketPaths, patience_s: float = 5.0) -> ListeningSocket:
    """Take the place, waiting briefly for a server that shuts down; replace a socket without a server."""
    make_private_folder(place.folder)
    deadline = time.monotonic() + patience_s
    while (lock := try_lock(place.lock)) is None:
        if (other := connect_socket(place)) is not None:
            other.close()
            raise DaemonUnavailable(
                f"a shared server is already running as process {socket_owner(place)}; `dowse daemon stop` stops it"
            )
        if time.monotonic() >= deadline:
            raise DaemonUnavailable(
                f"process {socket_owner(place)} holds {place.lock} but does not listen; kill it and try again"
            )
        time.sleep(_LOCK_RETRY_SECONDS)
    os.ftruncate(lock, 0)
    os.write(lock, str(os.getpid()).encode())
    place.socket.unlink(missing_ok=True)
    return ListeningSocket(place, lock, _bind_socket(place.socket))


def socket_owner(place: SocketPaths) -> str:
    try:
        return place.lock.read_text(encoding="ascii", errors="replace")[:20] or "unknown"
    except OSError:
        return "unknown"


def _bind_socket(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.setblocking(False)
    before = os.umask(0o177)  # create the socket for its owner only, before anyone can connect
    try:
        listener.bind(str(path))
    finally:
        os.umask(before)
    listener.listen(_BACKLOG)
    return listener


def _socket_file_identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
