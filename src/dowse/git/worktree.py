"""Uncommitted changes: status, diff and branch state of a work tree."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path
from typing import Final, NamedTuple

from dowse.errors import BadInput
from dowse.git.repository import (
    branch_of_git_directory,
    common_directory_of,
    git_directory_of,
    is_git_directory,
    work_tree_above,
)
from dowse.git.runner import (
    MAX_LISTING_BYTES,
    CleanRoom,
    decode_git_path,
    find_blocking_folder_file,
    git_output_in_work_tree,
    open_clean_room,
    path_spellings,
    run_in_work_tree,
    run_on_history,
    try_git,
)
from dowse.safe_open import FileChangedError, open_below, read_file

# --------------------------------------------------------------------------------------------------
# Reject paths that escape the work tree. Git never writes them, but an index or a tree can be crafted.

_ESCAPING_PATH = re.compile(r"(?:\A|/)(?:|\.|\.\.|\.git)(?:/|\Z)", re.IGNORECASE)


def escapes_work_tree(name: str) -> bool:
    """Return whether the path leads out of the work tree or into `.git`. A trailing slash marks a nested repository."""
    return _ESCAPING_PATH.search(name.removesuffix("/")) is not None


# --------------------------------------------------------------------------------------------------
# The content of a file in the last commit, and whether there is a commit.

_FILE_MODE: Final = b"100"


def is_unborn(git_directory: Path) -> bool:
    """Return whether the first commit is still to be made: HEAD names a branch that does not exist.

    A branch that exists but cannot be read does not count.
    """
    output = try_git(git_directory, "symbolic-ref", "--quiet", "HEAD")
    if isinstance(output, str):
        return False
    branch = output.strip()
    # For a broken ref, `for-each-ref` only prints a warning.
    found = run_on_history(str(git_directory), "for-each-ref", "--format=%(refname)", os.fsdecode(branch))
    return found is not None and not found.returncode and branch not in (*found.stdout.split(), *found.stderr.split())


def find_committed_blob(git_directory: Path, path: str) -> tuple[str, str]:
    """Return git's name for the file and its blob in the last commit, empty if it has none. Raises BadInput if git
    fails."""
    found = (
        try_git(git_directory, "ls-tree", "-z", "--full-tree", "HEAD", "--", *path_spellings([path])) if path else b""
    )
    if isinstance(found, str):
        if not is_unborn(git_directory):
            raise BadInput(f"git could not read {git_directory}: {found}")
        found = b""
    for entry in found.split(b"\0"):
        about, _, name = entry.partition(b"\t")
        if about.startswith(_FILE_MODE) and decode_git_path(name) == path:
            return os.fsdecode(name), about.rpartition(b" ")[2].decode("ascii")
    return path, ""


def read_blob(git_directory: Path, name: str, max_bytes: int) -> bytes | str:
    """Return the content of a blob, or the reason if it is missing or too large."""
    output = try_git(git_directory, "cat-file", "-s", name)
    if isinstance(output, str):
        return output
    if int(output) > max_bytes:
        return f"{int(output):,} bytes; files over {max_bytes:,} bytes are not compared"
    return try_git(git_directory, "cat-file", "blob", name)


def split_lines(content: bytes) -> list[bytes]:
    """Split into lines without line endings, which a checkout may have converted."""
    lines = [line.rstrip(b"\r") for line in content.split(b"\n")]
    return lines[:-1] if not lines[-1] else lines


# --------------------------------------------------------------------------------------------------
# List the files of a work tree with git, without running anything a repository configures.


@dataclass(frozen=True, slots=True)
class GitListing:
    """Names relative to the directory: tracked files, existing or not, and untracked ones that are not ignored.

    A nested repository is one name with a trailing slash. `is_incomplete`: git could not read everything.
    """

    names: list[str]
    is_incomplete: bool


def list_work_tree(top: str, directory: str, paths: Sequence[str] | None = None) -> GitListing | None:
    """List the files below the directory, which lies in the work tree that starts at `top`.

    `paths` limits the listing. None if git is missing or fails, or if the directory itself is ignored.
    """
    path_arguments = () if paths is None else ("--", *paths)
    listing = ("--literal-pathspecs", "ls-files", "--cached", "--others", "--exclude-standard", "-z", *path_arguments)
    listed = run_in_work_tree(top, directory, *listing, max_bytes=MAX_LISTING_BYTES)
    if listed is None or listed.returncode != 0:
        return None
    ignored = None if directory == top else run_in_work_tree(top, directory, "check-ignore", "--quiet", ".")
    if ignored is not None and ignored.returncode == 0:
        return None
    names = {os.fsdecode(name) for name in listed.stdout.split(b"\0") if name}
    return GitListing(sorted(it for it in names if not escapes_work_tree(it)), is_incomplete=bool(listed.stderr))


def list_tracked_ignored(top: str, directory: str) -> frozenset[str]:
    """Return the files below the directory that git tracks although its rules ignore them; none without git."""
    command = ("ls-files", "--cached", "--ignored", "--exclude-standard", "-z")
    listed = run_in_work_tree(top, directory, *command, max_bytes=MAX_LISTING_BYTES)
    if listed is None or listed.returncode != 0:
        return frozenset()
    return frozenset(os.fsdecode(name) for name in listed.stdout.split(b"\0") if name)


# --------------------------------------------------------------------------------------------------
# List the files that `git status` reports, in a clean room, so that it runs nothing the repository configures.

# With any other value for submodules, git would run `git status` in them, with their configuration.
_COMPARED_SUBMODULES: Final = "--ignore-submodules=dirty"
_STAGED_COMMAND: Final = (
    "diff-index", "--cached", "-z", "--no-renames", "--relative", _COMPARED_SUBMODULES, "HEAD", "--", ".",
)  # fmt: skip
_STATUS_COMMAND: Final = (
    "status", "--porcelain=v2", "-z", "--untracked-files=no", "--no-renames", _COMPARED_SUBMODULES, "--", ".",
)  # fmt: skip
_CONVERSIONS: Final = ("filter", "ident", "working-tree-encoding")
_NOT_CONVERTED: Final = (b"unspecified", b"unset")
_UINT32_MAX: Final = 0xFFFFFFFF  # the git index stores 32 bits of each number
_MAX_HASHED_FILES: Final = 200  # by one command
_NS_PER_S: Final = 1_000_000_000
_MAX_STAGED_BYTES: Final = 3 * MAX_LISTING_BYTES
_INDEX_ENTRY = re.compile(
    rb"(\S) (\d+) ([0-9a-f]+) \d\t([^\0]+)\0 +ctime: (\d+):(\d+)\n +mtime: (\d+):(\d+)\n"
    rb" +dev: \d+\tino: (\d+)\n +uid: \d+\tgid: \d+\n +size: (\d+)\t.*\n"
)


@dataclass(frozen=True, slots=True)
class ChangedFiles:
    """The changed paths, relative to the directory and sorted: staged or not, new, modified or deleted.

    An untracked nested repository has a trailing slash. `blobs` has the hash of each one that is a file in the last
    commit. `problem` says why nothing could be listed.
    """

    paths: tuple[str, ...] = ()
    blobs: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""


class _FileStat(NamedTuple):
    """The stat of a file, as far as git compares it."""

    changed_s: int
    changed_ns: int
    written_s: int
    written_ns: int
    inode: int
    size: int

    def in_seconds(self) -> _FileStat:
        return self._replace(changed_ns=0, written_ns=0)


class _IndexEntry(NamedTuple):
    """`blob` is empty if it is not a file, or one that is skipped by a sparse checkout or assumed unchanged."""

    blob: str
    stat: _FileStat


def list_changed_files(directory: Path) -> ChangedFiles:
    place = str(directory.resolve())
    top = work_tree_above(place)
    if top is None:
        return ChangedFiles(problem=f"{place} is not in a git work tree")
    try:
        room = open_clean_room(top)
        entries = _list_entries(room, place)
        committed = _list_staged_changes(top, place, entries)
        modified = _list_modified(room, place, entries)
    except BadInput as error:
        return ChangedFiles(problem=f"git could not list {place}: {error}")
    listed = list_work_tree(top, place)
    if listed is None:
        return ChangedFiles(problem=f"git could not list {place}")
    paths = {*committed, *modified, *(name for name in listed.names if name not in entries)}
    blobs = {path: entries[path].blob for path in modified} | committed
    return ChangedFiles(tuple(sorted(paths)), {path: blob for path, blob in blobs.items() if blob})


def _list_entries(room: CleanRoom, directory: str) -> dict[str, _IndexEntry]:
    """Return the git index's entries below the directory. Raises BadInput if git must not compare them."""
    output = room.git(directory, "ls-files", "-v", "-s", "--debug", "-z", max_bytes=_MAX_STAGED_BYTES)
    entries = dict(_parse_entry(*row) for row in _INDEX_ENTRY.findall(output))
    # Git would read the files that these paths name.
    if crafted := next(filter(escapes_work_tree, entries), ""):
        raise BadInput(f"its index names {crafted!r}, which is outside of the work tree")
    prefix = room.prefix(directory)
    if reason := find_blocking_folder_file(room.top, _folders_above([prefix, *(prefix + path for path in entries)])):
        raise BadInput(reason)
    return entries


