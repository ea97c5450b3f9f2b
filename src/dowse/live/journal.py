"""A file of lines that several processes append to, and that never grows beyond its bound."""

from __future__ import annotations

import fcntl
import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

MOST_BYTES: Final = 256_000
_READ_BYTES: Final = 4 * MOST_BYTES  # of a file that somebody else let grow, the end is enough
_LOCK_POLL_S: Final = 0.01
# Whatever lies in its place is neither followed nor waited for: a link, a pipe, a device.
_SAFELY: Final = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

Shorten = Callable[[Sequence[bytes]], Sequence[bytes]]


def append(path: Path, line: bytes, shorten: Shorten, wait_s: float) -> bool:
    """Add a line in one write; where there are too many, only those that `shorten` leaves stay.

    False if whoever rewrites the file took longer than `wait_s`: the line may be lost then.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _opened(path, wait_s) as (file, is_ours):
        # It begins on a line of its own, even after one that a full disk or a crash cut short.
        data = b"\n" + line + b"\n"
        if os.write(file, data) < len(data):
            raise OSError("the disk is full")
        size = os.fstat(file).st_size
    if size > MOST_BYTES:
        _rewrite(path, shorten)
    return is_ours


def lines(path: Path) -> list[bytes]:
    """Those near the end, in order, the first of them perhaps cut; none where there is no file."""
    try:
        file = _open(path, os.O_RDONLY)
    except FileNotFoundError:
        return []
    try:
        return _lines(file)
    finally:
        os.close(file)


def state(path: Path) -> tuple[int, int]:
    """Differs when a line was added or the file replaced."""
    status = path.lstat()
    return status.st_ino, status.st_size


def _lines(file: int) -> list[bytes]:
    start = max(0, os.fstat(file).st_size - _READ_BYTES)
    return [it for it in os.pread(file, _READ_BYTES, start).split(b"\n") if it]


def _rewrite(path: Path, shorten: Shorten) -> None:
    """Aside, then renamed; nobody appends meanwhile. If somebody else is at it, it is left to them."""
    file = _open(path, os.O_RDONLY)
    try:
        if _lock(file, fcntl.LOCK_EX, wait_s=0.0) and _is_at(file, path):
            aside = path.with_name(path.name + ".new")
            _write_whole(aside, b"".join(it + b"\n" for it in shorten(_lines(file))))
            aside.replace(path)
    finally:
        os.close(file)


def _write_whole(path: Path, data: bytes) -> None:
    with open(_open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as file:
        file.write(data)


@contextmanager
def _opened(path: Path, wait_s: float) -> Iterator[tuple[int, bool]]:
    """The file at the path, and whether it surely is not replaced while we have it."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
    file = _open(path, flags)
    try:
        while (is_ours := _lock(file, fcntl.LOCK_SH, wait_s)) and not _is_at(file, path):
            os.close(file)
            file = _open(path, flags)
        yield file, is_ours
    finally:
        os.close(file)


def _open(path: Path, flags: int) -> int:
    file = os.open(path, flags | _SAFELY, 0o600)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(f"{path} is not a regular file")
    return file


def _lock(file: int, how: int, wait_s: float) -> bool:
    """Whether we have it. Who holds it may be stopped, and a file system may know no locks: work goes on anyway."""
    deadline = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(file, how | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_LOCK_POLL_S)
        except OSError:
            return True  # nobody can lock here
        else:
            return True


def _is_at(file: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file), path.lstat())
    except FileNotFoundError:
        return False
