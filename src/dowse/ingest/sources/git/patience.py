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
    first is given its time, the others little, until one comes to its end some minutes after the last that did not.
    Sooner it says nothing: most commands do not read that file. Any thread may use it."""

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
        return self._brief_s if directory in self._in_vain else self._long_s

    def came_to_its_end(self, directory: str) -> None:
        if self._elapsed() - self._in_vain.get(directory, 0.0) >= _REMEMBERED_S:
            self._in_vain.pop(directory, None)

    def waited_in_vain(self, directory: str) -> None:
        self._in_vain[directory] = self._elapsed()

    def is_lost_with(self, directory: str) -> bool:
        return directory in self._in_vain
