"""A thin pipe between a client's stdin and stdout and the shared server: lines both ways, and little memory."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress

from dowse.shells import parent
from dowse.shells.sharing.lines import TOO_LONG, Lines
from dowse.shells.sharing.place import Unshared

_STDIN, _STDOUT = 0, 1
_READ_BYTES = 65_536
# A pipe that is ready takes this much without blocking, whatever mode it is in: its mode is not ours alone to change.
_WRITE_BYTES = select.PIPE_BUF
_MANY_BYTES = 1_000_000  # what waits to be written before the other side is read no further
_LAST_READS = 16  # together as much as a pipe may hold
_LAST_ANSWERS_S = 3.0  # the server itself gives them two and a half
_LOOK_UP_S = 1.0
_TRY_AGAIN_S = 5.0
_FAILED = -32000
_TOO_LONG = -32600
LOST = "the shared server ended before it answered; ask again"
Connect = Callable[[Callable[[], bool]], socket.socket]


class Proxy:
    """One client's session. When the server dies, what was in flight fails, and the next request finds a new one."""

    def __init__(
        self, connection: socket.socket, connect: Connect, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._connect = connect
        self._now = clock
        self._server: socket.socket | None = None
        self._from_client, self._from_server = Lines(), Lines()
        self._to_client, self._to_server = bytearray(), bytearray()
        self._in_flight: dict[str, object] = {}
        self._initialize: bytes | None = None
        self._initialized = b""
        self._swallowed: str | None = None
        self._refused_until = 0.0
        self._trouble = ""
        self._leave_at: float | None = None
        self._stopped = False
        self._there_at = clock()  # when the client's end was last seen open, or took an answer
        self._take(connection)

    def run(self) -> int:
        """Until the client or everything has ended; 1 if there was no server at the end."""
        waking, wake = socket.socketpair()
        wake.setblocking(False)
        signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        while not self._is_over():
            ready = self._wait(waking)
            self._move(ready)
            if waking.fileno() in ready or parent.is_gone():
                self._read_rest()
                self._end_input()
            self._look_for_client()
        return 1 if self._trouble else 0

    def _stop(self, *_: object) -> None:
        self._stopped = True

    def _is_alone(self) -> bool:
        """Whether nobody is left to find a server for."""
        return self._stopped or parent.is_gone() or parent.has_closed(_STDIN)

    def _is_over(self) -> bool:
        if self._leave_at is None:
            return False
        return (self._server is None and not self._to_client) or self._now() >= self._leave_at

    def _look_for_client(self) -> None:
        """Leave where it has closed its end and takes no answers, while so much waits for the server that its input is
        not read up to where it ends."""
        if len(self._to_server) < _MANY_BYTES or not parent.has_closed(_STDIN):
            self._there_at = self._now()
        elif self._now() >= self._there_at + _LAST_ANSWERS_S:
            self._leave_at = self._now()

    def _wait(self, waking: socket.socket) -> Mapping[int, int]:
        """What can be read or written, by descriptor; a side that is behind is not given more."""
        poll = select.poll()
        if self._leave_at is None:
            poll.register(waking, select.POLLIN)
            if len(self._to_server) < _MANY_BYTES:
                poll.register(_STDIN, select.POLLIN)
        if self._to_client:
            poll.register(_STDOUT, select.POLLOUT)
        if self._server is not None:
            reading = select.POLLIN if len(self._to_client) < _MANY_BYTES else 0
            poll.register(self._server, reading | (select.POLLOUT if self._to_server else 0))
        return dict(poll.poll(_LOOK_UP_S * 1000))

    def _move(self, ready: Mapping[int, int]) -> None:
        # First the server: if it is gone, what the client says now is for another.
        if self._server is not None and (events := ready.get(self._server.fileno(), 0)):
            if events & select.POLLOUT:
                self._write_server()
            if events & ~select.POLLOUT:
                self._read_server()
        if _STDIN in ready:
            self._read_client()
        if _STDOUT in ready:
            self._write_client()

    # --- the client ---

    def _read_rest(self) -> None:
        """What the client has said before we were told to leave, however much waits for the server."""
        poll = select.poll()
        poll.register(_STDIN, select.POLLIN)
        for _ in range(_LAST_READS):
            if self._leave_at is not None or not poll.poll(0):
                return
            self._read_client()

    def _read_client(self) -> None:
        try:
            data = os.read(_STDIN, _READ_BYTES)
        except OSError:
            data = b""  # closed under us: nothing more will come
        for line in self._from_client.feed(data):
            self._forward(line)
        if not data:
            self._forward(self._from_client.rest())
            self._end_input()

    def _forward(self, line: bytes | None) -> None:
        if line is None:
            self._answer(None, _TOO_LONG, TOO_LONG)
            return
        if not line.strip():
            return
        line = line if line.endswith(b"\n") else line + b"\n"
        message = _parsed(line)
        self._note_request(line, message)
        if self._server is None and "method" in message and "id" not in message:
            return  # a notification is no reason to start a server, and a new one knows of nothing to cancel
        if self._server is None and not self._reconnected():
            self._fail_all(self._trouble or LOST)
            return
        self._to_server += line

    def _note_request(self, line: bytes, message: Mapping[str, object]) -> None:
        method = message.get("method")
        if method == "initialize":
            self._initialize = line
        elif method == "notifications/initialized":
            self._initialized = line
        elif method == "notifications/cancelled":
            params = message.get("params")
            self._in_flight.pop(_key(params.get("requestId") if isinstance(params, dict) else None), None)
        if method is not None and "id" in message:
            self._in_flight[_key(message["id"])] = message["id"]

    def _answer(self, request: object, code: int, reason: str) -> None:
        error = {"jsonrpc": "2.0", "id": request, "error": {"code": code, "message": reason}}
        self._to_client += json.dumps(error).encode() + b"\n"

    def _fail_all(self, reason: str) -> None:
        for request in self._in_flight.values():
            self._answer(request, _FAILED, reason)
        self._in_flight.clear()

    def _write_client(self) -> None:
        try:
            written = os.write(_STDOUT, self._to_client[:_WRITE_BYTES])
        except BrokenPipeError:
            # Nobody reads our answers: there is nothing left to do.
            self._to_client.clear()
            self._leave_at = self._now()
            return
        del self._to_client[:written]
        self._there_at = self._now()

    def _end_input(self) -> None:
        """No more requests: the server answers what is in flight, then closes its end too."""
        if self._leave_at is None:
            self._leave_at = self._now() + _LAST_ANSWERS_S
            self._half_close()

    def _half_close(self) -> None:
        if self._leave_at is not None and self._server is not None and not self._to_server:
            with suppress(OSError):
                self._server.shutdown(socket.SHUT_WR)

    # --- the server ---

    def _take(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        self._server = connection
        self._from_server = Lines(limit=1 << 40)
        self._trouble = ""

    def _write_server(self) -> None:
        assert self._server is not None
        try:
            del self._to_server[: self._server.send(self._to_server)]
            self._half_close()
        except BlockingIOError:
            pass
        except OSError:
            self._lose_server()

    def _read_server(self) -> None:
        assert self._server is not None
        try:
            data = self._server.recv(_READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._lose_server()
            return
        for line in self._from_server.feed(data):
            self._deliver(line or b"")

    def _deliver(self, line: bytes) -> None:
        message = _parsed(line)
        if "method" not in message and "id" in message:
            key = _key(message["id"])
            if key == self._swallowed:
                self._swallowed = None
                return
            self._in_flight.pop(key, None)
        self._to_client += line

    def _lose_server(self) -> None:
        """Whether what was in flight has happened is not known: the client decides if it is asked again."""
        assert self._server is not None
        self._server.close()
        self._server = None
        self._to_server.clear()
        self._fail_all(LOST)

    def _reconnected(self) -> bool:
        """Another server, which is told the client's handshake again; its answer to that the client has had already."""
        if self._now() < self._refused_until or self._leave_at is not None:
            return False
        try:
            self._take(self._connect(self._is_alone))
        except Unshared as error:
            self._trouble = f"the shared server is gone and there is no other: {error}; restart this server"
            self._refused_until = self._now() + _TRY_AGAIN_S
            return False
        if self._initialize is not None and (key := _key(_parsed(self._initialize).get("id"))) not in self._in_flight:
            self._swallowed = key
            self._to_server += self._initialize + self._initialized
        return True


def _parsed(line: bytes) -> Mapping[str, object]:
    """The message; empty if it is none, which the server will say."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}


def _key(request: object) -> str:
    """Ids are numbers or texts, and 1 is not "1"."""
    return json.dumps(request)
