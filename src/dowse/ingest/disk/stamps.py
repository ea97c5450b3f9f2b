"""What the file system says of a path, as far as it takes part in comparing."""

from __future__ import annotations

import os
import stat
from typing import Final, Literal, NamedTuple

Kind = Literal["file", "directory", "other", "nothing", "unknown"]

# What was written this shortly before it was looked at may change again under the same timestamp.
RACY_NS: Final = 20_000_000


class Stamp(NamedTuple):
    """`nothing` is there, or it is `unknown` whether there is. The time of a file is that of its content; that of a
    directory moves, too, when it is moved itself."""

    kind: Kind
    size: int = 0
    time_ns: int = 0


NOTHING = Stamp("nothing")
UNKNOWN = Stamp("unknown")


def stamp_of(path: str) -> Stamp:
    """Of the path itself, not of what it may link to."""
    try:
        status = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return NOTHING
    except (OSError, ValueError):
        return UNKNOWN
    if stat.S_ISREG(status.st_mode):
        return Stamp("file", status.st_size, status.st_mtime_ns)
    return Stamp("directory", 0, status.st_ctime_ns) if stat.S_ISDIR(status.st_mode) else Stamp("other")
