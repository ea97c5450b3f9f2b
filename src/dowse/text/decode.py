"""Bytes of a text file become a string: BOM-aware, lossy rather than failing, and never for binary data."""

from __future__ import annotations

import codecs

from dowse.errors import Unreadable

_UTF16_BOMS = ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


def decode(data: bytes) -> str:
    """The text of `data`, line ends as they are; bytes that are not UTF-8 become replacement characters."""
    text = _decode(data)
    if "\0" in text:  # also what UTF-32 and binary data that happens to begin like UTF-16 end up with
        raise Unreadable("binary file")
    return text


def _decode(data: bytes) -> str:
    for bom, encoding in _UTF16_BOMS:
        if data.startswith(bom):
            return data[len(bom) :].decode(encoding, errors="replace")
    # Looked for in the bytes first: decoding a large binary file only to refuse it would be slow.
    if b"\0" in data:
        raise Unreadable("binary file")
    return data.removeprefix(codecs.BOM_UTF8).decode("utf-8", errors="replace")
