"""The leader lock: one process maintains an index."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path

_MAX_PID_CHARS = 20


def leader_file(index: Path) -> Path:
    return index.with_name(f"{index.name}.leader")


def leader_of(index: Path) -> int | None:
    """Return the process id of the current leader without trying to become the leader."""
    path = leader_file(index)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        with suppress(OSError, ValueError):
            return int(os.pread(descriptor, _MAX_PID_CHARS, 0))
    finally:
        os.close(descriptor)
    return None


class LeaderLock:
    """A file lock that the system drops when its owner dies, so that another process takes over at its next attempt."""

    def __init__(self, index: Path) -> None:
        self._path = leader_file(index)
        self._descriptor: int | None = None
        self.problem = ""

    @property
    def is_leader(self) -> bool:
        return self._descriptor is not None

    def try_acquire(self) -> bool:
        """Try to become the leader; return whether this process leads. Sets `problem` if locking is impossible."""
        if self._descriptor is not None and self._is_in_place(self._descriptor):
            return True
        self.close()
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            self.problem = f"cannot use {self._path} ({error.strerror}): changes are not watched"
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # If another process deleted the file and locked a new one in its place, that process leads.
            if not self._is_in_place(descriptor):
                raise BlockingIOError
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        except BlockingIOError:
            os.close(descriptor)
            self.problem = ""
            return False
        except OSError as error:
            os.close(descriptor)
            self.problem = f"cannot lock {self._path} ({error.strerror}): changes are not watched"
            return False
        self._descriptor, self.problem = descriptor, ""
        return True

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _is_in_place(self, descriptor: int) -> bool:
        try:
            current, locked = self._path.stat(), os.fstat(descriptor)
        except OSError:
            return False
        return (current.st_dev, current.st_ino) == (locked.st_dev, locked.st_ino)
