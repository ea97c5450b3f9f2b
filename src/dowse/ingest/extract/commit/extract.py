"""A commit as a record: its message, people and files, the first lines of what changed, and links to all it touched."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dowse.ingest.extract.commit.changed import changed_definitions
from dowse.ingest.extract.commit.delta import FileDelta, file_deltas
from dowse.ingest.extract.commit.document import Document, document
from dowse.ingest.sources.git.reading.told import Person, Told
from dowse.model import LEFT_OUT, MASKED, Extract, Item, Link
from dowse.text.times import iso

KIND: Final = "commit"
_NS_PER_SECOND: Final = 1_000_000_000
_MAX_NAME_CHARS: Final = 500
_LAST_SECOND: Final = 253_402_300_799  # of the year 9999, beyond which no calendar goes


def extract_commit(item: Item, data: bytes) -> Extract:
    told = Told.from_bytes(data)
    author, committer = person(told.author), person(told.committer)
    written = document(told, author, committer)
    at_ns = told.committer.at * _NS_PER_SECOND
    deltas = list(file_deltas(told.delta, [it.path for it in told.files]))
    return Extract(
        kind=KIND,
        title=written.title,
        text=written.text,
        blocks=written.blocks,
        links=tuple(_links(told, deltas)),
        facets=_facets(told, written, author, committer),
        # A list of commits tells no moment of those whose headers are in an order of their own.
        at_ns=at_ns if at_ns != item.mtime_ns else None,
        lined=False,
    )


def person(who: Person) -> str:
    """`Name <email>` in one line."""
    name, email = (" ".join(it.split())[:_MAX_NAME_CHARS] for it in (who.name, who.email))
    return f"{name} <{email}>".lstrip()


def _facets(told: Told, written: Document, author: str, committer: str) -> dict[str, str]:
    facets = {
        "author": author,
        "committer": committer,
        "authored_at": iso(_second(told.author.at)),
        "message": written.message,
        "parents": " ".join(told.parents),
        "files": str(len(told.files)),
        "omitted": written.omitted,
        "problem": told.problem,
        LEFT_OUT: str(told.left_out or ""),
        MASKED: str(told.masked or ""),
    }
    return {name: value for name, value in facets.items() if value}


def _second(value: int) -> int:
    """Some commits claim to be of a time before or after all others."""
    return max(0, min(value, _LAST_SECOND))


def _links(told: Told, deltas: list[FileDelta]) -> Iterator[Link]:
    """Files first, each once, then the definitions that were changed in them."""
    lines = {it.path: it.first_line for it in reversed(deltas)}
    for status, path, old in told.files:
        yield Link("touches", path, lines.get(path, 0), status[:1])
        if old and status.startswith("R"):
            yield Link("renames", old, 0, path)
    for delta in deltas:
        for found in changed_definitions(delta):
            yield Link("changes", f"{delta.path}#{found.name}", found.line, found.beginning)
