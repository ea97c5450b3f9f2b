"""Names that are no plain text: halves of surrogate pairs for bytes that are no UTF-8, and names in git's quotes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Final

_QUOTED = re.compile(r"\\([0-7]{3}|.)", re.DOTALL)
_ESCAPES: Final = {"a": "\a", "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r"}


def is_text(path: str) -> bool:
    """Whether the name came from valid UTF-8; what has another name is not indexed."""
    return path.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in path)


def spelt_out(name: str | bytes) -> str:
    """As names are told everywhere: the bytes of them that are not UTF-8 are spelt out."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def valid(text: str) -> str:
    """The text as valid Unicode: in the place of each half stands a question mark."""
    return text.encode("utf-8", "replace").decode()


def unquoted(path: str) -> str:
    """A path with unusual characters is written as a C string."""
    if not (path.startswith('"') and path.endswith('"')):
        return path
    data = b"".join(_unescaped(path[1:-1]))
    return data.decode("utf-8", "replace")


def _unescaped(text: str) -> Iterator[bytes]:
    done = 0
    for found in _QUOTED.finditer(text):
        yield text[done : found.start()].encode("utf-8", "replace")
        code = found[1]
        yield bytes([int(code, 8) & 0xFF]) if len(code) == 3 else _ESCAPES.get(code, code).encode("utf-8", "replace")
        done = found.end()
    yield text[done:].encode("utf-8", "replace")


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
