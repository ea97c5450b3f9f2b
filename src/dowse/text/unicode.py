"""Decode bytes to text, and handle lone surrogates."""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Iterator, Mapping
from typing import Final

from dowse.errors import Unreadable

_UTF16_BOMS = ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


def decode(data: bytes) -> str:
    """Return the text with its line ends unchanged. Bytes that are not UTF-8 become replacement characters."""
    text = _decode(data)
    if "\0" in text:  # also the result of UTF-32, and of binary data that starts like UTF-16
        raise Unreadable("binary file")
    return text


def _decode(data: bytes) -> str:
    for bom, encoding in _UTF16_BOMS:
        if data.startswith(bom):
            return data[len(bom) :].decode(encoding, errors="replace")
    # Check the bytes first: decoding a large binary file only to refuse it would be slow.
    if b"\0" in data:
        raise Unreadable("binary file")
    return data.removeprefix(codecs.BOM_UTF8).decode("utf-8", errors="replace")


# --------------------------------------------------------------------------------------------------
# Names that are not plain text: lone surrogates for bytes that are not UTF-8, and names quoted by git.

_GIT_ESCAPE = re.compile(r"\\([0-7]{3}|.)", re.DOTALL)
_GIT_ESCAPES: Final = {"a": "\a", "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r"}


def is_valid_name(path: str) -> bool:
    """Return whether the name came from valid UTF-8. Files with other names are not indexed."""
    return path.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in path)


def escape_invalid_bytes(name: str | bytes) -> str:
    """Return the name for display, with bytes that are not UTF-8 escaped."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def replace_surrogates(text: str) -> str:
    """Return valid Unicode, with a question mark for each lone surrogate."""
    return text.encode("utf-8", "replace").decode()


def unquote_git_path(path: str) -> str:
    """Decode a path that git quoted as a C string; return any other unchanged."""
    if not (path.startswith('"') and path.endswith('"')):
        return path
    data = b"".join(_unescape_git(path[1:-1]))
    return data.decode("utf-8", "replace")


def _unescape_git(text: str) -> Iterator[bytes]:
    end = 0
    for found in _GIT_ESCAPE.finditer(text):
        yield text[end : found.start()].encode("utf-8", "replace")
        code = found[1]
        yield (
            bytes([int(code, 8) & 0xFF]) if len(code) == 3 else _GIT_ESCAPES.get(code, code).encode("utf-8", "replace")
        )
        end = found.end()
    yield text[end:].encode("utf-8", "replace")


def make_encodable(value: object) -> object:
    """Escape invalid names in all strings of a value, and replace surrogates that no encoding can write."""
    if isinstance(value, str):
        try:
            return value if is_valid_name(value) else escape_invalid_bytes(value)
        except UnicodeEncodeError:
            return replace_surrogates(value)
    if isinstance(value, Mapping):
        return {make_encodable(key): make_encodable(part) for key, part in value.items()}
    return [make_encodable(part) for part in value] if isinstance(value, list | tuple) else value
