"""What a process and everything it starts cost: wall and CPU seconds, and the most memory held at once."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from timing import timed

EVERY_S = 0.5
PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Footprint:
    """`peak_rss_mb` counts pages that several processes share for each of them, `peak_pss_mb` once."""

    wall_s: float
    cpu_s: float
    peak_rss_mb: float
    peak_pss_mb: float


def run(command: Sequence[str], environment: Mapping[str, str]) -> Footprint:
    """Runs to the end; what it says on stderr, like progress, is seen."""
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    with Watch(process.pid) as watch:
        (_, status, used), wall_ms = timed(os.wait4, process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return Footprint(wall_ms / 1000, used.ru_utime + used.ru_stime, watch.rss_mb, watch.pss_mb)


class Watch:
    """Samples the memory of a tree of processes until left."""

    def __init__(self, pid: int) -> None:
        self.rss_mb = self.pss_mb = 0.0
        self._pid = pid
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._sample)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._done.wait(EVERY_S):
            tree = descendants(self._pid)
            self.rss_mb = max(self.rss_mb, sum(_kb(pid, "status", "VmRSS:") for pid in tree) / 1024)
            self.pss_mb = max(self.pss_mb, sum(_kb(pid, "smaps_rollup", "Pss:") for pid in tree) / 1024)


def descendants(pid: int) -> list[int]:
    """The process and everything below it, as far as it still runs."""
    below: dict[int, list[int]] = {}
    for folder in PROC.glob("[0-9]*"):
        # The name of the program stands in parentheses and may hold anything; its parent is the second word after it.
        if rest := _text(folder / "stat").rpartition(")")[2].split():
            below.setdefault(int(rest[1]), []).append(int(folder.name))
    found = [pid]
    for parent in found:
        found += below.get(parent, [])
    return found


def _kb(pid: int, file: str, label: str) -> int:
    lines = _text(PROC / str(pid) / file).splitlines()
    return next((int(line.split()[1]) for line in lines if line.startswith(label)), 0)


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:  # it has ended
        return ""
