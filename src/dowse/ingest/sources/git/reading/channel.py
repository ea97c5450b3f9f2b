"""A git process that tells commits one after another, in the order it is asked for them."""

from __future__ import annotations

import fcntl
import os
import secrets
import select
import subprocess
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Literal

from dowse.ingest.sources.git.patience import LONG_S
from dowse.ingest.sources.git.reading.parsing import FORMAT
from dowse.ingest.sources.git.running import ask_history, converse

MOST_BYTES: Final = 16_000_000
"""Of what git tells of one commit; the rest is not waited for."""
# So much git may write ahead, in a pipe as long as that where the system allows it.
_READ_BYTES: Final = 1 << 20
_GATHER_S: Final = 0.01  # to read each line as it comes costs more than to understand it

_OUT_OF_MEMORY: Final = b"ut of memory"
_ALWAYS: Final = (
    "diff-tree", "--stdin", "--always", "--root", "-r", "-z", FORMAT, "--encoding=UTF-8", "--no-notes",
    "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=none", "--submodule=short",
)  # fmt: skip
# Exact renames are told by the names of objects, which need not be there.
_FILES: Final = (*_ALWAYS, "--raw", "--full-index", "-M100%", "-l400")
_CHANGES: Final = (
    *_ALWAYS, "--raw", "--patch", "--full-index", "-M50%", "-l400", "--unified=3", "--inter-hunk-context=0",
    "--diff-algorithm=default", "--indent-heuristic", "--src-prefix=a/", "--dst-prefix=b/",
)  # fmt: skip
# Comparing needs trees, which may be missing, too; this writes a line of its own before each head.
_HEAD: Final = ("rev-list", "--no-walk", "--stdin", FORMAT, "--encoding=UTF-8")
COMMANDS: Final = {"head": _HEAD, "files": _FILES, "changes": _CHANGES}
Much = Literal["head", "files", "changes"]


@dataclass(frozen=True, slots=True)
class Frame:
    """What was told of one commit; `cut`: not all of it, since there was too much; `ends`: and no other will follow."""

    data: bytes
    cut: bool = False
    ends: bool = False


class Channel:
    """Used by one thread; `kill` may be called by any, and ends what that one waits for."""

    def __init__(
        self,
        git_directory: str,
        command: Sequence[str] = _CHANGES,
        *,
        most_bytes: int = MOST_BYTES,
        silence_s: float = LONG_S,
    ) -> None:
        self._process = converse(git_directory, *command)
        _lengthen(self._process)
        # What is no name of an object is written back: what a commit holds can not foresee it.
        self._mark = f"{secrets.token_hex(16)} ends\n".encode()
        self._buffer = bytearray()
        self._most_bytes = most_bytes
        self._silence_s = silence_s

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, names: Iterable[str]) -> None:
        """To be answered in this order; so few at a time that they fit into the pipe."""
        assert self._process.stdin is not None
        lines = b"".join(name.encode() + b"\n" + self._mark for name in names)
        with suppress(OSError):  # it has ended, which whoever receives is told
            self._process.stdin.write(lines)

    def receive(self, *, in_a_hurry: bool = True) -> Frame | None:
        """The next answer; None when git has ended instead, or was ended because it gave no sign of life. Who is in no
        hurry lets it gather some."""
        searched = 0
        while (end := self._buffer.find(self._mark, searched)) < 0:
            if len(self._buffer) > self._most_bytes:
                return Frame(bytes(self._buffer[: self._most_bytes]), cut=True, ends=True)
            searched = max(0, len(self._buffer) - len(self._mark))
            data = self._read(0.0 if in_a_hurry else _GATHER_S)
            if not data:
                return None
            self._buffer += data
        frame = Frame(bytes(self._buffer[: min(end, self._most_bytes)]), cut=end > self._most_bytes)
        del self._buffer[: end + len(self._mark)]
        return frame

    def kill(self) -> None:
        self._process.kill()

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def _read(self, gather_s: float) -> bytes:
        assert self._process.stdout is not None
        waiting = select.poll()
        waiting.register(self._process.stdout, select.POLLIN)
        ready = waiting.poll(self._silence_s * 1000)
        time.sleep(gather_s)
        return os.read(self._process.stdout.fileno(), _READ_BYTES) if ready else b""


def _lengthen(process: subprocess.Popen[bytes]) -> None:
    if process.stdout is not None and hasattr(fcntl, "F_SETPIPE_SZ"):  # Linux
        with suppress(OSError):  # a user may have only so much
            fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, _READ_BYTES)


def told_once(git_directory: str, name: str, much: Much) -> Frame | None:
    """What a process of its own tells of one commit; None if it can not. Raises MemoryError where that takes more than
    it may have."""
    given = name.encode() + b"\n"
    finished = ask_history(git_directory, *COMMANDS[much], given=given, most_bytes=MOST_BYTES, takes_beginning=True)
    if finished is not None and finished.returncode and _OUT_OF_MEMORY in finished.stderr:
        raise MemoryError
    if finished is None or finished.returncode or not finished.stdout:
        return None
    told = finished.stdout.partition(b"\n")[2] if much == "head" else finished.stdout
    return Frame(told, cut=len(finished.stdout) >= MOST_BYTES)
