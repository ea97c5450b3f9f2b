"""Where a server is met: short enough, private, taken by one at a time."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from dowse.shells.sharing.listening import Listening, listen
from dowse.shells.sharing.place import MeetingPlace, Unshared, is_ours, make_private, meeting_place, try_lock
from dowse.shells.sharing.reach import connect


@pytest.fixture
def short() -> Iterator[Path]:
    with TemporaryDirectory(prefix="dw") as folder:
        yield Path(folder)


@pytest.fixture
def listening(short: Path) -> Iterator[Listening]:
    made = listen(MeetingPlace(short / "run", "key"))
    yield made
    made.close()


def test_one_place_for_each_index_and_user() -> None:
    places = {meeting_place(Path(f"/i{number}"), Path("/data"), Path("/tmp")) for number in (1, 1, 2)}
    assert len(places) == 2
    assert {it.folder for it in places} == {Path("/data/run")}


@pytest.mark.parametrize("length", [70, 76, 77, 78, 90, 200, 5000])
def test_the_address_always_fits(length: int) -> None:
    place = meeting_place(Path("/i"), Path("/" + "d" * (length - 1)), Path("/tmp"))
    assert len(os.fsencode(place.socket)) < 104
    assert (place.folder == Path(f"/tmp/dowse-{os.getuid()}")) is (length > 77)


def test_no_place_is_short_enough() -> None:
    with pytest.raises(Unshared, match="shorter --data-dir"):
        meeting_place(Path("/i"), Path("/" + "d" * 200), Path("/" + "t" * 200))


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
    with pytest.raises(Unshared):
        make_private(folder)
    assert list((short / "elsewhere").iterdir()) == [] and not (short / "nowhere").exists()


def test_a_directory_of_another_user_is_not_used(short: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_private(short / "run")
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    with pytest.raises(Unshared, match="directory of yours"):
        make_private(short / "run")


def test_the_peer_must_be_of_the_same_user(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert is_ours(ours)
        monkeypatch.setattr(os, "getuid", lambda: 12345)
        assert not is_ours(ours)


def test_a_server_of_another_user_is_refused(listening: Listening, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dowse.shells.sharing.reach.is_ours", lambda peer: False)
    with pytest.raises(Unshared, match="another user"):
        connect(listening.place)


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


def test_a_place_is_taken_once_and_given_up(listening: Listening) -> None:
    with pytest.raises(Unshared, match=f"runs already, as process {os.getpid()}"):
        listen(listening.place)
    connection = connect(listening.place)
    assert connection is not None and listening.is_ours()
    connection.close()


def test_one_who_holds_the_place_and_does_not_listen_is_named(short: Path) -> None:
    place = MeetingPlace(short / "run", "key")
    make_private(place.folder)
    held = try_lock(place.lock)
    assert held is not None
    os.write(held, b"4711")
    with pytest.raises(Unshared, match="process 4711 keeps"):
        listen(place, patience_s=0.05)
    os.close(held)


def test_what_a_killed_server_leaves_is_replaced(short: Path) -> None:
    place = MeetingPlace(short / "run", "key")
    make_private(place.folder)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(place.socket))
    assert connect(place) is None
    made = listen(place)
    again = connect(place)
    assert again is not None
    again.close()
    made.close()
    assert not place.socket.exists() and connect(place) is None


def test_the_socket_of_a_successor_is_left_alone(listening: Listening) -> None:
    listening.place.socket.unlink()
    listening.place.socket.write_text("another's")
    assert not listening.is_ours()
    with open(os.devnull) as other:
        lock, listening._lock = listening._lock, os.dup(other.fileno())
        listening.close()
        assert listening.place.socket.read_text() == "another's"
        listening._lock = lock
