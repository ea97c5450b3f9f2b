"""How the memory that indexing may take is divided among the processes that parse and what is read ahead for them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Final

from dowse.ingest.ahead import MOST_BYTES

# Beyond, they wait for the one process that writes.
MOST_AUTOMATIC: Final = 8
# What a parser may take at most, however much there is: then something is wrong with the file.
MOST_FOR_ONE_MB: Final = 2_000
# The largest file that is parsed needs a tree of this size; with less, fewer of them work at a time.
ENOUGH_FOR_ONE_MB: Final = 400
# What is read ahead is held at several times its size.
_AHEAD_SHARE: Final = 100


@dataclass(frozen=True, slots=True)
class Portions:
    """`worker_bytes` is the limit of each process; 0 is none."""

    workers: int
    worker_bytes: int
    ahead_bytes: int


def portions(workers: int, memory_mb: int) -> Portions:
    """For so many processes (0: one per core) and so much memory in all (0: no limit)."""
    wanted = workers or min(os.cpu_count() or 1, MOST_AUTOMATIC)
    if not memory_mb:
        return Portions(wanted, 0, MOST_BYTES)
    count = max(1, min(wanted, memory_mb // ENOUGH_FOR_ONE_MB))
    each_mb = min(memory_mb // count, MOST_FOR_ONE_MB)
    return Portions(count, each_mb * 1_000_000, min(MOST_BYTES, memory_mb * 1_000_000 // _AHEAD_SHARE))
