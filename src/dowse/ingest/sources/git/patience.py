"""How long git is waited for: long enough for a large repository, and briefly where it was waited for in vain."""

from __future__ import annotations

from typing import Final

LONG_S: Final = 60.0
_BRIEF_S: Final = 3.0


class Patience:
    """By directory. A pipe in the place of a file keeps git waiting for ever, and every command anew: the first is
    given its time, the others little, until one of them comes to its end. Any thread may use it."""

    def __init__(self, long_s: float = LONG_S, brief_s: float = _BRIEF_S) -> None:
        self._long_s = long_s
        self._brief_s = brief_s
        self._in_vain: set[str] = set()

    def seconds(self, directory: str) -> float:
        return self._brief_s if directory in self._in_vain else self._long_s

    def came_to_its_end(self, directory: str) -> None:
        self._in_vain.discard(directory)

    def waited_in_vain(self, directory: str) -> None:
        self._in_vain.add(directory)

    def is_lost_with(self, directory: str) -> bool:
        return directory in self._in_vain
