"""An encoder behind an HTTP server (TEI, Ollama, OpenAI style)."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from dowse.encoders.choose import ServerName
from dowse.errors import BadInput, EncoderMissing
from dowse.text.unicode import replace_surrogates

if TYPE_CHECKING:
    from dowse.encoders.base import Matrix

# --------------------------------------------------------------------------------------------------
# Interpretation of a server's reply: its JSON, or the reason for a failure and whether to retry.

_MAX_SERVER_REASON_CHARS = 200
_MAX_WAIT_S = 30.0
# Statuses caused by the server, the key or the model, not by the texts that were sent.
_NEXT_STEPS: dict[int, str] = {
    HTTPStatus.UNAUTHORIZED: "check its key",
    HTTPStatus.FORBIDDEN: "check its key",
    HTTPStatus.NOT_FOUND: "check the model and the address",
    HTTPStatus.METHOD_NOT_ALLOWED: "check the kind and the address",
    HTTPStatus.TOO_MANY_REQUESTS: "try again later",
    HTTPStatus.SERVICE_UNAVAILABLE: "try again later",
}


class RequestFailure(Exception):
    """A failed request. The reason continues the sentence "the encoder server …".

    - `retryable`: the same request may succeed later.
    - `affects_server`: the problem affects every request to this server.
    - `retry_after_s`: the delay that the server asked for.
    """

    def __init__(
        self, reason: str, *, retryable: bool = False, affects_server: bool = False, retry_after_s: float = 0
    ) -> None:
        super().__init__(reason)
        self.retryable = retryable
        self.affects_server = affects_server
        self.retry_after_s = retry_after_s


@dataclass(frozen=True, slots=True)
class HttpReply:
    status: int
    content: bytes
    retry_after: str = ""


def parse_reply(reply: HttpReply, *, secret: str = "") -> object:
    """Return the JSON of a successful reply, with all numbers as floats; raise `RequestFailure` for any other."""
    if 200 <= reply.status < 300:
        return _parse_reply_json(reply.content)
    raise _failure_of_reply(reply, secret)


def _parse_reply_json(content: bytes) -> object:
    try:
        # Parse integers as floats, because huge ones would be slow to handle.
        return json.loads(content, parse_int=float)
    except (ValueError, RecursionError) as error:
        kind = "an HTML page" if content.lstrip()[:1] == b"<" else "something that is not JSON"
        raise RequestFailure(f"answered with {kind}: check the address") from error


def _failure_of_reply(reply: HttpReply, secret: str) -> RequestFailure:
    status = reply.status
    if 300 <= status < 400:
        return RequestFailure(
            f"answered {status}, a redirect, which is not followed: use the final address", affects_server=True
        )
    parts = (_server_message(reply.content, secret), _NEXT_STEPS.get(status, ""))
    return RequestFailure(
        f"answered {': '.join([str(status), *filter(None, parts)])}",
        retryable=status == HTTPStatus.TOO_MANY_REQUESTS or status >= 500,
        affects_server=status in _NEXT_STEPS,
        retry_after_s=_retry_after_seconds(reply.retry_after),
    )


def _server_message(content: bytes, secret: str) -> str:
    """Return the server's error message on one line, with the key removed."""
    try:
        message = json.loads(content)
    except (ValueError, RecursionError):
        return ""
    for name in ("error", "detail", "message"):
        message = message.get(name, message) if isinstance(message, dict) else message
    if not isinstance(message, str):
        return ""
    text = message.replace(secret, "…") if secret else message
    line = "".join(char for char in " ".join(text.split()) if char.isprintable())
    return line[:_MAX_SERVER_REASON_CHARS]


def _retry_after_seconds(text: str) -> float:
    return min(float(text), _MAX_WAIT_S) if text.isascii() and text.isdecimal() else 0.0


# --------------------------------------------------------------------------------------------------
# Embedding APIs of the three kinds of servers: requests, and where responses hold the vectors.

# Four times the dimension of any common model. A longer vector is not a text embedding.
MAX_VECTOR_DIMENSION = 16_384


@dataclass(frozen=True, slots=True)
class EmbeddingDialect:
    path: str
    question: Callable[[str, Sequence[str]], object]
    rows: Callable[[object], Sequence[object]]


def embedding_dialect(kind: str, url: str) -> EmbeddingDialect:
    if kind == "ollama":
        return EmbeddingDialect(
            "/api/embed",
            _truncating_embedding_request,
            lambda answer: _vector_list(_embedding_field(answer, "embeddings")),
        )
    if kind == "tei":
        return EmbeddingDialect("/embed", lambda _, texts: {"inputs": list(texts), "truncate": True}, _vector_list)
    # These addresses often include the version already.
    return EmbeddingDialect(
        "/embeddings" if url.endswith("/v1") else "/v1/embeddings", _embedding_request, _parse_openai_rows
    )


