"""Run git safely: no programs of the repository, bounded output, timeouts, and confined directories."""

from __future__ import annotations

import os
import re
import resource
import select
import selectors
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Final, NamedTuple

from dowse.errors import BadInput
from dowse.git.repository import (
    ALL_REFS_OPTIONS,
    HEAD_FILE,
    OBJECTS_DIRECTORY,
    find_common_directory,
    find_escape,
    find_git_directory,
    iterate_loose_refs,
    read_small_text,
)
from dowse.safe_open import file_kind
from dowse.text.unicode import escape_invalid_bytes, is_valid_name

# --------------------------------------------------------------------------------------------------
# Run a program with limits on time, output and memory.

_READ_BYTES: Final = 1 << 16
MAX_GIT_HEAP_BYTES: Final = 1_000_000_000
"""Memory limit of a git process: enough for a diff of four million files."""
_MAX_STDERR_BYTES: Final = 100_000  # the rest is read and discarded

FinishedProcess = subprocess.CompletedProcess[bytes]


class OutputTooLargeError(Exception):
    """The program was killed because it wrote more than its limit; `beginning` is the output up to there."""

    def __init__(self, beginning: bytes) -> None:
        super().__init__()
        self.beginning = beginning


def run_bounded(
    command: Sequence[str], environment: Mapping[str, str], stdin: bytes, wait_s: float, max_bytes: int
) -> FinishedProcess:
    """Like `subprocess.run`, with the same exceptions plus OutputTooLargeError."""
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0) as process:
        limit_memory(process)
        try:
            stdout, stderr = _PipeExchange(process, stdin, wait_s, max_bytes).run()
        except BaseException:
            process.kill()
            raise
        return FinishedProcess(command, process.returncode, stdout, stderr)


def limit_memory(process: subprocess.Popen[bytes]) -> None:
    """Limit the private memory of a process, mapped files excluded, on systems that support it.

    A crafted tree whose folders are all the same object has more paths than fit into any memory.
    """
    if sys.platform == "linux":
        with suppress(OSError, ValueError):  # the process has ended, or has a lower limit already
            resource.prlimit(process.pid, resource.RLIMIT_DATA, (MAX_GIT_HEAP_BYTES, MAX_GIT_HEAP_BYTES))


class _PipeExchange:
    """Serves all pipes at the same time, so that neither side blocks the other."""

    def __init__(self, process: subprocess.Popen[bytes], stdin: bytes, wait_s: float, max_bytes: int) -> None:
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        self._process = process
        self._stdin_pipe, self._stdout_pipe, self._stderr_pipe = process.stdin, process.stdout, process.stderr
        self._unsent = memoryview(stdin)
        self._wait_s = wait_s
        self._deadline = time.monotonic() + wait_s
        self._max_bytes = max_bytes
        self._stdout_pieces: list[bytes] = []
        self._stderr = b""
        self._stdout_bytes = 0

    def run(self) -> tuple[bytes, bytes]:
        with selectors.DefaultSelector() as selector:
            selector.register(self._stdin_pipe, selectors.EVENT_WRITE)
            selector.register(self._stdout_pipe, selectors.EVENT_READ)
            selector.register(self._stderr_pipe, selectors.EVENT_READ)
            while selector.get_map():
                for ready, _ in selector.select(self._remaining_s()):
                    pipe = ready.fileobj
                    if not (self._write() if pipe is self._stdin_pipe else self._read(pipe)):
                        selector.unregister(pipe)
        self._process.wait(self._remaining_s())
        return b"".join(self._stdout_pieces), self._stderr

    def _remaining_s(self) -> float:
        remaining_s = self._deadline - time.monotonic()
        if remaining_s <= 0:
            raise subprocess.TimeoutExpired(self._process.args, self._wait_s)
        return remaining_s

    def _write(self) -> bool:
        """Write at most as much as surely fits into the pipe; return whether input is left."""
        try:
            written = os.write(self._stdin_pipe.fileno(), self._unsent[: select.PIPE_BUF]) if self._unsent else 0
        except BrokenPipeError:
            written = len(self._unsent)  # the process does not read it
        self._unsent = self._unsent[written:]
        if not self._unsent:
            self._stdin_pipe.close()
        return bool(self._unsent)

    def _read(self, pipe: object) -> bool:
        """Read from a pipe; return whether there may be more."""
        source: IO[bytes] = self._stdout_pipe if pipe is self._stdout_pipe else self._stderr_pipe
        piece = os.read(source.fileno(), _READ_BYTES)
        if source is self._stderr_pipe:
            self._stderr += piece[: _MAX_STDERR_BYTES - len(self._stderr)]
            return bool(piece)
        self._stdout_pieces.append(piece)
        self._stdout_bytes += len(piece)
        if self._stdout_bytes > self._max_bytes:
            raise OutputTooLargeError(b"".join(self._stdout_pieces)[: self._max_bytes])
        return bool(piece)


