"""Halves of surrogate pairs: what stands for bytes of a name that are no UTF-8, and what no encoding can write."""

from __future__ import annotations

import os


def is_text(path: str) -> bool:
    """Whether the name came from valid UTF-8; what has another name is not indexed."""
    return path.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in path)


def spelt_out(name: str | bytes) -> str:
    """As names are told everywhere: the bytes of them that are not UTF-8 are spelt out."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def valid(text: str) -> str:
    """The text as valid Unicode: in the place of each half stands a question mark."""
    return text.encode("utf-8", "replace").decode()
