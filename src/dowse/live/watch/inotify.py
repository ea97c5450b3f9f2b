"""Linux tells of changes through inotify: a binding that can be drained at any moment.

The kernel queues an event before the call that caused it returns. Whoever reads the queue after a file was closed
finds its event there: nothing waits in buffers or threads of a library in between.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys
from collections.abc import Iterator
from typing import NamedTuple, Protocol

MODIFY = 0x2
ATTRIB = 0x4
CLOSE_WRITE = 0x8
MOVED_FROM = 0x40
MOVED_TO = 0x80
CREATE = 0x100
DELETE = 0x200
DELETE_SELF = 0x400
MOVE_SELF = 0x800
UNMOUNT = 0x2000
OVERFLOW = 0x4000
IGNORED = 0x8000
IS_DIRECTORY = 0x4000_0000

_ONLY_DIRECTORIES = 0x0100_0000
_DO_NOT_FOLLOW = 0x0200_0000
_NOT_UNLINKED = 0x0400_0000

# CREATE alone tells of hard links and of files that were made without a name. MODIFY tells of files that are written to
# and stay open; what is written through a mapping is told by CLOSE_WRITE, which comes when the mapping ends.
_WRITTEN = MODIFY | ATTRIB | CLOSE_WRITE | CREATE
_RENAMED = MOVED_FROM | MOVED_TO | DELETE | DELETE_SELF | MOVE_SELF
_WATCHED = _WRITTEN | _RENAMED | _ONLY_DIRECTORIES | _NOT_UNLINKED

_HEADER = struct.Struct("iIII")
_READ_BYTES = 1 << 18


class Event(NamedTuple):
    watch: int
    mask: int
    name: str


class CanNotWatch(Exception):
    """The system can not tell of changes; the text says why and what to do about it."""


class Notifier(Protocol):
    """A queue of events about directories."""

    def fileno(self) -> int: ...

    def add(self, directory: str, *, follow: bool = False) -> int:
        """Watch the directory; the same one has the same number. Raises OSError, or CanNotWatch at a limit."""
        ...

    def remove(self, watch: int) -> None: ...

    def read(self) -> Iterator[Event]:
        """Everything queued up to now, without waiting."""
        ...

    def close(self) -> None: ...


class Inotify:
    __slots__ = ("_add", "_handle", "_remove")

    def __init__(self) -> None:
        try:
            system = ctypes.CDLL(None, use_errno=True)
            start, self._add, self._remove = system.inotify_init1, system.inotify_add_watch, system.inotify_rm_watch
        except (OSError, AttributeError, TypeError):
            raise CanNotWatch("this system has no inotify") from None
        self._handle: int = start(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._handle < 0:
            raise CanNotWatch(_why_no_queue(ctypes.get_errno()))

    def fileno(self) -> int:
        return self._handle

    def add(self, directory: str, *, follow: bool = False) -> int:
        mask = _WATCHED if follow else _WATCHED | _DO_NOT_FOLLOW
        watch: int = self._add(self._handle, os.fsencode(directory), ctypes.c_uint32(mask))
        if watch >= 0:
            return watch
        code = ctypes.get_errno()
        if code == errno.ENOSPC:
            raise CanNotWatch("the system allows no more watches; raise fs.inotify.max_user_watches")
        raise OSError(code, os.strerror(code), directory)

    def remove(self, watch: int) -> None:
        self._remove(self._handle, watch)  # fails for one that is gone, which is what is wanted

    def read(self) -> Iterator[Event]:
        # Only as much as is there now: who writes without end must not keep a reader here.
        left = _queued_bytes(self._handle)
        while left > 0:
            data = os.read(self._handle, _READ_BYTES)
            left -= len(data)
            yield from decoded(data)

    def close(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


def decoded(data: bytes) -> Iterator[Event]:
    at = 0
    while at < len(data):
        watch, mask, _, size = _HEADER.unpack_from(data, at)
        at += _HEADER.size + size
        yield Event(watch, mask, os.fsdecode(data[at - size : at].rstrip(b"\0")))


def _queued_bytes(handle: int) -> int:
    import fcntl  # not everywhere, and neither is inotify
    import termios

    return int.from_bytes(fcntl.ioctl(handle, termios.FIONREAD, bytes(4)), sys.byteorder)


def _why_no_queue(code: int) -> str:
    if code == errno.EMFILE:
        return (
            "no more inotify instances or open files are allowed; raise fs.inotify.max_user_instances or the limit "
            "of open files (ulimit -n)"
        )
    if code == errno.ENFILE:
        return "the system has no more open files; raise fs.file-max"
    return f"inotify can not be used: {os.strerror(code)}"
