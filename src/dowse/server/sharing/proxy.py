"""The bridge between a client on stdio and the shared server."""

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
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from dowse.server import parent

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

# --------------------------------------------------------------------------------------------------
# The answers of a server to the first requests of its client, stored as data by `pytest tests/server/sharing
# --update`.

_HANDSHAKES_FOLDER = os.path.join(os.path.dirname(__file__), "handshakes")  # noqa: PTH118, PTH120 - quick start
MULTI_ROOT_HANDSHAKE = "core-roots"
_META_PREFIX = "io.modelcontextprotocol/"
JsonRpcMessage = Mapping[str, object]


class HandshakeResponder:
    """Answers `initialize`, `ping` and `tools/list` like the server of a profile.

    Requests that are not plainly valid are left to the server, which explains the error.
    """

    def __init__(
        self, profile: str, roots: Sequence[str], environment: Mapping[str, str], *, is_index_named: bool = False
    ) -> None:
        self._file = profile
        self._must_ask_server = profile == "ragdocs" and _has_ragdocs_config(roots[0] if roots else "", environment)
        if profile == "core" and len(roots) > 1:
            # Only the server can tell whether several roots share one index, if an index may be named for them.
            self._file = MULTI_ROOT_HANDSHAKE
            self._must_ask_server = is_index_named or bool(environment.get("DOWSE_INDEX"))
        self._answers: dict[str, Any] = {}
        self._protocol_style = ""

    def answer(self, message: JsonRpcMessage) -> bytes | None:
        """Return the answer as a line, or None if the server has to answer."""
        number, method, params = message.get("id"), message.get("method"), message.get("params")
        params = {} if params is None else params
        if message.get("jsonrpc") != "2.0" or not _is_request_id(number) or not isinstance(params, dict):
            return None
        if (result := self._result(method, params)) is None:
            return None
        return _encode_message({"jsonrpc": "2.0", "id": number, "result": result})

    def _result(self, method: object, params: Mapping[str, Any]) -> Mapping[str, object] | None:
        if method == "initialize":
            return self._answer_initialize(params)
        if method not in ("ping", "tools/list", "server/discover") or not params.keys() <= {"_meta"}:
            return None
        meta = params.get("_meta", {})
        if not isinstance(meta, dict):
            return None
        if self._protocol_style != "handshake":
            return self._answer_enveloped(str(method), meta)
        if not meta.keys() <= {"progressToken"} or not _is_request_id(meta.get("progressToken", 0)):
            return None
        if method == "tools/list" and not self._must_ask_server:
            return {"tools": self._load()["tools"]}
        return {} if method == "ping" else None

    def _answer_initialize(self, params: Mapping[str, Any]) -> Mapping[str, object] | None:
        if self._protocol_style or not params.keys() <= {"protocolVersion", "capabilities", "clientInfo", "_meta"}:
            return None
        version = params.get("protocolVersion")
        if not isinstance(version, str) or not _is_client_info(params.get("clientInfo"), params.get("capabilities")):
            return None
        self._protocol_style = "handshake"
        known = self._load()["versions"]
        return {**self._load()["initialize"], "protocolVersion": version if version in known else known[-1]}

    def _answer_enveloped(self, method: str, meta: Mapping[str, object]) -> Mapping[str, object] | None:
        """Answer without a handshake: each request carries its client and protocol version."""
        answers = self._load()["enveloped"]
        wanted = {f"{_META_PREFIX}{it}" for it in ("protocolVersion", "clientInfo", "clientCapabilities")}
        version = meta.get(f"{_META_PREFIX}protocolVersion")
        if meta.keys() != wanted or version != answers["version"] or method not in answers:
            return None
        if not _is_client_info(meta[f"{_META_PREFIX}clientInfo"], meta[f"{_META_PREFIX}clientCapabilities"]):
            return None
        if method == "tools/list" and self._must_ask_server:
            return None
        self._protocol_style = "enveloped"
        answer: dict[str, object] = answers[method]
        return {**answer, "tools": self._load()["tools"]} if method == "tools/list" else answer

    def _load(self) -> dict[str, Any]:
        if not self._answers:
            with open(os.path.join(_HANDSHAKES_FOLDER, f"{self._file}.json"), encoding="utf-8") as file:  # noqa: PTH118
                self._answers = json.load(file)
        return self._answers


