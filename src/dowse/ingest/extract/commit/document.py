"""The text a commit is found by: its message, people and paths in front, then what it changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from dowse.ingest.sources.git.reading.told import Told
from dowse.model import Block

HEAD: Final = "text"
DELTA: Final = "delta"
"""The role of what is found by its words only: it is never encoded."""
MAX_TITLE_CHARS: Final = 1_000
MAX_MESSAGE_CHARS: Final = 10_000
_HEAD_CHARS: Final = 1_900  # a chunk, with the lines that are joined to it
_MAX_PATHS: Final = 200
_MAX_PATHS_CHARS: Final = 10_000
_MAX_LINE_CHARS: Final = 500  # longer ones were made by programs
_MAX_DELTA_CHARS: Final = 50_000


@dataclass(frozen=True, slots=True)
class Document:
    title: str
    message: str
    text: str
    omitted: str
    blocks: tuple[Block, ...]


def document(told: Told, author: str, committer: str) -> Document:
    title, message = _parted(told.message)
    head = "\n\n".join(filter(None, (title, message, f"Author: {author}\nCommitter: {committer}", _paths(told))))
    kept, cut_off = _delta(told)
    omitted = f"at least {max(1, cut_off)}" if told.is_cut else str(cut_off or "")
    end = f"... ({omitted} lines omitted)" if omitted else ""
    text = "\n\n".join(filter(None, (head, kept, end)))
    return Document(title, message, text, omitted, tuple(_blocks(text, len(head))))


def _parted(message: str) -> tuple[str, str]:
    """The first line and the rest; what is too long for a title goes on in the rest."""
    message = message.replace("\r\n", "\n").replace("\0", "").strip()
    line, _, rest = message.partition("\n")
    title = line[:MAX_TITLE_CHARS].rstrip()
    return title, f"{line[MAX_TITLE_CHARS:]}\n{rest}".strip()[:MAX_MESSAGE_CHARS].rstrip()


def _paths(told: Told) -> str:
    if not told.files:
        return ""
    shown = _within([it.path for it in told.files[:_MAX_PATHS]], _MAX_PATHS_CHARS)
    more = len(told.files) - len(shown)
    return "\n".join(["Files changed:", *shown, *([f"... ({more} files more)"] if more else [])])


def _delta(told: Told) -> tuple[str, int]:
    """What is kept, and how many lines were cut off, here or before."""
    lines = told.delta.replace("\0", "").split("\n") if told.delta else []
    if len(told.delta) > _MAX_LINE_CHARS and max(map(len, lines)) > _MAX_LINE_CHARS:
        lines = [it if len(it) <= _MAX_LINE_CHARS else f"{it[:_MAX_LINE_CHARS]}…" for it in lines]
    kept = lines if len(told.delta) <= _MAX_DELTA_CHARS else _within(lines, _MAX_DELTA_CHARS)
    return "\n".join(kept), told.omitted + len(lines) - len(kept)


def _within(lines: list[str], chars: int) -> list[str]:
    for count, line in enumerate(lines):
        chars -= len(line) + 1
        if chars < 0:
            return lines[:count]
    return lines


def _blocks(text: str, head: int) -> Iterator[Block]:
    """As much of the delta as fits goes with the head; what follows is words only."""
    cut = len(text)
    if cut > _HEAD_CHARS:
        cut = max(head, text.rfind("\n", 0, _HEAD_CHARS) + 1)
    yield Block(0, cut, role=HEAD)
    if cut < len(text):
        yield Block(cut, len(text), whole=True, role=DELTA)