# --------------------------------------------------------------------------------------------------
# Timeouts for git: long enough for a large repository, and short after a recent timeout.

GIT_TIMEOUT_SECONDS: Final = 60.0
_SHORT_TIMEOUT_S: Final = 3.0
_UNRESPONSIVE_S: Final = 300.0


class GitTimeouts:
    """Timeouts by git directory; thread-safe.

    A pipe in place of a file blocks every git command that reads it. So the first command gets the full timeout, and
    those of the next five minutes a short one; git may only have been busy. A later success does not reset this: it may
    not have read the blocking file.
    """

    def __init__(
        self,
        long_s: float = GIT_TIMEOUT_SECONDS,
        short_s: float = _SHORT_TIMEOUT_S,
        elapsed: Callable[[], float] = time.monotonic,
    ) -> None:
        self._long_s = long_s
        self._short_s = short_s
        self._elapsed = elapsed
        self._timed_out_at: dict[str, float] = {}

    def seconds(self, directory: str) -> float:
        return self._short_s if self.is_unresponsive(directory) else self._long_s

    def record_timeout(self, directory: str) -> None:
        if not self.is_unresponsive(directory):  # a short timeout proves nothing
            self._timed_out_at[directory] = self._elapsed()

    def is_unresponsive(self, directory: str) -> bool:
        since = self._timed_out_at.get(directory)
        return since is not None and self._elapsed() - since < _UNRESPONSIVE_S


# --------------------------------------------------------------------------------------------------
# Find files that would block git forever: a pipe or device in place of a file that git reads.

_READ_BY_GIT: Final = (
    HEAD_FILE, "config", "config.worktree", "commondir", "packed-refs", "shallow", ".mailmap", "info/attributes",
    "info/grafts", "objects/info/alternates", "objects/info/commit-graph",
    "objects/info/commit-graphs/commit-graph-chain", "objects/pack/multi-pack-index",
)  # fmt: skip
WORK_TREE_FILES: Final = ("index", "info/exclude")
"""Files that git also reads to list or compare a work tree; a history does not depend on them."""
_READ_IN_FOLDERS: Final = (".gitattributes", ".gitignore", ".gitmodules")


def find_blocking_file(git_directory: str, *others: str) -> str:
    """Return why git would block on this repository or on these additional files; empty if it would not."""
    common = str(Path(git_directory, read_small_text(Path(git_directory, "commondir")).rstrip("\r\n")))
    for place in dict.fromkeys((git_directory, common)):
        for name in (*_READ_BY_GIT, *others, *_special_refs(place)):
            if kind := _blocking_kind(Path(place, name)):
                return f"{escape_invalid_bytes(name)} in the repository is {kind}, which would block git"
    return ""


def _special_refs(git_directory: str) -> Iterator[str]:
    """Return the loose refs that are not regular files. The directory entry tells, so no file is opened."""
    return (name for name, entry in iterate_loose_refs(git_directory) if not entry.is_file(follow_symlinks=False))


