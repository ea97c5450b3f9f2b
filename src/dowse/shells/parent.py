"""Whoever started this process, noted while the package is imported: it may be gone before a server is ready."""

from __future__ import annotations

import os
from typing import Final

_STARTED_BY: Final = os.getppid()


def is_gone() -> bool:
    """Whether another process has taken its place; some other process may hold our input open for ever."""
    return os.getppid() != _STARTED_BY
