"""What a command writes: control characters are shown instead of sent, and a stream may be closed, full or gone.

Names, contents, commits and notes come from whoever wrote a repository. A terminal obeys escape sequences in them, and
overrides of the text's direction show another text than the one that is there. All that is written passes here, so no
command has to think of it; only `style` makes sequences that are sent as they are, where colours are wanted.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from typing import Any, Literal, Protocol, TextIO, cast

import click

from dowse.shells.cli.pager import HeldOutput

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_MARK = f"\x00{os.urandom(8).hex()}["  # begins a sequence of ours; no file can know it
_ASCII = ("ascii", "us-ascii", "ansi_x3.4-1968")
_MARKED = re.compile(rf"{re.escape(_MARK)}([\d;]*)m")


ColourChoice = Literal["auto", "always", "never"]
Span = tuple[int, int]
"""Where something begins and ends in a line."""


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


def highlight(text: str, spans: Iterable[Span]) -> str:
    """The text with these parts of it in bold red, as ripgrep marks a match; parts may overlap."""
    pieces, end = [], 0
    for start, stop in sorted(spans):
        if stop > max(start, end):
            pieces += [text[end : max(start, end)], style(text[max(start, end) : stop], fg="red", bold=True)]
            end = stop
    return "".join([*pieces, text[end:]])


def wants_colour(choice: ColourChoice, is_terminal: bool, environment: Mapping[str, str]) -> bool:
    """The flag decides, then NO_COLOR, then FORCE_COLOR and CLICOLOR_FORCE; else a terminal that can show colours."""
    if choice != "auto":
        return choice == "always"
    if environment.get("NO_COLOR"):
        return False
    if any(environment.get(name, "0") not in ("", "0") for name in ("FORCE_COLOR", "CLICOLOR_FORCE")):
        return True
    return is_terminal and environment.get("TERM") != "dumb" and environment.get("CLICOLOR") != "0"


def choose_colour(choice: ColourChoice) -> None:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, _Escaping):
            stream.is_coloured = wants_colour(choice, stream.stream.isatty(), os.environ)


def is_coloured() -> bool:
    """Whether colours reach stdout."""
    return isinstance(sys.stdout, _Escaping) and sys.stdout.is_coloured


def screen_size() -> os.terminal_size | None:
    """Columns and lines of the terminal that stdout is; None where it is none."""
    return shutil.get_terminal_size() if sys.stdout.isatty() else None


def wrap_line(line: str, indent: int) -> str:
    """On a terminal, the line in rows that end between words, with all but the first `indent` columns in."""
    size = screen_size()
    if size is None or len(line) <= size.columns:
        return line
    rows = textwrap.wrap(
        escape(line), max(size.columns, 2 * indent), subsequent_indent=" " * indent, break_on_hyphens=False
    )
    return "\n".join(rows)


class _Escaping:
    """A text stream that escapes what is written to it; a `quiet` one loses what cannot be written.

    What is written meanwhile is `held` where it may be too long for the screen.
    """

    def __init__(self, stream: TextIO, *, quiet: bool = False) -> None:
        self.stream, self._quiet = stream, quiet
        self.is_unread = False  # whoever read it has seen enough
        self.is_coloured = wants_colour("auto", stream.isatty(), os.environ)
        self.held: HeldOutput | None = None

    def write(self, text: str) -> int:
        # Split by our own marks: every other piece is what stands between the brackets of a sequence.
        pieces = _MARKED.split(text)
        pieces[::2] = map(escape, pieces[::2])
        pieces[1::2] = [f"\x1b[{it}m" if self.is_coloured else "" for it in pieces[1::2]]
        if shown := "".join(pieces):
            if self.held is not None and self.held.takes(is_output=not self._quiet):
                self.held.add(self._write, shown)
            else:
                self._write(shown)
        return len(text)

    def _write(self, shown: str) -> None:
        self._try(lambda: self.stream.write(shown))

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


def hold_output() -> None:
    """Collect what is written from now on: if it is longer than the screen, a pager shows it at the end."""
    size = screen_size()
    held = None if size is None else HeldOutput(size)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, _Escaping) and stream.isatty():
            stream.held = held


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
        code: str | int | None = 2
        try:
            code = _end(main, arguments)
        finally:
            _show_held(stdout, may_page=code in (None, 0, 1))  # not where a command failed or was stopped
        try:
            stdout.flush()
        except BrokenPipeError:
            pass
        except OSError as error:
            code = _complain(f"cannot write the output: {error.strerror}; free space or choose another file")
    return 0 if stdout.is_unread else code


def _show_held(stdout: _Escaping, *, may_page: bool) -> None:
    held = stdout.held
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, _Escaping):
            stream.held = None
    if held is not None:
        with contextlib.suppress(OSError):  # the terminal is gone
            held.show(os.environ, may_page=may_page)


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
