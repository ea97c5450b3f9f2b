"""Something remembered, within bounds."""

from __future__ import annotations

from typing import TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class Memo(dict[Key, Value]):
    """Forgets everything when it is full: simple, safe between threads, and full only in very large indexes.

    An entry may count as several, by its `size`.
    """

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most
        self._more = 0  # what entries count beyond one each

    def keep(self, key: Key, value: Value, size: int = 1) -> Value:
        if len(self) + self._more + size > self._most:
            self.clear()
            self._more = 0
        self._more += size - 1
        self[key] = value
        return value