def normalize_rows(rows: Sequence[object], count: int, dimension: int | None = None) -> Matrix:
    """Normalise rows to unit vectors. Raise `RequestFailure` unless there are `count` finite rows of one dimension."""
    import numpy as np

    if len(rows) != count:
        raise RequestFailure(f"returned {len(rows)} vectors for {count} texts")
    numbers = [_vector_numbers(row) for row in rows]
    size = len(numbers[0]) if dimension is None else dimension
    if size > MAX_VECTOR_DIMENSION:
        raise RequestFailure(
            f"returned a vector of dimension {size:,}, more than {MAX_VECTOR_DIMENSION:,}: choose another model"
        )
    for row in numbers:
        if len(row) != size:
            raise RequestFailure(f"returned a vector of dimension {len(row)} instead of {size}")
    values = np.array(numbers, dtype=np.float64)
    with np.errstate(all="ignore"):
        norms = np.linalg.norm(values, axis=1, keepdims=True)
    if not (np.isfinite(norms).all() and norms.all()):
        raise RequestFailure("returned a vector that is zero or not finite")
    unit: Matrix = (values / norms).astype(np.float32)
    return unit


def _embedding_request(model: str, texts: Sequence[str]) -> object:
    return {"model": model, "input": list(texts)}


def _truncating_embedding_request(model: str, texts: Sequence[str]) -> object:
    # Documented as the default, but some versions reject long texts without it.
    return {"model": model, "input": list(texts), "truncate": True}


def _parse_openai_rows(answer: object) -> Sequence[object]:
    items = _vector_list(_embedding_field(answer, "data"))
    rows = {_embedding_field(item, "index"): _embedding_field(item, "embedding") for item in items}
    # JSON numbers are parsed as floats; 1.0 and 1 are the same key.
    if rows.keys() != set(range(len(items))):
        raise RequestFailure("returned vector indexes that are not 0, 1, 2 …")
    return [rows[place] for place in range(len(items))]


def _embedding_field(value: object, name: str) -> object:
    if not isinstance(value, dict) or name not in value:
        raise RequestFailure(f"returned no `{name}`: check the kind and the address")
    return value[name]


def _vector_list(value: object) -> Sequence[object]:
    if not isinstance(value, list):
        raise RequestFailure("returned no list of vectors: check the kind and the address")
    return value


def _vector_numbers(row: object) -> list[float]:
    if not isinstance(row, list) or not all(type(it) is float for it in row):
        raise RequestFailure("returned a vector that is not a list of numbers")
    return row


# --------------------------------------------------------------------------------------------------
# JSON over HTTP with the standard library: persistent connections, and replies limited in size and time.

CONNECT_TIMEOUT_S = 5.0
ANSWER_TIMEOUT_S = 120.0
# Two waits mean three attempts.
SERVER_RETRY_WAITS_S = (0.5, 2.0)
# 32 vectors of 8,192 numbers are 6 MB of JSON.
MAX_REPLY_BYTES = 32_000_000
_API_KEY = re.compile(r"[!-~]*")


class ConnectionDropped(RequestFailure):
    """The connection was lost after the request was sent."""


