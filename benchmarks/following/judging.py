"""Whether an answer is true: what it shows was on disk while it was asked for, or it says that it was not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from following.disk import Disk

_SAID = ("changed", "gone")


def untrue_hits(disk: Disk, answer: Mapping[str, Any], since: float, until: float) -> Iterator[str]:
    """The hits of a search that are not marked although their file did not hold them."""
    for hit in answer["hits"]:
        if hit.get("freshness") in _SAID:  # tools leave out what is fresh
            continue
        if not disk.held(hit["path"], hit["start_line"], hit["text"], since, until):
            state = hit.get("freshness", "fresh")
            yield f"{hit['path']}:{hit['start_line']} is {state} but never held {hit['text'][:60]!r} then"


def untrue_lines(disk: Disk, answer: Mapping[str, Any], since: float, until: float) -> Iterator[str]:
    """The same for lines that were found."""
    for file in answer["files"]:
        if file["freshness"] in _SAID:
            continue
        for excerpt in file["excerpts"]:
            text = "\n".join(excerpt["lines"])
            if not disk.held(file["path"], excerpt["start_line"], text, since, until):
                yield f"{file['path']}:{excerpt['start_line']} is {file['freshness']} but never held {text[:60]!r} then"


def is_hidden(answer: Mapping[str, Any], path: str, saved: float) -> bool:
    """Whether a file that was saved before is not in the answer, and the answer claims to be true for that moment."""
    if any(hit["path"] == path for hit in answer["hits"]):
        return False
    state = answer["completeness"]
    as_of = state["as_of"] and datetime.fromisoformat(state["as_of"]).timestamp()
    return bool(state["complete"] and as_of and as_of > saved)
