"""One writer at a time: a lock on the folder itself, which the system drops when its holder dies."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from dowse.errors import BadInput

_POLL_S: Final = 0.002
_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def open_folder(place: Path | str, inside: int | None = None) -> int:
    """A descriptor of the directory, which must not be a link: whoever made that may not be the user."""
    return os.open(place, _DIRECTORY, dir_fd=inside)


def sync_folder(place: Path) -> None:
    """Have the system write down which names the directory has."""
    folder = os.open(place, _DIRECTORY & ~os.O_NOFOLLOW)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


@contextmanager
def locked(place: Path, timeout_s: float) -> Iterator[int]:
    """The folder, opened, while no other thread or process writes in it.

    It is the directory that is locked: a file made for that would be one more thing to come with a clone as a link.
    """
    deadline = time.monotonic() + timeout_s
    folder = _taken(place, deadline)
    try:
        yield folder
    finally:
        os.close(folder)


def _taken(place: Path, deadline: float) -> int:
    while True:
        folder = open_folder(place)
        try:
            _wait(folder, place, deadline)
            if os.path.samestat(os.fstat(folder), os.lstat(place)):
                return folder
        except BaseException:
            os.close(folder)
            raise
        os.close(folder)  # another folder has taken its place meanwhile


def _wait(folder: int, place: Path, deadline: float) -> None:
    while True:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise BadInput(f"others have been writing in {place} all the time; try again") from None
            time.sleep(_POLL_S)
        else:
            return
