"""Read files ahead on threads, extract and chunk them in workers, and keep their order."""

from __future__ import annotations

import hashlib
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from dowse.errors import ParserFailed, Unreadable
from dowse.ingest.chunk import ChunkLimits, chunk_extract
from dowse.ingest.embed import digest_encoder_input
from dowse.ingest.extract.documents import is_document
from dowse.ingest.extract.documents.document import mask_document
from dowse.ingest.extract.registry import Extractor, extract, extract_as_text, needs_parser
from dowse.ingest.sources.base import Source
from dowse.model import MASKED_FACET, UNPARSED_FACET, Chunk, Extraction, Item
from dowse.store.types import UNENCODED_ROLES, ChunkInput
from dowse.text.tokenize import subtokens

if TYPE_CHECKING:
    from concurrent.futures import Future

    from dowse.ingest.workers import WorkerPool

# --------------------------------------------------------------------------------------------------
# Run work ahead of its turn on several threads, and yield the results in order and in batches.

BatchResult = TypeVar("BatchResult")

# Results that wait for their turn are held in memory, at several times the size of their input.
MAX_AHEAD_BYTES: Final = 8_000_000
# A batch is written in one transaction, which takes several times its size in the WAL.
MAX_BATCH_BYTES: Final = 4_000_000
MAX_BATCH_ITEMS: Final = 200
MAX_BATCH_WAIT_SECONDS: Final = 2.0


def run_in_batches(
    work: Iterable[tuple[Callable[[], BatchResult], int]],
    threads: int,
    arrived: Callable[[], None],
    most_bytes: int = MAX_AHEAD_BYTES,
    most: int = MAX_BATCH_ITEMS,
) -> Iterator[list[BatchResult]]:
    """Yield the results of sized work in its order, in batches of what arrived within two seconds, at most `most` each.

    Calls `arrived` for each result as soon as it is in order. At most `most_bytes` of work are in flight.
    """
    batch: list[BatchResult] = []
    batch_bytes = min(most_bytes, MAX_BATCH_BYTES)
    room_bytes, deadline = batch_bytes, 0.0
    for future, size in _submit_in_order(work, threads, most_bytes):
        if batch and (room_bytes < size or len(batch) >= most or not _is_done(future, deadline)):
            yield batch
            batch, room_bytes = [], batch_bytes
        batch.append(future.result())
        arrived()
        room_bytes -= size
        deadline = deadline if len(batch) > 1 else time.monotonic() + MAX_BATCH_WAIT_SECONDS
    if batch:
        yield batch


def _is_done(future: Future[BatchResult], deadline: float) -> bool:
    from concurrent.futures import wait

    remaining_s = deadline - time.monotonic()
    return remaining_s > 0 and bool(wait([future], remaining_s).done)


def _submit_in_order(
    work: Iterable[tuple[Callable[[], BatchResult], int]], threads: int, most_bytes: int
) -> Iterator[tuple[Future[BatchResult], int]]:
    """Submit only as much work as keeps the queue of finished results small."""
    from concurrent.futures import ThreadPoolExecutor  # imports logging, which a search does not need

    pool = ThreadPoolExecutor(threads, thread_name_prefix="dowse-reading")
    waiting: deque[tuple[Future[BatchResult], int]] = deque()
    ahead_bytes = 0
    try:
        for call, size in work:
            while waiting and (ahead_bytes + size > most_bytes or len(waiting) >= 2 * MAX_BATCH_ITEMS):
                ahead_bytes -= waiting[0][1]
                yield waiting.popleft()
            waiting.append((pool.submit(call), size))
            ahead_bytes += size
        yield from waiting
    finally:
        # A caller that stops early does not wait for work in progress.
        pool.shutdown(wait=False, cancel_futures=True)


# --------------------------------------------------------------------------------------------------
# Extract, chunk and tokenize one file. This needs no store, so it can run in a worker process.

_PARSER_ERRORS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)
_MAX_FAILURE_CHARS = 300
_NO_DIGEST = b""


@dataclass(frozen=True, slots=True)
class PrepareTask:
    item: Item
    data: bytes
    limits: ChunkLimits


@dataclass(frozen=True, slots=True)
class PreparedFile:
    """The content to write for one file: its extract, without the blocks that its chunks were made from."""

    extract: Extraction
    chunk_inputs: tuple[ChunkInput, ...]


def prepare_file(task: PrepareTask, extract: Extractor) -> PreparedFile:
    """Extract and chunk a file. Raises Unreadable if it is not text, ParserFailed for any other failure."""
    try:
        found = extract(task.item, task.data)
        if not isinstance(found, Extraction):
            raise TypeError(f"{type(found).__name__} is not an extract")
        return chunk_prepared(_mask(task, found), task.limits)
    except MemoryError:
        raise ParserFailed("the parser ran out of memory") from None
    except _PARSER_ERRORS as error:
        reason = f"the parser failed ({type(error).__name__}: {error})"
        raise ParserFailed(reason[:_MAX_FAILURE_CHARS]) from error


def _mask(task: PrepareTask, found: Extraction) -> Extraction:
    """Mask secrets in a document, which was read unmasked; other files were masked by their source."""
    return mask_document(found) if task.limits.masks_secrets and is_document(task.item.path) else found


