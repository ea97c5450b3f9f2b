"""Output that is longer than the screen, shown by the user's pager.

The pager comes from the user's environment alone: a repository that could name one would run a program of its choice.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress

_DEFAULT_PAGER = "less -FRX"
_LESS_OPTIONS = "FRX"  # for `PAGER=less`: leave when all fits, show colours, keep the text on the screen
_NO_PAGERS = ("", "cat")
_SEQUENCE = re.compile(r"\x1b\[[\d;]*m")


class HeldOutput:
    """What a command has written to the terminal, in order, until it ends."""

    def __init__(self, size: os.terminal_size) -> None:
        self._size = size
        self._pieces: list[tuple[Callable[[str], None], str]] = []

    def takes(self, *, is_output: bool) -> bool:
        """Messages on stderr wait only behind output: a question to the user, or a notice, must be seen at once."""
        return is_output or bool(self._pieces)

    def add(self, write: Callable[[str], None], text: str) -> None:
        self._pieces.append((write, text))

    def show(self, environment: Mapping[str, str], *, may_page: bool) -> None:
        """Through the pager, if it is too long for the screen; as it was written otherwise, or if no pager starts."""
        text = "".join(text for _, text in self._pieces)
        if may_page and _count_rows(text, self._size.columns) >= self._size.lines and _page(text, environment):
            return
        for write, piece in self._pieces:
            write(piece)


def _count_rows(text: str, columns: int) -> int:
    plain = _SEQUENCE.sub("", text).removesuffix("\n")
    return sum(max(1, -(-len(line) // max(columns, 1))) for line in plain.split("\n"))


def pager_command(environment: Mapping[str, str]) -> list[str]:
    """The words of the pager's command; none where the user wants none, or the terminal cannot show one."""
    if environment.get("TERM", "dumb") == "dumb":
        return []
    try:
        words = shlex.split(environment.get("DOWSE_PAGER", environment.get("PAGER", _DEFAULT_PAGER)))
    except ValueError:  # a quotation that does not end
        return []
    return [] if " ".join(words) in _NO_PAGERS else words


def _page(text: str, environment: Mapping[str, str]) -> bool:
    """Whether a pager took it. One that leaves before the end has shown enough."""
    command = pager_command(environment)
    if not command:
        return False
    try:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, env={"LESS": _LESS_OPTIONS, **environment})
    except OSError:
        return False
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the pager's: it stops a search in the text
    try:
        assert process.stdin is not None
        with suppress(BrokenPipeError), process.stdin as pipe:
            pipe.write(text.encode("utf-8", "replace"))
        process.wait()
    finally:
        signal.signal(signal.SIGINT, before)
    return True
