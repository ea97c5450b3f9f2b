"""Which files of a segment may be found: those that count, lie in the scope and have a path that is wanted."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dowse.store.sqlite.lines.arrays import distinct
from dowse.store.sqlite.lines.segment import Places
from dowse.store.sqlite.lines.state import Live

_UNKNOWN = -1


class Gate:
    def __init__(self, live: Live, inside: NDArray[np.int64] | None, wanted: Callable[[str], bool] | None) -> None:
        """`inside` are the records of the scope, None if it is everything."""
        self._live = live
        self._wanted = wanted
        self._inside = live.alive if inside is None else self._alive_of(inside)
        # A path is asked for once, and only where something is found.
        self._known = np.full(live.segment.files, _UNKNOWN, dtype=np.int8) if wanted else None

    def _alive_of(self, records: NDArray[np.int64]) -> NDArray[np.bool_]:
        segment = self._live.segment
        inside = np.zeros(segment.files, dtype=np.bool_)
        inside[segment.files_of(records)] = True
        return inside if self._live.alive is None else inside & self._live.alive

    def open(self, files: Places) -> NDArray[np.bool_]:
        """Of each of these files whether it may be found."""
        result = np.ones(len(files), dtype=np.bool_) if self._inside is None else self._inside[files]
        if self._known is not None and self._wanted is not None:
            for file in distinct(np.sort(files[result])).tolist():
                if self._known[file] == _UNKNOWN:
                    self._known[file] = self._wanted(self._live.segment.name(file).path)
            result = result & (self._known[files] == 1)
        return result
