"""What a command writes: control characters are shown instead of sent, and a stream may be closed, full or gone.

Names, contents, commits and notes come from whoever wrote a repository. A terminal obeys escape sequences in them, and
overrides of the text's direction show another text than the one that is there. All that is written passes here, so no
command has to think of it; only `style` makes sequences that are sent as they are.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import Any, Protocol, TextIO, cast

import click

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_MARK = f"\x00{os.urandom(8).hex()}["  # begins a sequence of ours; no file can know it
_ASCII = ("ascii", "us-ascii", "ansi_x3.4-1968")
_MARKED = re.compile(rf"{re.escape(_MARK)}([\d;]*)m")


class Main(Protocol):
    def __call__(self, arguments: Sequence[str] | None = None) -> None: ...


def escape(text: str) -> str:
    """The text with `\\x1b` in the place of an escape character and `\\u009b` in that of another one. JSON has none of
    the first, and means by the second what is meant here."""
    return _CONTROL.sub(_escape, text.replace("\r\n", "\n"))


def _escape(found: re.Match[str]) -> str:
    number = ord(found[0])
    return f"\\x{number:02x}" if number < 0x20 else f"\\u{number:04x}"


def style(text: str, **how: Any) -> str:  # noqa: ANN401
    """The text in colour, as `click.style` has it, where it is written to a terminal."""
    return click.style(escape(text), **how).replace("\x1b[", _MARK)


class _Escaping:
    """A text stream that escapes what is written to it; a `quiet` one loses what cannot be written."""

    def __init__(self, stream: TextIO, *, quiet: bool = False) -> None:
        self.stream, self._quiet = stream, quiet
        self.is_unread = False  # whoever read it has seen enough

    def write(self, text: str) -> int:
        # Split by our own marks: every other piece is what stands between the brackets of a sequence.
        pieces = _MARKED.split(text)
        pieces[::2] = map(escape, pieces[::2])
        pieces[1::2] = [f"\x1b[{it}m" if self.stream.isatty() else "" for it in pieces[1::2]]
        if shown := "".join(pieces):
            self._try(lambda: self.stream.write(shown))
        return len(text)

    def flush(self) -> None:
        self._try(self.stream.flush)

    def _try(self, action: Callable[[], object]) -> None:
        try:
            action()
        except OSError as error:
            self.is_unread |= isinstance(error, BrokenPipeError)
            _silence(self.stream)
            if not self._quiet:
                raise

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return getattr(self.stream, name)


def _silence(stream: TextIO) -> None:
    """Python writes what is left once more when it ends, and would complain again."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@contextlib.contextmanager
def escaping() -> Iterator[_Escaping]:
    """Whatever is written to stdout, which is given, and to stderr meanwhile is escaped."""
    with _filled():
        before = sys.stdout, sys.stderr
        for stream in before:
            if stream.encoding.lower() in _ASCII and hasattr(stream, "reconfigure"):
                stream.reconfigure(encoding="utf-8")  # as click does, but then it writes past us
        stdout = _Escaping(sys.stdout)
        sys.stdout, sys.stderr = cast(TextIO, stdout), cast(TextIO, _Escaping(sys.stderr, quiet=True))
        try:
            yield stdout
        finally:
            sys.stdout, sys.stderr = before


def raw_stderr() -> TextIO:
    """For progress bars, which send sequences of their own and no text of others."""
    return sys.stderr.stream if isinstance(sys.stderr, _Escaping) else sys.stderr


def guarded(main: Main) -> Main:
    """A program's entry with streams that can be relied on: escaped, and open or told to be closed."""

    @wraps(main)
    def run(arguments: Sequence[str] | None = None) -> None:
        with _filled() as is_open:
            code = _guard(main, arguments) if is_open else _complain("stdout is closed; send it to a file or /dev/null")
        sys.exit(code)

    return run


def _guard(main: Main, arguments: Sequence[str] | None) -> str | int | None:
    with escaping() as stdout:
        code = _end(main, arguments)
        try:
            stdout.flush()
        except BrokenPipeError:
            pass
        except OSError as error:
            code = _complain(f"cannot write the output: {error.strerror}; free space or choose another file")
    return 0 if stdout.is_unread else code


def _complain(sentence: str) -> int:
    click.echo(f"dowse: {sentence}", err=True)
    return 2


def _end(main: Main, arguments: Sequence[str] | None) -> str | int | None:
    try:
        main(arguments)
    except SystemExit as ended:
        return ended.code
    return 0


@contextlib.contextmanager
def _filled() -> Iterator[bool]:
    """Whether stdout is open. What is closed leads to nothing meanwhile: else the next file would get its number, and
    be written to as stdout or stderr."""
    is_open = sys.stdout is not None
    with contextlib.ExitStack() as opened:
        for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):  # in the order of their numbers
            if getattr(sys, name) is None:
                setattr(sys, name, opened.enter_context(open(os.devnull, mode, encoding="utf-8")))
                opened.callback(setattr, sys, name, None)
        yield is_open
