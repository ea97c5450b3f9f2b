"""One worker, seen from the process that asks it."""

from __future__ import annotations

import pickle
import subprocess
import sys
import weakref
from io import BytesIO
from typing import Any, BinaryIO, Final, TypeAlias, cast

from dowse.errors import ParserFailed, Unreadable
from dowse.ingest.prepare import Prepared, Task
from dowse.ingest.workers.packing import Packed, unpacked
from dowse.ingest.workers.wire import receive, send
from dowse.ingest.workers.worker import Failed, Ready, Refused, Setup

Answer: TypeAlias = Prepared | Refused | Failed
_NONSENSE: Final = "the parser's answer made no sense"

# Told where modules are, because those in the directory it happens to start in are not to be trusted (-P).
_START: Final = "import sys; sys.path[:] = sys.argv[1:]; from dowse.ingest.workers.worker import main; main()"
_CLASSES: Final[dict[tuple[str, str], type]] = {
    (it.__module__, it.__qualname__): it for it in (Ready, Refused, Failed, Packed)
}
# A worker ends by itself when its time is over; this is for one that can not even do that.
_GRACE_S: Final = 20.0
_START_S: Final = 60.0
_WHATEVER_GARBAGE_RAISES = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    TypeError,
    ValueError,
)


class WorkerDied(Exception):
    """`code` is what it ended with, as `subprocess` tells it."""

    def __init__(self, code: int) -> None:
        super().__init__(f"it ended with {code}")
        self.code = code


class WorkerProcess:
    """Asked one thing at a time, by one thread at a time; only `kill` may come from another."""

    def __init__(self, setup: Setup) -> None:
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _START, *sys.path],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                process_group=0,  # an interrupt from the terminal is for us alone; it ends when we do
            )
        except OSError as error:
            raise _not_started(str(error)) from error
        # Also when nobody has a use for it any more, or the interpreter ends.
        self._finish = weakref.finalize(self, _ended, self._process)
        self.pid = self._process.pid
        self._patience_s = _START_S
        try:
            self._exchange(setup, Ready)
        except (WorkerDied, ParserFailed) as failure:
            raise _not_started(str(failure)) from None
        self._patience_s = setup.timeout_s + _GRACE_S

    def ask(self, task: Task) -> Answer:
        answer = self._exchange(task, Packed, Refused, Failed)
        try:
            return unpacked(answer) if isinstance(answer, Packed) else cast(Refused | Failed, answer)
        except (TypeError, ValueError):
            raise ParserFailed(_NONSENSE) from None

    def kill(self) -> None:
        self._process.kill()

    def end(self) -> int:
        """What it ended with: by itself, or by this."""
        self._finish()
        return self._process.wait()

    @property
    def _pipes(self) -> tuple[BinaryIO, BinaryIO]:
        return cast(BinaryIO, self._process.stdin), cast(BinaryIO, self._process.stdout)

    def _exchange(self, message: object, *expected: type) -> object:
        tasks, answers = self._pipes
        try:
            send(tasks.fileno(), message)
            answer = read_answer(receive(answers.fileno(), self._patience_s))
        except TimeoutError:
            self.end()
            raise ParserFailed("the parser never answered") from None
        except (EOFError, OSError):
            raise WorkerDied(self.end()) from None
        except pickle.UnpicklingError:
            answer = None
        if not isinstance(answer, expected):
            self.end()
            raise ParserFailed(_NONSENSE)
        return answer


def _ended(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()


def read_answer(data: bytes) -> object:
    """Raises UnpicklingError for whatever can not be read."""
    try:
        return _Answers(BytesIO(data)).load()
    except _WHATEVER_GARBAGE_RAISES as error:
        raise pickle.UnpicklingError("this is no answer") from error


class _Answers(pickle.Unpickler):
    """Takes plain values and answers only: whatever went wrong in a parser, it can not make us run anything."""

    def find_class(self, module: str, name: str) -> Any:  # noqa: ANN401 - as declared there
        if (module, name) not in _CLASSES:
            raise pickle.UnpicklingError(f"{module}.{name} is no part of an answer")
        return _CLASSES[module, name]


def _not_started(reason: str) -> Unreadable:
    return Unreadable(f"the process for parsers can not be started ({reason})", lasting=False)
