"""What the system allows to be watched."""

from __future__ import annotations

from pathlib import Path

_MOST_WATCHES = Path("/proc/sys/fs/inotify/max_user_watches")


def most_watches(file: Path = _MOST_WATCHES) -> int | None:
    """How many directories a user may watch at once; None where the system does not say."""
    try:
        return int(file.read_text())
    except (OSError, ValueError):
        return None