def find_blocking_folder_file(directory: str, folders: Iterable[str]) -> str:
    """Return why git would block on a file that it reads in these folders of a work tree; empty if it would not."""
    names = (f"{folder}/{name}".lstrip("/") for folder in folders for name in _READ_IN_FOLDERS)
    found = ((name, kind) for name in names if (kind := _blocking_kind(Path(directory, name))))
    return next((f"{escape_invalid_bytes(name)} is {kind}, which would block git" for name, kind in found), "")


def _blocking_kind(place: Path) -> str:
    try:
        mode = place.stat().st_mode
    except OSError:
        return ""
    return "" if stat.S_ISREG(mode) or stat.S_ISDIR(mode) else file_kind(mode)


# --------------------------------------------------------------------------------------------------
# Hunk-header patterns: make git show the line that starts the enclosing definition, with its indentation.
#
# By default git shows the last unindented line before the hunk: in most languages the class, not the method. The file
# `attributes` next to this module assigns the patterns, which are POSIX expressions, to file types.

_GIT_ATTRIBUTES_FILE: Final = Path(__file__).with_name("attributes")
_STATEMENT_PATTERN: Final = (
    "![ \t]*(if|else|for|foreach|while|do|switch|catch|return|throw|new|await|case|using|lock|super)[ \t(]"
)
_MEMBER_PATTERN: Final = "[ \t]+([A-Za-z_$#][^;={}\"']*[ \t*])?[A-Za-z_$#][A-Za-z0-9_$]*[ \t]*\\("
_HUNK_HEADER_PATTERNS: Final = {
    # Skips nested functions as far as possible: the lines after them belong to the outer function.
    "python": (
        "^((class|(async[ \t]+)?def)[ \t].*"
        "|[ \t]+(class[ \t].*|(async[ \t]+)?def[ \t]+[^(]*\\((self|cls|mcs|metacls|$).*))$",
    ),
    "script": (
        _STATEMENT_PATTERN,
        "^([ \t]*(export[ \t]+|default[ \t]+|abstract[ \t]+|declare[ \t]+|async[ \t]+)*"
        "(function|class|interface|enum|namespace)[ \t*].*"
        "|(export[ \t]+)?(const|let|var)[ \t]+[A-Za-z0-9_$]+.*(=>|function).*"
        "|(  |\t)([a-z]+[ \t]+)*[A-Za-z_$#][A-Za-z0-9_$]*\\([^;\"'`]*\\{[ \t]*)$",
    ),
    "curly": (
        _STATEMENT_PATTERN,
        f"^([ \t]*([a-z]+[ \t]+)*(class|interface|enum|struct|record|trait|object)[ \t].*|{_MEMBER_PATTERN}[^;]*)$",
    ),
    "keyword": (
        "^([ \t]*([a-z]+(\\([a-z]*\\))?[ \t]+)*"
        "(fn|fun|func|function|def|class|module|object|trait|interface|enum|struct|impl|protocol|extension|actor)"
        "[ \t<].*)$",
    ),
}


def hunk_header_options() -> tuple[str, ...]:
    """Return the options for git, to be placed before its command."""
    patterns = (f"diff.dowse-{name}.xfuncname={chr(10).join(lines)}" for name, lines in _HUNK_HEADER_PATTERNS.items())
    return ("-c", f"core.attributesFile={_GIT_ATTRIBUTES_FILE}", *(part for it in patterns for part in ("-c", it)))


MAX_GIT_OUTPUT_BYTES: Final = 500_000_000
"""Output limit of one command: the messages of half a million commits."""
MAX_LISTING_BYTES: Final = 150_000_000
"""Output limit of a file listing: a million files with their hashes."""
_TIMEOUTS: Final = GitTimeouts()

