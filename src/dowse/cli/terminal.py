"""Output: colours, pager, progress bars, closed pipes."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import wraps
from typing import Any, Literal, Protocol, TextIO, cast

import click

# --------------------------------------------------------------------------------------------------
# Show output that is longer than the screen in the user's pager.
#
# The pager comes only from the user's environment: a repository that could name one could run any program.

_DEFAULT_PAGER = "less -FRX"
_LESS_OPTIONS = "FRX"  # for `PAGER=less`: quit if all fits, show colours, keep the text on the screen
_DISABLED_PAGERS = ("", "cat")
_COLOUR_SEQUENCE = re.compile(r"\x1b\[[\d;]*m")


class BufferedOutput:
    """The output of a command, buffered in order until the command ends."""

    def __init__(self, size: os.terminal_size) -> None:
        self._size = size
        self._pieces: list[tuple[Callable[[str], None], str]] = []

    def should_buffer(self, *, is_output: bool) -> bool:
        """Return whether to buffer this text; stderr waits only behind output, because prompts and notices must appear
        at once."""
        return is_output or bool(self._pieces)

    def add(self, write: Callable[[str], None], text: str) -> None:
        self._pieces.append((write, text))

    def show(self, environment: Mapping[str, str], *, may_page: bool) -> None:
        """Page the output if it is too long for the screen; otherwise, or if no pager starts, write it unchanged."""
        text = "".join(text for _, text in self._pieces)
        if may_page and _count_rows(text, self._size.columns) >= self._size.lines and _run_pager(text, environment):
            return
        for write, piece in self._pieces:
            write(piece)


def _count_rows(text: str, columns: int) -> int:
    plain = _COLOUR_SEQUENCE.sub("", text).removesuffix("\n")
    return sum(max(1, -(-len(line) // max(columns, 1))) for line in plain.split("\n"))


def pager_command(environment: Mapping[str, str]) -> list[str]:
    """Return the words of the pager command; empty if the user wants no pager or the terminal cannot show one."""
    if environment.get("TERM", "dumb") == "dumb":
        return []
    try:
        words = shlex.split(environment.get("DOWSE_PAGER", environment.get("PAGER", _DEFAULT_PAGER)))
    except ValueError:  # an unclosed quotation
        return []
    return [] if " ".join(words) in _DISABLED_PAGERS else words


def _run_pager(text: str, environment: Mapping[str, str]) -> bool:
    """Return whether a pager took the text; the user may quit it before the end."""
    command = pager_command(environment)
    if not command:
        return False
    try:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, env={"LESS": _LESS_OPTIONS, **environment})
    except OSError:
        return False
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C belongs to the pager, where it stops a search
    try:
        assert process.stdin is not None
        with suppress(BrokenPipeError), process.stdin as pipe:
            pipe.write(text.encode("utf-8", "replace"))
        process.wait()
    finally:
        signal.signal(signal.SIGINT, before)
    return True


_CONTROL_CHARACTERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_STYLE_MARK = f"\x00{os.urandom(8).hex()}["  # starts our own sequences; random, so no file can contain it
_ASCII_ENCODINGS = ("ascii", "us-ascii", "ansi_x3.4-1968")
_STYLE_SEQUENCE = re.compile(rf"{re.escape(_STYLE_MARK)}([\d;]*)m")


ColourChoice = Literal["auto", "always", "never"]
Span = tuple[int, int]
"""Start and end of a match in a line."""


class MainFunction(Protocol):
    def __call__(self, arguments: Sequence[str] | None = None) -> None: ...


def escape(text: str) -> str:
    """Escape control characters: `\\x1b` for an escape character, `\\u009b` for one above the ASCII range. JSON
    contains none of the first kind, and reads the second as the same character."""
    return _CONTROL_CHARACTERS.sub(_escape, text.replace("\r\n", "\n"))


def _escape(found: re.Match[str]) -> str:
    number = ord(found[0])
    return f"\\x{number:02x}" if number < 0x20 else f"\\u{number:04x}"


def style(text: str, **options: Any) -> str:  # noqa: ANN401
    """Colour the text like `click.style`, for streams that show colours."""
    return click.style(escape(text), **options).replace("\x1b[", _STYLE_MARK)


def highlight(text: str, spans: Iterable[Span]) -> str:
    """Mark these spans in bold red, as ripgrep does; spans may overlap."""
    pieces, end = [], 0
    for start, stop in sorted(spans):
        if stop > max(start, end):
            pieces += [text[end : max(start, end)], style(text[max(start, end) : stop], fg="red", bold=True)]
            end = stop
    return "".join([*pieces, text[end:]])


def wants_colour(choice: ColourChoice, is_terminal: bool, environment: Mapping[str, str]) -> bool:
    """Decide by the flag, then NO_COLOR, then FORCE_COLOR and CLICOLOR_FORCE, then by what the terminal can show."""
    if choice != "auto":
        return choice == "always"
    if environment.get("NO_COLOR"):
        return False
    if any(environment.get(name, "0") not in ("", "0") for name in ("FORCE_COLOR", "CLICOLOR_FORCE")):
        return True
    return is_terminal and environment.get("TERM") != "dumb" and environment.get("CLICOLOR") != "0"


def choose_colour(choice: ColourChoice) -> None:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, _EscapingStream):
            stream.is_coloured = wants_colour(choice, stream.stream.isatty(), os.environ)


def is_coloured() -> bool:
    """Return whether stdout shows colours."""
    return isinstance(sys.stdout, _EscapingStream) and sys.stdout.is_coloured


def screen_size() -> os.terminal_size | None:
    """Return the size of the terminal at stdout, or None if stdout is not a terminal."""
    return shutil.get_terminal_size() if sys.stdout.isatty() else None


def wrap_line(line: str, indent: int) -> str:
    """Wrap the line between words on a terminal, and indent every row but the first by `indent` columns."""
    size = screen_size()
    if size is None or len(line) <= size.columns:
        return line
    rows = textwrap.wrap(
        escape(line), max(size.columns, 2 * indent), subsequent_indent=" " * indent, break_on_hyphens=False
    )
    return "\n".join(rows)


class _EscapingStream:
    """A text stream that escapes what is written to it; a `quiet` one ignores write errors.

    Its buffer takes output that may be too long for the screen.
    """

    def __init__(self, stream: TextIO, *, quiet: bool = False) -> None:
        self.stream, self._quiet = stream, quiet
        self.is_pipe_closed = False  # the reader closed the pipe
        self.is_coloured = wants_colour("auto", stream.isatty(), os.environ)
        self.buffered_output: BufferedOutput | None = None

    def write(self, text: str) -> int:
        # Split at our own marks: every second piece holds the parameters of a colour sequence.
        pieces = _STYLE_SEQUENCE.split(text)
        pieces[::2] = map(escape, pieces[::2])
        pieces[1::2] = [f"\x1b[{it}m" if self.is_coloured else "" for it in pieces[1::2]]
        if shown := "".join(pieces):
            if self.buffered_output is not None and self.buffered_output.should_buffer(is_output=not self._quiet):
                self.buffered_output.add(self._write, shown)
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
            self.is_pipe_closed |= isinstance(error, BrokenPipeError)
            _redirect_to_null(self.stream)
            if not self._quiet:
                raise

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return getattr(self.stream, name)


def _redirect_to_null(stream: TextIO) -> None:
    """Redirect the stream to /dev/null, so that Python does not report the error again at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@contextlib.contextmanager
