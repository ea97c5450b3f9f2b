"""Damage done to files on purpose."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path


def flip(at: Callable[[int], int]) -> Callable[[Path], None]:
    """Damage one byte, found by the size of the file."""

    def damage(file: Path) -> None:
        content = bytearray(file.read_bytes())
        content[at(len(content))] ^= 0xFF
        file.write_bytes(content)

    return damage