# A repository's configuration can name programs; these settings disable those that a listing or a diff could run.
_HARDENING_OPTIONS: Final = (
    "--no-pager",
    "--no-replace-objects",
    "-c", "core.fsmonitor=false",
    "-c", "core.hooksPath=/dev/null",
    "-c", "core.attributesFile=/dev/null",
    "-c", "core.untrackedCache=false",
    "-c", "core.sshCommand=false",
    "-c", "core.gitProxy=",
    "-c", "credential.helper=",
    "-c", "gpg.program=false",
    "-c", "log.showSignature=false",
    "-c", "diff.external=",
    "-c", "diff.orderFile=/dev/null",
    "-c", "core.quotePath=false",
    "-c", "core.bigFileThreshold=64m",
    # Report people as the commits name them, in every command.
    "-c", "log.mailmap=false",
    "-c", "mailmap.file=",
    "-c", "mailmap.blob=",
)  # fmt: skip
# The caller's git variables may point to another repository; only the location of the user's settings is kept.
_KEPT_VARIABLES: Final = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH")
_FORCED_VARIABLES: Final = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    # A partial clone would fetch missing objects with the programs that its remotes name.
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "LC_ALL": "C",
}
# A history must not depend on what is checked out or staged.
_MISSING_INDEX: Final = "no-index-is-read"


def run_in_work_tree(
    top: str, directory: str, *command: str, stdin: bytes = b"", max_bytes: int = MAX_GIT_OUTPUT_BYTES
) -> FinishedProcess | None:
    """Run git in a directory of the work tree that starts at `top`, with `stdin` as its input.

    Returns the finished process, successful or not; None if it did not finish.
    """
    git, (git_directory, refusal) = shutil.which("git"), find_git_directory(top)
    if git is None or git_directory is None:
        return None
    if reason := refusal or find_escape(str(git_directory)) or find_blocking_file(str(git_directory), *WORK_TREE_FILES):
        return _failed_process(command, reason)
    # With both paths given, git ignores a configured work tree elsewhere, and does not search parent directories if
    # this repository is broken.
    locations = (f"--git-dir={git_directory}", f"--work-tree={top}")
    arguments = [git, "-C", directory, *_HARDENING_OPTIONS, *locations, *command]
    return _run(directory, arguments, _environment(str(git_directory)), stdin, max_bytes)


def run_on_history(
    git_directory: str,
    *command: str,
    stdin: bytes = b"",
    max_bytes: int = MAX_GIT_OUTPUT_BYTES,
    takes_beginning: bool = False,
) -> FinishedProcess | None:
    """Run git on the objects and refs of a repository, independent of any checkout; None if it did not finish.

    Output beyond `max_bytes` is a failure, unless the caller accepts a truncated result (`takes_beginning`).
    """
    git = shutil.which("git")
    if git is None:
        return None
    if escape := find_escape(git_directory):
        return _failed_process(command, escape)
    arguments = [git, *_history_options(git_directory), *command]
    environment = _environment(git_directory) | _index_override(git_directory)
    return _run(git_directory, arguments, environment, stdin, max_bytes, takes_beginning)


def explain_unfinished(directory: str) -> str:
    """Explain why a command on this directory did not finish."""
    if _TIMEOUTS.is_unresponsive(directory):
        return "git timed out; something in the repository, for example a named pipe, may block it"
    return "git is not installed, or could not be started"


def _run(
    directory: str,
    arguments: list[str],
    environment: Mapping[str, str],
    stdin: bytes,
    max_bytes: int,
    takes_beginning: bool = False,
) -> FinishedProcess | None:
    try:
        done = run_bounded(arguments, environment, stdin, _TIMEOUTS.seconds(directory), max_bytes)
    except OSError:
        return None
    except subprocess.TimeoutExpired:
        _TIMEOUTS.record_timeout(directory)
        return None
    except OutputTooLargeError as error:
        if takes_beginning:
            return FinishedProcess(arguments, 0, error.beginning, b"")
        done = _failed_process(arguments, f"git's output exceeds {max_bytes // 1_000_000:,} MB")
    return done


def _failed_process(arguments: Sequence[str], reason: str) -> FinishedProcess:
    return FinishedProcess(arguments, 1, b"", reason.encode())