def escaped_streams() -> Iterator[_EscapingStream]:
    """Escape everything written to stdout, which is yielded, and to stderr within this context."""
    with _open_closed_streams():
        before = sys.stdout, sys.stderr
        for stream in before:
            if stream.encoding.lower() in _ASCII_ENCODINGS and hasattr(stream, "reconfigure"):
                stream.reconfigure(encoding="utf-8")  # click does this too, but would then write past us
        stdout = _EscapingStream(sys.stdout)
        sys.stdout, sys.stderr = cast(TextIO, stdout), cast(TextIO, _EscapingStream(sys.stderr, quiet=True))
        try:
            yield stdout
        finally:
            sys.stdout, sys.stderr = before


def raw_stderr() -> TextIO:
    """Return stderr without escaping, for progress bars: they send their own sequences and no foreign text."""
    return sys.stderr.stream if isinstance(sys.stderr, _EscapingStream) else sys.stderr


def buffer_output() -> None:
    """Buffer output from now on; if it is longer than the screen, a pager shows it at the end."""
    size = screen_size()
    buffered = None if size is None else BufferedOutput(size)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, _EscapingStream) and stream.isatty():
            stream.buffered_output = buffered


def with_safe_streams(main: MainFunction) -> MainFunction:
    """Wrap the entry point of a program, so that its streams are open and escaped."""

    @wraps(main)
    def run(arguments: Sequence[str] | None = None) -> None:
        with _open_closed_streams() as is_open:
            code = _run_guarded(main, arguments) if is_open else _print_error("stdout is closed; redirect it to a file")
        sys.exit(code)

    return run


def _run_guarded(main: MainFunction, arguments: Sequence[str] | None) -> str | int | None:
    with escaped_streams() as stdout:
        code: str | int | None = 2
        try:
            code = _run_main(main, arguments)
        finally:
            _show_buffered(stdout, may_page=code in (None, 0, 1))  # no pager after a failure or an interrupt
        try:
            stdout.flush()
        except BrokenPipeError:
            pass
        except OSError as error:
            code = _print_error(f"cannot write the output: {error.strerror}; free space or choose another file")
    return 0 if stdout.is_pipe_closed else code


def _show_buffered(stdout: _EscapingStream, *, may_page: bool) -> None:
    buffered = stdout.buffered_output
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, _EscapingStream):
            stream.buffered_output = None
    if buffered is not None:
        with contextlib.suppress(OSError):  # the terminal is gone
            buffered.show(os.environ, may_page=may_page)


def _print_error(sentence: str) -> int:
    click.echo(f"dowse: {sentence}", err=True)
    return 2


def _run_main(main: MainFunction, arguments: Sequence[str] | None) -> str | int | None:
    try:
        main(arguments)
    except SystemExit as exit_:
        return exit_.code
    return 0


@contextlib.contextmanager
def _open_closed_streams() -> Iterator[bool]:
    """Open /dev/null in place of closed streams, and yield whether stdout was open.

    Otherwise the next file to be opened would get a free descriptor, and be written to as stdout or stderr.
    """
    is_open = sys.stdout is not None
    with contextlib.ExitStack() as opened:
        for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):  # in the order of their descriptors
            if getattr(sys, name) is None:
                setattr(sys, name, opened.enter_context(open(os.devnull, mode, encoding="utf-8")))
                opened.callback(setattr, sys, name, None)
        yield is_open
