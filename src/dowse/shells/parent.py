"""Whoever started this process, noted while the package is imported: it may be gone before a server is ready.

Or it lives, and has closed its end of our input.
"""

from __future__ import annotations

import os
import select
from typing import Final

_STARTED_BY: Final = os.getppid()
_HALF_CLOSED: Final = getattr(select, "POLLRDHUP", 0)  # of sockets, where the system tells that


def is_gone() -> bool:
    """Whether another process has taken its place; some other process may hold our input open for ever."""
    return os.getppid() != _STARTED_BY


def has_closed(descriptor: int) -> bool:
    """Whether nothing more will be written there, however much is still to be read."""
    poll = select.poll()
    poll.register(descriptor, _HALF_CLOSED)  # that the other end is closed is always told
    return bool(poll.poll(0))