def start_git(git_directory: str, *command: str) -> subprocess.Popen[bytes]:
    """Start git on a history as a process with pipes; raise OSError if that fails."""
    git = shutil.which("git")
    if git is None:
        raise FileNotFoundError("git is not installed")
    if escape := find_escape(git_directory):
        raise PermissionError(escape)
    process = subprocess.Popen(
        [git, *_history_options(git_directory), *command],
        env=_environment(git_directory) | _index_override(git_directory),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
    )
    limit_memory(process)
    return process


def _history_options(git_directory: str) -> tuple[str, ...]:
    # With an explicit work tree, git ignores a configured one elsewhere.
    locations = (f"--git-dir={git_directory}", f"--work-tree={git_directory}")
    return ("-C", git_directory, *_HARDENING_OPTIONS, *hunk_header_options(), *locations)


def _environment(git_directory: str) -> dict[str, str]:
    """Return the environment.

    It names the directories that were checked, so that git reads no file that names others.
    """
    common = os.path.realpath(find_common_directory(Path(git_directory))[0])
    places = {"GIT_COMMON_DIR": common, "GIT_OBJECT_DIRECTORY": f"{common}/{OBJECTS_DIRECTORY}"}
    inherited = {
        name: text for name, text in os.environ.items() if not name.startswith("GIT_") or name in _KEPT_VARIABLES
    }
    return inherited | _FORCED_VARIABLES | places


def _index_override(git_directory: str) -> dict[str, str]:
    return {"GIT_INDEX_FILE": f"{git_directory}/{_MISSING_INDEX}"}


# --------------------------------------------------------------------------------------------------
# Run git in a clean room: with the index, the objects and the work tree of a repository, but with a common directory of
# ours, which has no refs and no settings. So no setting of the repository or the user can name a program.

_CLEAN_ROOMS: Final = Path(__file__).with_name("clean_room")
_COPIED_SETTINGS: Final = frozenset(
    f"core.{name}"
    for name in (
        "autocrlf", "checkstat", "eol", "filemode", "ignorecase", "precomposeunicode", "sparsecheckout", "symlinks",
        "trustctime",
    )
)  # fmt: skip
_NO_CONFIG_FILES: Final = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


class CleanRoom(NamedTuple):
    """The arguments and the environment that make git use a clean room with the work tree at `top`."""

    top: str
    arguments: tuple[str, ...]
    environment: Mapping[str, str]

    def git(self, directory: str, *command: str, stdin: bytes = b"", max_bytes: int = MAX_GIT_OUTPUT_BYTES) -> bytes:
        """Run git in a directory of the work tree; raise BadInput with the reason if it fails."""
        # A slow comparison must not shorten the timeout of other commands in this directory.
        timed = f"content of {self.top}"
        arguments = [*self.arguments, "-C", directory, *command]
        return _output_or_raise(_run(timed, arguments, self.environment, stdin, max_bytes), timed)

    def prefix(self, directory: str) -> str:
        """Return what the paths of the directory's files start with, as seen from the top."""
        return "" if directory == self.top else f"{os.path.relpath(directory, self.top)}/"


def open_clean_room(top: str) -> CleanRoom:
    """Return a clean room for a work tree; raise BadInput if git must not or cannot read its settings."""
    listed = git_output_in_work_tree(top, top, "config", "--list", "-z")
    settings = {row.partition("\n")[0]: row.replace("\n", "=", 1) for row in os.fsdecode(listed).split("\0")}
    copied = (part for name in _COPIED_SETTINGS & settings.keys() for part in ("-c", settings[name]))
    git_directory = str(find_git_directory(top)[0])
    environment = _environment(git_directory) | _NO_CONFIG_FILES
    attributes = ("-c", f"core.attributesFile={environment['GIT_COMMON_DIR']}/info/attributes")
    object_format = "sha256" if settings.get("extensions.objectformat", "").endswith("=sha256") else "sha1"
    environment["GIT_COMMON_DIR"] = str(_CLEAN_ROOMS / object_format)
    locations = (f"--git-dir={git_directory}", f"--work-tree={top}")
    git = shutil.which("git") or "git"
    return CleanRoom(top, (git, *_HARDENING_OPTIONS, *copied, *attributes, *locations, LITERAL_PATHSPECS), environment)


