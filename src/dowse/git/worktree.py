"""Uncommitted changes: status, diff and branch state of a work tree."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from enum import Enum, auto
from pathlib import Path
from typing import Final, NamedTuple

from dowse.errors import BadInput
from dowse.git.repository import (
    branch_of_git_directory,
    common_directory_of,
    git_directory_of,
    is_git_directory,
    is_work_tree,
    work_tree_above,
)
from dowse.git.runner import (
    MAX_LISTING_BYTES,
    decode_git_path,
    path_spellings,
    run_in_work_tree,
    run_on_history,
    try_git,
    try_git_in_work_tree,
)
from dowse.paths import cached_with_ancestors
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
# The entries of the last commit and of the git index, as plumbing lists them, without reading any file.

LINK_MODE: Final = "120000"
SUBMODULE_MODE: Final = "160000"
_FILE_MODE_PREFIX: Final = "100"
_TRUE: Final = b"true"
_NS_PER_S: Final = 1_000_000_000
_MAX_STAGED_BYTES: Final = 3 * MAX_LISTING_BYTES
_COMMITTED_PATTERN = re.compile(rb"(\d+) \w+ ([0-9a-f]+)\t([^\0]+)\0")
# The file stat follows the path. If another version of git prints it differently, it counts as missing.
_STAGED_PATTERN = re.compile(rb"(\S) (\d+) ([0-9a-f]+) (\d)\t([^\0]+)\0((?: .*\n)*)")
_STAT_PATTERN = re.compile(
    rb" +ctime: (\d+):(\d+)\n +mtime: (\d+):(\d+)\n +dev: \d+\tino: (\d+)\n"
    rb" +uid: (\d+)\tgid: (\d+)\n +size: (\d+)\t.*\n"
)


class TreeEntry(NamedTuple):
    """Mode (six digits) and object hash, as git writes them."""

    mode: str
    name: str

    @property
    def is_file(self) -> bool:
        return self.mode.startswith(_FILE_MODE_PREFIX)


class IndexStat(NamedTuple):
    """The stat of a file when git last knew that it matched the index."""

    changed_ns: int
    written_ns: int
    inode: int
    user: int
    group: int
    size: int


class IndexEntry(NamedTuple):
    """`is_expected`: neither skipped by a sparse checkout nor assumed unchanged. `is_merged`: without conflict."""

    entry: TreeEntry
    stat: IndexStat | None
    is_expected: bool
    is_merged: bool


class FilesystemTraits(NamedTuple):
    """The capabilities of a work tree's file system, by its git configuration."""

    has_modes: bool
    has_links: bool


def list_committed(top: str, directory: str) -> dict[str, TreeEntry] | str:
    """Return the last commit's entries below the directory, none before the first one; or the reason if git fails."""
    tree = try_git_in_work_tree(top, directory, "ls-tree", "-r", "-z", "HEAD", "--", ".", max_bytes=MAX_LISTING_BYTES)
    if isinstance(tree, str):
        return {} if is_unborn(Path(git_directory_of(top) or top)) else tree
    return dict(_parse_committed(tree))


def _parse_committed(output: bytes) -> Iterator[tuple[str, TreeEntry]]:
    for mode, name, path in (row.groups() for row in _COMMITTED_PATTERN.finditer(output)):
        decoded = os.fsdecode(path)
        if not escapes_work_tree(decoded):
            yield decoded, _make_entry(mode, name)


def list_staged(top: str, directory: str) -> dict[str, IndexEntry] | str:
    """Return the git index's entries below the directory, or the reason if git fails."""
    output = try_git_in_work_tree(
        top, directory, "ls-files", "--cached", "-v", "-s", "--debug", "-z", max_bytes=_MAX_STAGED_BYTES
    )
    return output if isinstance(output, str) else dict(_parse_staged(output))


def _parse_staged(output: bytes) -> Iterator[tuple[str, IndexEntry]]:
    for tag, mode, name, stage, path, stat_text in (row.groups() for row in _STAGED_PATTERN.finditer(output)):
        # A lowercase letter: assumed unchanged by the user's order. S: skipped by a sparse checkout.
        is_expected = tag.isupper() and tag != b"S"
        decoded = os.fsdecode(path)
        if not escapes_work_tree(decoded):
            yield decoded, IndexEntry(_make_entry(mode, name), _parse_stat(stat_text), is_expected, stage == b"0")


def _make_entry(mode: bytes, name: bytes) -> TreeEntry:
    return TreeEntry(sys.intern(mode.decode()), name.decode())


def _parse_stat(output: bytes) -> IndexStat | None:
    found = _STAT_PATTERN.fullmatch(output)
    if found is None:
        return None
    changed_s, changed_ns, written_s, written_ns, *others = map(int, found.groups())
    return IndexStat(changed_s * _NS_PER_S + changed_ns, written_s * _NS_PER_S + written_ns, *others)


