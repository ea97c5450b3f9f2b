"""The look at repositories before an answer: are their histories as they were indexed?"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from dowse.engine.repairs import Repairs

# Looks that take longer are not made for every question, but take at most one part in so many of all time. One that
# took long may only have been held up by what else the machine does: the quickest of a few counts.
_CHEAP_S: Final = 0.005
_SHARE: Final = 10
_FEW: Final = 3
_LAST_WORD_S: Final = 2.0


class Newest:
    """`behind` tells which histories are not as their repositories, and the state of these; `repairs` brings in what
    few commits came or went, which the answer waits for only so long."""

    def __init__(
        self,
        behind: Callable[[], Mapping[str, str]],
        repairs: Repairs,
        elapsed: Callable[[], float],
        repair_s: float,
    ) -> None:
        self._behind = behind
        self._repairs = repairs
        self._elapsed = elapsed
        self._repair_s = repair_s
        self._turn = threading.Lock()
        self._due = 0.0
        self._took_s = deque([0.0] * _FEW, maxlen=_FEW)
        self._seen: Mapping[str, str] = {}
        # What was tried in vain: not once more before it changes.
        self._tried: dict[str, str] = {}

    def look(self) -> tuple[str, ...]:
        """What an answer must say, after what is quickly repaired was."""
        behind = self._looked()
        untried = [name for name, state in behind.items() if self._tried.get(name) != state]
        if untried and self._repair_s:
            reason = self._repairs.run(dict.fromkeys(untried, ()), self._repair_s)
            left = self._behind()
            self._remember(behind, left, untried)
            self._seen = left
            return _sentences(left, reason)
        return _sentences(behind, "")

    def close(self) -> None:
        self._repairs.close(_LAST_WORD_S)

    def _looked(self) -> Mapping[str, str]:
        with self._turn:
            began = self._elapsed()
            if began >= self._due:
                self._seen = self._behind()
                self._took_s.append(self._elapsed() - began)
                quickest_s = min(self._took_s)
                self._due = 0.0 if quickest_s <= _CHEAP_S else began + _SHARE * quickest_s
            return self._seen

    def _remember(self, before: Mapping[str, str], after: Mapping[str, str], tried: Iterable[str]) -> None:
        self._tried = {name: before[name] for name in tried if after.get(name) == before[name]}


def _sentences(behind: Iterable[str], reason: str) -> tuple[str, ...]:
    why = f" ({reason})" if reason else ""
    return tuple(f"commits of {name} came or went that this answer does not know of{why}" for name in behind)
