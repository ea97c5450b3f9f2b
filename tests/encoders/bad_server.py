"""A server that speaks badly on purpose, over a real socket; the fixture `serve` starts it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from dowse.encoders.choose import ENCODER_SERVERS
from dowse.encoders.http import MAX_REPLY_BYTES, HttpEncoder, HttpTransport

GOOD = [3.0, 4.0]


@dataclass
class Seen:
    """What reached the server."""

    texts: list[list[str]] = field(default_factory=list)
    clients: set[tuple[str, int]] = field(default_factory=set)
    keys: set[str | None] = field(default_factory=set)


class Request(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    behave: Callable[[Request, list[str]], None]
    seen: Seen
    info: bytes | None

    def do_POST(self) -> None:
        texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["inputs"]
        self.seen.texts.append(texts)
        self.seen.clients.add(self.client_address)
        self.seen.keys.add(self.headers["Authorization"])
        self.behave(texts)

    def do_GET(self) -> None:
        self.answer(404 if self.info is None else 200, self.info or b"")

    def log_message(self, *_: object) -> None:
        """Quiet."""

    def answer(self, status: int, content: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content_Length": str(len(content)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(content)

    def rows(self, rows: list[object]) -> None:
        self.answer(200, json.dumps(rows).encode())


@dataclass
class Place:
    url: str
    seen: Seen
    slept: list[float] = field(default_factory=list)

    def encoder(self, *, batch: int = 8, api_key: str = "", **limits: float) -> HttpEncoder:
        server = ENCODER_SERVERS.parse(f"tei:{self.url}")
        transport = HttpTransport(server.url, api_key=api_key, sleep=self.slept.append, **limits)
        return HttpEncoder(server, transport, batch=batch)


@pytest.fixture
def serve() -> Iterator[Callable[..., Place]]:
    servers: list[ThreadingHTTPServer] = []

    def start(behave: Callable[[Request, list[str]], None], info: bytes | None = None) -> Place:
        seen = Seen()
        one = type("One", (Request,), {"behave": behave, "seen": seen, "info": info})
        server = ThreadingHTTPServer(("127.0.0.1", 0), one)
        # A thread may still be waiting on a connection that is kept.
        server.daemon_threads, server.block_on_close = True, False
        servers.append(server)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        return Place(f"http://127.0.0.1:{server.server_port}", seen)

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def good(request: Request, texts: list[str]) -> None:
    request.rows([GOOD for _ in texts])


def after_probe(behave: Callable[[Request, list[str]], None]) -> Callable[[Request, list[str]], None]:
    """Good once, so that the encoder knows its dimension, then as told."""

    def both(request: Request, texts: list[str]) -> None:
        (good if len(request.seen.texts) == 1 else behave)(request, texts)

    return both


def html(request: Request, texts: list[str]) -> None:
    request.answer(200, b"<!doctype html><h1>Sign in</h1>", Content_Type="text/html")


def redirect(request: Request, texts: list[str]) -> None:
    request.answer(307, b"", Location="http://elsewhere.invalid/embed")


def cut_short(request: Request, texts: list[str]) -> None:
    request.answer(200, b"[[3.0, 4", Content_Length="100")
    request.close_connection = True


def cut_chunk(request: Request, texts: list[str]) -> None:
    request.send_response(200)
    request.send_header("Transfer-Encoding", "chunked")
    request.end_headers()
    request.wfile.write(b"ff\r\n[[3.0")
    request.close_connection = True


def hang_up(request: Request, texts: list[str]) -> None:
    request.close_connection = True


def babble(request: Request, texts: list[str]) -> None:
    request.wfile.write(b"220 smtp ready\r\n")
    request.close_connection = True


def endless(request: Request, texts: list[str]) -> None:
    request.close_connection = True
    request.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
    try:
        for _ in range(MAX_REPLY_BYTES // 1_000_000 + 2):
            request.wfile.write(b" " * 1_000_000)
    except OSError:
        return


def status(code: int) -> Callable[[Request, list[str]], None]:
    return lambda request, texts: request.answer(code, b'{"error": "no s3cret here"}')


def fixed(*rows: object) -> Callable[[Request, list[str]], None]:
    return lambda request, texts: request.rows(list(rows))


def failing_on(word: str, behave: Callable[[Request, list[str]], None]) -> Callable[[Request, list[str]], None]:
    def one(request: Request, texts: list[str]) -> None:
        (behave if any(word in text for text in texts) else good)(request, texts)

    return one


def nan_for_bad(request: Request, texts: list[str]) -> None:
    request.rows([[float("nan"), 0.0] if "bad" in text else GOOD for text in texts])


def short_for_bad(request: Request, texts: list[str]) -> None:
    request.rows([[1.0] if "bad" in text else GOOD for text in texts])


def zero_for_bad(request: Request, texts: list[str]) -> None:
    request.rows([[0.0, 0.0] if "bad" in text else GOOD for text in texts])


def one_too_few(request: Request, texts: list[str]) -> None:
    request.rows([GOOD for _ in texts[1:]])
