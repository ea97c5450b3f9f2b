"""Who leads: of all processes that serve one index, the one that holds its leader's lock watches, encodes and heals."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path

_MAX_PID_CHARS = 20


def leader_file(index: Path) -> Path:
    return index.with_name(f"{index.name}.leader")


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

    def leader(self) -> int | None:
        """The process that leads, or did last; None if there never was one."""
        with suppress(OSError, ValueError), open(self._path, "rb") as file:
            return int(file.read(_MAX_PID_CHARS))
        return None

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
