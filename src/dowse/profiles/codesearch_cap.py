"""Answers that fit: what a client needs least goes first, rows go whole, and the summary says what went."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from itertools import accumulate
from typing import Any

Json = dict[str, Any]

HINT = (
    "Ask for less: narrow with dir, ext, file, kind, class, excludeDir or exclude, commits with from, to, author or "
    "message; lower maxResults, or set countOnly."
)
_KEPT_LINES = 10
_KEPT_TOKENS = 20
_KEPT_CHARS = 200


def as_text(data: object) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def size_of(data: object) -> int:
    return len(as_text(data).encode("utf-8", "surrogatepass"))


def capped(data: Mapping[str, Any], max_bytes: int) -> Json:
    """The data as it is, where it fits (0: it always does), else cut step by step until it does."""
    size = size_of(data)
    if not max_bytes or size <= max_bytes:
        return dict(data)
    short: Json = json.loads(as_text(data))
    short.setdefault("summary", {}).update(responseTruncated=True, originalResponseBytes=size, hint=HINT)
    for reason, cut in _CUTS:
        if cut(short):
            _note(short, reason)
        if size_of(short) <= max_bytes:
            return short
    _cut_arrays(short, max_bytes)
    if size_of(short) > max_bytes and _cut_texts(short):
        _note(short, f"texts cut to {_KEPT_CHARS} characters")
    return short


def _note(data: Json, reason: str) -> None:
    summary = data["summary"]
    before = summary.get("truncationReason", "")
    summary["truncationReason"] = f"{before}; {reason}" if before else reason


# --- what goes first: all of a kind ---


def _files(data: Json) -> list[Json]:
    rows = data.get("files")
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _cut_lines(data: Json) -> bool:
    did = False
    for row in _files(data):
        did |= row.pop("lineContent", None) is not None
        if len(row.get("lines", ())) > _KEPT_LINES:
            row["lines"] = row["lines"][:_KEPT_LINES]
            did = True
    return did


def _cut_tokens(data: Json) -> bool:
    tokens = data["summary"].get("matchedTokens", ())
    if len(tokens) > _KEPT_TOKENS:
        data["summary"]["matchedTokens"] = tokens[:_KEPT_TOKENS]
    return len(tokens) > _KEPT_TOKENS


def _drop_lines(data: Json) -> bool:
    dropped = [row.pop("lines", None) for row in _files(data)]
    return any(it is not None for it in dropped)


_CUTS: tuple[tuple[str, Callable[[Json], bool]], ...] = (
    (f"lineContent removed and lines capped to {_KEPT_LINES} per file", _cut_lines),
    (f"matchedTokens capped to {_KEPT_TOKENS}", _cut_tokens),
    ("lines removed", _drop_lines),
)


# --- what goes then: rows, from the end ---


def _cut_arrays(data: Json, max_bytes: int) -> None:
    """The files first, then whichever array is the largest, until everything fits or nothing is left to cut."""
    name: str | None = "files" if _files(data) else _largest(data)
    while name is not None and size_of(data) > max_bytes:
        holder = data if name in data else data["summary"]
        before = len(holder[name])
        _note(data, f"{name} capped")
        _cut_rows(data, holder, name, max_bytes)
        if "returned" in data["summary"] and holder is data:
            data["summary"]["returned"] = len(data[name])
        name = _largest(data) if len(holder[name]) < before else None


def _largest(data: Json) -> str | None:
    arrays = [(size_of(value), name) for name, value in _arrays(data)]
    return max(arrays)[1] if arrays else None


def _arrays(data: Json) -> Iterator[tuple[str, list[Any]]]:
    for holder in (data, data["summary"]):
        yield from ((name, value) for name, value in holder.items() if isinstance(value, list) and value)


def _cut_rows(data: Json, holder: Json, name: str, max_bytes: int) -> None:
    """As many rows as there is room for. Where there is none for even the first, it is kept with its own largest array
    cut: half of a long method or call tree is better than none."""
    rows = holder[name]
    holder[name] = []
    room = max_bytes - size_of(data)
    ends = list(accumulate(size_of(row) + 1 for row in rows))
    fitting = bisect_right(ends, room + 1)  # the last row has no comma behind it
    holder[name] = rows[:fitting]
    if not fitting and isinstance(rows[0], dict):
        _cut_first(data, holder, name, rows[0], max_bytes)


def _cut_first(data: Json, holder: Json, name: str, row: Json, max_bytes: int) -> None:
    arrays = {key: value for key, value in row.items() if isinstance(value, list) and value}
    if not arrays:
        _cut_longest_text(data, holder, name, row, max_bytes)
        return
    largest = max(arrays, key=lambda key: size_of(arrays[key]))
    row["bodyTruncated" if largest == "body" else "cut"] = True if largest == "body" else "response size"
    holder[name] = [row]
    _cut_rows(data, row, largest, max_bytes)
    if size_of(data) > max_bytes:
        holder[name] = []


def _cut_longest_text(data: Json, holder: Json, name: str, row: Json, max_bytes: int) -> None:
    """Such as a patch: its beginning is better than nothing of it."""
    texts = {key: value for key, value in row.items() if isinstance(value, str)}
    longest = max(texts, key=lambda key: len(texts[key]), default=None)
    if longest is None:
        return
    row["cut"] = "response size"
    holder[name] = [row]
    excess = max(0, size_of(data) - max_bytes)
    row[longest] = texts[longest][: max(0, len(texts[longest]) - excess)]
    if size_of(data) > max_bytes:
        holder[name] = []


# --- what goes last: the ends of texts, such as an absurd name that is echoed ---


def _cut_texts(data: Json) -> bool:
    did = False
    for key, value in data.items():
        if isinstance(value, dict):
            did |= _cut_texts(value)
        elif isinstance(value, str) and len(value) > _KEPT_CHARS:
            data[key] = value[:_KEPT_CHARS] + "…"
            did = True
    return did
