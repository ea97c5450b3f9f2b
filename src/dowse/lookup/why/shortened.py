"""Texts on one line, and not too long for a list."""

from __future__ import annotations

MOST_CHARS = 160


def shortened(text: str) -> str:
    flat = " ".join(text[: 10 * MOST_CHARS].split())
    return flat if len(flat) <= MOST_CHARS else f"{flat[:MOST_CHARS]}…"
