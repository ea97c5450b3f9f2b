"""Lock files: who may write, who holds the lock, and errors that name the owner."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import apsw

from dowse.errors import BadInput, IndexBusy, IndexDamaged
from dowse.processes import Process, this_process

# --------------------------------------------------------------------------------------------------
# The owner of an index's write lock, as written into the lock file and checked against running processes.

_MAX_OWNER_BYTES = 1_000  # bytes


@dataclass(frozen=True, slots=True)
class LockOwner:
    """`started` distinguishes the process from a later one with the same id; `since` is when it got the lock, in
    seconds."""

    pid: int
    started: str
    operation: str
    since: float
    stopped: bool = False

    @property
    def is_this_process(self) -> bool:
        return self.pid == os.getpid()

    def describe(self) -> str:
        """Describe the owner for the beginning of a sentence."""
        who = "another job of this process" if self.is_this_process else f"process {self.pid}"
        for_s = max(0.0, time.time() - self.since)  # the clock may have been set back
        return f"{who} ({self.operation}, for {for_s:.0f} s{', stopped' if self.stopped else ''})"


def lock_path(index: Path) -> Path:
    return Path(f"{index}.lock")


def read_lock_owner(index: Path) -> LockOwner | None:
    """Return the owner of the write lock; None if there is none, or it cannot be determined."""
    try:
        with open(lock_path(index), "rb") as file:
            note = _parse_owner(file.read(_MAX_OWNER_BYTES))
    except OSError:
        return None
    process = note and Process(note.pid, note.started)
    if note is None or not process or not process.is_alive():
        return None  # dead, so the system has released its lock
    return LockOwner(note.pid, note.started, note.operation, note.since, process.is_stopped())


def write_lock_owner(descriptor: int, what: str) -> None:
    """Write this process into a lock file as its owner."""
    process = this_process()
    note = LockOwner(process.pid, process.start, what, time.time())
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, json.dumps(asdict(note)).encode(), 0)


def _parse_owner(content: bytes) -> LockOwner | None:
    """Parse a lock file, which may hold anything: an older Dowse leaves it empty, a full disk truncates it."""
    try:
        note = LockOwner(**json.loads(content))
    except (ValueError, TypeError):
        return None
    texts = isinstance(note.started, str) and isinstance(note.operation, str)
    numbers = isinstance(note.since, int | float) and isinstance(note.pid, int) and note.pid > 0
    return note if texts and numbers else None


# --------------------------------------------------------------------------------------------------
# Turns errors of SQLite and the system into messages that name the file and the next step.


@contextmanager
def translate_errors(path: Path) -> Iterator[None]:
    """Translate SQLite and system errors about the index at this path."""
    try:
        yield
    except (apsw.BusyError, apsw.LockedError):
        raise IndexBusy(busy_message(path)) from None
    except (apsw.NotADBError, apsw.CorruptError, apsw.SQLError, apsw.ConstraintError, UnicodeDecodeError) as error:
        # Our statements are valid, so the file must be damaged: a table is missing, or an index contradicts its table.
        raise IndexDamaged(f"{path} is damaged or not an index ({error}); run `dowse rebuild`") from error
    except apsw.ReadOnlyError as error:
        if (
            getattr(error, "extendedresult", 0) == apsw.SQLITE_READONLY_ROLLBACK
        ):  # an index uses a write-ahead log, never a rollback journal
            raise IndexDamaged(f"{path} has a foreign rollback journal; run `dowse rebuild`") from error
        raise BadInput(_refusal(path, error)) from error
    except (apsw.CantOpenError, apsw.FullError, apsw.IOError, OSError) as error:
        raise BadInput(_refusal(path, error)) from error


def busy_message(path: Path, waited_s: float | None = None, *, ours: bool = False) -> str:
    """Return a message that names the writer, if known.

    The owner on record may be this process itself; it is named only if the caller waited for the write lock (`ours`).
    """
    owner = read_lock_owner(path)
    is_known = owner is not None and (ours or not owner.is_this_process)
    writer = owner.describe() if owner and is_known else "another process or job"
    waited = "" if waited_s is None else f" (waited {waited_s:g} s)"
    return (
        f"{writer} is writing to {path}{waited}; searching still works; "
        "try again when it is done, or raise --lock-timeout-s"
    )


def _refusal(path: Path, error: apsw.Error | OSError) -> str:
    if isinstance(error, apsw.FullError) or getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT):
        return f"no space left on the disk of {path}; free some and try again (nothing indexed so far is lost)"
    if isinstance(error, apsw.ReadOnlyError):
        return f"cannot write to {path}: {error}; make it writable or choose another --index (searching works)"
    return f"cannot use {path} as an index: {error}; check the path and the disk, or choose another --index"


_POLL_S = 0.01
_NO_LOCK_ERRNOS = frozenset({errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS})


class LockTimeout(Exception):
    """Waiting for a lock took too long."""


@dataclass(frozen=True, slots=True)
class FileLock:
    """An acquired lock; `problem` says why it may not exclude others."""

    descriptor: int
    problem: str = ""


@contextmanager
def file_lock(file: Path, timeout_s: float) -> Iterator[FileLock]:
    """Hold the lock of this file, which is created if missing; raise LockTimeout."""
    lock = _acquire(file, time.monotonic() + timeout_s)
    try:
        yield lock
    finally:
        os.close(lock.descriptor)


@contextmanager
def write_lock(path: Path, timeout_s: float, what: str = "dowse") -> Iterator[FileLock]:
    """Hold the lock that allows writing to the index at this path, or replacing it.

    Waiters queue on a second lock that everybody must take first. So a process that asks again and again cannot
    overtake others.
    """
    deadline = time.monotonic() + timeout_s
    with translate_errors(path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        with translate_errors(path), file_lock(_queue_file(path), timeout_s):
            lock = _acquire(lock_path(path), deadline)
    except LockTimeout:
        raise IndexBusy(busy_message(path, timeout_s, ours=True)) from None
    try:
        with suppress(OSError):  # disk full: the owner's name is only informative
            write_lock_owner(lock.descriptor, what)
        yield lock
    finally:
        with suppress(OSError):
            os.ftruncate(lock.descriptor, 0)
        os.close(lock.descriptor)


def has_waiting_writer(path: Path) -> bool:
    """Return whether anybody waits for the write lock of the index at this path."""
    try:
        with file_lock(_queue_file(path), 0.0):
            return False
    except LockTimeout:
        return True
    except OSError:
        return False


def _queue_file(path: Path) -> Path:
    return Path(f"{lock_path(path)}.next")


def _acquire(file: Path, deadline: float) -> FileLock:
    while True:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            lock = _wait_for_flock(descriptor, file, deadline)
            if _is_same_file(descriptor, file):
                return lock
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # the file was removed, and others will lock a new one


def _wait_for_flock(descriptor: int, file: Path, deadline: float) -> FileLock:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise LockTimeout from None
            time.sleep(_POLL_S)
        except OSError as error:
            if error.errno not in _NO_LOCK_ERRNOS:
                raise
            return FileLock(descriptor, _no_locks_warning(file.parent, error))
        else:
            return FileLock(descriptor)


def _is_same_file(descriptor: int, file: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), file.stat())
    except FileNotFoundError:
        return False


def _no_locks_warning(folder: Path, error: OSError) -> str:
    return (
        f"the file system of {folder} has no locks ({error.strerror}): concurrent writers may wait long, though the "
        "index stays intact; keep it on a local disk with --index"
    )
