"""Halves of surrogate pairs: what stands for bytes of a name that are no UTF-8, and what no encoding can write."""

from __future__ import annotations

import os
from collections.abc import Mapping


def is_text(path: str) -> bool:
    """Whether the name came from valid UTF-8; what has another name is not indexed."""
    return path.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in path)


def spelt_out(name: str | bytes) -> str:
    """As names are told everywhere: the bytes of them that are not UTF-8 are spelt out."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def valid(text: str) -> str:
    """The text as valid Unicode: in the place of each half stands a question mark."""
    return text.encode("utf-8", "replace").decode()


def make_encodable(value: object) -> object:
    """The value with names spelt out in all of its texts, and no half left that no encoding can write."""
    if isinstance(value, str):
        try:
            return value if is_text(value) else spelt_out(value)
        except UnicodeEncodeError:
            return valid(value)
    if isinstance(value, Mapping):
        return {make_encodable(key): make_encodable(part) for key, part in value.items()}
    return [make_encodable(part) for part in value] if isinstance(value, list | tuple) else value
