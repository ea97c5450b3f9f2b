"""A labelled corpus as a source: one JSON-lines file in BEIR format, one document per line."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from dowse.errors import BadInput, Unreadable
from dowse.ingest.sources.base import Listing
from dowse.model import Freshness, Item
from dowse.text.json_lines import parse_json_object


class _Stamp(NamedTuple):
    mtime_ns: int
    size: int


class CorpusSource:
    """The documents of a `corpus.jsonl`. An item's path is the document's `_id`, in any form.

    Only the byte offset of each document is kept, never its text: a corpus may be larger than memory.
    """

    __slots__ = ("_file", "_file_stamp", "_offsets")

    def __init__(self, file: Path) -> None:
        self._file = file
        self._offsets: dict[str, int] = {}
        self._file_stamp: _Stamp | None = None

    def listing(self) -> Listing:
        try:
            with open(self._file, "rb") as file:
                return Listing(items=self._scan(file))
        except OSError as error:
            raise BadInput(f"cannot read {self._file} ({error.strerror}); check the path of the corpus") from error

    def read(self, item: Item) -> tuple[Item, bytes]:
        """Return the current document, which may be newer than `item`."""
        try:
            with open(self._file, "rb") as file:
                return self._document(file, item.path)
        except OSError as error:
            raise Unreadable(f"cannot read the corpus: {error.strerror}", lasting=False) from error

    def freshness(self, item: Item) -> Freshness:
        """Compare the file's mtime.

        Documents share the file's version, so any change to it makes all of them suspect.
        """
        try:
            mtime_ns = self._file.stat().st_mtime_ns
        except (FileNotFoundError, NotADirectoryError):
            return "gone"
        except OSError:
            return "unknown"
        return "fresh" if mtime_ns == item.mtime_ns else "changed"

    def _scan(self, file: BinaryIO) -> list[Item]:
        stamp = _file_stamp(file)
        offsets: dict[str, int] = {}
        items: list[Item] = []
        for offset, raw, where in _iterate_lines(file, self._file):
            path, content = _parse_document(raw, where)
            if path in offsets:
                raise BadInput(f"{where}: document {path!r} appears twice; give each document a unique _id")
            offsets[path] = offset
            items.append(Item(path, len(content), stamp.mtime_ns))
        self._offsets, self._file_stamp = offsets, stamp
        return items

    def _document(self, file: BinaryIO, path: str) -> tuple[Item, bytes]:
        stamp = _file_stamp(file)
        if stamp != self._file_stamp:
            self._scan(file)
        if path not in self._offsets:
            raise Unreadable("the corpus no longer contains this document", lasting=False)
        file.seek(self._offsets[path])
        _, content = _parse_document(file.readline(), f"{self._file}: document {path!r}")
        return Item(path, len(content), stamp.mtime_ns), content


def _file_stamp(file: BinaryIO) -> _Stamp:
    status = os.fstat(file.fileno())
    return _Stamp(status.st_mtime_ns, status.st_size)


def _iterate_lines(file: BinaryIO, name: Path) -> Iterator[tuple[int, bytes, str]]:
    """Yield each line that is not blank, with its offset and `file:line` for messages."""
    offset = 0
    for number, raw in enumerate(file, 1):
        if raw.strip():
            yield offset, raw, f"{name}:{number}"
        offset += len(raw)


def _parse_document(raw: bytes, where: str) -> tuple[str, bytes]:
    """Return a document's id and content. The title gets a line to itself, even if the text starts with it."""
    entry = parse_json_object(raw, where)
    text = _string_field(entry, "text", where)
    title = _string_field(entry, "title", where).strip() if entry.get("title") else ""
    body = text.removeprefix(title).lstrip() if title else text
    content = "\n\n".join(part for part in (title, body) if part)
    # JSON can contain lone surrogates, which no encoding can write.
    return _document_id(entry, where), content.encode("utf-8", "replace")


def _string_field(entry: dict[str, object], key: str, where: str) -> str:
    value = entry.get(key)
    if isinstance(value, str):
        return value
    raise BadInput(f'{where}: "{key}" must be a string; correct the line')


def _document_id(entry: dict[str, object], where: str) -> str:
    identity = _string_field(entry, "_id", where)
    try:
        identity.encode()
    except UnicodeEncodeError as error:
        raise BadInput(f'{where}: "_id" contains a lone surrogate; correct the line') from error
    if not identity.strip():
        raise BadInput(f'{where}: "_id" is empty; give each document a unique _id')
    return identity
