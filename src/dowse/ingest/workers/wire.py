"""Messages over a pipe: each says how long it is, so that neither side waits for what the other never sends."""

from __future__ import annotations

import os
import pickle
import select
import struct
import time
from typing import Final

_HEADER: Final = struct.Struct(">4sQ")
_MAGIC: Final = b"dows"
_LONGEST: Final = 1 << 30
_READ_AT_ONCE: Final = 1 << 20


def send(descriptor: int, message: object) -> None:
    send_bytes(descriptor, pickle.dumps(message, pickle.HIGHEST_PROTOCOL))


def send_bytes(descriptor: int, body: bytes) -> None:
    for part in (_HEADER.pack(_MAGIC, len(body)), body):
        rest = memoryview(part)
        while rest:
            rest = rest[os.write(descriptor, rest) :]


def receive(descriptor: int, timeout_s: float | None = None) -> bytes:
    """The next message, as its bytes. Raises EOFError, TimeoutError, and UnpicklingError for what is no message."""
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    magic, length = _HEADER.unpack(_exactly(descriptor, _HEADER.size, deadline))
    if magic != _MAGIC or length > _LONGEST:
        raise pickle.UnpicklingError("this is no message")
    return _exactly(descriptor, length, deadline)


def _exactly(descriptor: int, count: int, deadline: float | None) -> bytes:
    found = bytearray()
    while len(found) < count:
        if deadline is not None:
            _wait(descriptor, deadline - time.monotonic())
        part = os.read(descriptor, min(count - len(found), _READ_AT_ONCE))
        if not part:
            raise EOFError
        found += part
    return bytes(found)


def _wait(descriptor: int, timeout_s: float) -> None:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    if not poll.poll(max(0.0, timeout_s) * 1000):
        raise TimeoutError
