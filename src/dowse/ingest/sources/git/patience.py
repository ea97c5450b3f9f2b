"""How long git is waited for: long enough for a large repository, and briefly where it was waited for in vain."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

LONG_S: Final = 60.0
_BRIEF_S: Final = 3.0
_REMEMBERED_S: Final = 300.0


class Patience:
    """By directory. A pipe in the place of a file keeps git waiting for ever, and every command anew that reads it: the
    first is given its time, those of the next minutes little, then one again; it may only have been busy. That another
    comes to its end meanwhile says nothing: most do not read that file. Any thread may use it."""

    def __init__(
        self,
        long_s: float = LONG_S,
        brief_s: float = _BRIEF_S,
        elapsed: Callable[[], float] = time.monotonic,
    ) -> None:
        self._long_s = long_s
        self._brief_s = brief_s
        self._elapsed = elapsed
        self._in_vain: dict[str, float] = {}

    def seconds(self, directory: str) -> float:
        return self._brief_s if self.is_lost_with(directory) else self._long_s

    def waited_in_vain(self, directory: str) -> None:
        if not self.is_lost_with(directory):  # a brief wait is no proof
            self._in_vain[directory] = self._elapsed()

    def is_lost_with(self, directory: str) -> bool:
        since = self._in_vain.get(directory)
        return since is not None and self._elapsed() - since < _REMEMBERED_S