def _encode_message(message: JsonRpcMessage) -> bytes | None:
    try:
        return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    except UnicodeEncodeError:  # a lone surrogate in the id
        return None


def _is_request_id(value: object) -> bool:
    return isinstance(value, int | str) and not isinstance(value, bool)


def _is_client_info(information: object, capabilities: object) -> bool:
    if not isinstance(information, dict) or not isinstance(capabilities, dict):
        return False
    named = all(isinstance(information.get(it), str) for it in ("name", "version"))
    return named and all(isinstance(it, dict) for it in capabilities.values())


def _has_ragdocs_config(root: str, environment: Mapping[str, str]) -> bool:
    """Return whether a settings file may change the tools of the ragdocs profile."""
    from pathlib import Path

    from dowse.server.contract_settings import configuration_candidates

    try:
        return any(it.is_file() for it in configuration_candidates(Path.cwd() / root, environment))
    except OSError:
        return True


# --------------------------------------------------------------------------------------------------
# Split incoming bytes into lines; a line that is too long is dropped while it arrives.

MAX_LINE_BYTES = 16_000_000
MESSAGE_TOO_LONG = f"a message may have at most {MAX_LINE_BYTES // 1_000_000} MB; send less text"


class LineBuffer:
    def __init__(self, limit: int = MAX_LINE_BYTES) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0

    def add_bytes(self, data: bytes) -> list[bytes | None]:
        """Return the lines that are complete now, each with its newline; None stands for a line that was too long."""
        *ends, rest = data.split(b"\n")
        lines = [self._finish_line(end + b"\n") for end in ends]
        self._keep(rest)
        return lines

    def rest(self) -> bytes | None:
        """Return the text after the last newline when the input has ended; empty if there is none."""
        return self._finish_line(b"")

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > self._limit:
            self._parts.clear()
        elif part:
            self._parts.append(part)

    def _finish_line(self, end: bytes) -> bytes | None:
        self._keep(end)
        line = None if self._size > self._limit else b"".join(self._parts)
        self._parts.clear()
        self._size = 0
        return line


_STDIN, _STDOUT = 0, 1
_PROXY_READ_BYTES = 65_536
# A ready pipe takes this much without blocking, whatever its mode; others share the pipe, so the mode is not changed.
_PROXY_WRITE_BYTES = select.PIPE_BUF
# How our servers start an answer. Parsing the whole line would take as long as everything else.
_ANSWER_PREFIX = re.compile(rb'\{"jsonrpc":"2\.0","id":(-?\d{1,18}|"[ -!#-\[\]-~]*"),"(?:result|error)":')
_MAX_BUFFERED_BYTES = 1_000_000  # limit of buffered data; beyond it, the other side is not read
_MAX_LAST_READS = 16  # together as much as a pipe may hold
_PROXY_LAST_ANSWERS_SECONDS = 3.0  # the server itself allows two and a half seconds
_PROXY_POLL_SECONDS = 1.0
_FIRST_REQUESTS_SECONDS = 0.05  # the client's first requests are answered before a server is looked for
_SEARCH_RETRY_SECONDS = 5.0
_SEARCH_TIMEOUT_S = 45.0  # how long requests wait for a server; clients give up after a minute
_LAST_SEARCH_TIMEOUT_S = 10.0  # the same, after the client has closed its end
_SERVER_ERROR_CODE = -32000
_INVALID_REQUEST_CODE = -32600
SERVER_LOST = "the server ended before it answered; ask again"
SERVER_STARTING = "the server is still starting; ask again in a moment"
SERVER_START_FAILED = "the server could not be started; see its stderr, or ask again"


