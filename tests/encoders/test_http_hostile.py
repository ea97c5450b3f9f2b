"""Servers that misbehave on purpose: what the encoder makes of them, and what it tells."""

from __future__ import annotations

import socket
import threading

import numpy as np
import pytest
from bad_server import (
    Place,
    Request,
    Seen,
    after_probe,
    babble,
    cut_chunk,
    cut_short,
    endless,
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

from dowse.encoders.http import PROBE_TEXT
from dowse.errors import EncoderMissing

# --- servers that fail as a whole -------------------------------------------------------------


WHOLE = [
    (html, "an HTML page", 1),
    (redirect, "a redirect, which is not followed", 1),
    (cut_short, "closed the connection in the middle", 3),
    (cut_chunk, "closed the connection without a complete answer", 3),
    (hang_up, "closed the connection without a complete answer", 3),
    (babble, "closed the connection without a complete answer", 3),
    (endless, "more than 32,000,000 bytes", 1),
    (status(400), "answered 400: no … here", 1),
    (status(401), "answered 401: ", 1),
    (status(404), "answered 404: ", 1),
    (status(429), "answered 429: ", 3),
    (status(500), "answered 500: ", 3),
    (status(503), "answered 503: ", 3),
    (fixed(), "0 vectors for 1 texts", 1),
    (fixed([float("nan"), 1.0]), "zero or not finite", 1),
    (fixed([0.0, 0.0]), "zero or not finite", 1),
    (fixed("text"), "not a list of numbers", 1),
]


@pytest.mark.parametrize(("behave", "reason", "tries"), WHOLE, ids=[reason for _, reason, _ in WHOLE])
def test_a_server_that_fails_at_first_is_missing_for_a_reason(serve, behave, reason, tries):
    place = serve(behave)
    encoder = place.encoder(api_key="s3cret")
    with pytest.raises(EncoderMissing, match=reason) as caught:
        encoder.encode(["text"])
    assert place.url.removeprefix("http://") in str(caught.value)
    assert "s3cret" not in str(caught.value)
    assert place.seen.texts == [[PROBE_TEXT]] * tries
    assert place.slept == [0.5, 2.0][: tries - 1]


@pytest.mark.parametrize(("behave", "reason", "tries"), WHOLE, ids=[reason for _, reason, _ in WHOLE])
def test_a_server_that_begins_to_fail_is_missing_and_no_text_is_blamed(serve, behave, reason, tries):
    place = serve(after_probe(behave))
    encoder = place.encoder(api_key="s3cret")
    with pytest.raises(EncoderMissing):
        encoder.encode(["one", "two", "three", "four"])
    assert encoder.take_problem() == ""
    # The batch and the probe three times, two halves once, and once over the connection that was kept.
    assert len(place.seen.texts) - 1 <= 3 + 3 + 2 + 1


def test_nobody_listening_is_missing_with_the_next_step_and_not_waited_for():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    place = Place(f"http://127.0.0.1:{port}", Seen())
    with pytest.raises(EncoderMissing, match=rf"127.0.0.1:{port} cannot be reached .*: start it or choose"):
        _ = place.encoder().fingerprint
    assert place.slept == []


def test_a_server_that_goes_away_is_waited_for():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        place = Place(f"http://127.0.0.1:{listening.getsockname()[1]}", Seen())
        encoder = place.encoder()

        def answer_once() -> None:
            with listening.accept()[0] as connection:
                connection.recv(65_536)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n[[1,2]]")
            with listening.accept()[0] as connection:
                connection.recv(65_536)
                connection.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")

        thread = threading.Thread(target=answer_once)
        thread.start()
        assert encoder.dimension == 2
        thread.join()
    with pytest.raises(EncoderMissing, match="cannot be reached"):
        encoder.encode(["text"])
    assert place.slept == [0.5, 2.0]


def test_a_plain_server_does_not_speak_tls(serve):
    place = serve(good)
    secure = Place(place.url.replace("http:", "https:"), Seen())
    with pytest.raises(EncoderMissing, match="cannot be reached"):
        _ = secure.encoder().dimension


@pytest.mark.parametrize("part", ["nothing", "headers", "body", "body to the end"])
def test_a_slow_server_is_hung_up_on(serve, part):
    done = threading.Event()

    def drip(request: Request, texts: list[str]) -> None:
        request.close_connection = True
        begin = {
            "nothing": b"",
            "headers": b"HTTP/1.1 200 OK\r\nX: ",
            "body": b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n[",
            "body to the end": b"HTTP/1.1 200 OK\r\n\r\n[",
        }[part]
        try:
            request.wfile.write(begin)
            while not done.wait(0.02):
                request.wfile.write(b" " if part != "nothing" else b"")
        except OSError:
            return

    place = serve(drip)
    encoder = place.encoder(answer_s=0.3)
    with pytest.raises(EncoderMissing, match=r"did not answer within 0\.3 s"):
        _ = encoder.dimension
    done.set()
    assert len(place.seen.texts) == 1


def test_another_dimension_later_is_told(serve):
    encoder = serve(after_probe(lambda request, texts: request.rows([[1.0, 2.0, 3.0]] * len(texts)))).encoder()
    with pytest.raises(EncoderMissing, match=r"vectors of dimension 3 instead of 2: run `dowse index`"):
        encoder.encode(["one", "two"])


# --- servers that fail for a while ---------------------------------------------------------------


@pytest.mark.parametrize("behave", [status(429), status(500), status(503), hang_up, cut_short])
def test_a_passing_failure_is_tried_again(serve, behave):
    def at_first(request: Request, texts: list[str]) -> None:
        (behave if len(request.seen.texts) < 3 else good)(request, texts)

    place = serve(at_first)
    assert place.encoder().dimension == 2
    assert place.slept == [0.5, 2.0]


def test_a_pause_the_server_asks_for_is_kept(serve):
    def busy_once(request: Request, texts: list[str]) -> None:
        if len(request.seen.texts) == 1:
            request.answer(429, b"", Retry_After="7")
        else:
            good(request, texts)

    place = serve(busy_once)
    assert place.encoder().dimension == 2
    assert place.slept == [7]


def test_a_connection_is_kept(serve):
    place = serve(good)
    encoder = place.encoder()
    for _ in range(3):
        encoder.encode(["text"])
    assert len(place.seen.clients) == 1
    assert len(place.seen.texts) == 4


def test_a_kept_connection_that_was_closed_is_no_failure(serve):
    def close_quietly(request: Request, texts: list[str]) -> None:
        good(request, texts)
        request.close_connection = True

    place = serve(close_quietly)
    encoder = place.encoder()
    for _ in range(3):
        assert encoder.encode(["text"]).any()
    assert len(place.seen.clients) >= 4
    assert place.slept == []


def test_threads_do_not_mix_up_their_answers(serve):
    place = serve(lambda request, texts: request.rows([[1.0, float(len(text))] for text in texts]))
    encoder = place.encoder()
    lengths = [1, 5, 9, 30]
    slopes: dict[int, float] = {}

    def work(length: int) -> None:
        for _ in range(10):
            row = encoder.encode(["x" * length])[0]
            slopes[length] = float(row[1] / row[0])

    threads = [threading.Thread(target=work, args=(length,)) for length in lengths]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert slopes == {length: pytest.approx(length) for length in lengths}


def test_threads_ask_who_it_is_at_the_same_time(serve):
    """Each would wait for the timeouts of all before it; here both must be at the server before it answers either."""
    both = threading.Barrier(2, timeout=20)

    def meet(request: Request, texts: list[str]) -> None:
        both.wait()
        good(request, texts)

    encoder = serve(meet).encoder()
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(encoder.dimension)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [2, 2]


# --- servers that fail on some texts ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("behave", "reason"),
    [
        (status(400), "answered 400"),
        (status(413), "answered 413"),
        (status(500), "answered 500"),
        (hang_up, "closed the connection"),
        (cut_short, "closed the connection"),
        (html, "an HTML page"),
        (nan_for_bad, "zero or not finite"),
        (zero_for_bad, "zero or not finite"),
        (short_for_bad, "dimension 1 instead of 2"),
        (one_too_few, "0 vectors for 1 texts"),
    ],
)
def test_a_text_that_fails_alone_is_skipped_and_the_others_are_not(serve, behave, reason):
    place = serve(failing_on("bad", behave))
    encoder = place.encoder()
    texts = [f"text {number}" for number in range(20)]
    texts[3], texts[17] = "bad 3", "bad 17"
    encoded = encoder.try_encode(texts)
    assert [it.position for it in encoded.skipped] == [3, 17]
    assert all(reason in it.reason for it in encoded.skipped)
    expected = np.tile(np.array([0.6, 0.8], dtype=np.float32), (20, 1))
    expected[[3, 17]] = 0
    np.testing.assert_allclose(encoded.rows, expected)
    # Only the two whole batches are waited for.
    assert len(place.slept) <= 4


def test_what_was_skipped_is_told_once(serve):
    encoder = serve(failing_on("bad", status(500))).encoder()
    encoder.encode(["bad 1", "good", "bad 2"])
    encoder.encode(["bad 3"])
    problem = encoder.take_problem()
    assert problem.startswith("3 texts have no vector: the encoder server 127.0.0.1:")
    assert problem.endswith("answered 500: no s3cret here")
    assert encoder.take_problem() == ""


def test_a_batch_that_is_too_large_is_halved(serve):
    def at_most_two(request: Request, texts: list[str]) -> None:
        (good if len(texts) <= 2 else status(413))(request, texts)

    place = serve(at_most_two)
    encoded = place.encoder().try_encode([f"text {number}" for number in range(8)])
    assert encoded.skipped == []
    assert encoded.rows.any(axis=1).all()


def test_a_half_that_meets_a_busy_server_waits(serve):
    def large_then_busy(request: Request, texts: list[str]) -> None:
        is_first_time = len(texts) == 2 and request.seen.texts.count(texts) == 1
        behave = status(413) if len(texts) > 2 else status(503) if is_first_time else good
        behave(request, texts)

    place = serve(large_then_busy)
    assert place.encoder().encode(["one", "two", "three", "four"]).any(axis=1).all()
    assert place.slept == [0.5, 0.5]


@pytest.mark.parametrize("refuse", [status(400), status(413), status(500), hang_up, fixed([0.0, 0.0])])
def test_a_text_that_is_too_long_is_cut(serve, refuse):
    def at_most_500(request: Request, texts: list[str]) -> None:
        if max(map(len, texts)) > 500:
            refuse(request, texts)
        else:
            request.rows([[float(len(text)), 1.0] for text in texts])

    encoded = serve(at_most_500).encoder().try_encode(["short", "long" * 400])
    assert encoded.skipped == []
    assert encoded.rows[1, 0] / encoded.rows[1, 1] == pytest.approx(400, rel=1e-3)


def test_a_server_that_begins_to_fail_while_a_text_is_cut_is_missing(serve):
    codes = {1000: 400, 500: 404}

    def by_length(request: Request, texts: list[str]) -> None:
        code = codes.get(len(texts[0]))
        (good if code is None else status(code))(request, texts)

    encoder = serve(by_length).encoder()
    with pytest.raises(EncoderMissing, match="answered 404"):
        encoder.encode(["x" * 1000])


def test_a_key_is_sent_and_only_when_given(serve):
    place = serve(good)
    place.encoder(api_key="s3cret").encode(["text"])
    assert place.seen.keys == {"Bearer s3cret"}
    other = serve(good)
    other.encoder().encode(["text"])
    assert other.seen.keys == {None}


# --- texts -----------------------------------------------------------------------------------------


def test_texts_go_in_batches_in_order_and_blank_ones_not_at_all(serve):
    place = serve(good)
    rows = place.encoder(batch=2).encode(["a", "", "b", " \n", "c"])
    assert place.seen.texts == [[PROBE_TEXT], ["a", "b"], ["c"]]
    assert rows.any(axis=1).tolist() == [True, False, True, False, True]
    assert rows.dtype == np.float32


def test_nothing_gives_no_rows(serve):
    assert serve(good).encoder().encode([]).shape == (0, 2)


def test_half_a_surrogate_is_sent_as_valid_text(serve):
    place = serve(good)
    place.encoder().encode(["a\ud800b"])
    assert place.seen.texts[1] == ["a?b"]


@pytest.mark.parametrize("info", [None, b"", b"<html>", b"[]", b'{"model_id": 3}', b'{"model_id": ""}'])
def test_a_server_that_does_not_name_its_model_is_known_by_its_address(serve, info):
    place = serve(good, info)
    assert place.encoder().fingerprint == f"tei:{place.url}:2"


def test_a_server_that_names_its_model_is_known_by_it(serve):
    assert serve(good, b'{"model_id": "some/model", "model_sha": null}').encoder().fingerprint == "tei:some/model:2"