def _parse_entry(tag: bytes, mode: bytes, name: bytes, path: bytes, *stat: bytes) -> tuple[str, _IndexEntry]:
    # A lowercase letter: assumed unchanged by the user's order. S: skipped by a sparse checkout.
    blob = _blob_if_file(mode, name) if tag.isupper() and tag != b"S" else ""
    return os.fsdecode(path), _IndexEntry(blob, _FileStat(*map(int, stat)))


def _blob_if_file(mode: bytes, name: bytes) -> str:
    return name.decode("ascii") if mode.startswith(_FILE_MODE) else ""


def _folders_above(paths: Iterable[str]) -> set[str]:
    """Return the folders that these paths lie in, at every depth; the top is empty."""
    folders = {""}
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    return folders


def _list_staged_changes(top: str, directory: str, entries: Iterable[str]) -> dict[str, str]:
    """Return the paths whose index entry differs from the last commit, with the blob they have there."""
    try:
        output = git_output_in_work_tree(top, directory, *_STAGED_COMMAND, max_bytes=MAX_LISTING_BYTES)
    except BadInput:
        if not is_unborn(git_directory_of(top) or Path(top)):
            raise
        return dict.fromkeys(entries, "")
    fields = iter(output.split(b"\0"))
    rows = ((about.split(b" "), os.fsdecode(path)) for about, path in zip(fields, fields, strict=False))
    changes = ((path, _blob_if_file(about[0][1:], about[2])) for about, path in rows)
    return {path: blob for path, blob in changes if not escapes_work_tree(path)}


