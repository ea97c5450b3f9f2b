"""Decode text whose encoding nobody declared, as office programs and mail write it."""

from __future__ import annotations

from typing import Final

from dowse.text.unicode import decode

_LEGACY_ENCODING: Final = "cp1252"
_BYTE_ORDER_MARKS: Final = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")


def decode_text(data: bytes, declared: str | None = None) -> str:
    """Return text by the declared encoding, else by its byte order mark, as UTF-8, or as Windows-1252.

    Raises `Unreadable` for binary data.
    """
    if declared and not data.startswith(_BYTE_ORDER_MARKS):
        try:
            return data.decode(declared)
        except (LookupError, UnicodeError):
            pass
    if not data.startswith(_BYTE_ORDER_MARKS) and b"\0" not in data:
        try:
            data.decode()
        except UnicodeDecodeError:
            return data.decode(_LEGACY_ENCODING, "replace")
    return decode(data)
