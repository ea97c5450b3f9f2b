"""The shared server: sessions, connections, log."""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing
from functools import partial
from importlib.metadata import version
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import NoReturn

import anyio
import anyio.abc

from dowse.errors import DowseError
from dowse.processes import collect_garbage_rarely
from dowse.server import PROFILES
from dowse.server.mcp import CallScheduler, serve_lines
from dowse.server.readers import ReaderPool, make_remote_call
from dowse.server.runtime import ServerRuntime, log_to_stderr, make_profile
from dowse.server.sharing.client import LaunchConfig, ListeningSocket
from dowse.server.sharing.hello import (
    HELLO_PROTOCOL,
    BuildMismatch,
    ClientHello,
    DaemonUnavailable,
    build_fingerprint,
    differing_settings,
    is_same_user,
    parse_hello,
    settings_fingerprint,
    workspace_for,
)
from dowse.server.sharing.proxy import LineBuffer
from dowse.tools.tool import ToolSet

# --------------------------------------------------------------------------------------------------
# Accept or refuse clients of the shared server, and create a profile for each on the shared engines.


class SessionFactory:
    """Compares the arguments of each client with those of the server."""

    def __init__(
        self,
        index: Path,
        build: str,
        flags: Mapping[str, object],
        environment: Mapping[str, str],
        server_runtime: ServerRuntime,
    ) -> None:
        self.index = index
        self._build = build
        self._flags = flags
        self._environment = environment
        self._server_runtime = server_runtime
        self._lock = threading.Lock()
        self._settings_by_profile: dict[str, Mapping[str, str]] = {}

    def make_profile_for(self, hello: ClientHello) -> ToolSet:
        """Create the client's tools, bound to its roots; refuse a client whose own server would answer differently."""
        self._check(hello)
        client = hello.client
        profile = make_profile(
            client.profile,
            roots=client.paths,
            flags=self._flags,
            environment=self._environment,
            cwd=Path(client.cwd),
            server_runtime=self._server_runtime,
        )
        self._server_runtime.start()
        return profile

    def _check(self, hello: ClientHello) -> None:
        if hello.protocol != HELLO_PROTOCOL or hello.build != self._build:
            raise BuildMismatch("the shared server runs another version of Dowse; `dowse daemon restart` replaces it")
        if hello.client.profile not in PROFILES:
            raise DaemonUnavailable(
                f"unknown profile {hello.client.profile[:100]!r}; choose one of {', '.join(PROFILES)}"
            )
        workspace = workspace_for(hello.client, self._flags, self._environment)
        if workspace.index != self.index:
            raise DaemonUnavailable(f"the shared server serves {self.index}, not {workspace.index}")
        ours = settings_fingerprint(workspace, hello.client, self._environment)
        with self._lock:
            # The first client of a profile decides: `dowse.toml` may change, an open engine does not.
            first = self._settings_by_profile.setdefault(hello.client.profile, ours)
        differing = sorted({*differing_settings(ours, hello.settings), *differing_settings(first, hello.settings)})
        if differing:
            raise DaemonUnavailable(
                f"the shared server has other settings ({', '.join(differing)[:200]}); run `dowse daemon restart`"
            )


# --------------------------------------------------------------------------------------------------
# The log of a detached server: one current file and one previous file, for everything written to stderr.

_MAX_LOG_BYTES = 1_000_000
_STDERR = 2


class StderrLogHandler(RotatingFileHandler):
    """Also collects what bypasses the log on stderr, such as a crash in C."""

    def doRollover(self) -> None:  # noqa: N802 - the library's name
        super().doRollover()
        if self.stream is not None:
            os.dup2(self.stream.fileno(), _STDERR)


def log_to_file(path: Path, level: str) -> None:
    handler = StderrLogHandler(path, maxBytes=_MAX_LOG_BYTES, backupCount=1, encoding="utf-8")
    known = logging.getLevelNamesMapping()
    logging.basicConfig(
        level=known.get(level.upper(), logging.INFO),
        format="%(asctime)s %(process)d %(name)s %(levelname)s %(message)s",
        handlers=[handler],
    )


# --------------------------------------------------------------------------------------------------
# One client of the shared server: its socket, read by lines and written at the client's pace.

_CLIENT_READ_BYTES = 65_536


