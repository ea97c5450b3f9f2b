"""An index whose encoder is a server that misbehaves: words go on answering, and everything says why."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from bad_server import (
    GOOD,
    Place,
    Request,
    Seen,
    cut_short,
    failing_on,
    fixed,
    good,
    hang_up,
    html,
    nan_for_bad,
    one_too_few,
    redirect,
    short_for_bad,
    status,
    zero_for_bad,
)

from dowse.config import Settings
from dowse.encoders import choose
from dowse.encoders.cache import VectorCache, cache_file
from dowse.encoders.http import HttpTransport
from dowse.engine import Engine
from dowse.model import Query
from dowse.paths import DataPaths
from dowse.tools.core_render import search_reply, status_json
from support import OpenEngine, write

Behave = Callable[[Request, list[str]], None]
KEY = "s3cret"
SLOW_S = 1.5
FILES = {
    f"{name}.md": f"# {name.title()}\n\n{name} purr and sleep, number {name}\n" for name in ("cats", "dogs", "owls")
}


@pytest.fixture(autouse=True)
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Waits are written down instead of waited for."""
    waits: list[float] = []
    monkeypatch.setitem(HttpTransport.__init__.__kwdefaults__, "sleep", waits.append)
    patience(monkeypatch, 60.0)
    return waits


