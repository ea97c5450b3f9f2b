"""Which processes of a run are still there, told by a variable of their environment."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path


def processes_with(text: str) -> dict[int, str]:
    """Every process whose environment holds the text, with its command line."""
    found: dict[int, str] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with suppress(OSError):
            if text.encode() in (entry / "environ").read_bytes():
                found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()[:120]
    return found


def left_after(text: str, seconds: float) -> dict[int, str]:
    """Those that are still there when the time is over; returns as soon as there are none."""
    until = time.monotonic() + seconds
    while (found := processes_with(text)) and time.monotonic() < until:
        time.sleep(0.05)
    return found
