"""Files in an opened folder or below it: read, replaced and moved whole, without following a link."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from dowse.errors import BadInput
from dowse.memories.ways import holding

# Only who holds the folder's lock writes, so that one name is enough, and what a kill left behind is replaced.
ASIDE: Final = ".writing"
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_WRITE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def told(doing: str) -> Iterator[None]:
    """What the system refuses, as a sentence."""
    try:
        yield
    except OSError as error:
        raise BadInput(f"can not {doing}: {error.strerror}; check the disk and who may write there") from error


def exists(folder: int, path: str) -> bool:
    return _mode_below(folder, path) is not None


def has_note(folder: int, path: str) -> bool:
    """Whether its place is taken; raises BadInput where that is by a directory, which holds notes and is none."""
    mode = _mode_below(folder, path)
    if mode is not None and stat.S_ISDIR(mode):
        raise BadInput(f"{path} is a directory and no memory; rename it, or choose another name")
    return mode is not None


def read_file(folder: int, path: str, max_bytes: int) -> bytes:
    """Raises FileNotFoundError where there is none, BadInput for what is no file of words."""
    with holding(folder, path) as (place, name):
        _check_regular(path, _mode(place, name))
        with os.fdopen(os.open(name, _READ, dir_fd=place), "rb") as file:
            data = file.read(max_bytes + 1)
    check_size(path, len(data), max_bytes)
    return data


def check_size(name: str, size: int, max_bytes: int) -> None:
    if size > max_bytes:
        raise BadInput(f"{name} would have more than {max_bytes:,} bytes; write another memory")


def write_file(folder: int, path: str, data: bytes) -> None:
    """Written aside, flushed and renamed: after a kill or a full disk the old file is there, or the new one."""
    with holding(folder, path) as (place, name):
        mode = _mode(place, name)
        _check_regular(path, mode)
        _write(place, name, data, mode)


def move_file(folder: int, path: str, there: int, thither: str) -> None:
    """Whole, and for good when it returns; nobody may have made a file of the new name meanwhile."""
    with holding(folder, path) as (old, name), holding(there, thither) as (new, new_name):
        _check_regular(path, _mode(old, name))
        os.rename(name, new_name, src_dir_fd=old, dst_dir_fd=new)
        os.fsync(new)
        os.fsync(old)


def _write(folder: int, name: str, data: bytes, mode: int | None) -> None:
    """With the permissions of `mode`; None: there was no file, and the user's own habits count."""
    try:
        with suppress(FileNotFoundError):
            os.unlink(ASIDE, dir_fd=folder)
        with os.fdopen(os.open(ASIDE, _WRITE, 0o666, dir_fd=folder), "wb") as file:
            file.write(data)
            file.flush()
            if mode is not None:
                os.fchmod(file.fileno(), stat.S_IMODE(mode))
            os.fsync(file.fileno())
        os.rename(ASIDE, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        with suppress(OSError):
            os.unlink(ASIDE, dir_fd=folder)
        raise
    os.fsync(folder)


def _check_regular(path: str, mode: int | None) -> None:
    if mode is not None and not stat.S_ISREG(mode):
        raise BadInput(f"{path} is no regular file, and links are not followed; replace it by the file itself")


def _mode_below(folder: int, path: str) -> int | None:
    try:
        with holding(folder, path) as (place, name):
            return _mode(place, name)
    except FileNotFoundError:
        return None


def _mode(folder: int, name: str) -> int | None:
    """What is there, and who may read it; None: nothing."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return None
