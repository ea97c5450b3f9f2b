"""The place where a shared server listens: taken by one process at a time, given up when it leaves or dies."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path

from dowse.shells.sharing.place import MeetingPlace, Unshared, make_private, try_lock
from dowse.shells.sharing.reach import connect

_LOOK_AGAIN_S = 0.02
_BACKLOG = 256


class Listening:
    """Made by `listen`; the lock is held for as long as this is open."""

    def __init__(self, place: MeetingPlace, lock: int, listener: socket.socket) -> None:
        self.place = place
        self.socket = listener
        self._lock: int | None = lock
        self._file = _file_at(place.socket)

    def is_ours(self) -> bool:
        """Whether clients still find us here: whoever cleans up may have removed the socket, and another come."""
        return self._file is not None and _file_at(self.place.socket) == self._file

    def close(self) -> None:
        """From now on another server may take the place, while this one answers what it was asked."""
        if self._lock is None:
            return
        if self.is_ours():
            self.place.socket.unlink(missing_ok=True)
        self.socket.close()
        os.close(self._lock)
        self._lock = None


def listen(place: MeetingPlace, patience_s: float = 5.0) -> Listening:
    """Take the place, waiting a little for one who is leaving; a socket without its server is replaced."""
    make_private(place.folder)
    deadline = time.monotonic() + patience_s
    while (lock := try_lock(place.lock)) is None:
        if (other := connect(place)) is not None:
            other.close()
            raise Unshared(f"a shared server runs already, as process {holder(place)}; `dowse daemon stop` ends it")
        if time.monotonic() >= deadline:
            raise Unshared(f"process {holder(place)} keeps {place.lock} and does not listen; end it and try again")
        time.sleep(_LOOK_AGAIN_S)
    os.ftruncate(lock, 0)
    os.write(lock, str(os.getpid()).encode())
    place.socket.unlink(missing_ok=True)
    return Listening(place, lock, _bound(place.socket))


def holder(place: MeetingPlace) -> str:
    try:
        return place.lock.read_text(encoding="ascii", errors="replace")[:20] or "unknown"
    except OSError:
        return "unknown"


def _bound(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.setblocking(False)
    before = os.umask(0o177)  # the socket is made for its owner alone, before anybody could connect
    try:
        listener.bind(str(path))
    finally:
        os.umask(before)
    listener.listen(_BACKLOG)
    return listener


def _file_at(path: Path) -> tuple[int, int] | None:
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
