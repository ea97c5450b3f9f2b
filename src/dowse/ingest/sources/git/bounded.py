"""Runs a program to its end, as long as it comes there in time and does not tell too much."""

from __future__ import annotations

import os
import resource
import select
import selectors
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, Final

_READ_BYTES: Final = 1 << 16
MAX_HEAP_BYTES: Final = 1_000_000_000
"""Of a git process: what changes in four million files takes."""
_MOST_COMPLAINED_BYTES: Final = 100_000  # the rest of it is read and forgotten

Finished = subprocess.CompletedProcess[bytes]


class TooMuchError(Exception):
    """It was ended, because it told more than it may; `beginning` is what it may."""

    def __init__(self, beginning: bytes) -> None:
        super().__init__()
        self.beginning = beginning


def run_bounded(
    words: Sequence[str], environment: Mapping[str, str], given: bytes, wait_s: float, most_bytes: int
) -> Finished:
    """Like `subprocess.run`, which raises the same, but for TooMuchError."""
    pipe = subprocess.PIPE
    with subprocess.Popen(words, env=environment, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0) as process:
        limit_memory(process)
        try:
            told, complained = _Exchange(process, given, wait_s, most_bytes).run()
        except BaseException:
            process.kill()
            raise
        return Finished(words, process.returncode, told, complained)


def limit_memory(process: subprocess.Popen[bytes]) -> None:
    """Let it have only so much memory of its own, files that it maps not counted, where the system can do that: a tree
    whose folders are all the same one has more paths than any memory holds."""
    if sys.platform == "linux":
        with suppress(OSError, ValueError):  # it has ended, or has less already
            resource.prlimit(process.pid, resource.RLIMIT_DATA, (MAX_HEAP_BYTES, MAX_HEAP_BYTES))


class _Exchange:
    """All pipes are served at a time, so that neither side waits for the other."""

    def __init__(self, process: subprocess.Popen[bytes], given: bytes, wait_s: float, most_bytes: int) -> None:
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        self._process = process
        self._input, self._output, self._complaints = process.stdin, process.stdout, process.stderr
        self._given = memoryview(given)
        self._wait_s = wait_s
        self._ends_at = time.monotonic() + wait_s
        self._most_bytes = most_bytes
        self._told: list[bytes] = []
        self._complained = b""
        self._told_bytes = 0

    def run(self) -> tuple[bytes, bytes]:
        with selectors.DefaultSelector() as waiting:
            waiting.register(self._input, selectors.EVENT_WRITE)
            waiting.register(self._output, selectors.EVENT_READ)
            waiting.register(self._complaints, selectors.EVENT_READ)
            while waiting.get_map():
                for ready, _ in waiting.select(self._left_s()):
                    pipe = ready.fileobj
                    if not (self._write() if pipe is self._input else self._read(pipe)):
                        waiting.unregister(pipe)
        self._process.wait(self._left_s())
        return b"".join(self._told), self._complained

    def _left_s(self) -> float:
        left_s = self._ends_at - time.monotonic()
        if left_s <= 0:
            raise subprocess.TimeoutExpired(self._process.args, self._wait_s)
        return left_s

    def _write(self) -> bool:
        """Whether there is more to be written; no more at a time than surely fits into the pipe."""
        try:
            written = os.write(self._input.fileno(), self._given[: select.PIPE_BUF]) if self._given else 0
        except BrokenPipeError:
            written = len(self._given)  # nobody reads it
        self._given = self._given[written:]
        if not self._given:
            self._input.close()
        return bool(self._given)

    def _read(self, pipe: object) -> bool:
        """Whether there may be more to be read."""
        from_it: IO[bytes] = self._output if pipe is self._output else self._complaints
        piece = os.read(from_it.fileno(), _READ_BYTES)
        if from_it is self._complaints:
            self._complained += piece[: _MOST_COMPLAINED_BYTES - len(self._complained)]
            return bool(piece)
        self._told.append(piece)
        self._told_bytes += len(piece)
        if self._told_bytes > self._most_bytes:
            raise TooMuchError(b"".join(self._told)[: self._most_bytes])
        return bool(piece)
