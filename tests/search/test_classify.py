"""What sort of query a text is: tables, and any text at all."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dowse.search.classify import (
    PASSAGE_CHARS,
    PASSAGE_WORDS,
    QueryIntent,
    QueryKind,
    QuerySubject,
    classify_intent,
    classify_query,
    classify_subject,
)

KINDS: dict[QueryKind, list[str]] = {
    "identifier": [
        "parseJson", "HTTPServer", "parse_json", "os.path.join", "std::vec", "ptr->next", "main()", "`run_target`",
        "MAX_TERMS", "E0308", "CVE-2024-1234", "--verbose", "-v", "@property", "$HOME", "__init__", "größe_max",
        "loadConfig saveConfig", '"getUserName"', "https://example.org/a/b",
    ],
    "path": [
        "src/dowse/model.py", "README.md", "./run", "../x", "~/notes", "/etc/passwd", "C:\\temp", "src/**/*.py",
        "docs/", "retry.py:42", "retry.py:42:7", "*.rs", "a\\b\\c", "Ünïcode.TXT", "`setup.cfg`",
    ],
    "keywords": [
        "", " \n", "retry backoff", "TCP/IP", "CI/CD", "APIs", "e.g.", "3.5", "猫", "exponential backoff retries",
        "API versioning", "what", "how long", "Retry", "?!a", "class action",
        "heat transfer laminar boundary layer cone slender body", "parseJson errors",
    ],
    "question": [
        "why?", "How do I add a tool", "what is retried", "¿cómo se hace?", "これは何ですか", "怎么安装", "这样可以吗",
        "ما هذا؟",
        "Τι είναι αυτό;", '"is it?"', "explain the cache", "what does `run_target` do", "어떻게 설치", "なぜ遅い。",
        "measurement of dielectric constant of liquids by microwave techniques",
    ],
    "passage": ["x" * (PASSAGE_CHARS + 1), "w " * (PASSAGE_WORDS + 1), "a?" * PASSAGE_CHARS],
}  # fmt: skip
INTENTS: dict[QueryIntent, list[str]] = {
    "factual": [
        "what does parseJson do", "use of max_terms", 'who wrote "five tries"', "the `retry` call",
        "python 3.11 support", "src/model.py", "E0308", "os.path in tests", "HTTPServer shutdown",
    ],
    "navigational": ["the installation guide", "[[Retry]] notes", "Which section is about caching?", "API docs"],
    "exploratory": [
        "", "how are requests retried?", "retry backoff", "cells in the liver", "guided tours", "APIs", "猫は何ですか",
        "x" * 10_000 + " parseJson",
    ],
}  # fmt: skip


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in KINDS.items() for text in texts])
def test_kind(kind: QueryKind, text: str) -> None:
    assert classify_query(text) == kind


@pytest.mark.parametrize(("wanted", "text"), [(wanted, text) for wanted, texts in INTENTS.items() for text in texts])
def test_intent(wanted: QueryIntent, text: str) -> None:
    assert classify_intent(text) == wanted


SUBJECTS: dict[QuerySubject, list[str]] = {
    "change": [
        "why did we cap the backoff", "Who changed the watcher?", "when was the retry added", "since when is this slow",
        "which commit removed the cache", "what changed in the parser", "the history of the lexer",
    ],
    "decision": [
        "what did we decide about retries", "what was agreed on jitter", "our convention for names",
        "decisions about the cache", "what do we remember of the outage",
    ],
    "usage": [
        "how to install it", "how do I configure retries", "what happens when it is killed", "can I use it offline",
        "which encoder is the default", "how to search commits", "best practices for retries",
    ],
    "task": [
        "return a file from an endpoint", "Send an email in the background", "test the client with several files",
    ],
    "explanation": ["how does the commit search work", "how does it decide which handler to call"],
    "workings": [
        "parseConfig", "src/http.py", "where are routes registered", "session management",
        "how are routes registered", "commit message parsing", "decision tree", "", "combining a list of reducers",
        "file upload handling", "where the cache is filled", "test client", "how a router is created",
    ],
    "report": ["the server crashed " * 30],
}  # fmt: skip


@pytest.mark.parametrize(("wanted", "text"), [(wanted, text) for wanted, texts in SUBJECTS.items() for text in texts])
def test_subject(wanted: QuerySubject, text: str) -> None:
    assert classify_subject(text) == wanted


TEXTS = st.one_of(
    st.text(max_size=400),
    st.text("aA_.-:/\\`\"'([?* 1", max_size=400),
    st.sampled_from('aA_.-:/\\`"([?*').map(lambda it: it * 299),
)


@given(TEXTS)
def test_any_text_is_of_one_kind(text: str) -> None:
    assert classify_query(text) in get_args(QueryKind)
    assert classify_intent(text) in get_args(QueryIntent)
    assert classify_subject(text) in get_args(QuerySubject)


@given(st.text(max_size=50), st.sampled_from([" ", "\n", "\t "]))
def test_space_around_a_query_says_nothing(text: str, space: str) -> None:
    assert classify_query(f"{space}{text}{space}") == classify_query(text)
    assert classify_intent(f"{space}{text}{space}") == classify_intent(text)
