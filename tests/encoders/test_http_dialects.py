"""Requests and replies of the three kinds of servers, as tables."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dowse.encoders.http import (
    MAX_VECTOR_DIMENSION,
    HttpReply,
    RequestFailure,
    embedding_dialect,
    normalize_rows,
    parse_reply,
)

OLLAMA = {"model": "m", "embeddings": [[1.0], [2.0]], "total_duration": 14}
OPENAI = {
    "object": "list",
    "data": [{"index": 1, "embedding": [2]}, {"index": 0, "embedding": [1]}],
    "usage": {"total_tokens": 2},
}


@pytest.mark.parametrize(
    ("kind", "url", "path", "question"),
    [
        ("ollama", "http://box", "/api/embed", {"model": "m", "input": ["a", "b"], "truncate": True}),
        ("tei", "http://box", "/embed", {"inputs": ["a", "b"], "truncate": True}),
        ("openai", "http://box", "/v1/embeddings", {"model": "m", "input": ["a", "b"]}),
        ("openai", "http://box/v1", "/embeddings", {"model": "m", "input": ["a", "b"]}),
    ],
)
def test_a_kind_is_asked_its_way(kind, url, path, question):
    dialect = embedding_dialect(kind, url)
    assert (dialect.path, dialect.question("m", ("a", "b"))) == (path, question)


@pytest.mark.parametrize(("kind", "answer"), [("ollama", OLLAMA), ("tei", [[1], [2]]), ("openai", OPENAI)])
def test_rows_come_in_the_order_of_the_texts(kind, answer):
    read = parse_reply(HttpReply(200, json.dumps(answer).encode()))
    assert embedding_dialect(kind, "").rows(read) == [[1.0], [2.0]]


@pytest.mark.parametrize(
    ("kind", "answer"),
    [
        *[(kind, answer) for kind in ("ollama", "tei", "openai") for answer in (None, True, 1.0, "text", {})],
        ("ollama", {"embeddings": None}),
        ("ollama", {"embedding": [1.0]}),
        ("ollama", [[1.0]]),
        ("tei", {"error": "overloaded"}),
        ("openai", {"data": {}}),
        ("openai", {"data": [[1.0]]}),
        ("openai", {"data": [{"index": 0.0}]}),
        ("openai", {"data": [{"embedding": [1.0]}]}),
        ("openai", {"data": [{"index": 1.0, "embedding": [1.0]}]}),
        ("openai", {"data": [{"index": 0.0, "embedding": [1.0]}, {"index": 0.0, "embedding": [1.0]}]}),
    ],
)
def test_another_shape_is_a_failure(kind, answer):
    with pytest.raises(RequestFailure):
        embedding_dialect(kind, "").rows(answer)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([], "0 vectors for 1 texts"),
        ([[1.0], [1.0]], "2 vectors for 1 texts"),
        ([[1.0, 2.0, 3.0]], "dimension 3 instead of 2"),
        ([[]], "dimension 0 instead of 2"),
        ([[0.0, 0.0]], "zero or not finite"),
        ([[1.0, math.nan]], "zero or not finite"),
        ([[1.0, math.inf]], "zero or not finite"),
        ([[1e300, 1e300]], "zero or not finite"),
        ([[1.0, None]], "not a list of numbers"),
        ([[1.0, True]], "not a list of numbers"),
        ([["1", "2"]], "not a list of numbers"),
        ([[[1.0], [2.0]]], "not a list of numbers"),
        (["text"], "not a list of numbers"),
    ],
)
def test_a_bad_row_is_a_failure(rows, reason):
    with pytest.raises(RequestFailure, match=reason):
        normalize_rows(rows, 1, 2)


def test_an_empty_vector_is_no_dimension():
    with pytest.raises(RequestFailure, match="zero"):
        normalize_rows([[]], 1)


def test_a_vector_is_no_longer_than_any_model_gives_them():
    assert normalize_rows([[1.0] * MAX_VECTOR_DIMENSION], 1).shape == (1, MAX_VECTOR_DIMENSION)
    with pytest.raises(RequestFailure, match=r"dimension 16,385, more than 16,384: choose another model"):
        normalize_rows([[1.0] * (MAX_VECTOR_DIMENSION + 1)], 1)


@given(st.lists(st.floats(-1e6, 1e6).filter(lambda value: value == 0 or abs(value) > 1e-6), min_size=1).filter(any))
def test_rows_become_unit_vectors_of_the_same_direction(row):
    unit = normalize_rows([row], 1)[0].astype(np.float64)
    assert unit @ unit == pytest.approx(1, abs=1e-5)
    assert unit @ np.array(row) == pytest.approx(np.linalg.norm(row), rel=1e-5)


@pytest.mark.parametrize(
    "content",
    [b"", b"[[1.0", b"\xff\xfe", b"[" * 100_000, b'{"a": 1} trailing'],
    ids=["empty", "cut", "bytes", "deep", "trailing"],
)
def test_what_is_not_json_is_a_failure(content):
    with pytest.raises(RequestFailure, match="not JSON"):
        parse_reply(HttpReply(200, content))


def test_a_number_of_any_length_is_a_float():
    assert parse_reply(HttpReply(200, b"[" + b"9" * 5000 + b"]")) == [math.inf]


@pytest.mark.parametrize(
    ("status", "content", "reason"),
    [
        (404, b'{"error": "model \\"m\\" not found"}', 'answered 404: model "m" not found: check the model'),
        (500, b'{"error": {"message": "out of memory"}}', "answered 500: out of memory"),
        (422, b'{"detail": "too\\n\\u001b[31mlong"}', "answered 422: too [31mlong"),
        (422, b'{"detail": [{"msg": "x"}]}', "answered 422"),
        (500, b"<html>oops</html>", "answered 500"),
        (400, b'{"error": "bad key s3cret"}', "answered 400: bad key …"),
        (401, b"", "answered 401: check its key"),
        (599, b"", "answered 599"),
        (307, b"", "answered 307, a redirect"),
    ],
)
def test_an_error_tells_what_the_server_says_on_one_line_without_the_key(status, content, reason):
    with pytest.raises(RequestFailure) as caught:
        parse_reply(HttpReply(status, content), secret="s3cret")
    assert str(caught.value).startswith(reason)


@pytest.mark.parametrize(("header", "seconds"), [("7", 7), ("100000", 30), ("", 0), ("-1", 0), ("Mon, 1 Jan", 0)])
def test_a_server_may_ask_for_a_pause_but_not_for_a_long_one(header, seconds):
    with pytest.raises(RequestFailure) as caught:
        parse_reply(HttpReply(429, b"", header))
    assert caught.value.retry_after_s == seconds
