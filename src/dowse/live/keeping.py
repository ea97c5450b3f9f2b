"""Who keeps an index in line with the disk, as it is told to whoever asks."""

from __future__ import annotations

from dataclasses import dataclass

from dowse.live.watch import WatchStatus
from dowse.processes import process_now


@dataclass(frozen=True, slots=True)
class Keeping:
    """Who keeps the index in line with the disk, and how; `leader` is a process, `problem` a sentence."""

    enabled: bool
    leading: bool
    leader: int | None
    watch: WatchStatus | None
    problem: str


def stopped(leader: int | None) -> str:
    """The problem of a leader that does nothing: it keeps its lock all the same."""
    if leader is None or not process_now(leader).is_stopped():
        return ""
    return f"process {leader} leads, but is stopped: nobody follows the files until it goes on (`kill -CONT {leader}`)"
