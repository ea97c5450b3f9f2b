"""What was asked for last, kept while there is room for it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from sys import getsizeof
from typing import Any, Final, TypeVar

Value = TypeVar("Value")

_UNMADE: Final = object()


class _Answer:
    """Made by whoever gets the lock first; the others wait for that instead of making it, too."""

    def __init__(self) -> None:
        self.turn = threading.RLock()
        self.made: Any = _UNMADE
        self.size = 0


class Kept:
    """Shared by all threads; so many answers, of so many bytes in all, and those that nobody asked for go first.

    Whoever makes an answer holds the lock of this one meanwhile. So `make` may ask for other answers only in an order
    that never leads back, and for no lock under which somebody may ask for an answer.
    """

    def __init__(self, answers: int, size_bytes: int) -> None:
        self._most = answers
        self._most_bytes = size_bytes
        self._turn = threading.Lock()
        self._answers: OrderedDict[Hashable, _Answer] = OrderedDict()
        self._size = 0

    def once(self, name: Hashable, make: Callable[[], Value]) -> Value:
        """What `make` gave, for as long as it is kept."""
        with self._turn:
            answer = self._answers.setdefault(name, _Answer())
            self._answers.move_to_end(name)
        if answer.made is _UNMADE:
            with answer.turn:
                if answer.made is _UNMADE:
                    answer.made = made = make()
                    self._weigh(name, answer, bytes_of(made))
        value: Value = answer.made
        return value

    def drop(self, name: Hashable) -> None:
        with self._turn:
            self._size -= self._answers.pop(name).size if name in self._answers else 0

    def _weigh(self, name: Hashable, answer: _Answer, size: int) -> None:
        """What was asked for last stays, however large; what went while it was made is not counted."""
        with self._turn:
            if self._answers.get(name) is answer:
                answer.size = size
                self._size += size
            while len(self._answers) > 1 and (len(self._answers) > self._most or self._size > self._most_bytes):
                self._size -= self._answers.popitem(last=False)[1].size


def bytes_of(value: object) -> int:
    """What it takes in memory, with what it holds; what several hold counts for each of them."""
    if isinstance(value, dict):
        return getsizeof(value) + sum(map(getsizeof, value)) + sum(map(bytes_of, value.values()))
    return getsizeof(value) + (sum(map(getsizeof, value)) if isinstance(value, (list, frozenset)) else 0)
