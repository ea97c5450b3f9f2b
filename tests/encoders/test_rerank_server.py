"""Rerankers that are servers: what they are asked, and what a bad one can answer."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from dowse.encoders.choose import RERANKER_SERVERS, ServerName
from dowse.encoders.http import HttpTransport
from dowse.encoders.rerank import HttpReranker
from dowse.errors import BadInput, EncoderMissing

TEXTS = ["a", "bbb", "cc"]


class Peer(ThreadingHTTPServer):
    """Answers every question with what it is told to, and remembers the questions."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Talk)
        self.status = 200
        self.answer: object = None
        self.asked: list[tuple[str, dict[str, object], str]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def body(self, question: dict[str, object]) -> bytes:
        answer = self.answer(question) if callable(self.answer) else self.answer
        return answer if isinstance(answer, bytes) else json.dumps(answer).encode()


class _Talk(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Peer

    def do_POST(self) -> None:
        question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, question, self.headers.get("Authorization", "")))
        body = self.server.body(question)
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(body) + (100 if body.endswith(b"cut") else 0)))
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = body.endswith(b"cut")

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def peer() -> Iterator[Peer]:
    with Peer() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def reranker(peer: Peer, name: str = "tei:{}", key: str = "", batch: int = 32) -> HttpReranker:
    server = RERANKER_SERVERS.parse(name.format(peer.url))
    return HttpReranker(server, HttpTransport(server.url, api_key=key, answer_s=5, waits_s=()), batch=batch)


def by_length(question: dict[str, object]) -> object:
    """Best first, as TEI does."""
    texts = question["texts"]
    assert isinstance(texts, list)
    return sorted(
        ({"index": place, "score": len(text)} for place, text in enumerate(texts)), key=lambda it: -it["score"]
    )


def test_tei_is_asked_and_understood(peer: Peer) -> None:
    peer.answer = by_length
    assert reranker(peer, key="s3cret").judge("q", TEXTS) == [1.0, 3.0, 2.0]
    question = {"query": "q", "texts": TEXTS, "truncate": True, "raw_scores": True}
    assert peer.asked == [("/rerank", question, "Bearer s3cret")]


def test_the_way_of_cohere_is_asked_and_understood(peer: Peer) -> None:
    peer.answer = {"results": [{"index": 1, "relevance_score": 0.5}, {"index": 0, "relevance_score": -1}]}
    assert reranker(peer, "cohere:BAAI/bge@{}/v1").judge("q", ["a\ud800", "b"]) == [-1.0, 0.5]
    question = {"model": "BAAI/bge", "query": "q", "documents": ["a?", "b"], "return_documents": False}
    assert peer.asked == [("/v1/rerank", question, "")]


@pytest.mark.parametrize(("count", "asked"), [(0, []), (1, [1]), (2, [2]), (5, [2, 2, 1])])
def test_many_texts_are_asked_about_in_parts(peer: Peer, count: int, asked: list[int]) -> None:
    peer.answer = by_length
    texts = ["x" * (number + 1) for number in range(count)]
    assert reranker(peer, batch=2).judge("q", texts) == [float(len(text)) for text in texts]
    assert [len(question["texts"]) for _, question, _ in peer.asked] == asked