class HttpTransport:
    """Connections to one server. Thread-safe: each concurrent request uses its own connection."""

    def __init__(
        self,
        url: str,
        *,
        api_key: str = "",
        connect_s: float = CONNECT_TIMEOUT_S,
        answer_s: float = ANSWER_TIMEOUT_S,
        waits_s: Sequence[float] = SERVER_RETRY_WAITS_S,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if not _API_KEY.fullmatch(api_key):
            raise BadInput("a server key must be ASCII without spaces")
        self._parts = urlsplit(url)
        self._api_key = api_key
        self._connect_s = connect_s
        self._answer_s = answer_s
        self._waits_s = waits_s
        self._sleep = sleep
        self._answered = False
        self._idle: list[HTTPConnection] = []
        # Encoders have no close method, so connections are closed on garbage collection.
        weakref.finalize(self, _close_all, self._idle)

    @property
    def host(self) -> str:
        return self._parts.netloc

    def ask(self, path: str, question: object = None, *, patient: bool = True) -> object:
        """Send a request (POST with a question, else GET) and return the JSON of the reply.

        Failures that affect every request (no connection, rate limits) are always retried. Failures that this request
        may have caused (server errors) are retried only if patient.
        """
        for wait in self._waits_s:
            try:
                return self._request_once(path, question)
            except RequestFailure as failure:
                if not failure.retryable or not (patient or failure.affects_server):
                    raise
                self._sleep(max(wait, failure.retry_after_s))
        return self._request_once(path, question)

    def _request_once(self, path: str, question: object) -> object:
        body = None if question is None else json.dumps(question).encode()
        return parse_reply(self._exchange(path, body), secret=self._api_key)

    def _exchange(self, path: str, body: bytes | None) -> HttpReply:
        # The server may have closed an idle connection meanwhile; that is not a failure.
        with suppress(IndexError, ConnectionDropped):
            return self._send(self._idle.pop(), path, body)
        return self._send(self._connect(), path, body)

    def _connect(self) -> HTTPConnection:
        make = HTTPSConnection if self._parts.scheme == "https" else HTTPConnection
        port = self._parts.port or make.default_port
        connection = make(self._parts.hostname or "", port, timeout=self._connect_s)
        try:
            connection.connect()
        except OSError as error:
            connection.close()
            reason = f"cannot be reached ({error}): start it or choose another"
            # A server that has answered before may be restarting. One that never has is not retried.
            raise RequestFailure(reason, retryable=self._answered, affects_server=True) from error
        connection.sock.settimeout(self._answer_s)
        return connection

    def _send(self, connection: HTTPConnection, path: str, body: bytes | None) -> HttpReply:
        with _total_timeout(connection.sock, self._answer_s) as timed_out:
            try:
                connection.request("GET" if body is None else "POST", self._parts.path + path, body, self._headers())
                answer = connection.getresponse()
                content = answer.read(MAX_REPLY_BYTES + 1)
            except (OSError, HTTPException) as error:
                connection.close()
                raise self._connection_failure(error, timed_out.is_set()) from error
        self._answered = True
        self._release(connection, answer)
        if timed_out.is_set():
            raise self._timeout_failure()
        if len(content) > MAX_REPLY_BYTES:
            raise RequestFailure(f"returned more than {MAX_REPLY_BYTES:,} bytes")
        if answer.length:
            raise RequestFailure("closed the connection in the middle of its answer", retryable=True)
        return HttpReply(answer.status, content, answer.headers.get("Retry-After", ""))

    def _release(self, connection: HTTPConnection, answer: HTTPResponse) -> None:
        if connection.sock is not None and answer.isclosed() and not answer.length:
            self._idle.append(connection)
        else:
            answer.close()
            connection.close()

    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "dowse"}
        return headers | {"Authorization": f"Bearer {self._api_key}"} if self._api_key else headers

    def _connection_failure(self, error: Exception, is_late: bool) -> RequestFailure:
        if is_late or isinstance(error, TimeoutError):
            return self._timeout_failure()
        return ConnectionDropped(
            f"closed the connection without a complete answer ({type(error).__name__})", retryable=True
        )

    def _timeout_failure(self) -> RequestFailure:
        return RequestFailure(f"did not answer within {self._answer_s:g} s", affects_server=True)


@contextmanager
def _total_timeout(connection: socket.socket, seconds: float) -> Iterator[threading.Event]:
    """Close the connection after a total time. A socket timeout restarts with every byte a slow server sends."""
    over = threading.Event()

    def hang_up() -> None:
        over.set()
        with suppress(OSError):
            # Use the plain shutdown: that of TLS is not thread-safe.
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


# --------------------------------------------------------------------------------------------------

# The default maximum of TEI.
EMBEDDING_BATCH_SIZE = 32
# A text that every server can encode. It reveals the dimension, and whether a failure is due to the server or a text.
PROBE_TEXT = "dowse"
# A text refused even at this length is not refused for its length.
MIN_TRUNCATED_CHARS = 200


@dataclass(frozen=True, slots=True)
class SkippedText:
    """A text without a vector: its position and the reason."""

    position: int
    reason: str


@dataclass(frozen=True, slots=True)
class EncodedTexts:
    rows: Matrix
    skipped: list[SkippedText] = field(default_factory=list)


