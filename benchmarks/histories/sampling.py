"""What an indexing process and those it started take while it runs, looked at from outside."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen

import apsw

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_CPU, _PAGES = slice(11, 15), 21  # of what stands behind the name in `stat`, with children that have ended


@dataclass(frozen=True, slots=True)
class Sample:
    """`resident` and `log` are bytes, `cpu_s` is of all processes, also of those that have ended."""

    at_s: float
    commits: int
    cpu_s: float
    resident: int
    log: int


def watch(process: Popen[bytes], index: Path, pause_s: float) -> Iterator[Sample]:
    """Until the process has ended, or whoever looks has seen enough."""
    began = time.perf_counter()
    while process.poll() is None:
        ticks, pages = _used(process.pid)
        at_s = time.perf_counter() - began
        yield Sample(at_s, indexed(index), ticks / _TICKS, pages * _PAGE, _size(Path(f"{index}-wal")))
        time.sleep(pause_s)


def indexed(index: Path) -> int:
    """How many commits are there for good."""
    if not index.exists():
        return 0
    connection = apsw.Connection(str(index), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        connection.set_busy_timeout(1000)
        rows: list[tuple[int]] = list(connection.execute("SELECT count(*) FROM records WHERE kind = 'commit'"))
        return rows[0][0]
    except apsw.Error:
        return 0  # its tables are just being made
    finally:
        connection.close()


def _used(process: int) -> tuple[int, int]:
    """Ticks and pages of a process and of all it started."""
    ticks, pages = 0, 0
    with suppress(OSError):  # it has ended meanwhile
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        ticks, pages = sum(map(int, fields[_CPU])), int(fields[_PAGES])
        for task in Path(f"/proc/{process}/task").iterdir():
            for child in (task / "children").read_text().split():
                more_ticks, more_pages = _used(int(child))
                ticks, pages = ticks + more_ticks, pages + more_pages
    return ticks, pages


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0