def patience(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Slow is what takes longer; a good server may take its time, on a busy machine."""
    monkeypatch.setitem(HttpTransport.__init__.__kwdefaults__, "answer_s", seconds)
    monkeypatch.setattr(choose, "QUERY_SERVER_TIMEOUT_S", seconds)


def semantic_note(engine: Engine, text: str = "cats purr") -> str:
    """The note of the step, of a hybrid search that must find the right file by its words."""
    answer = engine.search(Query(text))
    assert answer.hits[0].stored.record.path == "cats.md"
    return next(it.note for it in answer.steps if it.name == "semantic")


def busy(request: Request, texts: list[str]) -> None:
    request.answer(429, b"", Retry_After="7")


def silent(request: Request, texts: list[str]) -> None:
    threading.Event().wait(2 * SLOW_S)
    request.close_connection = True


def wider(request: Request, texts: list[str]) -> None:
    request.rows([[1.0, 2.0, 3.0] for _ in texts])


def endless_numbers(request: Request, texts: list[str]) -> None:
    request.answer(200, b"[[1e999, 1.0]]")


BAD: dict[str, tuple[Behave, str]] = {
    "html": (html, "an HTML page"),
    "redirect": (redirect, "a redirect, which is not followed"),
    "truncated": (cut_short, "closed the connection in the middle"),
    "hangs up": (hang_up, "closed the connection without a complete answer"),
    "slow": (silent, r"did not answer within 1\.5 s"),
    "error": (status(500), "answered 500"),
    "busy": (busy, "answered 429: try again later"),
    "no key": (status(401), "answered 401: .*check its key"),
    "too few": (fixed(), "0 vectors for 1 texts"),
    "too many": (fixed(GOOD, GOOD), "2 vectors for 1 texts"),
    "nan": (fixed([float("nan"), 1.0]), "zero or not finite"),
    "inf": (endless_numbers, "zero or not finite"),
    "zero": (fixed([0.0, 0.0]), "zero or not finite"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_server_that_is_bad_from_the_start(
    serve: Callable[..., Place],
    root: Path,
    open_engine: OpenEngine,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    behave, reason = BAD[name]
    if behave is silent:
        patience(monkeypatch, SLOW_S)
    write(root, FILES)
    engine = open_engine(encoder=f"tei:{serve(behave).url}", encoder_key=KEY)
    report = engine.index([root])
    assert report.indexed == 3
    (note,) = report.notes
    assert note.startswith("no vectors were made: the encoder server 127.0.0.1:")
    assert semantic_note(engine) == "skipped: the index has no vectors yet; run `dowse index`"
    assert_told(engine, reason)
    assert engine.status().counts.vectors == 0


def assert_told(engine: Engine, reason: str) -> None:
    told = engine.status()
    assert told.encoder.startswith("tei:http://127.0.0.1:")
    assert re.search(f"text is sent to http://127.*; but the encoder server 127.*{reason}", told.encoder_why)
    shown = (
        json.dumps(status_json(told, engine))
        + repr(engine.settings)
        + str(search_reply(engine.search(Query("cats")), 2_000, True, ""))
    )
    assert KEY not in shown


@pytest.mark.parametrize("name", BAD)
def test_a_server_that_becomes_bad(
    serve: Callable[..., Place],
    root: Path,
    open_engine: OpenEngine,
    name: str,
    slept: list[float],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    behave, reason = BAD[name]
    if behave is silent:
        patience(monkeypatch, SLOW_S)
    is_good = threading.Event()
    is_good.set()
    place = serve(lambda request, texts: (good if is_good.is_set() else behave)(request, texts))
    write(root, FILES)
    engine = open_engine(encoder=f"tei:{place.url}", encoder_key=KEY)
    assert engine.index([root]).notes == []
    assert semantic_note(engine) == ""
    is_good.clear()
    note = semantic_note(engine)
    assert note.startswith("skipped: ") and "the encoder server 127.0.0.1:" in note
    assert slept == []  # a question does not wait for another try
    assert_told(engine, reason)
    write(root, {"new.md": "# New\n\nbrand new words\n"})
    report = engine.index([root])
    assert report.indexed == 1 and "no vectors were made" in report.notes[0]
    assert [it.stored.record.path for it in engine.search(Query("brand", recipe="lexical")).hits] == ["new.md"]
    assert "3 of 4 chunks have vectors from tei:" in engine.search(Query("brand")).completeness.notes[0]
    assert engine.status().counts.vectors == 3


def test_nobody_is_listening(root: Path, open_engine: OpenEngine) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    write(root, FILES)
    engine = open_engine(encoder=f"tei:http://127.0.0.1:{port}")
    assert "cannot be reached" in engine.index([root]).notes[0]
    assert semantic_note(engine).startswith("skipped: ")
    assert_told(engine, "cannot be reached")


def test_a_server_that_dies_halfway_is_gone_on_with_later(
    serve: Callable[..., Place],
    root: Path,
    open_engine: OpenEngine,
) -> None:
    limit = {"requests": 3}

    def mortal(request: Request, texts: list[str]) -> None:
        (good if len(request.seen.texts) <= limit["requests"] else hang_up)(request, texts)

    place = serve(mortal)
    write(root, {f"{number}.md": f"# N\n\n{'word ' * 300}{number}\n" for number in range(60)})
    engine = open_engine(encoder=f"tei:{place.url}")
    report = engine.index([root])
    stored = engine.status().counts.vectors
    assert 0 < stored == report.embedded < 60
    assert report.notes[0].startswith(f"{60 - stored} chunks have no vector yet (`dowse index` continues)")
    assert "closed the connection" in report.notes[0]
    limit["requests"] = 1000
    again = engine.index([root])
    assert (again.embedded, again.notes) == (60 - stored, [])
    assert engine.status().counts.vectors == 60


@pytest.mark.parametrize("behave", [status(400), nan_for_bad, short_for_bad, zero_for_bad, one_too_few, hang_up])
def test_a_text_it_fails_on_is_told_and_may_be_tried_again(
    serve: Callable[..., Place],
    root: Path,
    open_engine: OpenEngine,
    behave: Behave,
) -> None:
    place = serve(failing_on("bad", behave))
    write(root, FILES | {"bad.md": "# B\n\nbad bad bad\n"})
    engine = open_engine(encoder=f"tei:{place.url}")
    (note,) = engine.index([root]).notes
    assert note.startswith("1 text has no vector: the encoder server 127.0.0.1:")
    assert engine.status().counts.vectors == 4
    places = DataPaths.of(engine.settings)
    cache = VectorCache(cache_file(places.vectors, f"tei:{place.url}:2"), dimension=2)
    engine._core.store.vectors.prepare_vectors("another, which has everything to encode")
    pending = [
        it.digest for it in engine._core.store.vectors.chunks_without_vector("another, which has everything to encode")
    ]
    assert cache.count_missing(pending) == 1
    assert all(row.any() for row in cache.get(pending).values())
    cache.close()
    assert semantic_note(engine, "cats bad").startswith("skipped: 1 text has no vector: the encoder server")


def test_another_dimension_makes_other_vectors_and_the_old_ones_answer_no_more(
    serve: Callable[..., Place],
    root: Path,
    open_engine: OpenEngine,
) -> None:
    is_wide = threading.Event()
    place = serve(lambda request, texts: (wider if is_wide.is_set() else good)(request, texts))
    write(root, FILES)
    engine = open_engine(encoder=f"tei:{place.url}")
    engine.index([root])
    assert semantic_note(engine) == ""
    is_wide.set()
    assert "vectors of dimension 3 instead of 2" in semantic_note(engine)
    assert "the index has vectors from" in engine.status().encoder_why
    engine.index([root])
    assert semantic_note(engine) == ""
    assert engine._core.store.catalog.metadata()["encoder"] == f"tei:{place.url}:3"


def test_the_key_goes_to_the_server_alone(serve: Callable[..., Place], root: Path, open_engine: OpenEngine) -> None:
    place = serve(good)
    write(root, FILES)
    engine = open_engine(encoder=f"tei:{place.url}", encoder_key=KEY)
    engine.index([root])
    assert semantic_note(engine) == ""
    engine.status()
    assert place.seen.keys == {f"Bearer {KEY}"}
    assert KEY not in repr(Settings(encoder_key=KEY)) + repr(engine.settings)


def test_two_questions_at_once_do_not_wait_for_each_other(
    serve: Callable[..., Place], root: Path, open_engine: OpenEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both probes must be at the server before it answers either."""
    both = threading.Barrier(2, timeout=20)
    is_slow = threading.Event()

    def meet(request: Request, texts: list[str]) -> None:
        if is_slow.is_set() and request.seen.texts.count(texts) <= 2:
            both.wait()
        good(request, texts)

    place = serve(meet)
    write(root, FILES)
    open_engine(encoder=f"tei:{place.url}").index([root])
    place.seen.texts.clear()
    is_slow.set()
    engine = open_engine(encoder=f"tei:{place.url}")
    monkeypatch.setattr(choose, "QUERY_SERVER_TIMEOUT_S", 30.0)
    notes: list[str] = []
    threads = [threading.Thread(target=lambda: notes.append(semantic_note(engine))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert notes == ["", ""]


def test_a_name_alone_is_no_reason_to_ask(serve: Callable[..., Place], open_engine: OpenEngine) -> None:
    place = serve(good)
    assert open_engine(encoder=f"tei:{place.url}").state.encoder_name == f"tei:{place.url}"
    assert place.seen == Seen()


def test_a_question_of_50_000_characters(serve: Callable[..., Place], root: Path, open_engine: OpenEngine) -> None:
    def at_most_4000(request: Request, texts: list[str]) -> None:
        (good if max(map(len, texts)) <= 4000 else status(413))(request, texts)

    write(root, FILES)
    engine = open_engine(encoder=f"tei:{serve(at_most_4000).url}")
    engine.index([root])
    assert engine.search(Query("cats purr " * 5000)).hits
    assert engine.search(Query("cats purr " * 5000, recipe="semantic")).hits
    assert engine.search(Query("x" * 50_000)).hits
