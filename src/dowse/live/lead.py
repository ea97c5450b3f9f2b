"""Who leads: of all processes that serve one index, the one that holds its leader's lock watches, encodes and heals."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path

_MAX_PID_CHARS = 20


def leader_file(index: Path) -> Path:
    return index.with_name(f"{index.name}.leader")


def leader_of(index: Path) -> int | None:
    """The process that leads now, asked by one that does not want to."""
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


class Leadership:
    """A lock that the system drops when its holder dies, so that another takes over with its next try."""

    def __init__(self, index: Path) -> None:
        self._path = leader_file(index)
        self._descriptor: int | None = None
        self.problem = ""

    @property
    def leading(self) -> bool:
        return self._descriptor is not None

    def attempt(self) -> bool:
        """Whether this process leads now; False, with the problem told, where there can be no lock."""
        if self._descriptor is not None and self._is_in_place(self._descriptor):
            return True
        self.close()
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            self.problem = f"{self._path} can not be used ({error.strerror}): nobody follows the files"
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Whoever has deleted the file meanwhile and locked a new one in its place leads, too.
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
            self.problem = f"{self._path} can not be locked ({error.strerror}): nobody follows the files"
            return False
        self._descriptor, self.problem = descriptor, ""
        return True

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _is_in_place(self, descriptor: int) -> bool:
        try:
            there, held = self._path.stat(), os.fstat(descriptor)
        except OSError:
            return False
        return (there.st_dev, there.st_ino) == (held.st_dev, held.st_ino)