def _list_modified(room: CleanRoom, directory: str, entries: Mapping[str, _IndexEntry]) -> set[str]:
    """Return the paths whose file differs from the git index."""
    output = room.git(directory, *_STATUS_COMMAND, max_bytes=_MAX_STAGED_BYTES)
    # The room has no commits, so git reports every entry. A dot stands for a file that is as in the index.
    rows = (row for row in output.split(b"\0") if row and row[3:4] != b".")
    paths = (row.split(b" ", 10 if row.startswith(b"u") else 8)[-1] for row in rows)
    modified = {os.fsdecode(path).removeprefix(room.prefix(directory)) for path in paths} & entries.keys()
    current = {path: _read_stat(f"{directory}/{path}") for path in entries}
    untouched = [path for path in modified if current[path] == entries[path].stat]
    overlooked = [path for path, it in entries.items() if _is_overlooked(it, current[path])]
    differing = (path for path, blob in _hash_files(room, directory, overlooked) if blob != entries[path].blob)
    return modified.difference(_list_converted(room, directory, untouched)).union(differing)


def _read_stat(place: str) -> _FileStat | None:
    try:
        status = os.lstat(place)
    except OSError:
        return None
    times = (*divmod(status.st_ctime_ns, _NS_PER_S), *divmod(status.st_mtime_ns, _NS_PER_S))
    return _FileStat(*times, status.st_ino & _UINT32_MAX, status.st_size & _UINT32_MAX)


