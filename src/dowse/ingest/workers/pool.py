"""Processes for parsers: started when needed, kept for the next file, replaced when one dies."""

from __future__ import annotations

import threading
from typing import Final

from dowse.errors import DowseError, ParserFailed, Unreadable
from dowse.ingest.ahead import MOST_BYTES
from dowse.ingest.extract.table import Extractor, extract
from dowse.ingest.prepare import Prepared, Task
from dowse.ingest.workers.process import Answer, WorkerDied, WorkerProcess
from dowse.ingest.workers.worker import TOO_SLOW, Failed, Refused, Setup

MEMORY_BYTES: Final = 2_000_000_000


class Workers:
    """Prepares files in other processes; as many threads as there shall be processes ask at a time."""

    def __init__(
        self,
        count: int,
        timeout_s: float,
        *,
        extract: Extractor = extract,
        memory_bytes: int = MEMORY_BYTES,
        ahead_bytes: int = MOST_BYTES,
    ) -> None:
        self.count = count
        self.ahead_bytes = ahead_bytes
        self._setup = Setup(extract, timeout_s, memory_bytes)
        self._turn = threading.Lock()
        self._idle: list[WorkerProcess] = []
        self._all: set[WorkerProcess] = set()
        self._closed = False

    def prepare(self, task: Task) -> Prepared:
        """Raises Unreadable and ParserFailed as the function of this name does, the second for a worker's end too."""
        try:
            return _taken(self._ask(task, self._idle_or_new()))
        except WorkerDied as death:
            if death.code == -TOO_SLOW:
                raise self._failure(death) from None
        # Another file may have left it damaged, or somebody ended it: only what ends a fresh one too is to blame.
        try:
            return _taken(self._ask(task, self._new()))
        except WorkerDied as death:
            raise self._failure(death) from None

    def warm(self) -> None:
        """Have one ready for the next file."""
        with self._turn:
            if self._all:
                return
        worker = self._new()
        with self._turn:
            self._idle.append(worker)

    def pids(self) -> list[int]:
        with self._turn:
            return [worker.pid for worker in self._all]

    def close(self) -> None:
        with self._turn:
            self._closed = True
            idle, self._idle = self._idle, []
            for worker in self._all:
                worker.kill()
        for worker in idle:
            self._discard(worker)

    def _ask(self, task: Task, worker: WorkerProcess) -> Answer:
        try:
            answer = worker.ask(task)
        except BaseException:
            self._discard(worker)
            raise
        with self._turn:
            self._idle.append(worker)
        return answer

    def _idle_or_new(self) -> WorkerProcess:
        with self._turn:
            if self._idle:
                return self._idle.pop()  # the one that was used last, because it is the warmest
        return self._new()

    def _new(self) -> WorkerProcess:
        worker = None if self._closed else WorkerProcess(self._setup)
        with self._turn:
            if worker and not self._closed:
                self._all.add(worker)
                return worker
        if worker:
            worker.end()
        raise DowseError("indexing was stopped")

    def _discard(self, worker: WorkerProcess) -> None:
        with self._turn:
            self._all.discard(worker)
        worker.end()

    def _failure(self, death: WorkerDied) -> ParserFailed:
        if death.code == -TOO_SLOW:
            return ParserFailed(f"the parser took longer than {self._setup.timeout_s:g} s")
        if death.code < 0:
            return ParserFailed(f"the parser crashed (signal {-death.code})")
        return ParserFailed(f"the parser ended its process (exit code {death.code})")


def _taken(answer: Answer) -> Prepared:
    if isinstance(answer, Refused):
        raise Unreadable(answer.reason, lasting=answer.lasting)
    if isinstance(answer, Failed):
        raise ParserFailed(answer.reason)
    return answer