class HttpEncoder:
    """A remote encoder. The server is first contacted when its dimension is needed. Thread-safe."""

    def __init__(self, server: ServerName, transport: HttpTransport, *, batch: int = EMBEDDING_BATCH_SIZE) -> None:
        self._server = server
        self._transport = transport
        self._batch = batch
        self._dialect = embedding_dialect(server.kind, server.url)
        self._lock = threading.Lock()
        self._identity: tuple[str, int] | None = None
        self._skipped: list[SkippedText] = []

    @property
    def name(self) -> str:
        return str(self._server)

    @property
    def fingerprint(self) -> str:
        model, dimension = self._identify()
        return f"{self._server.kind}:{model}:{dimension}"

    @property
    def dimension(self) -> int:
        return self._identify()[1]

    def encode(self, texts: Sequence[str]) -> Matrix:
        """Encode texts. A text that the server cannot encode also gets a zero row; see `take_problem`."""
        encoded = self.try_encode(texts)
        self._skipped.extend(encoded.skipped)
        return encoded.rows

    def take_problem(self) -> str:
        """Return and clear a sentence about the texts skipped since the last call; empty if there were none."""
        skipped = self._skipped[:]
        del self._skipped[: len(skipped)]
        if not skipped:
            return ""
        texts = "1 text has" if len(skipped) == 1 else f"{len(skipped)} texts have"
        return f"{texts} no vector: the encoder server {self._transport.host} {skipped[-1].reason}"

    def try_encode(self, texts: Sequence[str]) -> EncodedTexts:
        """Return a row per text, and the texts whose row is zero because the server failed on them."""
        import numpy as np

        encoded = EncodedTexts(np.zeros((len(texts), self.dimension), dtype=np.float32))
        # Strict servers reject the whole request for a lone surrogate.
        non_blank = [
            (place, replace_surrogates(text)) for place, text in enumerate(texts) if text and not text.isspace()
        ]
        for start in range(0, len(non_blank), self._batch):
            self._encode_batch(encoded, non_blank[start : start + self._batch], patient=True)
        return encoded

    def _encode_batch(self, encoded: EncodedTexts, batch: list[tuple[int, str]], *, patient: bool) -> None:
        try:
            rows = self._request_rows([text for _, text in batch], self.dimension, patient=patient)
            encoded.rows[[place for place, _ in batch]] = rows
        except RequestFailure as failure:
            if failure.affects_server:
                raise self._missing_error(failure) from failure
            if len(batch) == 1:
                self._encode_truncated(encoded, *batch[0], failure)
                return
            middle = len(batch) // 2
            # Halving the batch is the retry.
            self._encode_batch(encoded, batch[:middle], patient=False)
            self._encode_batch(encoded, batch[middle:], patient=False)

    def _encode_truncated(self, encoded: EncodedTexts, place: int, text: str, failure: RequestFailure) -> None:
        """Retry one text with half its length. Servers report texts that are too long in many ways, so any failure may
        be one."""
        self._check_server()
        while not failure.affects_server and len(text) > MIN_TRUNCATED_CHARS:
            text = text[: len(text) // 2]
            try:
                encoded.rows[place] = self._request_rows([text], self.dimension, patient=False)[0]
                return
            except RequestFailure as again:
                failure = again
        if failure.affects_server:
            raise self._missing_error(failure) from failure
        encoded.skipped.append(SkippedText(place, str(failure)))

    def _check_server(self) -> None:
        """Raise if the server fails on another text too, or if its dimension has changed: then the text is not at
        fault."""
        dimension = self._probe()
        if dimension != self.dimension:
            raise self._missing_error(
                f"now returns vectors of dimension {dimension} instead of {self.dimension}: "
                "run `dowse index` to rebuild all vectors"
            )

    def _request_rows(self, texts: list[str], dimension: int | None, *, patient: bool = True) -> Matrix:
        question = self._dialect.question(self._server.model, texts)
        answer = self._transport.ask(self._dialect.path, question, patient=patient)
        return normalize_rows(self._dialect.rows(answer), len(texts), dimension)

    # --- identity -------------------------------------------------------------------------------

    def _identify(self) -> tuple[str, int]:
        if self._identity is None:
            dimension = self._probe()
            identity = self._server.model or self._fetch_model_name(), dimension
            # The server is asked outside the lock, so that threads do not wait for each other's timeouts. The first
            # result wins.
            with self._lock:
                self._identity = self._identity or identity
        return self._identity

    def _probe(self) -> int:
        """Return the server's current dimension."""
        try:
            return int(self._request_rows([PROBE_TEXT], None).shape[1])
        except RequestFailure as failure:
            raise self._missing_error(failure) from failure

    def _fetch_model_name(self) -> str:
        """Return the model name that a single-model server reports, or else its address."""
        try:
            about = self._transport.ask("/info")
        except RequestFailure:
            return self._server.url
        model = about.get("model_id") if isinstance(about, dict) else None
        return model if isinstance(model, str) and model else self._server.url

    def _missing_error(self, reason: RequestFailure | str) -> EncoderMissing:
        return EncoderMissing(f"the encoder server {self._transport.host} {reason}")
