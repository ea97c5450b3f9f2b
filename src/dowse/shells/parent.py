"""Whoever started this process, noted while the package is imported: it may be gone before a server is ready.

Or it lives, and has closed its end of our input.
"""

from __future__ import annotations

import os
import select

_started_by = os.getppid()
_HALF_CLOSED = getattr(select, "POLLRDHUP", 0)  # of sockets, where the system tells that


def is_gone() -> bool:
    """Whether another process has taken its place; some other process may hold our input open for ever."""
    return os.getppid() != _started_by


def note() -> None:
    """Of a process that was forked: its parent is another than that of the process it is a copy of."""
    global _started_by
    _started_by = os.getppid()


def has_closed(descriptor: int) -> bool:
    """Whether nothing more will be written there, however much is still to be read."""
    poll = select.poll()
    poll.register(descriptor, _HALF_CLOSED)  # that the other end is closed is always told
    return bool(poll.poll(0))
