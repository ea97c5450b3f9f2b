"""The parser process: messages, packing and limits."""

from __future__ import annotations

import fcntl
import os
import pickle
import resource
import select
import signal
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any, Final, NamedTuple

from dowse.errors import ParserFailed, Unreadable
from dowse.ingest.extract.documents import is_document
from dowse.ingest.extract.registry import Extractor
from dowse.ingest.pipeline import PreparedFile, PrepareTask, prepare_file
from dowse.model import (
    Call,
    Chunk,
    DocumentLayout,
    DocumentTable,
    Extraction,
    Fragment,
    FunctionMetrics,
    Link,
    PageReport,
    Symbol,
)
from dowse.store.types import ChunkInput

# --------------------------------------------------------------------------------------------------
# Convert prepared content to plain tuples and back: they pickle three times as fast as thousands of dataclasses.

_Row = tuple[Any, ...]

# The statistics are the last field of a symbol.
_SYMBOL: Final = attrgetter(*Symbol._fields[:-1])
_LINK: Final = attrgetter(*(it.name for it in fields(Link)))
_CHUNK: Final = attrgetter(*(it.name for it in fields(Chunk)))
_OTHER_FIELDS: Final = tuple(
    it.name for it in fields(Extraction) if it.name not in ("text", "blocks", "symbols", "links", "calls", "layout")
)


class PackedFile(NamedTuple):
    text: str
    rest: dict[str, Any]
    symbols: list[tuple[_Row, _Row | None]]
    links: list[_Row]
    calls: list[_Row]
    chunk_inputs: list[tuple[_Row, bytes, str | None]]
    layout: tuple[list[_Row], list[_Row], list[_Row]] | None


def pack_file(content: PreparedFile) -> PackedFile:
    extract = content.extract
    return PackedFile(
        extract.text,
        {name: getattr(extract, name) for name in _OTHER_FIELDS},
        [(_SYMBOL(it), tuple(it.stats) if it.stats else None) for it in extract.symbols],
        [_LINK(it) for it in extract.links],
        [tuple(it) for it in extract.calls],
        [(_CHUNK(it.chunk), it.digest, it.names) for it in content.chunk_inputs],
        _pack_layout(extract.layout) if extract.layout else None,
    )


def _pack_layout(layout: DocumentLayout) -> tuple[list[_Row], list[_Row], list[_Row]]:
    return (
        [tuple(it) for it in layout.pages],
        [tuple(it) for it in layout.fragments],
        [tuple(it) for it in layout.tables],
    )


def unpack_file(packed: PackedFile) -> PreparedFile:
    """Rebuild prepared content; raise TypeError or ValueError if it was not made by `pack_file`."""
    extract = Extraction(
        text=packed.text,
        blocks=(),
        symbols=tuple(Symbol(*(*row, FunctionMetrics(*stats) if stats else None)) for row, stats in packed.symbols),
        links=tuple(Link(*row) for row in packed.links),
        calls=tuple(Call(*row) for row in packed.calls),
        layout=_unpack_layout(*packed.layout) if packed.layout else None,
        **packed.rest,
    )
    return PreparedFile(
        extract, tuple(ChunkInput(Chunk(*row), digest, names) for row, digest, names in packed.chunk_inputs)
    )


def _unpack_layout(pages: list[_Row], fragments: list[_Row], tables: list[_Row]) -> DocumentLayout:
    return DocumentLayout(
        tuple(PageReport(*row) for row in pages),
        tuple(Fragment(*row) for row in fragments),
        tuple(DocumentTable(*row) for row in tables),
    )


# --------------------------------------------------------------------------------------------------
# Length-prefixed messages over a pipe, so that neither side waits for data that never comes.

_MESSAGE_HEADER: Final = struct.Struct(">4sQ")
_MAGIC: Final = b"dows"
_MAX_MESSAGE_BYTES: Final = 1 << 30
_READ_PIECE_BYTES: Final = 1 << 20


def send_message(descriptor: int, message: object) -> None:
    send_message_bytes(descriptor, pickle.dumps(message, pickle.HIGHEST_PROTOCOL))


def send_message_bytes(descriptor: int, body: bytes) -> None:
    for piece in (_MESSAGE_HEADER.pack(_MAGIC, len(body)), body):
        rest = memoryview(piece)
        while rest:
            rest = rest[os.write(descriptor, rest) :]


