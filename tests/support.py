"""Helpers that tests import by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from dowse.engine import Engine

OpenEngine = Callable[..., Engine]


def write(root: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
