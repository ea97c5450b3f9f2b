"""Where a server is met: short enough, private, taken by one at a time."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from dowse.server.sharing.client import ListeningSocket, acquire_socket, connect_socket
from dowse.server.sharing.hello import (
    DaemonUnavailable,
    SocketPaths,
    is_same_user,
    make_private_folder,
    socket_paths,
    try_lock,
)


@pytest.fixture
def short() -> Iterator[Path]:
    with TemporaryDirectory(prefix="dw") as folder:
        yield Path(folder)


@pytest.fixture
def listening(short: Path) -> Iterator[ListeningSocket]:
    made = acquire_socket(SocketPaths(short / "run", "key"))
    yield made
    made.close()


def test_one_place_for_each_index_and_user() -> None:
    places = {socket_paths(Path(f"/i{number}"), Path("/data"), Path("/tmp")) for number in (1, 1, 2)}
    assert len(places) == 2
    assert {it.folder for it in places} == {Path("/data/run")}


@pytest.mark.parametrize("length", [70, 76, 77, 78, 90, 200, 5000])
def test_the_address_always_fits(length: int) -> None:
    place = socket_paths(Path("/i"), Path("/" + "d" * (length - 1)), Path("/tmp"))
    assert len(os.fsencode(place.socket)) < 104
    assert (place.folder == Path(f"/tmp/dowse-{os.getuid()}")) is (length > 77)


def test_no_place_is_short_enough() -> None:
    with pytest.raises(DaemonUnavailable, match="shorter --data-dir"):
        socket_paths(Path("/i"), Path("/" + "d" * 200), Path("/" + "t" * 200))


@pytest.mark.parametrize("planted", ["link", "open", "file", "dangling"])
def test_only_a_directory_of_our_own_is_used(short: Path, planted: str) -> None:
    folder = short / "run"
    (short / "elsewhere").mkdir(mode=0o700)
    if planted == "link":
        folder.symlink_to(short / "elsewhere")
    elif planted == "dangling":
        folder.symlink_to(short / "nowhere")
    elif planted == "open":
        folder.mkdir()
        folder.chmod(0o770)
    else:
        folder.write_text("")
    with pytest.raises(DaemonUnavailable):
        make_private_folder(folder)
    assert list((short / "elsewhere").iterdir()) == [] and not (short / "nowhere").exists()


def test_a_directory_of_another_user_is_not_used(short: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_private_folder(short / "run")
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    with pytest.raises(DaemonUnavailable, match="your directory"):
        make_private_folder(short / "run")


def test_the_peer_must_be_of_the_same_user(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert is_same_user(ours)
        monkeypatch.setattr(os, "getuid", lambda: 12345)
        assert not is_same_user(ours)


def test_a_server_of_another_user_is_refused(listening: ListeningSocket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dowse.server.sharing.client.is_same_user", lambda peer: False)
    with pytest.raises(DaemonUnavailable, match="another user"):
        connect_socket(listening.place)


def test_a_lock_is_held_by_one_and_follows_no_link(short: Path) -> None:
    held = try_lock(short / "lock")
    assert held is not None
    assert try_lock(short / "lock") is None
    os.close(held)
    again = try_lock(short / "lock")
    assert again is not None
    os.close(again)
    (short / "link").symlink_to(short / "target")
    with pytest.raises(OSError, match="symbolic"):
        try_lock(short / "link")
    assert not (short / "target").exists()


def test_a_place_is_taken_once_and_given_up(listening: ListeningSocket) -> None:
    with pytest.raises(DaemonUnavailable, match=f"is already running as process {os.getpid()}"):
        acquire_socket(listening.place)
    connection = connect_socket(listening.place)
    assert connection is not None and listening.is_ours()
    connection.close()


def test_one_who_holds_the_place_and_does_not_listen_is_named(short: Path) -> None:
    place = SocketPaths(short / "run", "key")
    make_private_folder(place.folder)
    held = try_lock(place.lock)
    assert held is not None
    os.write(held, b"4711")
    with pytest.raises(DaemonUnavailable, match="process 4711 holds"):
        acquire_socket(place, patience_s=0.05)
    os.close(held)


def test_what_a_killed_server_leaves_is_replaced(short: Path) -> None:
    place = SocketPaths(short / "run", "key")
    make_private_folder(place.folder)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(place.socket))
    assert connect_socket(place) is None
    made = acquire_socket(place)
    again = connect_socket(place)
    assert again is not None
    again.close()
    made.close()
    assert not place.socket.exists() and connect_socket(place) is None


def test_the_socket_of_a_successor_is_left_alone(listening: ListeningSocket) -> None:
    listening.place.socket.unlink()
    listening.place.socket.write_text("another's")
    assert not listening.is_ours()
    with open(os.devnull) as other:
        lock, listening._lock = listening._lock, os.dup(other.fileno())
        listening.close()
        assert listening.place.socket.read_text() == "another's"
        listening._lock = lock
