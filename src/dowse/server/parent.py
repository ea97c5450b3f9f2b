"""The process that started this one, recorded at import because it may be gone before a server is ready.

A parent that is alive may also have closed its end of our input.
"""

from __future__ import annotations

import os
import select

_parent_pid = os.getppid()
_PEER_CLOSED_EVENT = getattr(select, "POLLRDHUP", 0)  # for sockets, where the system reports it


def parent_exited() -> bool:
    """Return whether the parent is gone; stdin alone does not tell, because another process may hold it open
    forever."""
    return os.getppid() != _parent_pid


def record_parent() -> None:
    """Record the parent again after a fork: the child has another parent than the process it was copied from."""
    global _parent_pid
    _parent_pid = os.getppid()


def is_peer_closed(descriptor: int) -> bool:
    """Return whether nothing more will be written there, however much is still unread."""
    poll = select.poll()
    poll.register(descriptor, _PEER_CLOSED_EVENT)  # poll always reports that the other end is closed
    return bool(poll.poll(0))