def _is_overlooked(entry: _IndexEntry, current: _FileStat | None) -> bool:
    """Return whether a file was touched within the second of its index entry. Git compares whole seconds only."""
    if not entry.blob or current is None or current == entry.stat:
        return False
    return current.in_seconds() == entry.stat.in_seconds()


def _list_converted(room: CleanRoom, directory: str, paths: Iterable[str]) -> set[str]:
    """Return the paths whose content a checkout converts. They look changed, because no filter is run."""
    stdin = b"".join(os.fsencode(path) + b"\0" for path in paths)
    command = ("check-attr", "--cached", "-z", "--stdin", *_CONVERSIONS)
    fields = iter((room.git(directory, *command, stdin=stdin) if stdin else b"").split(b"\0"))
    rows = zip(fields, fields, fields, strict=False)
    return {os.fsdecode(path) for path, _, value in rows if value not in _NOT_CONVERTED}


def _hash_files(room: CleanRoom, directory: str, paths: Sequence[str], *options: str) -> Iterator[tuple[str, str]]:
    """Yield each path with the hash of its content, as git would store it. Git reads large files in pieces."""
    for start in range(0, len(paths), _MAX_HASHED_FILES):
        part = paths[start : start + _MAX_HASHED_FILES]
        hashes = room.git(directory, *options, "hash-object", "--", *part).decode("ascii").split()
        yield from zip(part, hashes, strict=True)


# --------------------------------------------------------------------------------------------------
# The repository at a path: its work tree and its git directories.

MAX_CHECKOUT_FILE_BYTES = 10_000_000  # of a file that is compared with the last commit


@dataclass(frozen=True, slots=True)
class Checkout:
    """`git_directory` belongs to this work tree; `common` is shared by all work trees. Both are resolved. A bare
    repository has no `top`."""

    top: Path | None
    git_directory: Path
    common: Path

    def current(self, path: str) -> bytes | None:
        """Return the file's content in the work tree; None if it is not a regular file. Raises BadInput if it is too
        large."""
        if self.top is None:
            return None
        found = (_read_file(self.top, name) for name in path_spellings([path]))
        return next((it for it in found if it is not None), None)


def _read_file(top: Path, name: str) -> bytes | None:
    try:
        with open_below(str(top), name) as handle:
            status, content = read_file(handle, MAX_CHECKOUT_FILE_BYTES)
    except (OSError, ValueError):
        return None
    if status.st_size > MAX_CHECKOUT_FILE_BYTES:
        raise BadInput(
            f"{name!r} has {status.st_size:,} bytes; files over {MAX_CHECKOUT_FILE_BYTES:,} bytes are not compared"
        )
    return content


def find_checkout(place: Path) -> Checkout | None:
    """Return the repository at a path; None outside of any."""
    top = work_tree_above(str(place))
    if top is not None:
        git_directory = git_directory_of(top) or Path(top, ".git")
        return Checkout(Path(top), _realpath(git_directory), _realpath(common_directory_of(top)))
    if is_git_directory(str(place)):
        return Checkout(None, _realpath(place), _realpath(place))
    return None


def _realpath(directory: Path) -> Path:
    return Path(os.path.realpath(directory))


# --------------------------------------------------------------------------------------------------
# Find the lines of a work tree that differ from its last commit.
#
# Lines are compared here: `git diff` leaves out untracked files and has no limit for one file.

MAX_COMPARED_FILE_BYTES = 2_000_000  # a larger file counts as changed as a whole
MAX_LINE_PAIRS = 4_000_000  # with more pairs of lines to compare, everything between the common ends counts as changed
_SHA256_DIGITS: Final = 64
_LINE_END_SETTINGS: Final = ("core.autocrlf=false", "core.autocrlf=input")
ChangedSpans = tuple[tuple[int, int], ...]
"""First and last lines, from 1."""
ALL_LINES: ChangedSpans = ((1, sys.maxsize),)
"""All lines of a file that was not read."""


@dataclass(frozen=True, slots=True)
class UncommittedLines:
    """Changed lines by path, relative to the directory; deleted files have none. `problem` says why nothing could be
    compared."""

    lines: dict[str, ChangedSpans]
    problem: str = ""


