"""JSON over HTTP with the standard library: connections are kept, replies are bounded in size and time."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from urllib.parse import urlsplit

from dowse.encoders.http_replies import Failure, Reply, parsed
from dowse.errors import BadInput

CONNECT_S = 5.0
ANSWER_S = 120.0
# Two waits are three tries.
WAITS_S = (0.5, 2.0)
# 32 vectors of 8,192 numbers are 6 MB of JSON.
MAX_BYTES = 32_000_000
_KEY = re.compile(r"[!-~]*")


class Dropped(Failure):
    """The connection was lost after the request had been sent."""


class Transport:
    """One server. Several threads may ask at once: each takes a connection of its own."""

    def __init__(
        self,
        url: str,
        *,
        api_key: str = "",
        connect_s: float = CONNECT_S,
        answer_s: float = ANSWER_S,
        waits_s: Sequence[float] = WAITS_S,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if not _KEY.fullmatch(api_key):
            raise BadInput("the key of a server must be ASCII characters without spaces")
        self._parts = urlsplit(url)
        self._api_key = api_key
        self._connect_s = connect_s
        self._answer_s = answer_s
        self._waits_s = waits_s
        self._sleep = sleep
        self._answered = False
        self._idle: list[HTTPConnection] = []
        # Nobody closes an encoder, so its connections go when it does.
        weakref.finalize(self, _close_all, self._idle)

    @property
    def host(self) -> str:
        return self._parts.netloc

    def ask(self, path: str, question: object = None, *, patient: bool = True) -> object:
        """What the server answers to a question (POST), or without one (GET).

        What concerns all requests (no connection, too many requests) is tried again in any case, what may be due to
        this one (an error inside the server) only if patient.
        """
        for wait in self._waits_s:
            try:
                return self._once(path, question)
            except Failure as failure:
                if not failure.again or not (patient or failure.whole):
                    raise
                self._sleep(max(wait, failure.after_s))
        return self._once(path, question)

    def _once(self, path: str, question: object) -> object:
        body = None if question is None else json.dumps(question).encode()
        return parsed(self._exchange(path, body), secret=self._api_key)

    def _exchange(self, path: str, body: bytes | None) -> Reply:
        # A kept connection may have been closed by the server meanwhile; that is no failure.
        with suppress(IndexError, Dropped):
            return self._over(self._idle.pop(), path, body)
        return self._over(self._connected(), path, body)

    def _connected(self) -> HTTPConnection:
        make = HTTPSConnection if self._parts.scheme == "https" else HTTPConnection
        port = self._parts.port or make.default_port
        connection = make(self._parts.hostname or "", port, timeout=self._connect_s)
        try:
            connection.connect()
        except OSError as error:
            connection.close()
            reason = f"cannot be reached ({error}): start it, or name another one"
            # A server that has answered may be restarting; one that never has is not waited for.
            raise Failure(reason, again=self._answered, whole=True) from error
        connection.sock.settimeout(self._answer_s)
        return connection

    def _over(self, connection: HTTPConnection, path: str, body: bytes | None) -> Reply:
        with _deadline(connection.sock, self._answer_s) as late:
            try:
                connection.request("GET" if body is None else "POST", self._parts.path + path, body, self._headers())
                answer = connection.getresponse()
                content = answer.read(MAX_BYTES + 1)
            except (OSError, HTTPException) as error:
                connection.close()
                raise self._lost(error, late.is_set()) from error
        self._answered = True
        self._keep(connection, answer)
        if late.is_set():
            raise self._too_slow()
        if len(content) > MAX_BYTES:
            raise Failure(f"answered with more than {MAX_BYTES:,} bytes")
        if answer.length:
            raise Failure("broke off in the middle of its answer", again=True)
        return Reply(answer.status, content, answer.headers.get("Retry-After", ""))

    def _keep(self, connection: HTTPConnection, answer: HTTPResponse) -> None:
        if connection.sock is not None and answer.isclosed() and not answer.length:
            self._idle.append(connection)
        else:
            answer.close()
            connection.close()

    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "dowse"}
        return headers | {"Authorization": f"Bearer {self._api_key}"} if self._api_key else headers

    def _lost(self, error: Exception, is_late: bool) -> Failure:
        if is_late or isinstance(error, TimeoutError):
            return self._too_slow()
        return Dropped(f"broke off without a whole answer ({type(error).__name__})", again=True)

    def _too_slow(self) -> Failure:
        return Failure(f"did not answer within {self._answer_s:g} s", whole=True)


@contextmanager
def _deadline(connection: socket.socket, seconds: float) -> Iterator[threading.Event]:
    """Hangs up when time is over: the timeout of a socket begins anew with every byte a slow server sends."""
    over = threading.Event()

    def hang_up() -> None:
        over.set()
        with suppress(OSError):
            # The plain shutdown: that of TLS is not meant for another thread.
            socket.socket.shutdown(connection, socket.SHUT_RDWR)

    timer = threading.Timer(seconds, hang_up)
    timer.daemon = True
    timer.start()
    try:
        yield over
    finally:
        timer.cancel()


def _close_all(connections: list[HTTPConnection]) -> None:
    for connection in connections:
        connection.close()
