"""What a backend must keep of itself: notes by name, and what was worked out from its records."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar

Value = TypeVar("Value")

REVISION = "revision"
"""The manifest's name for a token that no two states of the records share; a store may have none."""


class Manifest(Protocol):
    def manifest(self) -> Mapping[str, str]: ...

    def note(self, key: str, value: str) -> None: ...

    def remembered(self, name: str, make: Callable[[], Value]) -> Value:
        """What `make` gave for the records as they are, made anew when this or another process has changed any.

        All threads share it. Vectors and notes may change without it; `make` must not write.
        """
        ...
