"""What a client makes of a server that is silent, confused, gone or refuses."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from dowse.server.sharing import client as reach
from dowse.server.sharing.client import DaemonClient, ListeningSocket, acquire_socket, exchange_hello
from dowse.server.sharing.hello import ClientArguments, ClientHello, DaemonUnavailable, SocketPaths

HELLO = ClientHello("serve", "build", ClientArguments("core", (), "/"), {})


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


@pytest.fixture
def listening() -> Iterator[ListeningSocket]:
    with TemporaryDirectory(prefix="dw") as folder:
        made = acquire_socket(SocketPaths(Path(folder, "run"), "key"))
        yield made
        made.close()


def test_an_answer_may_come_in_pieces(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    theirs.sendall(b'{"ok": tr')
    timer = threading.Timer(0.2, theirs.sendall, [b'ue, "pid": 5}\n'])
    timer.start()
    assert exchange_hello(ours, HELLO) == {"ok": True, "pid": 5}
    assert theirs.recv(100_000) == HELLO.line()
    timer.join()


@pytest.mark.parametrize("nonsense", [b"nonsense\n", b"\xff\n", b"{]\n"])
def test_nonsense_is_told(pair: tuple[socket.socket, socket.socket], nonsense: bytes) -> None:
    pair[1].sendall(nonsense)
    with pytest.raises(DaemonUnavailable, match="invalid answer"):
        exchange_hello(pair[0], HELLO)


def test_one_who_goes_away_is_as_if_there_was_none(pair: tuple[socket.socket, socket.socket]) -> None:
    pair[1].close()
    assert exchange_hello(pair[0], HELLO) is None


def test_a_silent_one_is_not_waited_for_longer_than_wanted(
    pair: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(DaemonUnavailable, match="did not answer in time"):
        exchange_hello(pair[0], HELLO, stopped=lambda: True)
    monkeypatch.setattr(reach, "HELLO_REPLY_TIMEOUT_S", 0.05)
    with pytest.raises(DaemonUnavailable, match="did not answer in time"):
        exchange_hello(pair[0], HELLO)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [(b'{"ok": false, "why": "another limit"}\n', "another limit"), (b"[]\n", "without a reason")],
)
def test_a_refusal_is_told_with_its_reason(listening: ListeningSocket, reply: bytes, reason: str) -> None:
    listening.socket.setblocking(True)
    answering = threading.Thread(target=lambda: answer_one(listening.socket, reply))
    answering.start()
    with pytest.raises(DaemonUnavailable, match=reason):
        DaemonClient(listening.place, HELLO, ["/nowhere/python"]).connect_or_start()
    answering.join()


def answer_one(listener: socket.socket, reply: bytes) -> None:
    peer, _ = listener.accept()
    with peer:
        peer.recv(100_000)
        peer.sendall(reply)


def test_where_none_can_be_started_the_log_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reach, "START_TIMEOUT_S", 0.3)
    with TemporaryDirectory(prefix="dw") as folder:
        place = SocketPaths(Path(folder, "run"), "key")
        with pytest.raises(DaemonUnavailable, match=r"see .*key\.log"):
            DaemonClient(place, HELLO, ["/nowhere/python"]).connect_or_start()
        assert place.log.exists()