GOOD = [{"index": 0, "score": 1.0}, {"index": 1, "score": 2.0}, {"index": 2, "score": 3.0}]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (GOOD[:2], r"for each of 3 texts \(2 scores\)"),
        ([*GOOD, GOOD[0]], r"for each of 3 texts \(4 scores\)"),
        ([GOOD[0], GOOD[0], GOOD[1]], "did not return exactly one score for each"),
        ([*GOOD[:2], {"index": 3, "score": 1.0}], "did not return exactly one score for each"),
        ([*GOOD[:2], {"index": -1, "score": 1.0}], "did not return exactly one score for each"),
        ([*GOOD[:2], {"index": 1.5, "score": 1.0}], "did not return exactly one score for each"),
        ([*GOOD[:2], {"index": None, "score": 1.0}], "did not return exactly one score for each"),
        ([*GOOD[:2], {"index": [2], "score": 1.0}], "an index that is not a number"),
        ([*GOOD[:2], {"index": {}, "score": 1.0}], "an index that is not a number"),
        ([*GOOD[:2], {"index": 2}], "returned no `score`"),
        ([*GOOD[:2], {"score": 1.0}], "returned no `index`"),
        ([*GOOD[:2], {"index": 2, "score": "3"}], "a score that is not a number"),
        ([*GOOD[:2], {"index": 2, "score": True}], "a score that is not a number"),
        ([*GOOD[:2], {"index": 2, "score": None}], "a score that is not a number"),
        ([*GOOD[:2], 7], "returned no `index`"),
        ({"results": GOOD}, "returned no list of scores"),
        (None, "returned no list of scores"),
        ("text", "returned no list of scores"),
        (b"", "not JSON"),
        (b"<html>", "an HTML page"),
        (b"[" * 100_000, "not JSON"),
        (b'[{"index": 0, cut', "closed the connection"),
    ],
)
def test_what_makes_no_sense_is_told(peer: Peer, answer: object, reason: str) -> None:
    peer.answer = answer
    with pytest.raises(EncoderMissing, match=reason) as caught:
        reranker(peer).judge("q", TEXTS)
    assert str(caught.value).startswith(f"the reranker server {peer.url.removeprefix('http://')} ")


@pytest.mark.parametrize(("status", "reason"), [(401, "check its key"), (404, "answered 404"), (500, "answered 500")])
def test_a_refusal_is_told_without_the_key(peer: Peer, status: int, reason: str) -> None:
    peer.status, peer.answer = status, {"error": "no s3cret for you"}
    with pytest.raises(EncoderMissing, match=reason) as caught:
        reranker(peer, key="s3cret").judge("q", TEXTS)
    assert "s3cret" not in str(caught.value)


def test_a_server_that_is_not_there_is_told(peer: Peer) -> None:
    gone = HttpReranker(ServerName("tei", "", "http://127.0.0.1:1"), HttpTransport("http://127.0.0.1:1", waits_s=()))
    with pytest.raises(EncoderMissing, match=r"the reranker server 127\.0\.0\.1:1 cannot be reached"):
        gone.judge("q", TEXTS)


# --- names ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("tei:http://localhost:8087", ServerName("tei", "", "http://localhost:8087")),
        ("tei:https://host/path/", ServerName("tei", "", "https://host/path")),
        (
            "cohere:BAAI/bge-reranker@http://[::1]:7997/v1",
            ServerName("cohere", "BAAI/bge-reranker", "http://[::1]:7997/v1"),
        ),
    ],
)
def test_names(name: str, expected: ServerName) -> None:
    assert RERANKER_SERVERS.has(name)
    assert RERANKER_SERVERS.parse(name) == expected
    assert RERANKER_SERVERS.parse(str(expected)) == expected


@pytest.mark.parametrize(
    "name",
    [
        "tei:", "tei:localhost:8087", "tei:ftp://host", "tei:http://", "tei:http://:80", "tei:http://host:0",
        "tei:http://host:99999", "tei:http://host:x", "tei:http://[::1", "tei:http://u:pa55word@host",
        "tei:http://host?pa55word", "tei:http://host#pa55word", "tei:http://ho st", "tei:http://hôst",
        "tei:file:///etc/passwd", "cohere:http://host", "cohere:@http://host", "cohere:m", "cohere:a b@http://host",
        f"tei:http://{'x' * 600}",
    ],
)  # fmt: skip
def test_wrong_names_are_refused_and_not_repeated(name: str) -> None:
    with pytest.raises(BadInput, match=r"must look like (tei:URL|cohere:MODEL@URL), where") as caught:
        RERANKER_SERVERS.parse(name)
    assert "pa55word" not in str(caught.value)


@pytest.mark.parametrize("name", ["cross", "", "http://host", "Tei:http://host"])
def test_other_names_are_no_servers(name: str) -> None:
    assert not RERANKER_SERVERS.has(name)