class ClientConnection:
    def __init__(self, peer: socket.socket) -> None:
        peer.setblocking(False)
        self._peer = peer
        self._waiting: anyio.CancelScope | None = None
        self._ended = False

    def end_input(self) -> None:
        """End the input as if the client had closed its end; pending requests are still answered."""
        self._ended = True
        if self._waiting is not None:
            self._waiting.cancel()

    async def lines(self) -> AsyncGenerator[bytes | None, None]:
        """Yield lines until the client closes its end; None stands for a line that was too long."""
        lines = LineBuffer()
        while data := await self._receive():
            for line in lines.add_bytes(data):
                yield line
        if rest := lines.rest():
            yield rest

    async def _receive(self) -> bytes:
        with anyio.CancelScope() as self._waiting:
            while not self._ended:
                await anyio.wait_readable(self._peer)
                try:
                    return self._peer.recv(_CLIENT_READ_BYTES)
                except BlockingIOError:
                    continue
                except ConnectionError:
                    return b""
        return b""

    async def write(self, data: bytes) -> None:
        """Write all data, however slowly the client reads; stop if the client is gone."""
        left = memoryview(data)
        while left:
            try:
                left = left[self._peer.send(left) :]
            except BlockingIOError:
                await anyio.wait_writable(self._peer)
            except ConnectionError:
                self.end_input()
                return

    def close(self) -> None:
        self._peer.close()


log = logging.getLogger("dowse.daemon")

MAX_SESSIONS = 256
_HELLO_TIMEOUT_S = 10.0
_LIFETIME_CHECK_SECONDS = 1.0
_THREAD_SWITCH_SECONDS = 0.001  # how long the event loop waits for an answering thread; 5 ms cost a fifth
_ACCEPT_RETRY_SECONDS = 0.1
_SERVER_LAST_ANSWERS_SECONDS = 2.5
ClientLines = AsyncIterator[bytes | None]


def run_daemon(start: LaunchConfig, listening: ListeningSocket, *, detached: bool) -> None:
    """Serve until shutdown; clients may connect before the modules that serve them are imported."""
    if detached:
        log_to_file(listening.place.log, start.environment.get("DOWSE_LOG_LEVEL") or "INFO")
    else:
        log_to_stderr(start.environment)
    turns = CallScheduler()
    server_runtime = ServerRuntime(on_open=lambda engine: engine.use_one_thread_when(lambda: turns.count_waiting() > 0))
    readers = ReaderPool(turns, start.flags, server_runtime.is_idle)
    sessions = SessionFactory(
        start.workspace.index, build_fingerprint(), start.flags, start.environment, server_runtime
    )
    log.info("serving %s as process %d", start.workspace.index, os.getpid())
    idle_s = start.workspace.settings.daemon_idle_s
    sys.setswitchinterval(_THREAD_SWITCH_SECONDS)
    collect_garbage_rarely()
    anyio.run(lambda: SharedServer(listening, sessions, server_runtime, turns, readers, idle_s=idle_s).run())


