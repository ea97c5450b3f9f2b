"""Something remembered, within bounds."""

from __future__ import annotations

from typing import TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class Memo(dict[Key, Value]):
    """Forgets everything when it is full: simple, safe between threads, and full only in very large indexes."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def keep(self, key: Key, value: Value) -> Value:
        if len(self) >= self._most:
            self.clear()
        self[key] = value
        return value
