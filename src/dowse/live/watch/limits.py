"""What the system allows to be watched."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc/sys/fs/inotify")


@dataclass(frozen=True, slots=True)
class Limits:
    """Per user; None where the system does not say."""

    max_user_watches: int | None
    max_user_instances: int | None
    max_queued_events: int | None


def limits(folder: Path = _PROC) -> Limits:
    return Limits(*(_number(folder / name) for name in Limits.__slots__))


def _number(file: Path) -> int | None:
    try:
        return int(file.read_text())
    except (OSError, ValueError):
        return None