class SharedServer:
    """Shuts down on request, after an idle period without clients, or when another process has taken its socket."""

    def __init__(
        self,
        listening: ListeningSocket,
        sessions: SessionFactory,
        server_runtime: ServerRuntime,
        turns: CallScheduler,
        readers: ReaderPool,
        *,
        idle_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._listening = listening
        self._sessions = sessions
        self._server_runtime = server_runtime
        self._idle_s = idle_s
        self._now = clock
        self._started_at = self._idle_since = clock()
        self._connected: dict[ClientConnection, ClientHello] = {}
        self._turns = turns
        self._readers = readers
        self._shutting_down = anyio.Event()
        self._accepting = anyio.CancelScope()
        self._retired = anyio.Event()

    async def run(self) -> NoReturn:
        async with anyio.create_task_group() as clients:
            async with anyio.create_task_group() as watching:
                watching.start_soon(self._wait_for_signals)
                watching.start_soon(self._check_lifetime)
                watching.start_soon(self._accept, clients)
                await self._shutting_down.wait()
                watching.cancel_scope.cancel()
            await self._shut_down()
        raise AssertionError("unreachable: leaving ends the process")

    # --- shutdown ---

    async def _wait_for_signals(self) -> None:
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            async for number in signals:
                log.info("shutting down on %s", number.name)
                self._shutting_down.set()

    async def _check_lifetime(self) -> None:
        while True:
            await anyio.sleep(min(_LIFETIME_CHECK_SECONDS, self._idle_s))
            if self._retired.is_set():
                if not self._connected:
                    log.info("the last client has left; shutting down")
                    self._shutting_down.set()
            elif not self._listening.is_ours():
                log.warning("%s was removed or replaced; shutting down", self._listening.place.socket)
                self._shutting_down.set()
            elif self._is_idle():
                log.info("no client was connected for %g s; shutting down", self._idle_s)
                self._shutting_down.set()

    def _is_idle(self) -> bool:
        alone = not self._connected and self._now() - self._idle_since >= self._idle_s
        return alone and self._server_runtime.jobs.running() is None

    async def _shut_down(self) -> None:
        """Accept no new clients, and answer pending requests if that is quick. A thread in a long call does not delay
        the exit."""
        self._listening.close()
        for connection in self._connected:
            connection.end_input()
        with anyio.move_on_after(_SERVER_LAST_ANSWERS_SECONDS + 0.1):
            while self._connected:
                await anyio.sleep(0.01)
        self._readers.close()
        self._server_runtime.close()
        os._exit(0)

    # --- clients ---

    async def _accept(self, clients: anyio.abc.TaskGroup) -> None:
        with self._accepting:
            while True:
                await self._accept_one(clients)
        if self._accepting.cancelled_caught:
            self._listening.close()
            self._retired.set()

    async def _accept_one(self, clients: anyio.abc.TaskGroup) -> None:
        await anyio.wait_readable(self._listening.socket)
        try:
            peer, _ = self._listening.socket.accept()
        except (BlockingIOError, ConnectionError):
            return
        except OSError as error:
            log.warning("cannot accept another connection: %s", error)
            await anyio.sleep(_ACCEPT_RETRY_SECONDS)
            return
        if is_same_user(peer):
            clients.start_soon(self._run_session, ClientConnection(peer))
        else:
            peer.close()

    async def _retire(self) -> None:
        """Make room for another server: accept no new clients, and exit when the last one leaves."""
        self._accepting.cancel()
        await self._retired.wait()

    async def _run_session(self, connection: ClientConnection) -> None:
        """Run one session; a failure ends only that session."""
        try:
            async with aclosing(connection.lines()) as lines:
                await self._handle_hello(connection, lines)
        except Exception:
            log.exception("a session failed")
        finally:
            connection.close()

    async def _handle_hello(self, connection: ClientConnection, lines: ClientLines) -> None:
        line = None
        with anyio.move_on_after(_HELLO_TIMEOUT_S):
            line = await anext(lines, None)
        if line is None:
            return
        try:
            hello = parse_hello(line)
            answer = {"serve": self._serve, "status": self._send_status, "stop": self._stop}[hello.verb]
            await answer(hello, connection, lines)
        except BuildMismatch as error:
            log.info("making room for a server of another version")
            await self._retire()
            await _send_reply(connection, ok=False, retired=True, why=str(error))
        except DowseError as error:
            log.info("refused a client: %s", error)
            await _send_reply(connection, ok=False, why=str(error))

    async def _serve(self, hello: ClientHello, connection: ClientConnection, lines: ClientLines) -> None:
        if len(self._connected) >= MAX_SESSIONS:
            raise DaemonUnavailable(f"the shared server already has {MAX_SESSIONS} clients")
        self._connected[connection] = hello
        try:
            profile = await anyio.to_thread.run_sync(self._sessions.make_profile_for, hello)
            await _send_reply(connection, ok=True, pid=os.getpid())
            ask_elsewhere = partial(make_remote_call, hello.client)
            await serve_lines(profile, lines, connection.write, self._turns, ask_elsewhere)
        finally:
            del self._connected[connection]
            self._idle_since = self._now()

    async def _send_status(self, hello: ClientHello, connection: ClientConnection, lines: ClientLines) -> None:
        job = self._server_runtime.jobs.running()
        await _send_reply(
            connection,
            ok=True,
            pid=os.getpid(),
            version=version("dowse"),
            index=str(self._sessions.index),
            connections=len(self._connected),
            profiles=dict(Counter(it.client.profile for it in self._connected.values())),
            uptime_s=round(self._now() - self._started_at, 1),
            idle_s=self._idle_s,
            readers=self._readers.pids(),
            job=None if job is None else job.kind,
        )

    async def _stop(self, hello: ClientHello, connection: ClientConnection, lines: ClientLines) -> None:
        """Confirm and shut down; the connection stays open until the process exits, so that the client notices the
        end."""
        await _send_reply(connection, ok=True, pid=os.getpid())
        log.info("shutting down on request")
        self._shutting_down.set()
        await anyio.sleep_forever()


async def _send_reply(connection: ClientConnection, **facts: object) -> None:
    await connection.write(json.dumps(facts).encode() + b"\n")