def chunk_prepared(extract: Extraction, limits: ChunkLimits, facets: Mapping[str, str] | None = None) -> PreparedFile:
    pieces = tuple(_make_piece(extract.title, part) for part in chunk_extract(extract, limits))
    return PreparedFile(replace(extract, blocks=(), facets={**extract.facets, **(facets or {})}), pieces)


def _make_piece(title: str, part: Chunk) -> ChunkInput:
    if part.role in UNENCODED_ROLES:
        return ChunkInput(part, _NO_DIGEST, "")  # its plain words suffice
    digest = digest_encoder_input(title, part.trail, part.text)
    return ChunkInput(part, digest, subtokens(" ".join((title, *part.trail, part.text))))


# --------------------------------------------------------------------------------------------------

# A file written this shortly before it was read may change again under the same timestamp.
_RACY_READ_NS: Final = 20_000_000
# A syntax tree takes eighty times the memory of its file. Larger files were generated by programs, for programs.
MAX_PARSED_BYTES: Final = 4_000_000
# From this many files on, worker processes pay off even for files that this process could read.
_MIN_ITEMS_FOR_WORKERS: Final = 500
_TARGET_TRANSACTIONS: Final = 20
_MIN_TRANSACTION_ITEMS: Final = (
    50  # fewer items take longer to commit than to write, and are read in well under a second
)


def transaction_size(items: int) -> int:
    """Return the transaction size for this many items: a kill loses a twentieth of them at most, or a few."""
    return min(MAX_BATCH_ITEMS, max(_MIN_TRANSACTION_ITEMS, items // _TARGET_TRANSACTIONS))


@dataclass(frozen=True, slots=True)
class StaleItem:
    """An item that must be read. `digest` is that of the indexed content, if it would be chunked the same way."""

    item: Item
    digest: str = ""


@dataclass(frozen=True, slots=True)
class ReadResult:
    """The outcome of reading an item: a refusal, prepared content, or neither if the content is unchanged."""

    item: Item
    digest: str = ""
    settled: bool = False
    prepared: PreparedFile | None = None
    refusal: Unreadable | None = None


@dataclass(frozen=True, slots=True)
class ItemReader:
    source: Source
    limits: ChunkLimits
    workers: WorkerPool | None = None
    now_ns: Callable[[], int] = time.time_ns

    def batches(self, stale: list[StaleItem], arrived: Callable[[], None]) -> Iterator[list[ReadResult]]:
        """Yield prepared items in the order of `stale`, so that the index does not depend on thread timing."""
        is_large_run = len(stale) >= _MIN_ITEMS_FOR_WORKERS
        work = ((partial(self._read, it, is_large_run), it.item.weight) for it in stale)
        ahead_bytes = self.workers.ahead_bytes if self.workers else MAX_AHEAD_BYTES
        return run_in_batches(work, self._threads(stale), arrived, ahead_bytes, transaction_size(len(stale)))

    def _threads(self, stale: list[StaleItem]) -> int:
        """Return the number of reader threads. Worker processes parse in parallel; threads in this process only slow
        each other down."""
        if self.workers is None or all(it.item.source_kind for it in stale):
            return 1
        return max(1, min(self.workers.count, len(stale)))

    def _read(self, stale: StaleItem, is_large_run: bool) -> ReadResult:
        """Read one item. It is settled if its timestamp was old enough, before reading, that a later change must move
        it."""
        started_ns = self.now_ns()
        try:
            item, data = self.source.read(stale.item)
            digest = hashlib.sha256(data).hexdigest()
            content = (
                None if digest == stale.digest else self._prepare(PrepareTask(item, data, self.limits), is_large_run)
            )
            content = _add_masked_count(content, item.masked) if content and item.masked else content
        except Unreadable as refusal:
            return ReadResult(stale.item, refusal=refusal)
        return ReadResult(item, digest, started_ns - item.mtime_ns >= _RACY_READ_NS, content)

    def _prepare(self, task: PrepareTask, is_large_run: bool) -> PreparedFile:
        parsed = needs_parser(task.item)
        if parsed and len(task.data) > MAX_PARSED_BYTES and not is_document(task.item.path):
            return _prepare_as_text(
                task, f"too large to parse ({len(task.data):,} bytes, at most {MAX_PARSED_BYTES:,})"
            )
        # Commits and memories are small; parsing them takes less time than sending them.
        pool = self.workers if parsed or (is_large_run and not task.item.source_kind) else None
        try:
            return pool.prepare(task) if pool else prepare_file(task, extract)
        except ParserFailed as failure:
            if is_document(task.item.path) and b"\0" in task.data:
                raise Unreadable(str(failure)) from failure  # its bytes are no text
            return _prepare_as_text(task, str(failure))


def _add_masked_count(content: PreparedFile, masked: int) -> PreparedFile:
    extract = content.extract
    return replace(content, extract=replace(extract, facets={**extract.facets, MASKED_FACET: str(masked)}))


def _prepare_as_text(task: PrepareTask, reason: str) -> PreparedFile:
    try:
        found = _mask(task, extract_as_text(task.item, task.data))
        return chunk_prepared(found, task.limits, {UNPARSED_FACET: reason})
    except (ValueError, ArithmeticError, LookupError, RecursionError, MemoryError, UnicodeError) as error:
        # This catches broadly on purpose: a broken file must not end the run.
        raise Unreadable(f"cannot be parsed ({type(error).__name__}: {error})"[:300]) from error