def receive_message(descriptor: int, timeout_s: float | None = None) -> bytes:
    """Return the bytes of the next message. Raises EOFError, TimeoutError, or UnpicklingError for malformed data."""
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    magic, length = _MESSAGE_HEADER.unpack(_read_exactly(descriptor, _MESSAGE_HEADER.size, deadline))
    if magic != _MAGIC or length > _MAX_MESSAGE_BYTES:
        raise pickle.UnpicklingError("not a message")
    return _read_exactly(descriptor, length, deadline)


def _read_exactly(descriptor: int, count: int, deadline: float | None) -> bytes:
    data = bytearray()
    while len(data) < count:
        if deadline is not None:
            _wait_readable(descriptor, deadline - time.monotonic())
        piece = os.read(descriptor, min(count - len(data), _READ_PIECE_BYTES))
        if not piece:
            raise EOFError
        data += piece
    return bytes(data)


def _wait_readable(descriptor: int, timeout_s: float) -> None:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    if not poll.poll(max(0.0, timeout_s) * 1000):
        raise TimeoutError


TIMEOUT_SIGNAL = signal.SIGALRM
"""The signal that ends a worker on timeout."""
_PARENT_GONE_SIGNAL = signal.SIGIO


@dataclass(frozen=True, slots=True)
class WorkerSetup:
    """The first message to a worker. The extractor is pickled by name and imported by the worker."""

    extract: Extractor
    timeout_s: float
    document_timeout_s: float
    memory_bytes: int  # 0 means no limit

    def timeout_for(self, task: PrepareTask) -> float:
        return self.document_timeout_s if is_document(task.item.path) else self.timeout_s


class WorkerReady(NamedTuple):
    pid: int


class WorkerRefusal(NamedTuple):
    """The item must not be indexed."""

    reason: str
    lasting: bool


class WorkerFailure(NamedTuple):
    """The parser failed on the item."""

    reason: str


def main() -> None:
    tasks, answers = _take_pipes()
    # The pipe closes when the parent exits: then there is nothing left to do.
    with suppress(EOFError, BrokenPipeError):
        setup: WorkerSetup = pickle.loads(receive_message(tasks))
        _limit_resources(setup.memory_bytes)
        _enable_pipe_signal(tasks)
        send_message(answers, WorkerReady(os.getpid()))
        while True:
            task = pickle.loads(receive_message(tasks))
            with _end_on_timeout(tasks, setup.timeout_for(task)):
                answer = _run_task(task, setup.extract)
            send_message(answers, answer)


def _take_pipes() -> tuple[int, int]:
    """Move both pipes away from stdin and stdout, so that a parser can neither print to them nor read from them."""
    pipes = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1):
        os.dup2(null, descriptor)
    os.close(null)
    return pipes


def _limit_resources(memory_bytes: int) -> None:
    signal.signal(TIMEOUT_SIGNAL, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if not memory_bytes:
        return
    hard_limit = resource.getrlimit(resource.RLIMIT_AS)[1]
    limit = memory_bytes if hard_limit == resource.RLIM_INFINITY else min(memory_bytes, hard_limit)
    with suppress(ValueError, OSError):  # not every system has this limit
        resource.setrlimit(resource.RLIMIT_AS, (limit, hard_limit))


def _enable_pipe_signal(tasks: int) -> None:
    """Request SIGIO for any event on the pipe."""
    fcntl.fcntl(tasks, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(tasks, fcntl.F_SETFL, fcntl.fcntl(tasks, fcntl.F_GETFL) | os.O_ASYNC)
    signal.signal(_PARENT_GONE_SIGNAL, signal.SIG_IGN)


@contextmanager
def _end_on_timeout(tasks: int, timeout_s: float) -> Iterator[None]:
    """End the process on timeout, or on any pipe event: during a task that can only mean that the parent is gone."""
    signal.setitimer(signal.ITIMER_REAL, timeout_s)
    signal.signal(_PARENT_GONE_SIGNAL, signal.SIG_DFL)
    if _is_closed(tasks):
        raise EOFError  # closed before the signal was enabled
    try:
        yield
    finally:
        # Disabled while the answer is sent: the parent may be busy writing before it reads.
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(_PARENT_GONE_SIGNAL, signal.SIG_IGN)


def _is_closed(tasks: int) -> bool:
    poll = select.poll()
    poll.register(tasks, 0)
    return bool(poll.poll(0))


def _run_task(task: PrepareTask, extract: Extractor) -> PackedFile | WorkerRefusal | WorkerFailure:
    try:
        return pack_file(prepare_file(task, extract))
    except Unreadable as refusal:
        return WorkerRefusal(str(refusal), refusal.lasting)
    except ParserFailed as failure:
        return WorkerFailure(str(failure))
