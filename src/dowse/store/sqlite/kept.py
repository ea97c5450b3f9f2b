"""What was asked for last, kept while there is room for it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sized
from typing import Any, Final, TypeVar

Value = TypeVar("Value")

_UNMADE: Final = object()


class _Answer:
    """Made by whoever gets the lock first; the others wait for that instead of making it, too."""

    def __init__(self) -> None:
        self.turn = threading.RLock()
        self.made: Any = _UNMADE

    @property
    def size(self) -> int:
        return len(self.made) if isinstance(self.made, Sized) else 1


class Kept:
    """Shared by all threads; so many answers, with so much in all of them, and those that nobody asked for go first."""

    def __init__(self, answers: int, size: int) -> None:
        self._most = answers
        self._most_size = size
        self._turn = threading.Lock()
        self._answers: OrderedDict[Hashable, _Answer] = OrderedDict()

    def once(self, name: Hashable, make: Callable[[], Value]) -> Value:
        """What `make` gave, for as long as it is kept."""
        with self._turn:
            answer = self._answers.setdefault(name, _Answer())
            self._answers.move_to_end(name)
        if answer.made is _UNMADE:
            with answer.turn:
                if answer.made is _UNMADE:
                    answer.made = make()
                    self._make_room()
        value: Value = answer.made
        return value

    def drop(self, name: Hashable) -> None:
        with self._turn:
            self._answers.pop(name, None)

    def _make_room(self) -> None:
        """What was asked for last stays, however large."""
        with self._turn:
            size = sum(it.size for it in self._answers.values())
            while len(self._answers) > 1 and (len(self._answers) > self._most or size > self._most_size):
                size -= self._answers.popitem(last=False)[1].size