# --------------------------------------------------------------------------------------------------
# Run git on a repository's history; return its output, or the reason for a failure in one sentence.

LITERAL_PATHSPECS = "--literal-pathspecs"
_MAX_GIT_REASON_CHARS = 200
_FATAL_PREFIXES = ("fatal:", "error:")
_ESCAPED_BYTE = re.compile(rb"\\x([89a-f][0-9a-f])")


def git_output(directory: Path, *command: str, stdin: bytes = b"") -> bytes:
    """Return git's output; raise BadInput with the reason if it fails."""
    answer = try_git(directory, *command, stdin=stdin)
    if isinstance(answer, str):
        raise BadInput(f"git could not read {directory}: {answer}")
    return answer


def try_git(directory: Path, *command: str, stdin: bytes = b"", max_bytes: int = MAX_GIT_OUTPUT_BYTES) -> bytes | str:
    """Return git's output, or a one-line reason why it failed."""
    if reason := find_blocking_file(str(directory)):
        return reason
    finished = run_on_history(str(directory), LITERAL_PATHSPECS, *command, stdin=stdin, max_bytes=max_bytes)
    return _output_or_reason(finished, str(directory))


def git_output_in_work_tree(top: str, directory: str, *command: str, max_bytes: int = MAX_GIT_OUTPUT_BYTES) -> bytes:
    """Run git in a directory of the work tree that starts at `top`; raise BadInput with the reason if it fails."""
    return _output_or_raise(run_in_work_tree(top, directory, *command, max_bytes=max_bytes), directory)


def _output_or_raise(finished: FinishedProcess | None, directory: str) -> bytes:
    answer = _output_or_reason(finished, directory)
    if isinstance(answer, str):
        raise BadInput(answer)
    return answer


def _output_or_reason(finished: FinishedProcess | None, directory: str) -> bytes | str:
    if finished is None:
        return explain_unfinished(directory)
    if finished.returncode:
        return (_complaint(finished.stderr) or f"exit code {finished.returncode}")[:_MAX_GIT_REASON_CHARS]
    return finished.stdout


def _complaint(stderr: bytes) -> str:
    """Return the line that says why git failed; warnings may precede it."""
    lines = stderr.decode(errors="replace").strip().split("\n")
    return next((it for it in lines if it.startswith(_FATAL_PREFIXES)), lines[0])


def decode_git_path(name: bytes) -> str:
    """Decode a path that git printed; invalid UTF-8 is escaped as everywhere in Dowse."""
    return escape_invalid_bytes(name)


def path_spellings(paths: Iterable[str]) -> list[str]:
    """Return the file names that may be displayed like these paths: with escapes decoded to bytes, and literally."""
    return list(dict.fromkeys(name for path in paths for name in (path, _decode_escapes(path))))


def is_committed_name(directory: Path, path: str) -> bool:
    """Return whether the path is a committed name as it stands, so that its backslashes and outer spaces belong to it.

    That is so if the last commit has this exact name. It is also so if any commit has the name with its escapes
    decoded, or with the spaces.
    """
    if not is_valid_name(path):
        return False
    name = _decode_escapes(path)
    return _prints_anything(directory, "ls-tree", "--full-tree", "HEAD", "--", path) or (
        (name != path or path != path.strip())
        and _prints_anything(directory, "log", "-1", "--format=%H", *ALL_REFS_OPTIONS, "--", name)
    )


def _prints_anything(directory: Path, *command: str) -> bool:
    answer = try_git(directory, *command)
    return not isinstance(answer, str) and bool(answer)


def _decode_escapes(path: str) -> str:
    if "\\x" not in path or not is_valid_name(path):
        return path
    return os.fsdecode(_ESCAPED_BYTE.sub(lambda it: bytes.fromhex(it[1].decode("ascii")), path.encode()))
