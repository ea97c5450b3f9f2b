"""Read commits through one long-running git diff-tree process."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import select
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Literal, NamedTuple

from dowse.errors import Unreadable
from dowse.git.commit import DEFAULT_REDACTION, CommitData, FileChange, Redaction, Signature
from dowse.git.runner import GIT_TIMEOUT_SECONDS, run_on_history, start_git
from dowse.text.unicode import escape_invalid_bytes

# --------------------------------------------------------------------------------------------------
# Parse the output of `git diff-tree` for one commit: header, changed files and patch.

COMMIT_LOG_FORMAT: Final = "--format=%H%x00%P%x00%an%x00%ae%x00%at%x00%cn%x00%ce%x00%ct%x00%B%x00"
MAX_DIFF_LINE_CHARS: Final = 500
HEADER_TOO_LONG: Final = "its message, names or parents are too long: they were cut, and its changes were not read"
_HEADER_FIELDS: Final = 9
_MAX_GIT_SECONDS: Final = 9_000_000_000  # seconds; later times do not fit into nanoseconds
# The number of digits that git prints depends on the number of objects, so it is normalized to seven. This line is
# never the first one, and a literal newline is faster to find than a line start.
_INDEX_LINE: Final = re.compile(r"\nindex ([0-9a-f]{7})[0-9a-f]*\.\.([0-9a-f]{7})[0-9a-f]*")
_LONG_LINE: Final = re.compile(rf"^(.{{{MAX_DIFF_LINE_CHARS}}}).+$", re.MULTILINE)


def parse_commit(
    frame: bytes,
    diff_lines: int,
    problem: str = "",
    *,
    is_cut: bool = False,
    withholding: Redaction = DEFAULT_REDACTION,
) -> CommitData:
    """Parse one commit. Raises ValueError if the header is incomplete, unless the output was cut."""
    masked_count = 0

    def mask(data: bytes) -> bytes:
        nonlocal masked_count
        data, count = withholding.mask_secrets(data)
        masked_count += count
        return data

    fields = frame.split(b"\0", _HEADER_FIELDS)
    if is_cut and len(fields) <= _HEADER_FIELDS:
        fields += [b""] * (_HEADER_FIELDS + 1 - len(fields))
        problem = HEADER_TOO_LONG
    hash, parents, name, email, at, committer, committer_email, committer_at, message, rest = fields
    entries, patch = _parse_entries(rest)
    invalid_paths = sum(not _is_text(path) for _, *paths in entries for path in paths)
    files = [_file_change(*it) for it in entries]
    # If no file is left out, the patch need not be split by file.
    is_whole = files and not any(withholding.is_excluded(path) for it in files for path in it[1:] if path)
    patch, left_out = (patch, 0) if is_whole else withholding.redact_files(patch)
    delta, omitted = truncate_diff(patch, diff_lines, mask)
    message = mask(message)
    problems = [problem, f"{invalid_paths:,} of its paths are not valid UTF-8" if invalid_paths else ""]
    return CommitData(
        hash=_decode_text(hash),
        parents=_decode_text(parents).split(),
        author=Signature(_decode_text(name), _decode_text(email), parse_seconds(at)),
        committer=Signature(_decode_text(committer), _decode_text(committer_email), parse_seconds(committer_at)),
        message=_decode_text(message).strip("\n"),
        files=files,
        diff=delta,
        omitted=omitted,
        is_cut=is_cut,
        problem="; ".join(filter(None, problems)),
        left_out=left_out,
        masked=masked_count,
    )


def parse_seconds(text: bytes) -> int:
    """Parse a timestamp. A commit not made by git may contain anything there."""
    try:
        return max(-_MAX_GIT_SECONDS, min(int(text), _MAX_GIT_SECONDS))
    except ValueError:
        return 0


def _unmasked(data: bytes) -> bytes:
    return data


def truncate_diff(patch: bytes, lines: int, mask: Callable[[bytes], bytes] = _unmasked) -> tuple[str, int]:
    """Return the first lines, masked before long lines are shortened, and the number of lines left out."""
    first = patch.split(b"\n", lines)
    end = len(patch) - len(first.pop()) if len(first) > lines else len(patch)
    kept = _INDEX_LINE.sub(r"\nindex \1..\2", _decode_text(mask(patch[:end])).replace("\0", "\ufffd"))
    if max(map(len, first), default=0) > MAX_DIFF_LINE_CHARS:
        kept = _LONG_LINE.sub(r"\1…", kept)
    return kept.removesuffix("\n"), patch.count(b"\n", end)


def _parse_entries(rest: bytes) -> tuple[list[tuple[bytes, ...]], bytes]:
    """Return status and path of each file, plus the new path if renamed or copied; and the rest of the output."""
    entries: list[tuple[bytes, ...]] = []
    at = rest.find(b":") if rest[:3].lstrip(b"\0\n").startswith(b":") else len(rest)
    while rest.startswith(b":", at):
        about, at = _next_field(rest, at)
        path, at = _next_field(rest, at)
        status = about.rpartition(b" ")[2][:1]
        if status in (b"R", b"C"):
            new_path, at = _next_field(rest, at)
            entries.append((status, path, new_path))
        elif path:
            entries.append((status, path))
    return entries, rest[at + 1 :]


def _next_field(rest: bytes, at: int) -> tuple[bytes, int]:
    """Return the bytes up to the next zero byte; empty if there is none, because the output was cut."""
    end = rest.find(b"\0", at)
    return (rest[at:end], end + 1) if end >= 0 else (b"", len(rest))


def _file_change(status: bytes, path: bytes, new_path: bytes = b"") -> FileChange:
    return FileChange(
        _decode_text(status), escape_invalid_bytes(new_path or path), escape_invalid_bytes(path) if new_path else ""
    )


def _decode_text(data: bytes) -> str:
    return data.decode(errors="replace")


def _is_text(path: bytes) -> bool:
    try:
        path.decode()
    except UnicodeDecodeError:
        return False
    return True


# --------------------------------------------------------------------------------------------------
# A git process that prints commits in the order they are requested.

MAX_COMMIT_BYTES: Final = 16_000_000
"""Limit of the output for one commit; the rest is not read."""
# Git may write this much ahead, if the system allows a pipe of that size.
_PIPE_BYTES: Final = 1 << 20
_ACCUMULATE_S: Final = 0.01  # reading each line as it arrives costs more than parsing it

_OUT_OF_MEMORY: Final = b"ut of memory"
_DIFF_TREE: Final = (
    "diff-tree", "--stdin", "--always", "--root", "-r", "-z", COMMIT_LOG_FORMAT, "--encoding=UTF-8", "--no-notes",
    "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=none", "--submodule=short",
)  # fmt: skip
# Exact renames are found by object hashes, so the objects need not be there.
_FILES_COMMAND: Final = (*_DIFF_TREE, "--raw", "--full-index", "-M100%", "-l400")
_CHANGES_COMMAND: Final = (
    *_DIFF_TREE, "--raw", "--patch", "--full-index", "-M50%", "-l400", "--unified=3", "--inter-hunk-context=0",
    "--diff-algorithm=default", "--indent-heuristic", "--src-prefix=a/", "--dst-prefix=b/",
)  # fmt: skip
# A diff needs trees, which may be missing too. `rev-list` does not, but prints an extra line before each commit.
_HEADER_COMMAND: Final = ("rev-list", "--no-walk", "--stdin", COMMIT_LOG_FORMAT, "--encoding=UTF-8")
DETAIL_COMMANDS: Final = {"head": _HEADER_COMMAND, "files": _FILES_COMMAND, "changes": _CHANGES_COMMAND}
CommitDetail = Literal["head", "files", "changes"]


@dataclass(frozen=True, slots=True)
class DiffTreeOutput:
    """The output for one commit.

    `is_cut`: truncated, because it was too long; `is_last`: the process prints no more commits.
    """

    data: bytes
    cut: bool = False
    is_last: bool = False


class DiffTreeProcess:
    """Used by one thread. Any thread may call `kill`, which ends a blocking read."""

    def __init__(
        self,
        git_directory: str,
        command: Sequence[str] = _CHANGES_COMMAND,
        *,
        max_bytes: int = MAX_COMMIT_BYTES,
        timeout_s: float = GIT_TIMEOUT_SECONDS,
    ) -> None:
        self._process = start_git(git_directory, *command)
        _enlarge_pipe(self._process)
        # Git echoes input that is not an object hash. A random mark cannot occur in a commit.
        self._mark = f"{secrets.token_hex(16)} ends\n".encode()
        self._buffer = bytearray()
        self._max_bytes = max_bytes
        self._timeout_s = timeout_s

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, names: Iterable[str]) -> None:
        """Request commits, answered in this order. Request few at a time: they must fit into the pipe."""
        assert self._process.stdin is not None
        lines = b"".join(name.encode() + b"\n" + self._mark for name in names)
        with suppress(OSError):  # git has ended; `receive` reports it
            self._process.stdin.write(lines)

    def receive(self, *, in_a_hurry: bool = True) -> DiffTreeOutput | None:
        """Return the next answer; None if git has ended or did not respond in time. Unless `in_a_hurry`, let output
        accumulate."""
        searched = 0
        while (end := self._buffer.find(self._mark, searched)) < 0:
            if len(self._buffer) > self._max_bytes:
                return DiffTreeOutput(bytes(self._buffer[: self._max_bytes]), cut=True, is_last=True)
            searched = max(0, len(self._buffer) - len(self._mark))
            data = self._read(0.0 if in_a_hurry else _ACCUMULATE_S)
            if not data:
                return None
            self._buffer += data
        frame = DiffTreeOutput(bytes(self._buffer[: min(end, self._max_bytes)]), cut=end > self._max_bytes)
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

    def _read(self, delay_s: float) -> bytes:
        assert self._process.stdout is not None
        poll = select.poll()
        poll.register(self._process.stdout, select.POLLIN)
        ready = poll.poll(self._timeout_s * 1000)
        time.sleep(delay_s)
        return os.read(self._process.stdout.fileno(), _PIPE_BYTES) if ready else b""


def _enlarge_pipe(process: subprocess.Popen[bytes]) -> None:
    if process.stdout is not None and hasattr(fcntl, "F_SETPIPE_SZ"):  # Linux
        with suppress(OSError):  # the system limits the pipe memory of a user
            fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)


def read_commit_output(git_directory: str, name: str, much: CommitDetail) -> DiffTreeOutput | None:
    """Return the output of a separate process for one commit; None if it fails. Raises MemoryError if git runs out of
    memory."""
    stdin = name.encode() + b"\n"
    finished = run_on_history(
        git_directory, *DETAIL_COMMANDS[much], stdin=stdin, max_bytes=MAX_COMMIT_BYTES, takes_beginning=True
    )
    if finished is not None and finished.returncode and _OUT_OF_MEMORY in finished.stderr:
        raise MemoryError
    if finished is None or finished.returncode or not finished.stdout:
        return None
    output = finished.stdout.partition(b"\n")[2] if much == "head" else finished.stdout
    return DiffTreeOutput(output, cut=len(finished.stdout) >= MAX_COMMIT_BYTES)


# --------------------------------------------------------------------------------------------------
# A thread with one git process: takes requests, keeps a few in flight, and restarts the process when it ends.

# Requests in flight: enough to keep the process busy, and few to repeat after a restart.
_MAX_IN_FLIGHT: Final = 64
_FEW_IN_FLIGHT: Final = 8

ConvertOutput = Callable[[str, bytes | None, bool], bytes]


class CommitRequest(NamedTuple):
    name: str
    future: Future[bytes]


class DiffTreeThread:
    """`changed` guards the requests and all futures. `convert` converts git's output for a commit, or None if git ended
    over it, to the result, or raises Unreadable."""

    def __init__(
        self,
        requests: deque[CommitRequest],
        changed: threading.Condition,
        open_channel: Callable[[], DiffTreeProcess],
        convert: ConvertOutput,
    ) -> None:
        self._requests = requests
        self._changed = changed
        self._open = open_channel
        self._convert = convert
        self._in_flight: deque[CommitRequest] = deque()
        self._diff_tree: DiffTreeProcess | None = None
        self._stopped = False
        self.failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="dowse-git", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        """Stop the thread. The caller must hold the lock."""
        self._stopped = True
        if self._diff_tree is not None:
            self._diff_tree.kill()

    def join(self) -> None:
        self._thread.join()

    def _run(self) -> None:
        try:
            while self._send_requests():
                self._complete_next()
        except Exception as error:  # noqa: BLE001 (pending and later requests fail with it instead of hanging)
            self._fail(error)
        self._close()

    def _fail(self, error: Exception) -> None:
        with self._changed:
            self.failure = error
            for _, future in (*self._in_flight, *self._requests):
                if not future.done():
                    future.set_exception(error)
            self._requests.clear()

    def _send_requests(self) -> bool:
        """Send some of the waiting requests to git; return False if the thread must stop."""
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or self._in_flight or self._requests)
            room = min(_MAX_IN_FLIGHT - len(self._in_flight), len(self._requests))
            taken = [] if self._stopped else [self._requests.popleft() for _ in range(room)]
        if taken and not self._in_flight and self._diff_tree is not None and not self._diff_tree.is_alive():
            self._close()  # it ended while idle, so none of these requests is to blame
        self._in_flight.extend(taken)
        self._ask(taken)
        return not self._stopped

    def _ask(self, requests: list[CommitRequest]) -> None:
        if self._diff_tree is None:
            try:
                self._reopen()
            except OSError:
                return  # each request then fails by itself
        elif requests:
            self._diff_tree.ask([it.name for it in requests])

    def _reopen(self) -> None:
        diff_tree = self._open()
        with self._changed:
            self._diff_tree = diff_tree
            if self._stopped:
                diff_tree.kill()
        diff_tree.ask([it.name for it in self._in_flight])

    def _complete_next(self) -> None:
        few = len(self._in_flight) <= _FEW_IN_FLIGHT
        frame = self._diff_tree.receive(in_a_hurry=few) if self._diff_tree is not None else None
        name, future = self._in_flight.popleft()
        if frame is None or frame.is_last:
            self._close()
        if self._stopped:
            return  # its future was already completed
        data: bytes | Unreadable
        try:
            data = self._convert(name, frame.data if frame else None, bool(frame and frame.cut))
        except Unreadable as error:
            data = error
        with self._changed:
            if future.done():
                return
            if isinstance(data, Unreadable):
                future.set_exception(data)
            else:
                future.set_result(data)

    def _close(self) -> None:
        with self._changed:
            diff_tree, self._diff_tree = self._diff_tree, None
        if diff_tree is not None:
            diff_tree.close()


# --------------------------------------------------------------------------------------------------
# The files that merges changed themselves, which differ from those of every parent, read by a separate process.
#
# With line diffs and rename detection git would have to read every file that both sides changed. Names and statuses
# need only the trees.

MERGE_COMMAND: Final = ("diff-tree", "--stdin", "--no-commit-id", "-c", "-r", "-z", "--name-status", "--no-renames")


class MergeReader:
    """Used by one thread, except for `end`. The process starts with the first merge and restarts when it has ended."""

    def __init__(
        self, git_directory: str, open_channel: Callable[[str, Sequence[str]], DiffTreeProcess] = DiffTreeProcess
    ) -> None:
        self._git_directory = git_directory
        self._open = open_channel
        self._lock = threading.Lock()
        self._diff_tree: DiffTreeProcess | None = None
        self._stopped = False

    def changed_files(self, name: str) -> list[FileChange] | None:
        """Return the files that a merge changed; None if trees are missing or damaged. Raises Unreadable if git cannot
        start."""
        # Retry once: if the process was killed, that says nothing about the trees. If they end it, they end it again.
        frame = self._read_output(name) or self._read_output(name)
        return None if frame is None or frame.cut else list(parse_merge(frame.data))

    def end(self) -> None:
        with self._lock:
            self._stopped = True
            if self._diff_tree is not None:
                self._diff_tree.kill()

    def close(self) -> None:
        with self._lock:
            diff_tree, self._diff_tree = self._diff_tree, None
        if diff_tree is not None:
            diff_tree.close()

    def _read_output(self, name: str) -> DiffTreeOutput | None:
        """Return git's output for a merge; None if git has ended."""
        diff_tree = self._get_process()
        diff_tree.ask([name])
        frame = diff_tree.receive()
        if frame is None or frame.is_last:
            self.close()
        return frame

    def _get_process(self) -> DiffTreeProcess:
        with self._lock:
            if self._stopped:
                raise Unreadable("reading was cancelled", lasting=False)
            if self._diff_tree is None:
                try:
                    self._diff_tree = self._open(self._git_directory, MERGE_COMMAND)
                except OSError as error:
                    why = f"git could not be started ({error.strerror or error}); the next run retries"
                    raise Unreadable(why, lasting=False) from error
            return self._diff_tree


