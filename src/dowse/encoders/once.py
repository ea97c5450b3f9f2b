"""Models are loaded on first use, once, whoever asks."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Once(Generic[Value]):
    """What `make` gives: the first thread that asks makes it, others wait for that; after a failure the next tries."""

    def __init__(self, make: Callable[[], Value]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._made: Value | None = None

    def __call__(self) -> Value:
        with self._lock:
            if self._made is None:
                self._made = self._make()
            return self._made
