"""Whose turn it is: locks on files that the system drops when their holder dies, given in the order of waiting."""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from dowse.errors import IndexBusy
from dowse.store.sqlite.explain import busy_sentence, explained
from dowse.store.sqlite.holder import lock_file, sign

_POLL_S = 0.01
_NO_LOCKS = frozenset({errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS})


class TooLong(Exception):
    """The time to wait for a lock is over."""


@dataclass(frozen=True, slots=True)
class Lock:
    """A lock that is held; `problem` says why it may not keep others out."""

    descriptor: int
    problem: str = ""


@contextmanager
def locked(file: Path, timeout_s: float) -> Iterator[Lock]:
    """Hold the lock of this file, which is made where it is missing. Raises TooLong."""
    lock = _taken(file, time.monotonic() + timeout_s)
    try:
        yield lock
    finally:
        os.close(lock.descriptor)


@contextmanager
def write_lock(path: Path, timeout_s: float, what: str = "dowse") -> Iterator[Lock]:
    """Whoever holds it may write to the index at this path, or put another one in its place.

    Who waits holds a lock of its own, which everybody must have had before: so nobody who comes again and again gets
    ahead of others who wait.
    """
    deadline = time.monotonic() + timeout_s
    with explained(path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        with explained(path), locked(_ticket(path), timeout_s):
            lock = _taken(lock_file(path), deadline)
    except TooLong:
        raise IndexBusy(busy_sentence(path, timeout_s, ours=True)) from None
    try:
        with suppress(OSError):  # a full disk: the lock counts, the name is a courtesy
            sign(lock.descriptor, what)
        yield lock
    finally:
        with suppress(OSError):
            os.ftruncate(lock.descriptor, 0)
        os.close(lock.descriptor)


def waited_for(path: Path) -> bool:
    """Whether anybody waits for the write lock of the index at this path."""
    try:
        with locked(_ticket(path), 0.0):
            return False
    except TooLong:
        return True
    except OSError:
        return False


def _ticket(path: Path) -> Path:
    return Path(f"{lock_file(path)}.next")


def _taken(file: Path, deadline: float) -> Lock:
    while True:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            lock = _waited(descriptor, file, deadline)
            if _is_at(descriptor, file):
                return lock
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # somebody removed the file: whoever comes now locks another one


def _waited(descriptor: int, file: Path, deadline: float) -> Lock:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise TooLong from None
            time.sleep(_POLL_S)
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
            return Lock(descriptor, _warning(file.parent, error))
        else:
            return Lock(descriptor)


def _is_at(descriptor: int, file: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), file.stat())
    except FileNotFoundError:
        return False


def _warning(folder: Path, error: OSError) -> str:
    return (
        f"the file system of {folder} has no locks ({error.strerror}): of several processes that write at once some "
        "may wait for long, though none spoils what another writes; keep the index on a local disk with --index"
    )