class StdioProxy:
    """One client's session. If the server dies, pending requests fail, and the next request finds a new server.

    `search` starts the search for a server, and returns a socket that delivers one line: `shared` with the descriptor
    of a connection, `own` if the server is at this socket, or an `error`.
    """

    def __init__(
        self,
        search: Callable[[], socket.socket],
        handshake: HandshakeResponder | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._search = search
        self._handshake = handshake
        self._now = clock
        self._server: socket.socket | None = None
        self._searching: socket.socket | None = None
        self._searching_since = 0.0
        self._from_client, self._from_server = LineBuffer(), LineBuffer()
        self._to_client, self._to_server = bytearray(), bytearray()
        self._in_flight: dict[str, object] = {}
        self._initialize: bytes | None = None
        self._initialized = b""
        self._dropped_answer_key: str | None = None
        self._had_server = False
        self._retry_search_at = 0.0
        self._server_problem = ""
        self._exit_code = 0
        self._is_nonblocking = False  # for our own end of stdout
        self._leave_at: float | None = None
        self._client_seen_at = clock()  # when the client's end was last seen open, or took an answer

    def run(self) -> int:
        """Run until the client leaves; return 0, 1 if there was no server at the end, or 2 if there never can be
        one."""
        waking, wake = socket.socketpair()
        wake.setblocking(False)
        self._is_nonblocking = _reopen_stdout()
        signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: None)
        self._transfer(self._wait(waking, _FIRST_REQUESTS_SECONDS))
        if self._leave_at is None:
            self._start_search()
        while not self._is_over():
            ready = self._wait(waking, _PROXY_POLL_SECONDS)
            self._transfer(ready)
            if waking.fileno() in ready or parent.parent_exited():
                self._read_rest()
                self._end_input(_PROXY_LAST_ANSWERS_SECONDS)
            self._check_client()
            self._check_search()
        return self._exit_code or (1 if self._server_problem else 0)

    def _is_over(self) -> bool:
        if self._leave_at is None:
            return False
        is_waited_for = self._server is not None or (self._searching is not None and self._in_flight)
        return not (is_waited_for or self._to_client) or self._now() >= self._leave_at

    def _check_client(self) -> None:
        """Leave if the client has closed its end and takes no answers, while a full buffer keeps us from reading to the
        end of input."""
        if len(self._to_server) < _MAX_BUFFERED_BYTES or not parent.is_peer_closed(_STDIN):
            self._client_seen_at = self._now()
        elif self._now() >= self._client_seen_at + _PROXY_LAST_ANSWERS_SECONDS:
            self._leave_at = self._now()

    def _check_search(self) -> None:
        """Fail pending requests if the search takes too long; the search continues."""
        with suppress(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)
        if self._searching is not None and self._now() >= self._searching_since + _SEARCH_TIMEOUT_S:
            self._searching_since = self._now()
            self._to_server.clear()
            self._fail_all(SERVER_STARTING)

    def _wait(self, waking: socket.socket, seconds: float) -> Mapping[int, int]:
        """Return what can be read or written, by descriptor; a side that lags behind gets no more data."""
        poll = select.poll()
        if self._leave_at is None:
            poll.register(waking, select.POLLIN)
            if len(self._to_server) < _MAX_BUFFERED_BYTES:
                poll.register(_STDIN, select.POLLIN)
        if self._to_client or self._leave_at is not None:
            poll.register(_STDOUT, select.POLLOUT if self._to_client else 0)
        if self._searching is not None:
            poll.register(self._searching, select.POLLIN)
        if self._server is not None:
            reading = select.POLLIN if len(self._to_client) < _MAX_BUFFERED_BYTES else 0
            poll.register(self._server, reading | (select.POLLOUT if self._to_server else 0))
        return dict(poll.poll(seconds * 1000))

    def _transfer(self, ready: Mapping[int, int]) -> None:
        if self._searching is not None and self._searching.fileno() in ready:
            self._end_search()
        # Handle the server first: if it is gone, new messages of the client are for another one.
        if self._server is not None and (events := ready.get(self._server.fileno(), 0)):
            if events & select.POLLOUT:
                self._write_server()
            if events & ~select.POLLOUT:
                self._read_server()
        if _STDIN in ready:
            self._read_client()
        if _STDOUT in ready:
            self._write_client(ready[_STDOUT])

    # --- client ---

    def _read_rest(self) -> None:
        """Read what the client sent before the shutdown, however much waits for the server."""
        poll = select.poll()
        poll.register(_STDIN, select.POLLIN)
        for _ in range(_MAX_LAST_READS):
            if self._leave_at is not None or not poll.poll(0):
                return
            self._read_client()

    def _read_client(self) -> None:
        try:
            data = os.read(_STDIN, _PROXY_READ_BYTES)
        except OSError:
            data = b""  # closed under us: nothing more will come
        for line in self._from_client.add_bytes(data):
            self._forward(line)
        if self._to_server and self._server is not None:
            self._write_server()  # the server usually takes it at once
        if not data:
            self._forward(self._from_client.rest())
            self._end_input(_LAST_SEARCH_TIMEOUT_S if self._server is None else _PROXY_LAST_ANSWERS_SECONDS)

    def _forward(self, line: bytes | None) -> None:
        if line is None:
            self._answer(None, _INVALID_REQUEST_CODE, MESSAGE_TOO_LONG)
            return
        if not line.strip():
            return
        line = line if line.endswith(b"\n") else line + b"\n"
        message = _parse_message(line)
        answer = None if self._handshake is None else self._handshake.answer(message)
        if answer is not None:
            self._to_client += answer
            if message.get("method") == "initialize":
                self._initialize = line
            return
        self._track_request(line, message)
        if self._server is None and "method" in message and "id" not in message and not self._to_server:
            return  # a notification does not start a server, and a new one has nothing to cancel
        if self._server is None and not self._start_search():
            self._fail_all(self._server_problem or SERVER_LOST)
            return
        self._to_server += line

    def _track_request(self, line: bytes, message: Mapping[str, object]) -> None:
        method = message.get("method")
        if method == "initialize":
            self._initialize = line
        elif method == "notifications/initialized":
            self._initialized = line
        elif method == "notifications/cancelled":
            params = message.get("params")
            self._in_flight.pop(_request_key(params.get("requestId") if isinstance(params, dict) else None), None)
        if method is not None and "id" in message:
            self._in_flight[_request_key(message["id"])] = message["id"]

    def _answer(self, request: object, code: int, reason: str) -> None:
        error = {"jsonrpc": "2.0", "id": request, "error": {"code": code, "message": reason}}
        self._to_client += json.dumps(error).encode() + b"\n"

    def _fail_all(self, reason: str) -> None:
        for request in self._in_flight.values():
            self._answer(request, _SERVER_ERROR_CODE, reason)
        self._in_flight.clear()

    def _write_client(self, events: int) -> None:
        try:
            if events & ~select.POLLOUT:
                raise BrokenPipeError
            written = os.write(
                _STDOUT, self._to_client if self._is_nonblocking else self._to_client[:_PROXY_WRITE_BYTES]
            )
        except BlockingIOError:
            return
        except OSError:
            # Nobody reads our answers: nothing is left to do.
            self._to_client.clear()
            self._leave_at = self._now()
            return
        del self._to_client[:written]
        self._client_seen_at = self._now()

    def _end_input(self, patience_s: float) -> None:
        """Accept no more requests; the server answers those in flight, then closes its end too."""
        if self._leave_at is None:
            self._leave_at = self._now() + patience_s
            self._half_close()

    def _half_close(self) -> None:
        if self._leave_at is not None and self._server is not None and not self._to_server:
            with suppress(OSError):
                self._server.shutdown(socket.SHUT_WR)

    # --- server ---

    def _adopt_server(self, connection: socket.socket) -> None:
        """Adopt the server and replay the client's handshake; drop its answer, which the client already has."""
        connection.setblocking(False)
        self._server = connection
        self._from_server = LineBuffer(limit=1 << 40)
        self._server_problem = ""
        self._had_server = True
        if (
            self._initialize is not None
            and (key := _request_key(_parse_message(self._initialize).get("id"))) not in self._in_flight
        ):
            self._dropped_answer_key = key
            self._to_server[:0] = self._initialize + self._initialized
        if self._leave_at is not None:
            self._leave_at = self._now() + _PROXY_LAST_ANSWERS_SECONDS
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
            data = self._server.recv(_PROXY_READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._lose_server()
            return
        self._receive_lines(data)
        if self._to_client and self._is_nonblocking:
            self._write_client(select.POLLOUT)

    def _receive_lines(self, data: bytes) -> None:
        for line in self._from_server.add_bytes(data):
            self._deliver(line or b"")

    def _deliver(self, line: bytes) -> None:
        if (key := _answered_request_key(line)) is not None:
            if key == self._dropped_answer_key:
                self._dropped_answer_key = None
                return
            self._in_flight.pop(key, None)
        self._to_client += line

    def _lose_server(self) -> None:
        """Fail all requests in flight; only the client can decide whether repeating them is safe."""
        assert self._server is not None
        self._server.close()
        self._server = None
        self._to_server.clear()
        self._fail_all(SERVER_LOST)

    def _start_search(self) -> bool:
        """Return whether a search for a server is running; after a failure, a new one starts only after a pause."""
        if self._searching is not None:
            return True
        if self._now() < self._retry_search_at or (self._leave_at is not None and self._had_server):
            return False
        try:
            self._searching = self._search()
        except OSError as error:
            self._report_no_server(f"cannot start a process: {error}")
            return False
        self._searching_since = self._now()
        return True

    def _end_search(self) -> None:
        assert self._searching is not None
        searching, self._searching = self._searching, None
        try:
            data, descriptors, *_ = socket.recv_fds(searching, _PROXY_READ_BYTES, 1)
        except OSError:
            data, descriptors = b"", []
        line, _, first = data.partition(b"\n")
        found = _parse_message(line)
        if found.get("own"):
            self._adopt_server(searching)
            self._receive_lines(first)
            return
        searching.close()
        if descriptors:
            self._adopt_server(socket.socket(fileno=descriptors[0]))
        elif "error" in found and not self._had_server:
            print(f"dowse: {found['error']}", file=sys.stderr)  # noqa: T201
            self._fail_all(str(found["error"]))
            self._exit_code = 2
            self._leave_at = self._now() + _PROXY_LAST_ANSWERS_SECONDS
        else:
            self._report_no_server(str(found.get("error", SERVER_START_FAILED)))

    def _report_no_server(self, reason: str) -> None:
        self._server_problem = f"no server: {reason}"
        self._retry_search_at = self._now() + _SEARCH_RETRY_SECONDS
        self._to_server.clear()
        self._fail_all(self._server_problem)


def _reopen_stdout() -> bool:
    """Reopen a stdout pipe as non-blocking without changing the ends of other processes; return whether that worked."""
    try:
        if sys.platform != "linux" or not stat.S_ISFIFO(os.fstat(_STDOUT).st_mode):
            return False
        again = os.open("/proc/self/fd/1", os.O_WRONLY | os.O_NONBLOCK)
        os.dup2(again, _STDOUT)
        os.close(again)
    except OSError:
        return False
    return True


def _answered_request_key(line: bytes) -> str | None:
    """Return the key of the request that this line answers; None if it is not an answer."""
    if begin := _ANSWER_PREFIX.match(line):
        return begin[1].decode()
    message = _parse_message(line)
    return _request_key(message["id"]) if "method" not in message and "id" in message else None


def _parse_message(line: bytes) -> Mapping[str, object]:
    """Parse the message; return an empty one if it is invalid, which the server will report."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}


def _request_key(request: object) -> str:
    """Return a key that keeps the number 1 and the text "1" apart."""
    return json.dumps(request)