def parse_merge(frame: bytes) -> Iterator[FileChange]:
    """Parse a status per parent, then the path. If the parents' statuses differ, the file counts as modified."""
    fields = iter(frame.split(b"\0"))
    for statuses, path in zip(fields, fields, strict=False):
        kinds = set(statuses.decode("ascii", "replace"))
        yield FileChange(kinds.pop() if len(kinds) == 1 else "M", escape_invalid_bytes(path))


# --------------------------------------------------------------------------------------------------
# Read commits ahead of time with one or a few git processes.

# Processes do not share unpacked objects, and one alone is faster than indexing.
READER_PROCESSES: Final = 1

CHANGES_TOO_LARGE: Final = f"its changes exceed {MAX_COMMIT_BYTES / 1e6:,.0f} MB; only the beginning was read"
CHANGED_LINES_UNKNOWN: Final = "its changed lines are unknown: objects are missing or damaged"
CHANGED_FILES_UNKNOWN: Final = "its changed files are unknown: objects are missing or damaged"
GIT_OUT_OF_MEMORY: Final = "its changes are unknown: git would need more memory than it may use"
PARENTS_NOT_FETCHED: Final = "its changes are unknown: the clone is shallow and its parents were not fetched"
_FALLBACKS: Final[tuple[tuple[CommitDetail, str], ...]] = (
    ("files", CHANGED_LINES_UNKNOWN),
    ("head", CHANGED_FILES_UNKNOWN),
)


