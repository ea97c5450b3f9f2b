"""Where the shared server of an index and its clients meet: a socket, its locks and its log, for one user alone."""

from __future__ import annotations

import fcntl
import hashlib
import os
import socket
import stat
import struct
from dataclasses import dataclass
from pathlib import Path

from dowse.errors import DowseError

_MAX_SOCKET_BYTES = 103  # what the address of a Unix socket may have on every system, its end included
_KEY_CHARS = 16
_LINUX_PEER = struct.Struct("3i")  # process, user, group


class Unshared(DowseError):
    """Why this client can not be served by a shared process; one sentence."""


class OtherBuild(Unshared):
    """The client is of another version of Dowse, whose server should take the place of this one."""


@dataclass(frozen=True, slots=True)
class MeetingPlace:
    folder: Path
    key: str

    @property
    def socket(self) -> Path:
        return self.folder / f"{self.key}.sock"

    @property
    def lock(self) -> Path:
        """Held by the shared server for as long as it lives; its process id is in it."""
        return self.folder / f"{self.key}.lock"

    @property
    def starting(self) -> Path:
        """Held by the one client that starts a server."""
        return self.folder / f"{self.key}.starting"

    @property
    def log(self) -> Path:
        return self.folder / f"{self.key}.log"


def meeting_place(index: Path, data_dir: Path, temporary: Path) -> MeetingPlace:
    """Below the data directory, or where that is too long for a socket's address, in the temporary directory."""
    key = hashlib.sha256(os.fsencode(index)).hexdigest()[:_KEY_CHARS]
    place = MeetingPlace(data_dir / "run", key)
    if len(os.fsencode(place.socket)) > _MAX_SOCKET_BYTES:
        place = MeetingPlace(temporary / f"dowse-{os.getuid()}", key)
    if len(os.fsencode(place.socket)) > _MAX_SOCKET_BYTES:
        raise Unshared(f"{place.folder} is too long a path for a socket; name a shorter --data-dir")
    return place


def make_private(folder: Path) -> None:
    """The directory, which must be ours alone: whoever could write to it could put a server of theirs there."""
    try:
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError as error:
        raise Unshared(f"can not make {folder}: {error.strerror}; name another --data-dir") from error
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) & 0o077:
        raise Unshared(f"{folder} must be a directory of yours with mode 0700; remove it, or name another --data-dir")


def try_lock(path: Path) -> int | None:
    """The descriptor that holds the lock until it is closed or its process ends; None if another holds it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def is_ours(peer: socket.socket) -> bool:
    """Whether this user runs the other end; where the system can not tell, the directory lets nobody else in."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    _, user, _ = _LINUX_PEER.unpack(peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _LINUX_PEER.size))
    return int(user) == os.getuid()
