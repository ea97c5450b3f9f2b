"""The first bytes of an index file, read so that no lock on it is lost."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import apsw

_FLAGS = apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY


def first_bytes(index: Path, count: int) -> bytes:
    """As many as there are. Raises OSError.

    Through SQLite, which keeps the file open for as long as this process holds locks on it: the system would drop them
    all with the first descriptor that is closed, and another process could then take the log away from under us.
    """
    if not stat.S_ISREG(index.stat().st_mode):
        raise OSError(errno.EINVAL, "not a regular file", str(index))
    try:
        file = apsw.VFSFile("", str(index.absolute()), [_FLAGS, 0])
        try:
            return file.xRead(count, 0)
        finally:
            file.xClose()
    except (apsw.CantOpenError, apsw.IOError) as error:
        code = errno.EIO if os.access(index, os.R_OK) else errno.EACCES
        raise OSError(code, os.strerror(code), str(index)) from error