def read_filesystem_traits(top: str) -> FilesystemTraits:
    output = try_git_in_work_tree(
        top, top, "config", "-z", "--type=bool", "--get-regexp", r"^core\.(filemode|symlinks)$"
    )
    rows = (row.partition(b"\n") for row in (b"" if isinstance(output, str) else output).split(b"\0"))
    values = {name: value == _TRUE for name, _, value in rows}
    return FilesystemTraits(values.get(b"core.filemode", True), values.get(b"core.symlinks", True))


# --------------------------------------------------------------------------------------------------
# Compare a file with a git blob by hashing it here in pieces, because git would run filters.

_PIECE_BYTES = 1 << 20
_SHA256_DIGITS = 64


class ContentMatch(Enum):
    """The result of comparing a file with a blob."""

    SAME = auto()
    EXCEPT_LINE_ENDS = auto()
    NONE = auto()


def compare_with_blob(directory: str, path: str, name: str) -> ContentMatch:
    """Compare the regular file at this path with a blob; a checkout may have converted its line endings to CRLF."""
    try:
        with open_below(directory, path) as handle:
            size = os.fstat(handle).st_size
            if hash_blob(_read_pieces(handle, size), size, name) == name:
                return ContentMatch.SAME
            shorter = sum(map(len, _convert_crlf(_read_pieces(handle, size))))
            is_converted = (
                shorter < size and hash_blob(_convert_crlf(_read_pieces(handle, size)), shorter, name) == name
            )
            return ContentMatch.EXCEPT_LINE_ENDS if is_converted else ContentMatch.NONE
    except OSError:
        return ContentMatch.NONE


def hash_blob(pieces: Iterable[bytes], size: int, like: str) -> str:
    """Return git's hash for this content, with the algorithm that the hash `like` uses."""
    algorithm = hashlib.sha256 if len(like) == _SHA256_DIGITS else hashlib.sha1
    digest = algorithm(b"blob %d\0" % size, usedforsecurity=False)
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()


def _read_pieces(handle: int, size: int) -> Iterator[bytes]:
    """Read at most `size` bytes, even if the file grows meanwhile."""
    at = 0
    while at < size and (piece := os.pread(handle, min(_PIECE_BYTES, size - at), at)):
        at += len(piece)
        yield piece


