"""Items read and prepared for writing, several at a time, in the order they were listed."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from dowse.errors import ParserFailed, Unreadable
from dowse.ingest.ahead import MOST_AT_ONCE, MOST_BYTES, in_batches
from dowse.ingest.chunk import Limits
from dowse.ingest.extract.table import extract, extract_unparsed, is_parsed
from dowse.ingest.prepare import Prepared, Task, prepare, prepared
from dowse.ingest.sources.base import Source
from dowse.model import MASKED, UNPARSED, Item

if TYPE_CHECKING:
    from dowse.ingest.workers.pool import Workers

# A file written this shortly before it was read may change again under the same timestamp.
_RACY_NS: Final = 20_000_000
# A tree takes eighty times the memory of its file; what is larger than this was made by a program, for programs.
MAX_PARSED_BYTES: Final = 4_000_000
# From so many files on it pays to start processes for those, too, that could be read in this one.
_MANY: Final = 500
_TRANSACTIONS: Final = 20
_LEAST_AT_ONCE: Final = 50  # fewer take longer to commit than to write, and are read in well under a second


def most_at_once(items: int) -> int:
    """How many of so many are written in one transaction: a kill loses a twentieth of them at most, or a few."""
    return min(MOST_AT_ONCE, max(_LEAST_AT_ONCE, items // _TRANSACTIONS))


@dataclass(frozen=True, slots=True)
class Stale:
    """An item that must be read; `digest` is that of its content as indexed, if it would be cut the same way."""

    item: Item
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """What became of an item: refused for a reason, prepared for writing, or neither, if its content is as before."""

    item: Item
    digest: str = ""
    settled: bool = False
    prepared: Prepared | None = None
    refusal: Unreadable | None = None


@dataclass(frozen=True, slots=True)
class Reader:
    source: Source
    limits: Limits
    workers: Workers | None = None
    now_ns: Callable[[], int] = time.time_ns

    def batches(self, stale: list[Stale], arrived: Callable[[], None]) -> Iterator[list[Reading]]:
        """In the order of `stale`, so that what is stored does not depend on who was quicker."""
        many = len(stale) >= _MANY
        work = ((partial(self._reading, it, many), it.item.weight) for it in stale)
        held = self.workers.ahead_bytes if self.workers else MOST_BYTES
        return in_batches(work, self._threads(stale), arrived, held, most_at_once(len(stale)))

    def _threads(self, stale: list[Stale]) -> int:
        """Processes parse at the same time; what is prepared in this one goes slower the more threads there are."""
        if self.workers is None or all(it.item.form for it in stale):
            return 1
        return max(1, min(self.workers.count, len(stale)))

    def _reading(self, stale: Stale, many: bool) -> Reading:
        """Whether a later change would certainly move the timestamp is known before it is read."""
        begun_ns = self.now_ns()
        try:
            item, data = self.source.read(stale.item)
            digest = hashlib.sha256(data).hexdigest()
            content = None if digest == stale.digest else self._prepared(Task(item, data, self.limits), many)
            content = _with_count(content, item.masked) if content and item.masked else content
        except Unreadable as refusal:
            return Reading(stale.item, refusal=refusal)
        return Reading(item, digest, begun_ns - item.mtime_ns >= _RACY_NS, content)

    def _prepared(self, task: Task, many: bool) -> Prepared:
        parsed = is_parsed(task.item)
        if parsed and len(task.data) > MAX_PARSED_BYTES:
            return _as_text(task, f"too large to parse ({len(task.data):,} bytes, at most {MAX_PARSED_BYTES:,})")
        # What has a form of its own is small and read in less time than it would take to send.
        elsewhere = self.workers if parsed or (many and not task.item.form) else None
        try:
            return elsewhere.prepare(task) if elsewhere else prepare(task, extract)
        except ParserFailed as failure:
            return _as_text(task, str(failure))


def _with_count(content: Prepared, masked: int) -> Prepared:
    extract = content.extract
    return replace(content, extract=replace(extract, facets={**extract.facets, MASKED: str(masked)}))


def _as_text(task: Task, reason: str) -> Prepared:
    try:
        return prepared(extract_unparsed(task.item, task.data), task.limits, {UNPARSED: reason})
    except (ValueError, ArithmeticError, LookupError, RecursionError, MemoryError, UnicodeError) as error:
        # One of the places that catch broadly: whatever we make of a broken file, the run goes on.
        raise Unreadable(f"can not be parsed ({type(error).__name__}: {error})"[:300]) from error
