"""What was worked out from a store, kept for as long as the store stays as it was."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

Value = TypeVar("Value")


class Remembered:
    """Shared by all threads: whoever asks first makes it, the others wait for that instead of making it too."""

    def __init__(self) -> None:
        # What is made may rest on something else that is remembered, so one thread may enter twice.
        self._turn = threading.RLock()
        self._made: dict[str, tuple[str, Any]] = {}

    def get(self, name: str, revision: Callable[[], str], make: Callable[[], Value]) -> Value:
        """What `make` gave at this revision of the store."""
        held = self._made.get(name)
        if held is None or held[0] != revision():
            with self._turn:
                held = self._current(name, revision(), make)
        value: Value = held[1]
        return value

    def _current(self, name: str, revision: str, make: Callable[[], Value]) -> tuple[str, Value]:
        """The revision was read before anything is made: what changes meanwhile is noticed the next time."""
        held = self._made.get(name)
        if held is None or held[0] != revision:
            held = self._made[name] = (revision, make())
        return held
