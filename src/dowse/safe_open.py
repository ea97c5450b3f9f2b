"""Open regular files below a directory without following links."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager

# Without O_NONBLOCK, opening a pipe that replaced the file would wait for a writer forever.
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_DIRECTORY_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC
_UNSAFE_PARTS = frozenset({"", ".", ".."})

_KIND_NAMES = {
    stat.S_IFDIR: "a directory",
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class NotRegularError(OSError):
    """The path is not a regular file; the message says what it is."""


class FileChangedError(OSError):
    """The file was written to while it was read."""


def file_kind(mode: int) -> str:
    return _KIND_NAMES.get(stat.S_IFMT(mode), "a special file")


@contextmanager
def open_below(root: str, path: str) -> Iterator[int]:
    """Open the file at `path`. No component below `root` may be a link or `..`, so the path cannot lead outside."""
    *directories, name = _plain_parts(path)
    handles = [os.open(root, _DIRECTORY_FLAGS & ~os.O_NOFOLLOW)]
    try:
        for directory in directories:
            handles.append(os.open(directory, _DIRECTORY_FLAGS, dir_fd=handles[-1]))
        # Checked before opening, because merely opening a device can have side effects.
        _require_regular(os.stat(name, dir_fd=handles[-1], follow_symlinks=False))
        handles.append(os.open(name, _FILE_FLAGS, dir_fd=handles[-1]))
        yield handles[-1]
    finally:
        for handle in handles:
            os.close(handle)


@contextmanager
def open_file(path: str) -> Iterator[int]:
    handle = os.open(path, _FILE_FLAGS)
    try:
        yield handle
    finally:
        os.close(handle)


def read_file(handle: int, limit: int) -> tuple[os.stat_result, bytes]:
    """Return the file's status and its content; only the status if the file is larger than `limit`."""
    before = os.fstat(handle)
    _require_regular(before)
    if before.st_size > limit:
        return before, b""
    with open(handle, "rb", closefd=False) as file:
        content = file.read(before.st_size + 1)  # not `limit`: read() allocates as much memory as it is asked for
    after = os.fstat(handle)
    is_same = (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns)
    if not is_same or len(content) != before.st_size:
        raise FileChangedError("the file changed while it was read")
    return before, content


def _plain_parts(path: str) -> list[str]:
    parts = path.split("/")
    if not _UNSAFE_PARTS.isdisjoint(parts):
        raise NotRegularError("a path that leads elsewhere, not a regular file")
    return parts


def _require_regular(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise NotRegularError(f"{file_kind(status.st_mode)}, not a regular file")
