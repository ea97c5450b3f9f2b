"""One worker, seen from the process that asks it."""

from __future__ import annotations

import pickle
import subprocess
import sys
from contextlib import suppress
from typing import Any, BinaryIO, Final, TypeAlias, cast

from dowse.errors import ParserFailed, Unreadable
from dowse.ingest.prepare import Prepared, Task
from dowse.ingest.workers.worker import Failed, Ready, Refused, Setup, send
from dowse.model import Call, Chunk, Extract, Link, Stats, Symbol
from dowse.store.base import Piece

Answer: TypeAlias = Prepared | Refused | Failed

# Told where modules are, because those in the directory it happens to start in are not to be trusted (-P).
_START: Final = "import sys; sys.path[:] = sys.argv[1:]; from dowse.ingest.workers.worker import main; main()"
_CLASSES: Final[dict[tuple[str, str], type]] = {
    (it.__module__, it.__qualname__): it
    for it in (Ready, Refused, Failed, Prepared, Piece, Chunk, Extract, Symbol, Stats, Link, Call)
}
_WHATEVER_GARBAGE_RAISES = (
    pickle.UnpicklingError,
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    TypeError,
    ValueError,
)


class WorkerDied(Exception):
    """`code` is what it ended with, as `subprocess` tells it."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
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
                process_group=0,  # an interrupt from the terminal is for us alone; it ends when we do
            )
        except OSError as error:
            raise _not_started(str(error)) from error
        self.pid = self._process.pid
        try:
            self._exchange(setup, Ready)
        except WorkerDied as death:
            raise _not_started(f"it ended with {death.code}") from None

    def ask(self, task: Task) -> Answer:
        return cast(Answer, self._exchange(task, Prepared, Refused, Failed))

    def kill(self) -> None:
        self._process.kill()

    def end(self) -> int:
        """What it ended with: by itself, or by this."""
        self.kill()
        code = self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            with suppress(OSError):  # what was not sent yet can not be sent any more
                cast(BinaryIO, stream).close()
        return code

    def _exchange(self, message: object, *expected: type) -> object:
        try:
            send(cast(BinaryIO, self._process.stdin), message)
            answer = _Answers(cast(BinaryIO, self._process.stdout)).load()
        except (EOFError, OSError):
            raise WorkerDied(self.end()) from None
        except _WHATEVER_GARBAGE_RAISES:
            answer = None
        if not isinstance(answer, expected):
            self.end()
            raise ParserFailed("the parser's answer made no sense")
        return answer


class _Answers(pickle.Unpickler):
    """Takes nouns and nothing else: whatever went wrong in a parser, it can not make us run anything."""

    def find_class(self, module: str, name: str) -> Any:  # noqa: ANN401 - as declared there
        if (module, name) not in _CLASSES:
            raise pickle.UnpicklingError(f"{module}.{name} is no part of an answer")
        return _CLASSES[module, name]


def _not_started(reason: str) -> Unreadable:
    return Unreadable(f"the process for parsers can not be started ({reason})", lasting=False)
