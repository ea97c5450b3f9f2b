"""The inotify backend."""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from dowse.git.repository import HEAD_FILE, is_bare, work_tree_above
from dowse.ingest.sources.walk import BareRepositories, work_tree_entries
from dowse.live.watch.debounce import (
    GIT_ENTRY_NAME,
    FileEvent,
    GitWatchDirectory,
    WatchTarget,
    git_watch_directories,
    is_ignore_rules_file,
)
from dowse.text.unicode import is_valid_name

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

# CREATE alone reports hard links and files created without a name. MODIFY reports files that are written and stay open.
# CLOSE_WRITE reports writes through a memory mapping, when the mapping ends.
_WRITE_EVENTS = MODIFY | ATTRIB | CLOSE_WRITE | CREATE
_RENAME_EVENTS = MOVED_FROM | MOVED_TO | DELETE | DELETE_SELF | MOVE_SELF
_WATCH_MASK = _WRITE_EVENTS | _RENAME_EVENTS | _ONLY_DIRECTORIES | _NOT_UNLINKED

_EVENT_HEADER = struct.Struct("iIII")
_EVENT_READ_BYTES = 1 << 18


class InotifyEvent(NamedTuple):
    watch: int
    mask: int
    name: str


class WatchUnavailable(Exception):
    """The system cannot report changes; the message says why and what to do."""


class Notifier(Protocol):
    """A queue of events about directories."""

    def fileno(self) -> int: ...

    def add(self, directory: str, *, follow: bool = False) -> int:
        """Watch a directory; the same directory gets the same watch number. Raise OSError, or CanNotWatch at a
        limit."""
        ...

    def remove(self, watch: int) -> None: ...

    def read(self) -> Iterator[InotifyEvent]:
        """Yield all events queued so far, without blocking."""
        ...

    def close(self) -> None: ...