def list_uncommitted_lines(directory: Path) -> UncommittedLines:
    directory = directory.resolve()
    found, checkout = list_changed_files(directory), find_checkout(directory)
    if found.problem or checkout is None:
        return UncommittedLines({}, found.problem)
    blobs = ((path, found.blobs.get(path, "")) for path in found.paths)
    lines = ((path, _changed_lines(checkout.git_directory, str(directory), path, blob)) for path, blob in blobs)
    return UncommittedLines({path: spans for path, spans in lines if spans})


def list_edited_lines(checkout: Checkout, path: str) -> ChangedSpans:
    """Return the lines of the work tree that differ from the last commit; all lines of a file that only one of them
    has.

    Nothing if git fails, or without a work tree.
    """
    if checkout.top is None:
        return ()
    try:
        name, blob_hash = find_committed_blob(checkout.git_directory, path)
    except BadInput:
        return ()
    names = [name] if blob_hash else path_spellings([path])
    compared = (_changed_lines(checkout.git_directory, str(checkout.top), name, blob_hash) for name in names)
    found = next((spans for spans in compared if spans is not None), None)
    return ALL_LINES if found is None and blob_hash else found or ()


def _changed_lines(git_directory: Path, directory: str, path: str, blob_hash: str) -> ChangedSpans | None:
    """Compare a file with a blob (`blob_hash`; empty: all lines are new). None if it is not a regular file."""
    try:
        with open_below(directory, path) as handle:
            status, after = read_file(handle, MAX_COMPARED_FILE_BYTES)
    except FileChangedError:
        return ALL_LINES
    except (OSError, ValueError):
        return None
    if status.st_size > MAX_COMPARED_FILE_BYTES:
        return () if blob_hash and _is_large_blob(directory, path, blob_hash) else ALL_LINES
    if blob_hash == _hash_blob(after, blob_hash):
        return ()
    before = read_blob(git_directory, blob_hash, MAX_COMPARED_FILE_BYTES) if blob_hash else b""
    if isinstance(before, str):
        return ALL_LINES
    lines = split_lines(after)
    return diff_lines(split_lines(before), lines) if blob_hash else ((1, max(1, len(lines))),)


def _hash_blob(content: bytes, like: str) -> str:
    """Return git's hash for this content, with the algorithm that the hash `like` uses."""
    algorithm = hashlib.sha256 if len(like) == _SHA256_DIGITS else hashlib.sha1
    return algorithm(b"blob %d\0%b" % (len(content), content), usedforsecurity=False).hexdigest()


def _is_large_blob(directory: str, path: str, blob_hash: str) -> bool:
    """Return whether the file has the content of the blob, with any line endings."""
    try:
        room = open_clean_room(work_tree_above(directory) or directory)
        hashes = (_hash_files(room, directory, [path], "-c", setting) for setting in _LINE_END_SETTINGS)
        return any((path, blob_hash) in it for it in hashes)
    except BadInput:
        return False


def diff_lines(before: list[bytes], after: list[bytes]) -> ChangedSpans:
    """Return the lines of `after` that are not in `before`; for deleted lines, the neighbours on both sides."""
    start = count_common_prefix(before, after)
    end = count_common_prefix(before[start:][::-1], after[start:][::-1])
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    if len(old) * len(new) > MAX_LINE_PAIRS:
        return ((start + 1, start + len(new)),)
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    spans = (
        _changed_span(tag, start + low, start + high, len(after)) for tag, _, _, low, high in matcher.get_opcodes()
    )
    return tuple(span for span in spans if span)


def count_common_prefix(before: list[bytes], after: list[bytes]) -> int:
    """Return the number of equal lines at the start."""
    pairs = zip(before, after, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(before), len(after)))


def _changed_span(tag: str, low: int, high: int, count: int) -> tuple[int, int] | None:
    if tag == "equal":
        return None
    return (max(low, 1), max(min(low + 1, count), 1)) if tag == "delete" else (low + 1, high)


# --------------------------------------------------------------------------------------------------
# The commit that the work trees are at, and whether they have uncommitted changes.