def _convert_crlf(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Convert CRLF to LF, even if the two bytes are in different pieces."""
    carry = b""
    for piece in pieces:
        joined = carry + piece
        carry = joined[-1:] if joined.endswith(b"\r") else b""
        yield joined[: len(joined) - len(carry)].replace(b"\r\n", b"\n")
    yield carry


# --------------------------------------------------------------------------------------------------
# The conversions that a checkout applies to a file, by its git attributes; reading these runs no program.

_FILTER_ATTRIBUTES: Final = ("filter", "ident", "working-tree-encoding")
_LINE_END_ATTRIBUTES: Final = ("text", "crlf", "eol")
_UNSET_VALUES: Final = frozenset({"unspecified", "unset"})
_FALSE_VALUES: Final = frozenset({"", "false", "no", "off", "0"})


class CheckoutConversion(NamedTuple):
    """Whether a checkout converts line endings, and whether it may change the content in any other way."""

    of_line_ends: bool = False
    of_content: bool = False


NO_CONVERSION: Final = CheckoutConversion()


def read_conversions(top: str, directory: str, paths: Iterable[str]) -> dict[str, CheckoutConversion]:
    """Return the conversions by path below the directory; empty if git fails.

    Uses the staged attributes: a `.gitattributes` file in the work tree may be anything, for example a pipe.
    """
    stdin = b"".join(os.fsencode(path) + b"\0" for path in paths)
    command = ("check-attr", "--cached", "-z", "--stdin", *_FILTER_ATTRIBUTES, *_LINE_END_ATTRIBUTES)
    output = try_git_in_work_tree(top, directory, *command, stdin=stdin) if stdin else b""
    if not output or isinstance(output, str):
        return {}
    by_path: dict[str, dict[str, str]] = {}
    fields = iter(output.split(b"\0"))
    for path, attribute, value in zip(fields, fields, fields, strict=False):
        by_path.setdefault(os.fsdecode(path), {})[attribute.decode()] = value.decode(errors="replace")
    autocrlf = _uses_autocrlf(top)
    return {path: _to_conversion(attributes, autocrlf) for path, attributes in by_path.items()}


def _uses_autocrlf(top: str) -> bool:
    output = try_git_in_work_tree(top, top, "config", "--get", "core.autocrlf")
    return not isinstance(output, str) and output.decode(errors="replace").strip().lower() not in _FALSE_VALUES


def _to_conversion(attributes: Mapping[str, str], autocrlf: bool) -> CheckoutConversion:
    text, old, ends = (attributes[name] for name in _LINE_END_ATTRIBUTES)
    kind = old if text == "unspecified" else text
    if kind == ends == "unspecified":
        kind = "set" if autocrlf else "unset"
    of_content = any(attributes[name] not in _UNSET_VALUES for name in _FILTER_ATTRIBUTES)
    return CheckoutConversion(kind != "unset", of_content)


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
# List the files that `git status` would report, without running anything the repository configures.
#
# `git status` would run filters to compare files. So names, hashes and index stats come from plumbing commands, and
# files are compared here.

_UINT32_MAX = 0xFFFFFFFF  # the git index stores 32 bits of each number
_RACY_INDEX_NS = 20_000_000  # a file written this shortly before the git index may have been written again


@dataclass(frozen=True, slots=True)
class ChangedFiles:
    """The changed paths, relative to the directory and sorted: staged or not, new, modified or deleted.

    An untracked nested repository has a trailing slash. `committed` holds the entries of the last commit. `problem`
    says why nothing could be listed.
    """

    paths: tuple[str, ...] = ()
    committed: Mapping[str, TreeEntry] = field(default_factory=dict)
    problem: str = ""


def list_changed_files(directory: Path) -> ChangedFiles:
    place = str(directory.resolve())
    top = work_tree_above(place)
    if top is None:
        return ChangedFiles(problem=f"{place} is not in a git work tree")
    index_ns = _index_mtime_ns(top)
    committed, staged = list_committed(top, place), list_staged(top, place)
    if isinstance(committed, str) or isinstance(staged, str):
        why = committed if isinstance(committed, str) else staged
        return ChangedFiles(problem=f"git could not list {place}: {why}")
    listed = list_work_tree(top, place)
    if listed is None:
        return ChangedFiles(problem=f"git could not list {place}")
    found = {
        *(name for name in listed.names if name not in staged),
        *_staged_changes(committed, staged),
        *_WorkTreeComparison(top, place, index_ns).list_differing(staged),
    }
    return ChangedFiles(tuple(sorted(found)), committed)


def _staged_changes(committed: Mapping[str, TreeEntry], staged: Mapping[str, IndexEntry]) -> Iterator[str]:
    yield from (path for path in committed if path not in staged)
    yield from (path for path, it in staged.items() if not it.is_merged or committed.get(path) != it.entry)


def _index_mtime_ns(top: str) -> int:
    """Return when the git index was last written."""
    try:
        return Path(git_directory_of(top) or "", "index").stat().st_mtime_ns
    except OSError:
        return 0


class _Difference(Enum):
    """Whether a file differs from the git index, as far as the file alone shows."""

    NONE = auto()
    IF_LINE_ENDS_ARE_CONVERTED = auto()
    IF_A_FILTER_MADE_IT = auto()
    HOPELESS = auto()


class _WorkTreeComparison:
    """The files below a directory; like git, never reached through a link."""

    __slots__ = ("_directory", "_habits", "_index_ns", "_real_directories", "_top")

    def __init__(self, top: str, directory: str, index_ns: int) -> None:
        self._top = top
        self._directory = directory
        self._habits = read_filesystem_traits(top)
        self._index_ns = index_ns
        self._real_directories = {"": True}

    def list_differing(self, staged: Mapping[str, IndexEntry]) -> Iterator[str]:
        """Yield the paths whose file differs from the git index."""
        results = ((path, self._doubt(path, it)) for path, it in staged.items() if it.is_expected)
        doubts = {path: it for path, it in results if it is not _Difference.NONE}
        convertible = [path for path, it in doubts.items() if it is not _Difference.HOPELESS]
        known = read_conversions(self._top, self._directory, convertible)
        return (path for path, it in doubts.items() if not _is_explained(it, known.get(path, NO_CONVERSION)))

    def _doubt(self, path: str, staged: IndexEntry) -> _Difference:
        status, entry = self._status(path), staged.entry
        if status is None or self._mode(status, entry) != entry.mode:
            return _Difference.HOPELESS
        if entry.mode == SUBMODULE_MODE:
            return _doubt_if_different(_submodule_is_at(f"{self._directory}/{path}", entry.name))
        index_stat = staged.stat if staged.stat is not None and staged.stat.size else None
        if index_stat is not None and index_stat.size != status.st_size & _UINT32_MAX:
            return _Difference.HOPELESS
        stat_matches = index_stat is not None and _to_index_stat(status) == index_stat
        if index_stat is not None and stat_matches and index_stat.written_ns + _RACY_INDEX_NS < self._index_ns:
            return _Difference.NONE
        if stat.S_ISLNK(status.st_mode):
            return _doubt_if_different(_link_matches(f"{self._directory}/{path}", entry.name))
        return _judge_content(compare_with_blob(self._directory, path, entry.name), index_stat, stat_matches)

    def _mode(self, status: os.stat_result, entry: TreeEntry) -> str:
        """Return the mode as git would record it; the recorded mode if the file system cannot represent it."""
        if stat.S_ISDIR(status.st_mode):
            return SUBMODULE_MODE
        if stat.S_ISLNK(status.st_mode):
            return LINK_MODE
        if not stat.S_ISREG(status.st_mode):
            return ""
        is_supported = (
            self._habits.has_links if entry.mode == LINK_MODE else self._habits.has_modes or not entry.is_file
        )
        usual = "100755" if status.st_mode & stat.S_IXUSR else "100644"
        return usual if is_supported else entry.mode

    def _status(self, path: str) -> os.stat_result | None:
        """Return the file's status; None if there is no file."""
        return (
            self._lstat(path)
            if cached_with_ancestors(path.rpartition("/")[0], self._real_directories, self._is_real_directory)
            else None
        )

    def _is_real_directory(self, folder: str) -> bool:
        status = self._lstat(folder) if self._real_directories[folder.rpartition("/")[0]] else None
        return status is not None and stat.S_ISDIR(status.st_mode)

    def _lstat(self, path: str) -> os.stat_result | None:
        try:
            return os.lstat(f"{self._directory}/{path}")
        except OSError:
            return None


def _doubt_if_different(is_same: bool) -> _Difference:
    return _Difference.NONE if is_same else _Difference.HOPELESS


def _to_index_stat(status: os.stat_result) -> IndexStat:
    return IndexStat(
        status.st_ctime_ns,
        status.st_mtime_ns,
        status.st_ino & _UINT32_MAX,
        status.st_uid & _UINT32_MAX,
        status.st_gid & _UINT32_MAX,
        status.st_size & _UINT32_MAX,
    )


def _judge_content(found: ContentMatch, index_stat: IndexStat | None, stat_matches: bool) -> _Difference:
    if found is ContentMatch.SAME:
        return _Difference.NONE
    if found is ContentMatch.EXCEPT_LINE_ENDS:
        # While its index stat is valid, it has the line endings of that time. Git stores no size if it is not sure.
        return _Difference.IF_LINE_ENDS_ARE_CONVERTED if index_stat is None else _Difference.NONE
    return _Difference.IF_A_FILTER_MADE_IT if stat_matches else _Difference.HOPELESS


def _is_explained(doubt: _Difference, conversion: CheckoutConversion) -> bool:
    if doubt is _Difference.IF_A_FILTER_MADE_IT:
        return conversion.of_content
    return doubt is _Difference.IF_LINE_ENDS_ARE_CONVERTED and conversion.of_line_ends


def _link_matches(link: str, name: str) -> bool:
    try:
        target = os.fsencode(os.readlink(link))  # noqa: PTH115 (a Path would tidy it up)
    except OSError:
        return False
    return hash_blob([target], len(target), name) == name


def _submodule_is_at(place: str, commit: str) -> bool:
    """Return whether a submodule is at this commit; one that is not checked out counts as unchanged."""
    git_directory = git_directory_of(place) if is_work_tree(place) else None
    head = "" if git_directory is None else try_git(git_directory, "rev-parse", "--verify", "--quiet", "HEAD")
    return isinstance(head, str) or head.decode("ascii", "replace").strip() == commit


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
# Find the lines of a work tree that differ from its last commit, without running anything the repository configures.
#
# `git diff` on a work tree would run filters and diff programs, so lines are compared here.

MAX_COMPARED_FILE_BYTES = 2_000_000  # a larger file counts as changed as a whole
MAX_LINE_PAIRS = 4_000_000  # with more pairs of lines to compare, everything between the common ends counts as changed
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
    entries = ((path, found.committed.get(path)) for path in found.paths)
    known = ((path, entry.name if entry is not None and entry.is_file else "") for path, entry in entries)
    lines = ((path, _changed_lines(checkout.git_directory, str(directory), path, name)) for path, name in known)
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
    if blob_hash and compare_with_blob(directory, path, blob_hash) is not ContentMatch.NONE:
        return ()
    before = read_blob(git_directory, blob_hash, MAX_COMPARED_FILE_BYTES) if blob_hash else b""
    if isinstance(before, str) or status.st_size > MAX_COMPARED_FILE_BYTES:
        return ALL_LINES
    lines = split_lines(after)
    return diff_lines(split_lines(before), lines) if blob_hash else ((1, max(1, len(lines))),)


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
