"""The shared server of one index: any number of clients, each with its own session and profile, and one engine."""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from functools import partial
from importlib.metadata import version
from typing import NoReturn

import anyio
import anyio.abc

from dowse.errors import DowseError
from dowse.processes import collect_garbage_rarely
from dowse.shells.backstage import Backstage
from dowse.shells.mcp import Turns, serve_lines
from dowse.shells.readers import Readers, make_question
from dowse.shells.serving import log_to_stderr
from dowse.shells.sharing.connection import Connection
from dowse.shells.sharing.hello import Hello, read_hello, this_build
from dowse.shells.sharing.listening import Listening
from dowse.shells.sharing.logs import log_to_file
from dowse.shells.sharing.place import OtherBuild, Unshared, is_ours
from dowse.shells.sharing.sessions import Sessions
from dowse.shells.sharing.start import Start

log = logging.getLogger("dowse.daemon")

MAX_SESSIONS = 256
_HELLO_S = 10.0
_TICK_S = 1.0
_SWITCH_S = 0.001  # the loop that reads and writes waits this long for a thread that answers; 5 ms cost a fifth
_NO_DESCRIPTORS_S = 0.1
_LAST_ANSWERS_S = 2.5
Lines = AsyncIterator[bytes | None]


def run_daemon(start: Start, listening: Listening, *, detached: bool) -> None:
    """Serve until told to leave; clients may have connected before everything was imported that serves them."""
    if detached:
        log_to_file(listening.place.log, start.environment.get("DOWSE_LOG_LEVEL") or "INFO")
    else:
        log_to_stderr(start.environment)
    turns = Turns()
    backstage = Backstage(on_open=lambda engine: engine.spare_processors_when(lambda: turns.count_waiting() > 0))
    readers = Readers(turns, start.flags, backstage.is_quiet)
    sessions = Sessions(start.workspace.index, this_build(), start.flags, start.environment, backstage)
    log.info("serving %s as process %d", start.workspace.index, os.getpid())
    idle_s = start.workspace.settings.daemon_idle_s
    sys.setswitchinterval(_SWITCH_S)
    collect_garbage_rarely()
    anyio.run(lambda: Daemon(listening, sessions, backstage, turns, readers, idle_s=idle_s).run())


class Daemon:
    """Leaves when told to, when nobody has been connected for a while, or when its place is not its own any more."""

    def __init__(
        self,
        listening: Listening,
        sessions: Sessions,
        backstage: Backstage,
        turns: Turns,
        readers: Readers,
        *,
        idle_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._listening = listening
        self._sessions = sessions
        self._backstage = backstage
        self._idle_s = idle_s
        self._now = clock
        self._began = self._alone_since = clock()
        self._connected: dict[Connection, Hello] = {}
        self._turns = turns
        self._readers = readers
        self._leaving = anyio.Event()
        self._accepting = anyio.CancelScope()
        self._retired = anyio.Event()

    async def run(self) -> NoReturn:
        async with anyio.create_task_group() as clients:
            async with anyio.create_task_group() as watching:
                watching.start_soon(self._obey)
                watching.start_soon(self._look_around)
                watching.start_soon(self._accept, clients)
                await self._leaving.wait()
                watching.cancel_scope.cancel()
            await self._leave()
        raise AssertionError("unreachable: leaving ends the process")

    # --- its end ---

    async def _obey(self) -> None:
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            async for number in signals:
                log.info("leaving on %s", number.name)
                self._leaving.set()

    async def _look_around(self) -> None:
        while True:
            await anyio.sleep(min(_TICK_S, self._idle_s))
            if self._retired.is_set():
                if not self._connected:
                    log.info("the last client has left; leaving")
                    self._leaving.set()
            elif not self._listening.is_ours():
                log.warning("%s is gone or another's; leaving", self._listening.place.socket)
                self._leaving.set()
            elif self._is_idle():
                log.info("nobody was connected for %g s; leaving", self._idle_s)
                self._leaving.set()

    def _is_idle(self) -> bool:
        alone = not self._connected and self._now() - self._alone_since >= self._idle_s
        return alone and self._backstage.jobs.running() is None

    async def _leave(self) -> None:
        """No new clients; what was asked is answered if that is quick. A thread in a long call keeps nobody here."""
        self._listening.close()
        for connection in self._connected:
            connection.end_input()
        with anyio.move_on_after(_LAST_ANSWERS_S + 0.1):
            while self._connected:
                await anyio.sleep(0.01)
        self._readers.close()
        self._backstage.close()
        os._exit(0)

    # --- its clients ---

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
            log.warning("can not take another connection: %s", error)
            await anyio.sleep(_NO_DESCRIPTORS_S)
            return
        if is_ours(peer):
            clients.start_soon(self._talk, Connection(peer))
        else:
            peer.close()

    async def _retire(self) -> None:
        """Make room for another server: no new clients, and when the last of those that are here leaves, so do we."""
        self._accepting.cancel()
        await self._retired.wait()

    async def _talk(self, connection: Connection) -> None:
        """Whatever goes wrong in one session ends that session alone."""
        try:
            async with aclosing(connection.lines()) as lines:
                await self._greet(connection, lines)
        except Exception:
            log.exception("a session failed")
        finally:
            connection.close()

    async def _greet(self, connection: Connection, lines: Lines) -> None:
        line = None
        with anyio.move_on_after(_HELLO_S):
            line = await anext(lines, None)
        if line is None:
            return
        try:
            hello = read_hello(line)
            answer = {"serve": self._serve, "status": self._tell, "stop": self._stop}[hello.verb]
            await answer(hello, connection, lines)
        except OtherBuild as error:
            log.info("making room for the server of another version")
            await self._retire()
            await _reply(connection, ok=False, retired=True, why=str(error))
        except DowseError as error:
            log.info("refused a client: %s", error)
            await _reply(connection, ok=False, why=str(error))

    async def _serve(self, hello: Hello, connection: Connection, lines: Lines) -> None:
        if len(self._connected) >= MAX_SESSIONS:
            raise Unshared(f"the shared server has {MAX_SESSIONS} clients already")
        self._connected[connection] = hello
        try:
            profile = await anyio.to_thread.run_sync(self._sessions.profile_for, hello)
            await _reply(connection, ok=True, pid=os.getpid())
            ask_elsewhere = partial(make_question, hello.asked)
            await serve_lines(profile, lines, connection.write, self._turns, ask_elsewhere)
        finally:
            del self._connected[connection]
            self._alone_since = self._now()

    async def _tell(self, hello: Hello, connection: Connection, lines: Lines) -> None:
        job = self._backstage.jobs.running()
        await _reply(
            connection,
            ok=True,
            pid=os.getpid(),
            version=version("dowse"),
            index=str(self._sessions.index),
            connections=len(self._connected),
            profiles=dict(Counter(it.asked.profile for it in self._connected.values())),
            uptime_s=round(self._now() - self._began, 1),
            idle_s=self._idle_s,
            readers=self._readers.pids(),
            job=None if job is None else job.kind,
        )

    async def _stop(self, hello: Hello, connection: Connection, lines: Lines) -> None:
        """The connection stays open until the process has ended, which is how its end is noticed."""
        await _reply(connection, ok=True, pid=os.getpid())
        log.info("leaving as told")
        self._leaving.set()
        await anyio.sleep_forever()


async def _reply(connection: Connection, **facts: object) -> None:
    await connection.write(json.dumps(facts).encode() + b"\n")