class CommitReader:
    """Reads the commits of one repository by full hash. `close` ends every process; the next read starts new ones.

    For a commit in `shallow` git would report every file as new, so only its message is read.
    """

    def __init__(
        self,
        git_directory: str,
        diff_lines: int,
        shallow: frozenset[str] = frozenset(),
        *,
        withholding: Redaction = DEFAULT_REDACTION,
        processes: int = READER_PROCESSES,
        open_channel: Callable[[str], DiffTreeProcess] = DiffTreeProcess,
    ) -> None:
        self._git_directory = git_directory
        self._diff_lines = diff_lines
        self._shallow = shallow
        self._withholding = withholding
        self._processes = processes
        self._open = open_channel
        self._changed = threading.Condition()
        self._requests: deque[CommitRequest] = deque()
        self._futures: dict[str, Future[bytes]] = {}
        self._threads: list[tuple[DiffTreeThread, MergeReader]] = []

    def request(self, names: Iterable[str]) -> None:
        """Request commits that will be read soon."""
        with self._changed:
            if failed := next((thread.failure for thread, _ in self._threads if thread.failure), None):
                raise failed
            for name in names:
                if name not in self._futures and name not in self._shallow:
                    self._futures[name] = Future()
                    self._requests.append(CommitRequest(name, self._futures[name]))
            while self._requests and len(self._threads) < self._processes:
                merges = MergeReader(self._git_directory)
                convert = partial(self._convert, merges)
                thread = DiffTreeThread(self._requests, self._changed, lambda: self._open(self._git_directory), convert)
                self._threads.append((thread, merges))
                thread.start()
            self._changed.notify_all()

    def is_expected(self, name: str) -> bool:
        return name in self._futures

    def read_commit(self, name: str) -> bytes:
        """Return a commit in the extractor's format.

        Raises Unreadable if there is none, or if reading was cancelled.
        """
        if name in self._shallow:
            return self._read_separately(name, (("head", PARENTS_NOT_FETCHED),)).to_bytes()
        self.request([name])
        with self._changed:
            future = self._futures.get(name)
        if future is None:
            raise Unreadable("reading was cancelled", lasting=False)
        try:
            return future.result()
        finally:
            with self._changed:
                self._futures.pop(name, None)

    def close(self) -> None:
        with self._changed:
            threads, self._threads = self._threads, []
            futures, self._futures = self._futures, {}
            self._requests.clear()
            for thread, merges in threads:
                thread.end()
                merges.end()
            for future in futures.values():
                if not future.done():
                    future.set_exception(Unreadable("reading was cancelled", lasting=False))
            self._changed.notify_all()
        for thread, merges in threads:
            thread.join()
            merges.close()

    def _convert(self, merges: MergeReader, name: str, frame: bytes | None, is_cut: bool) -> bytes:
        """Convert git's output for a commit, called by the reader threads.

        Without output, git ended over this commit.
        """
        commit = self._parse(frame, is_cut) or self._read_separately(name, _FALLBACKS)
        return (_add_merge_files(commit, merges.changed_files(name)) if len(commit.parents) > 1 else commit).to_bytes()

    def _parse(self, frame: bytes | None, is_cut: bool) -> CommitData | None:
        """Parse git's output; None if even the header is incomplete. Git may succeed when asked for less."""
        if frame is None:
            return None
        try:
            problem = CHANGES_TOO_LARGE if is_cut else ""
            return parse_commit(frame, self._diff_lines, problem, is_cut=is_cut, withholding=self._withholding)
        except ValueError:
            return None

    def _read_separately(self, name: str, attempts: Iterable[tuple[CommitDetail, str]]) -> CommitData:
        is_large = False
        for detail, problem in attempts:
            try:
                frame = read_commit_output(self._git_directory, name, detail)
                if frame is not None:
                    why, cut, withholding = GIT_OUT_OF_MEMORY if is_large else problem, frame.cut, self._withholding
                    return parse_commit(frame.data, self._diff_lines, why, is_cut=cut, withholding=withholding)
            except MemoryError:
                is_large = True
            except ValueError:
                continue  # the header is incomplete
        raise Unreadable("git cannot read this commit, or is not installed", lasting=False)


def _add_merge_files(merge: CommitData, files: list[FileChange] | None) -> CommitData:
    """Add the files of a merge. Nothing else is needed of a merge, so a failed diff is no longer a problem."""
    if files is None:
        return replace(merge, problem=CHANGED_FILES_UNKNOWN)
    return replace(
        merge,
        files=files,
        problem="" if merge.problem in (CHANGED_LINES_UNKNOWN, CHANGED_FILES_UNKNOWN) else merge.problem,
    )