def work_tree_fingerprint(places: Sequence[Path]) -> dict[str, object] | None:
    """Describe the first place that lies in a work tree, and list all work trees; None if there is none."""
    directories = [place if place.is_dir() else place.parent for place in places]
    tops = [top for directory in directories if (top := work_tree_above(str(directory.resolve()))) is not None]
    found = [it for top in dict.fromkeys(tops) if (it := _describe_work_tree(top)) is not None]
    if not found:
        return None
    worktrees = sorted(str(it["worktree"]) for it in found)
    return {**found[0], "multi_repo": len(worktrees) > 1, "worktrees": worktrees}


def _describe_work_tree(top: str) -> dict[str, object] | None:
    git_directory = git_directory_of(top)
    if git_directory is None or shutil.which("git") is None:
        return None
    return {
        "worktree": top,
        "head": _git_line(git_directory, "rev-parse", "--verify", "--quiet", "HEAD") or None,
        "branch": _git_line(git_directory, "symbolic-ref", "--short", "--quiet", "HEAD") or "HEAD",
        "is_dirty": bool(list_changed_files(Path(top)).paths),
    }


def _git_line(git_directory: Path, *command: str) -> str:
    answer = try_git(git_directory, *command)
    return "" if isinstance(answer, str) else answer.decode(errors="replace").strip()


# --------------------------------------------------------------------------------------------------
# The status of a work tree: branch, distance to the main branch, uncommitted files, last fetch.

_USUAL_MAIN_NAMES = ("main", "master")
_HEADS_PREFIX, _REMOTE_PREFIX = "refs/heads/", "refs/remotes/origin/"


@dataclass(frozen=True, slots=True)
class BranchStatus:
    """`current` is empty with a detached HEAD, `main` if there is no branch with a usual name.

    `behind` and `ahead` count commits against `compared`; None if there is nothing to compare with. `problem` says why
    uncommitted files could not be listed.
    """

    current: str
    main: str
    compared: str
    behind: int | None
    ahead: int | None
    dirty: tuple[str, ...]
    problem: str
    fetched_at: float | None


def read_branch_status(checkout: Checkout) -> BranchStatus:
    current = branch_of_git_directory(checkout.git_directory)
    main, compared = _main_branch(checkout.git_directory, current)
    behind, ahead = _count_distance(checkout.git_directory, compared)
    found = ChangedFiles() if checkout.top is None else list_changed_files(checkout.top)
    return BranchStatus(
        current,
        main,
        compared.removeprefix("refs/heads/").removeprefix("refs/remotes/"),
        behind,
        ahead,
        found.paths,
        found.problem,
        _fetched_at(checkout.git_directory, checkout.common),
    )


def _main_branch(git_directory: Path, current: str) -> tuple[str, str]:
    """Return the main branch's name and the ref to compare with: the remote-tracking one, else the local one."""
    output = try_git(git_directory, "symbolic-ref", "--quiet", f"{_REMOTE_PREFIX}HEAD")
    remote_main = (
        "" if isinstance(output, str) else output.decode(errors="replace").strip().removeprefix(_REMOTE_PREFIX)
    )
    for name in dict.fromkeys(it for it in (remote_main, *_USUAL_MAIN_NAMES) if it):
        for reference in (_REMOTE_PREFIX + name, _HEADS_PREFIX + name):
            if not isinstance(try_git(git_directory, "show-ref", "--verify", "--quiet", reference), str):
                return name, reference
    # Before the first commit, the unborn branch is the only one.
    return (current, "") if current in _USUAL_MAIN_NAMES else ("", "")


def _count_distance(git_directory: Path, reference: str) -> tuple[int | None, int | None]:
    if not reference:
        return None, None
    counted = try_git(git_directory, "rev-list", "--left-right", "--count", f"{reference}...HEAD", "--")
    parts = [] if isinstance(counted, str) else counted.split()
    return (int(parts[0]), int(parts[1])) if len(parts) == 2 else (None, None)


def _fetched_at(*directories: Path) -> float | None:
    """Return the time of the last fetch. A linked work tree records its own fetches separately."""
    times = [mtime for it in directories if (mtime := _mtime_of(it / "FETCH_HEAD")) is not None]
    return max(times, default=None)


def _mtime_of(file: Path) -> float | None:
    try:
        return file.stat().st_mtime
    except OSError:
        return None
