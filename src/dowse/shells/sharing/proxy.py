"""A thin pipe between a client's stdin and stdout and its server: lines both ways, and little memory."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import socket
import stat
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress

from dowse.shells import parent
from dowse.shells.sharing.handshake import Handshake
from dowse.shells.sharing.lines import TOO_LONG, Lines

_STDIN, _STDOUT = 0, 1
_READ_BYTES = 65_536
# A pipe that is ready takes this much without blocking, whatever mode it is in: its mode is not ours alone to change.
_WRITE_BYTES = select.PIPE_BUF
# How our servers begin an answer. Whoever reads the whole of it spends as long on that as on everything else.
_ANSWER = re.compile(rb'\{"jsonrpc":"2\.0","id":(-?\d{1,18}|"[ -!#-\[\]-~]*"),"(?:result|error)":')
_MANY_BYTES = 1_000_000  # what waits to be written before the other side is read no further
_LAST_READS = 16  # together as much as a pipe may hold
_LAST_ANSWERS_S = 3.0  # the server itself gives them two and a half
_LOOK_UP_S = 1.0
_FIRST_WORDS_S = 0.05  # the client's first requests are answered before a server is looked for
_TRY_AGAIN_S = 5.0
_SERVER_WITHIN_S = 45.0  # how long requests wait for a server; clients give up after a minute
_LAST_SERVER_S = 10.0  # the same for those of a client that has closed its end
_FAILED = -32000
_TOO_LONG = -32600
LOST = "the server ended before it answered; ask again"
SLOW = "the server is still starting; ask again in a moment"
NO_SERVER = "the server could not be started, and its stderr may say why; ask again"


class Proxy:
    """One client's session. When the server dies, what was in flight fails, and the next request finds a new one.

    `search` starts to look for a server. At the socket it returns comes one line: `shared` with the descriptor of a
    connection, `own` where the server is at this socket, or an `error`.
    """

    def __init__(
        self,
        search: Callable[[], socket.socket],
        handshake: Handshake | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._search = search
        self._handshake = handshake
        self._now = clock
        self._server: socket.socket | None = None
        self._searching: socket.socket | None = None
        self._searching_since = 0.0
        self._from_client, self._from_server = Lines(), Lines()
        self._to_client, self._to_server = bytearray(), bytearray()
        self._in_flight: dict[str, object] = {}
        self._initialize: bytes | None = None
        self._initialized = b""
        self._swallowed: str | None = None
        self._had_server = False
        self._refused_until = 0.0
        self._trouble = ""
        self._exit_code = 0
        self._is_nonblocking = False  # our own end of stdout
        self._leave_at: float | None = None
        self._there_at = clock()  # when the client's end was last seen open, or took an answer

    def run(self) -> int:
        """Until the client or everything has ended; 1 if there was no server at the end, 2 if there never can be."""
        waking, wake = socket.socketpair()
        wake.setblocking(False)
        self._is_nonblocking = _reopen_output()
        signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: None)
        self._move(self._wait(waking, _FIRST_WORDS_S))
        if self._leave_at is None:
            self._start_search()
        while not self._is_over():
            ready = self._wait(waking, _LOOK_UP_S)
            self._move(ready)
            if waking.fileno() in ready or parent.is_gone():
                self._read_rest()
                self._end_input(_LAST_ANSWERS_S)
            self._look_for_client()
            self._look_for_server()
        return self._exit_code or (1 if self._trouble else 0)

    def _is_over(self) -> bool:
        if self._leave_at is None:
            return False
        is_waited_for = self._server is not None or (self._searching is not None and self._in_flight)
        return not (is_waited_for or self._to_client) or self._now() >= self._leave_at

    def _look_for_client(self) -> None:
        """Leave where it has closed its end and takes no answers, while so much waits for the server that its input is
        not read up to where it ends."""
        if len(self._to_server) < _MANY_BYTES or not parent.has_closed(_STDIN):
            self._there_at = self._now()
        elif self._now() >= self._there_at + _LAST_ANSWERS_S:
            self._leave_at = self._now()

    def _look_for_server(self) -> None:
        """Whoever asked is told when it takes too long; the search goes on."""
        with suppress(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)
        if self._searching is not None and self._now() >= self._searching_since + _SERVER_WITHIN_S:
            self._searching_since = self._now()
            self._to_server.clear()
            self._fail_all(SLOW)

    def _wait(self, waking: socket.socket, seconds: float) -> Mapping[int, int]:
        """What can be read or written, by descriptor; a side that is behind is not given more."""
        poll = select.poll()
        if self._leave_at is None:
            poll.register(waking, select.POLLIN)
            if len(self._to_server) < _MANY_BYTES:
                poll.register(_STDIN, select.POLLIN)
        if self._to_client or self._leave_at is not None:
            poll.register(_STDOUT, select.POLLOUT if self._to_client else 0)
        if self._searching is not None:
            poll.register(self._searching, select.POLLIN)
        if self._server is not None:
            reading = select.POLLIN if len(self._to_client) < _MANY_BYTES else 0
            poll.register(self._server, reading | (select.POLLOUT if self._to_server else 0))
        return dict(poll.poll(seconds * 1000))

    def _move(self, ready: Mapping[int, int]) -> None:
        if self._searching is not None and self._searching.fileno() in ready:
            self._end_search()
        # First the server: if it is gone, what the client says now is for another.
        if self._server is not None and (events := ready.get(self._server.fileno(), 0)):
            if events & select.POLLOUT:
                self._write_server()
            if events & ~select.POLLOUT:
                self._read_server()
        if _STDIN in ready:
            self._read_client()
        if _STDOUT in ready:
            self._write_client(ready[_STDOUT])

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
        if self._to_server and self._server is not None:
            self._write_server()  # most of the time it takes it at once
        if not data:
            self._forward(self._from_client.rest())
            self._end_input(_LAST_SERVER_S if self._server is None else _LAST_ANSWERS_S)

    def _forward(self, line: bytes | None) -> None:
        if line is None:
            self._answer(None, _TOO_LONG, TOO_LONG)
            return
        if not line.strip():
            return
        line = line if line.endswith(b"\n") else line + b"\n"
        message = _parsed(line)
        answer = None if self._handshake is None else self._handshake.answer(message)
        if answer is not None:
            self._to_client += answer
            if message.get("method") == "initialize":
                self._initialize = line
            return
        self._note_request(line, message)
        if self._server is None and "method" in message and "id" not in message and not self._to_server:
            return  # a notification is no reason to start a server, and a new one knows of nothing to cancel
        if self._server is None and not self._start_search():
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

    def _write_client(self, events: int) -> None:
        try:
            if events & ~select.POLLOUT:
                raise BrokenPipeError
            written = os.write(_STDOUT, self._to_client if self._is_nonblocking else self._to_client[:_WRITE_BYTES])
        except BlockingIOError:
            return
        except OSError:
            # Nobody reads our answers: there is nothing left to do.
            self._to_client.clear()
            self._leave_at = self._now()
            return
        del self._to_client[:written]
        self._there_at = self._now()

    def _end_input(self, patience_s: float) -> None:
        """No more requests: the server answers what is in flight, then closes its end too."""
        if self._leave_at is None:
            self._leave_at = self._now() + patience_s
            self._half_close()

    def _half_close(self) -> None:
        if self._leave_at is not None and self._server is not None and not self._to_server:
            with suppress(OSError):
                self._server.shutdown(socket.SHUT_WR)

    # --- the server ---

    def _take(self, connection: socket.socket) -> None:
        """A server is told the client's handshake; its answer to that the client has had already."""
        connection.setblocking(False)
        self._server = connection
        self._from_server = Lines(limit=1 << 40)
        self._trouble = ""
        self._had_server = True
        if self._initialize is not None and (key := _key(_parsed(self._initialize).get("id"))) not in self._in_flight:
            self._swallowed = key
            self._to_server[:0] = self._initialize + self._initialized
        if self._leave_at is not None:
            self._leave_at = self._now() + _LAST_ANSWERS_S
            self._half_close()

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
        self._hear(data)
        if self._to_client and self._is_nonblocking:
            self._write_client(select.POLLOUT)

    def _hear(self, data: bytes) -> None:
        for line in self._from_server.feed(data):
            self._deliver(line or b"")

    def _deliver(self, line: bytes) -> None:
        if (key := _answered(line)) is not None:
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

    def _start_search(self) -> bool:
        """Whether a server is being looked for: not again at once where there was none."""
        if self._searching is not None:
            return True
        if self._now() < self._refused_until or (self._leave_at is not None and self._had_server):
            return False
        try:
            self._searching = self._search()
        except OSError as error:
            self._refuse(f"the system refused a process: {error}")
            return False
        self._searching_since = self._now()
        return True

    def _end_search(self) -> None:
        assert self._searching is not None
        searching, self._searching = self._searching, None
        try:
            data, descriptors, *_ = socket.recv_fds(searching, _READ_BYTES, 1)
        except OSError:
            data, descriptors = b"", []
        line, _, first = data.partition(b"\n")
        found = _parsed(line)
        if found.get("own"):
            self._take(searching)
            self._hear(first)
            return
        searching.close()
        if descriptors:
            self._take(socket.socket(fileno=descriptors[0]))
        elif "error" in found and not self._had_server:
            print(f"dowse: {found['error']}", file=sys.stderr)  # noqa: T201
            self._fail_all(str(found["error"]))
            self._exit_code = 2
            self._leave_at = self._now() + _LAST_ANSWERS_S
        else:
            self._refuse(str(found.get("error", NO_SERVER)))

    def _refuse(self, reason: str) -> None:
        self._trouble = f"there is no server: {reason}"
        self._refused_until = self._now() + _TRY_AGAIN_S
        self._to_server.clear()
        self._fail_all(self._trouble)


def _reopen_output() -> bool:
    """Whether stdout does not block from now on: a pipe is opened once more, so that nobody else's end changes."""
    try:
        if sys.platform != "linux" or not stat.S_ISFIFO(os.fstat(_STDOUT).st_mode):
            return False
        again = os.open("/proc/self/fd/1", os.O_WRONLY | os.O_NONBLOCK)
        os.dup2(again, _STDOUT)
        os.close(again)
    except OSError:
        return False
    return True


def _answered(line: bytes) -> str | None:
    """The key of the request that this line answers; None where it is no answer."""
    if begin := _ANSWER.match(line):
        return begin[1].decode()
    message = _parsed(line)
    return _key(message["id"]) if "method" not in message and "id" in message else None


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
