"""Parser processes: a bounded pool with time and memory limits, and the messages it exchanges."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
import weakref
from dataclasses import dataclass
from io import BytesIO
from typing import Any, BinaryIO, Final, TypeAlias, cast

from dowse.errors import DowseError, ParserFailed, Unreadable
from dowse.ingest.extract.registry import Extractor, extract
from dowse.ingest.pipeline import MAX_AHEAD_BYTES, PreparedFile, PrepareTask
from dowse.ingest.worker_process import (
    TIMEOUT_SIGNAL,
    PackedFile,
    WorkerFailure,
    WorkerReady,
    WorkerRefusal,
    WorkerSetup,
    receive_message,
    send_message,
    unpack_file,
)

# --------------------------------------------------------------------------------------------------
# A worker process, as seen from its parent.

WorkerAnswer: TypeAlias = PreparedFile | WorkerRefusal | WorkerFailure
_INVALID_ANSWER: Final = "the parser returned an invalid answer"

# The module path is passed explicitly, because modules in the current directory are not trusted (-P).
_WORKER_CODE: Final = "import sys; sys.path[:] = sys.argv[1:]; from dowse.ingest.worker_process import main; main()"
_ANSWER_CLASSES: Final[dict[tuple[str, str], type]] = {
    (it.__module__, it.__qualname__): it for it in (WorkerReady, WorkerRefusal, WorkerFailure, PackedFile)
}
# A worker ends itself on timeout; this is for one that cannot even do that.
_GRACE_S: Final = 20.0
_START_TIMEOUT_S: Final = 60.0
_UNPICKLING_ERRORS = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    TypeError,
    ValueError,
)


class WorkerDied(Exception):
    """`code` is the exit code, as `subprocess` reports it."""

    def __init__(self, code: int) -> None:
        super().__init__(f"it exited with code {code}")
        self.code = code


class WorkerProcess:
    """One worker. One thread at a time sends it one task at a time; only `kill` may be called from another thread."""

    def __init__(self, setup: WorkerSetup) -> None:
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _WORKER_CODE, *sys.path],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                process_group=0,  # a terminal interrupt is for the parent only; the worker ends with it
            )
        except OSError as error:
            raise _start_failure(str(error)) from error
        # Also runs when the object is garbage-collected or the interpreter exits.
        self._finalizer = weakref.finalize(self, _end_process, self._process)
        self.pid = self._process.pid
        try:
            self._send_and_receive(setup, _START_TIMEOUT_S, WorkerReady)
        except (WorkerDied, ParserFailed) as failure:
            raise _start_failure(str(failure)) from None
        self._setup = setup

    def ask(self, task: PrepareTask) -> WorkerAnswer:
        timeout_s = self._setup.timeout_for(task) + _GRACE_S
        answer = self._send_and_receive(task, timeout_s, PackedFile, WorkerRefusal, WorkerFailure)
        try:
            return (
                unpack_file(answer) if isinstance(answer, PackedFile) else cast(WorkerRefusal | WorkerFailure, answer)
            )
        except (TypeError, ValueError):
            raise ParserFailed(_INVALID_ANSWER) from None

    def kill(self) -> None:
        self._process.kill()

    def end(self) -> int:
        """Kill the process if it still runs, and return its exit code."""
        self._finalizer()
        return self._process.wait()

    @property
    def _pipes(self) -> tuple[BinaryIO, BinaryIO]:
        return cast(BinaryIO, self._process.stdin), cast(BinaryIO, self._process.stdout)

    def _send_and_receive(self, message: object, timeout_s: float, *expected: type) -> object:
        tasks, answers = self._pipes
        try:
            send_message(tasks.fileno(), message)
            answer = unpickle_answer(receive_message(answers.fileno(), timeout_s))
        except TimeoutError:
            self.end()
            raise ParserFailed("the parser did not answer") from None
        except (EOFError, OSError):
            raise WorkerDied(self.end()) from None
        except pickle.UnpicklingError:
            answer = None
        if not isinstance(answer, expected):
            self.end()
            raise ParserFailed(_INVALID_ANSWER)
        return answer


def _end_process(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()


def unpickle_answer(data: bytes) -> object:
    """Unpickle an answer; raise UnpicklingError for anything that is not one."""
    try:
        return _AnswerUnpickler(BytesIO(data)).load()
    except _UNPICKLING_ERRORS as error:
        raise pickle.UnpicklingError("not an answer") from error


class _AnswerUnpickler(pickle.Unpickler):
    """Unpickler for plain values and answers only, so that a compromised parser cannot make the parent run code."""

    def find_class(self, module: str, name: str) -> Any:  # noqa: ANN401 - as declared there
        if (module, name) not in _ANSWER_CLASSES:
            raise pickle.UnpicklingError(f"{module}.{name} is not allowed in an answer")
        return _ANSWER_CLASSES[module, name]


def _start_failure(reason: str) -> Unreadable:
    return Unreadable(f"the parser process cannot be started ({reason})", lasting=False)


# --------------------------------------------------------------------------------------------------
# A pool of parser processes: started on demand, reused for the next file, replaced when one dies.

DEFAULT_WORKER_MEMORY_BYTES: Final = 2_000_000_000


class WorkerPool:
    """Prepares files in worker processes. The caller starts one thread for each process it wants."""

    def __init__(
        self,
        count: int,
        timeout_s: float,
        *,
        extract: Extractor = extract,
        document_timeout_s: float = 120.0,
        memory_bytes: int = DEFAULT_WORKER_MEMORY_BYTES,
        ahead_bytes: int = MAX_AHEAD_BYTES,
    ) -> None:
        self.count = count
        self.ahead_bytes = ahead_bytes
        self._setup = WorkerSetup(extract, timeout_s, document_timeout_s, memory_bytes)
        self._lock = threading.Lock()
        self._idle: list[WorkerProcess] = []
        self._workers: set[WorkerProcess] = set()
        self._closed = False

    def prepare(self, task: PrepareTask) -> PreparedFile:
        """Prepare a file like `prepare_file`, with the same errors. A worker that dies raises ParserFailed too."""
        try:
            return _unwrap_answer(self._ask(task, self._idle_or_new()))
        except WorkerDied as death:
            if death.code == -TIMEOUT_SIGNAL:
                raise self._describe_death(death, task) from None
        # Another file may have damaged the worker, or someone killed it. Blame this file only if a fresh worker dies
        # too.
        try:
            return _unwrap_answer(self._ask(task, self._start_worker()))
        except WorkerDied as death:
            raise self._describe_death(death, task) from None

    def warm(self) -> None:
        """Start a worker, so that the next file need not wait for one."""
        with self._lock:
            if self._workers:
                return
        worker = self._start_worker()
        with self._lock:
            self._idle.append(worker)

    def pids(self) -> list[int]:
        with self._lock:
            return [worker.pid for worker in self._workers]

    def close(self) -> None:
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            for worker in self._workers:
                worker.kill()
        for worker in idle:
            self._discard(worker)

    def _ask(self, task: PrepareTask, worker: WorkerProcess) -> WorkerAnswer:
        try:
            answer = worker.ask(task)
        except BaseException:
            self._discard(worker)
            raise
        with self._lock:
            self._idle.append(worker)
        return answer

    def _idle_or_new(self) -> WorkerProcess:
        with self._lock:
            if self._idle:
                return self._idle.pop()  # the most recently used one has the warmest caches
        return self._start_worker()

    def _start_worker(self) -> WorkerProcess:
        worker = None if self._closed else WorkerProcess(self._setup)
        with self._lock:
            if worker and not self._closed:
                self._workers.add(worker)
                return worker
        if worker:
            worker.end()
        raise DowseError("indexing was stopped")

    def _discard(self, worker: WorkerProcess) -> None:
        with self._lock:
            self._workers.discard(worker)
        worker.end()

    def _describe_death(self, death: WorkerDied, task: PrepareTask) -> ParserFailed:
        if death.code == -TIMEOUT_SIGNAL:
            return ParserFailed(f"the parser took longer than {self._setup.timeout_for(task):g} s")
        if death.code < 0:
            return ParserFailed(f"the parser crashed (signal {-death.code})")
        return ParserFailed(f"the parser ended its process (exit code {death.code})")


def _unwrap_answer(answer: WorkerAnswer) -> PreparedFile:
    if isinstance(answer, WorkerRefusal):
        raise Unreadable(answer.reason, lasting=answer.lasting)
    if isinstance(answer, WorkerFailure):
        raise ParserFailed(answer.reason)
    return answer


# --------------------------------------------------------------------------------------------------
# Divide the memory limit of indexing among worker processes and read-ahead.

# Beyond this number, workers wait for the single writer.
MAX_AUTOMATIC_WORKERS: Final = 8
# Upper limit for one parser, however much memory there is: one that needs more has a problem with the file.
MAX_WORKER_MB: Final = 2_000
# The largest file that is parsed needs a syntax tree of this size. With less memory, fewer workers run.
MIN_WORKER_MB: Final = 400
# Read-ahead data takes several times its size in memory.
_AHEAD_DIVISOR: Final = 100


@dataclass(frozen=True, slots=True)
class WorkerLimits:
    """Number of workers and their memory. `worker_bytes` is the limit of each process; 0 means no limit."""

    workers: int
    worker_bytes: int
    ahead_bytes: int


def divide_memory(workers: int, memory_mb: int) -> WorkerLimits:
    """Divide the memory among the workers (0: one per core; `memory_mb` 0: no limit)."""
    wanted = workers or min(os.cpu_count() or 1, MAX_AUTOMATIC_WORKERS)
    if not memory_mb:
        return WorkerLimits(wanted, 0, MAX_AHEAD_BYTES)
    count = max(1, min(wanted, memory_mb // MIN_WORKER_MB))
    each_mb = min(memory_mb // count, MAX_WORKER_MB)
    return WorkerLimits(count, each_mb * 1_000_000, min(MAX_AHEAD_BYTES, memory_mb * 1_000_000 // _AHEAD_DIVISOR))