class Inotify:
    __slots__ = ("_add", "_handle", "_remove")

    def __init__(self) -> None:
        try:
            system = ctypes.CDLL(None, use_errno=True)
            start, self._add, self._remove = system.inotify_init1, system.inotify_add_watch, system.inotify_rm_watch
        except (OSError, AttributeError, TypeError):
            raise WatchUnavailable("this system has no inotify") from None
        self._handle: int = start(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._handle < 0:
            raise WatchUnavailable(_explain_init_failure(ctypes.get_errno()))

    def fileno(self) -> int:
        return self._handle

    def add(self, directory: str, *, follow: bool = False) -> int:
        mask = _WATCH_MASK if follow else _WATCH_MASK | _DO_NOT_FOLLOW
        watch: int = self._add(self._handle, os.fsencode(directory), ctypes.c_uint32(mask))
        if watch >= 0:
            return watch
        code = ctypes.get_errno()
        if code == errno.ENOSPC:
            raise WatchUnavailable("limit of inotify watches reached; raise fs.inotify.max_user_watches")
        raise OSError(code, os.strerror(code), directory)

    def remove(self, watch: int) -> None:
        self._remove(self._handle, watch)  # fails if the watch is gone already, which is fine

    def read(self) -> Iterator[InotifyEvent]:
        # Read only the bytes queued now: a process that writes without pause must not keep the reader here.
        left = _queued_bytes(self._handle)
        while left > 0:
            data = os.read(self._handle, _EVENT_READ_BYTES)
            left -= len(data)
            yield from decode_events(data)

    def close(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


def decode_events(data: bytes) -> Iterator[InotifyEvent]:
    at = 0
    while at < len(data):
        watch, mask, _, size = _EVENT_HEADER.unpack_from(data, at)
        at += _EVENT_HEADER.size + size
        yield InotifyEvent(watch, mask, os.fsdecode(data[at - size : at].rstrip(b"\0")))


def _queued_bytes(handle: int) -> int:
    import fcntl  # missing on some systems, as is inotify
    import termios

    return int.from_bytes(fcntl.ioctl(handle, termios.FIONREAD, bytes(4)), sys.byteorder)


def _explain_init_failure(code: int) -> str:
    if code == errno.EMFILE:
        return (
            "limit of inotify instances or open files reached; raise fs.inotify.max_user_instances or the limit "
            "of open files (ulimit -n)"
        )
    if code == errno.ENFILE:
        return "system limit of open files reached; raise fs.file-max"
    return f"inotify is not available: {os.strerror(code)}"


# --------------------------------------------------------------------------------------------------
# Watched directories of a root: every wanted one, never through links.


class WatchedDirectories:
    """Maps watch numbers to directories. Paths are relative to the root; the root itself is the empty path."""

    def __init__(self, place: WatchTarget, notifier: Notifier) -> None:
        self._place = place
        self._root = str(place.root)
        self._notifier = notifier
        self._watch_by_path: dict[str, int] = {}
        self._path_by_watch: dict[int, str] = {}
        self._git_by_watch: dict[int, list[GitWatchDirectory]] = {}
        self._unreadable: set[str] = set()

    def __len__(self) -> int:
        return len(self._path_by_watch) + len(self._git_by_watch)

    def directory(self, watch: int) -> str | None:
        return self._path_by_watch.get(watch)

    def git_directories_of(self, watch: int) -> Sequence[GitWatchDirectory]:
        """Return the repository signs to look for in the directory of this watch."""
        return self._git_by_watch.get(watch, ())

    def enter(self, top: str) -> Iterator[FileEvent]:
        """Watch a directory and everything below. Each directory is watched before it is listed, so that no change is
        missed."""
        waiting = [top]
        while waiting:
            directory = waiting.pop()
            if not self._watch(directory):
                continue
            entries = self._entries(directory)
            if HEAD_FILE in entries and is_bare(self._absolute(directory)):
                yield FileEvent("rules")
                entries = dict.fromkeys(sorted(work_tree_entries(self._absolute(directory))), True)
            for name, is_directory in entries.items():
                path = f"{directory}/{name}" if directory else name
                if name == GIT_ENTRY_NAME:
                    self.watch_git_files(self._absolute(directory))
                    yield FileEvent("rules")
                elif is_ignore_rules_file(path):
                    yield FileEvent("rules")
                elif is_directory and self._place.wants_directory(path):
                    waiting.append(path)

    def watch_git_files(self, top: str) -> None:
        """Watch the git files of the repository whose work tree starts at this absolute path."""
        for signs in git_watch_directories(top):
            try:
                watch = self._notifier.add(signs.directory, follow=True)
            except OSError:
                continue  # not every repository has all of these directories
            if signs not in (known := self._git_by_watch.setdefault(watch, [])):
                known.append(signs)

    def leave(self, top: str) -> None:
        """Stop watching a directory that was moved away, and everything below."""
        for directory in [it for it in self._watch_by_path if it == top or it.startswith(top + "/")]:
            watch = self._watch_by_path.pop(directory)
            if self._path_by_watch.get(watch) == directory:  # unless it was found again elsewhere already
                del self._path_by_watch[watch]
                self._notifier.remove(watch)
        self._unreadable = {it for it in self._unreadable if it != top and not it.startswith(top + "/")}

    def forget(self, watch: int) -> None:
        """Drop a watch that the system has removed."""
        self._git_by_watch.pop(watch, None)
        directory = self._path_by_watch.pop(watch, None)
        if directory is not None and self._watch_by_path.get(directory) == watch:
            del self._watch_by_path[directory]

    def handle_permission_change(self, directory: str) -> Iterator[FileEvent]:
        """Handle changed attributes of a directory: only a change of its read permission matters."""
        is_open = os.access(self._absolute(directory), os.R_OK | os.X_OK)
        if not is_open and directory in self._watch_by_path:
            self._unreadable.add(directory)
            yield FileEvent("tree", directory)
        elif is_open and directory in self._unreadable:
            self._unreadable.discard(directory)
            yield from self.enter(directory)
            yield FileEvent("tree", directory)

    def _watch(self, directory: str) -> bool:
        try:
            watch = self._notifier.add(self._absolute(directory), follow=not directory)
        except OSError as error:
            self._mark_unreadable(directory, error)
            return False
        self._path_by_watch[watch] = directory  # a watch known by another path was moved here
        self._watch_by_path[directory] = watch
        return True

    def _entries(self, directory: str) -> dict[str, bool]:
        """Return the names in a directory, and whether each is a directory."""
        try:
            with os.scandir(self._absolute(directory)) as scan:
                return {entry.name: entry.is_dir(follow_symlinks=False) for entry in scan}
        except OSError as error:
            self._mark_unreadable(directory, error)
            return {}

    def _mark_unreadable(self, directory: str, error: OSError) -> None:
        """Remember an unreadable directory, to retry when its permissions change. A directory that is gone needs no
        retry."""
        if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            self._unreadable.add(directory)

    def _absolute(self, path: str) -> str:
        return f"{self._root}/{path}" if path else self._root


# --------------------------------------------------------------------------------------------------
# inotify backend for one root: translates events into changes.

_APPEAR_EVENTS = CREATE | MOVED_TO
_NAME_EVENTS = _APPEAR_EVENTS | DELETE | MOVED_FROM
_ROOT_LOST_EVENTS = DELETE_SELF | MOVE_SELF | UNMOUNT | IGNORED


class RootGone(Exception):
    """The root is not a directory, or is not readable."""


class InotifyBackend:
    """One event queue for one root; owns the notifier."""

    def __init__(self, place: WatchTarget, notifier: Notifier) -> None:
        self._place = place
        self._notifier = notifier
        self._watches = WatchedDirectories(place, notifier)
        self._is_root_lost = False
        self.received = 0
        try:
            # Taken before the watch starts: if the root is replaced in between, the identities differ and `is_there`
            # notices.
            self._identity = _root_identity(place.root)
            self._enter_root()
        except BaseException:
            self.close()
            raise

    @property
    def directories(self) -> int:
        return len(self._watches)

    def fileno(self) -> int:
        return self._notifier.fileno()

    def is_there(self) -> bool:
        """Return whether the root still is the watched directory. Moving one of its parents causes no event."""
        return not self._is_root_lost and _root_identity(self._place.root) == self._identity

    def read_events(self) -> list[FileEvent]:
        """Return the changes since the last call, without duplicates."""
        seen: dict[FileEvent, None] = {}
        try:
            for event in self._notifier.read():
                self.received += 1
                for file_event in self._translate(event, seen):
                    seen[file_event] = None
        except WatchUnavailable:
            seen[FileEvent("lost")] = None
        return list(seen)

    def close(self) -> None:
        self._notifier.close()

    def _enter_root(self) -> None:
        for _ in self._watches.enter(""):
            pass  # the initial comparison covers everything anyway
        if not self._watches:
            raise RootGone
        root = str(self._place.root)
        above = work_tree_above(root)
        if above is not None and above != root:
            self._watches.watch_git_files(above)

    def _translate(self, event: InotifyEvent, seen: Iterable[FileEvent]) -> Iterator[FileEvent]:
        if event.mask & OVERFLOW:
            yield FileEvent("lost")
        for signs in self._watches.git_directories_of(event.watch):
            yield from _git_events(signs, event)
        directory = self._watches.directory(event.watch)
        if directory is not None and event.name:
            path = f"{directory}/{event.name}" if directory else event.name
            yield from self._handle_entry(path, event, seen)
        elif directory is not None:
            yield from self._handle_self(directory, event.mask)
        if event.mask & IGNORED:
            self._watches.forget(event.watch)

    def _handle_self(self, directory: str, mask: int) -> Iterator[FileEvent]:
        """Handle an event about a watched directory itself. Only the root needs it: its parent is not watched."""
        if not directory and mask & _ROOT_LOST_EVENTS:
            self._is_root_lost = True  # even if another directory replaces it, which may get the same inode number
        elif not directory and mask & ATTRIB:
            yield from (FileEvent("lost") for _ in self._watches.handle_permission_change(directory))
        elif mask & UNMOUNT:
            yield FileEvent("tree", directory)

    def _handle_entry(self, path: str, event: InotifyEvent, seen: Iterable[FileEvent]) -> Iterator[FileEvent]:
        if event.name == HEAD_FILE and event.mask & _NAME_EVENTS:
            yield FileEvent("rules")  # a bare repository may appear or disappear with its HEAD
        if event.name == GIT_ENTRY_NAME:
            if not event.mask & (ATTRIB | MODIFY):
                yield FileEvent("rules")
        elif is_ignore_rules_file(path):
            yield FileEvent("rules")
        elif not is_valid_name(path):
            return  # never indexed, nor is anything below it
        elif event.mask & IS_DIRECTORY:
            yield from self._handle_directory(path, event.mask)
        elif (file_event := FileEvent("file", path)) in seen or self._place.wants_file(path):
            yield file_event

    def _handle_directory(self, path: str, mask: int) -> Iterator[FileEvent]:
        if mask & ATTRIB:
            yield from self._watches.handle_permission_change(path)
            return
        if mask & MOVED_FROM:
            self._watches.leave(path)
        if self._place.wants_directory(path):
            if mask & _APPEAR_EVENTS:
                yield from self._watches.enter(path)
            yield FileEvent("tree", path)
        elif mask & _APPEAR_EVENTS and self._is_in_bare_repository(path.rpartition("/")[0]):
            yield FileEvent("rules")  # git may turn it into a work tree in the next moment

    def _is_in_bare_repository(self, directory: str) -> bool:
        return BareRepositories(str(self._place.root)).enclosing_repository(directory) is not None


def _root_identity(root: Path) -> tuple[int, int] | None:
    try:
        status = root.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _git_events(signs: GitWatchDirectory, event: InotifyEvent) -> Iterator[FileEvent]:
    kind = signs.classify(event.name) if event.name and not event.mask & MODIFY else None
    if kind is not None:
        yield FileEvent(kind)


# --------------------------------------------------------------------------------------------------
# Wakes up a thread that polls file descriptors.


class WakePipe:
    """A pipe whose read end the thread polls. Waking a closed pipe does nothing, from any thread."""

    def __init__(self) -> None:
        self._read_end, self._write_end = os.pipe()
        os.set_blocking(self._read_end, False)
        os.set_blocking(self._write_end, False)
        self._lock = threading.Lock()
        self._is_open = True

    def fileno(self) -> int:
        return self._read_end

    def wake(self) -> None:
        with self._lock:
            if self._is_open:
                try:
                    os.write(self._write_end, b"!")
                except BlockingIOError:
                    return  # the pipe is full, so the thread is about to wake up

    def drain(self) -> None:
        try:
            while os.read(self._read_end, 4096):
                pass
        except BlockingIOError:
            return

    def close(self) -> None:
        with self._lock:
            self._is_open = False
            os.close(self._read_end)
            os.close(self._write_end)
