"""Compare indexed files with the disk, within a time budget."""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Set
from dataclasses import dataclass
from itertools import islice
from typing import Final, Literal, NamedTuple

from dowse.errors import Unreadable
from dowse.git.repository import GIT_IGNORE_FILE, HEAD_FILE, is_bare
from dowse.ingest.sources.base import is_cutoff
from dowse.ingest.sources.files import FileSource
from dowse.ingest.sources.walk import DOWSE_IGNORE_FILE, PathFilter, work_tree_entries
from dowse.model import Item, ItemVersion, SkippedItem
from dowse.paths import ancestors_and_self, is_intact_root
from dowse.store.base import Catalog

# --------------------------------------------------------------------------------------------------
# The file metadata that is compared to detect changes.

StampKind = Literal["file", "directory", "other", "nothing", "unknown"]

# A file written this shortly before it was checked may change again under the same timestamp.
RACY_NS: Final = 20_000_000


class FileStamp(NamedTuple):
    """Kind, size and timestamp of a path.

    `nothing`: no such path; `unknown`: it could not be checked. The time of a file is its mtime. That of a directory is
    its ctime, which also changes when the directory itself is moved.
    """

    kind: StampKind
    size: int = 0
    time_ns: int = 0


MISSING_STAMP = FileStamp("nothing")
UNKNOWN_STAMP = FileStamp("unknown")


def read_stamp(path: str) -> FileStamp:
    """Return the stamp of the path itself, without following a symbolic link."""
    try:
        status = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return MISSING_STAMP
    except (OSError, ValueError):
        return UNKNOWN_STAMP
    if stat.S_ISREG(status.st_mode):
        return FileStamp("file", status.st_size, status.st_mtime_ns)
    return FileStamp("directory", 0, status.st_ctime_ns) if stat.S_ISDIR(status.st_mode) else FileStamp("other")


# --------------------------------------------------------------------------------------------------
# Snapshots of a root's directories, to find names that came or went.


@dataclass(frozen=True, slots=True)
class _DirectorySnapshot:
    """A directory as last read. `time_ns` is -1 if the timestamp proves nothing, so that it is read again."""

    time_ns: int
    folders: tuple[str, ...]


class DirectorySnapshots:
    """The directories of a root as last seen.

    A directory's timestamp changes when a name comes or goes, so only directories with a new timestamp are read.
    """

    def __init__(self, root: str, path_filter: PathFilter, now_ns: Callable[[], int]) -> None:
        self._root = root
        self._path_filter = path_filter
        self._now_ns = now_ns
        self._snapshots: dict[str, _DirectorySnapshot] = {}

    def list_moved_names(self, known: Mapping[str, Set[str]], since_ns: int) -> Iterator[str | None]:
        """Yield the paths of directories in which names came or went: wanted files that exist, and all known ones.

        Yields None after each directory, as a point where the caller can stop.

        `known` maps every directory that holds something known, at any depth, to its names. A directory seen for the
        first time is only read for names if it changed after `since_ns`, or if it came with a directory that did.
        """
        pending = [("", since_ns)]
        while pending:
            directory, oldest_ns = pending.pop()
            moved = yield from self._visit(directory, known, oldest_ns)
            folder = self._snapshots.get(directory)
            for subdirectory in folder.folders if folder else ():
                # Below a directory that was moved here, timestamps are older than the move.
                is_new = moved and subdirectory not in known and subdirectory not in self._snapshots
                pending.append((subdirectory, 0 if is_new else since_ns))
            yield None

    def _visit(self, directory: str, known: Mapping[str, Set[str]], oldest_ns: int) -> Generator[str, None, bool]:
        """Yield the directory's paths if a name may have come or gone; return whether that is so."""
        place = f"{self._root}/{directory}" if directory else self._root
        before, started_ns = self._snapshots.get(directory), self._now_ns()
        stamp = read_stamp(place)
        if before and before.time_ns == stamp.time_ns:
            return False
        try:
            files, folders = _list_entries(place)
        except OSError:
            # Its known files are checked one by one; a sync reports that the directory cannot be read.
            self._snapshots.pop(directory, None)
            return False
        if HEAD_FILE in files and is_bare(place):
            files, folders = (
                [],
                sorted(work_tree_entries(place)),
            )  # it may have become a bare repository since the filter saw it
        prefix = f"{directory}/" if directory else ""
        subdirectories = tuple(prefix + name for name in folders if self._descends(prefix + name, known))
        is_settled = started_ns - stamp.time_ns >= RACY_NS
        self._snapshots[directory] = _DirectorySnapshot(stamp.time_ns if is_settled else -1, subdirectories)
        if not before and stamp.time_ns < oldest_ns:
            return False
        known_names = known.get(directory, frozenset())
        yield from (prefix + name for name in known_names)
        yield from (
            prefix + name for name in files if name not in known_names and self._path_filter.has_file(prefix + name)
        )
        return True

    def _descends(self, directory: str, known: Mapping[str, Set[str]]) -> bool:
        """Return whether to descend. Files that git tracks are known although their directory may be ignored."""
        return directory in known or self._path_filter.may_enter(directory)


def _list_entries(place: str) -> tuple[list[str], list[str]]:
    """List the names of regular files and of directories, without symbolic links."""
    files: list[str] = []
    folders: list[str] = []
    with os.scandir(place) as scan:
        for entry in scan:
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
            elif entry.is_file(follow_symlinks=False):
                files.append(entry.name)
    return files, folders


# --------------------------------------------------------------------------------------------------
# The indexed versions of a collection, arranged for comparison with the disk.


@dataclass(frozen=True, slots=True)
class KnownFiles:
    """`versions` by path, and `names` of the records by directory. Directories that only lead to others have an entry
    too."""

    versions: Mapping[str, ItemVersion]
    names: Mapping[str, Set[str]]


def load_known_files(store: Catalog, collection: str) -> KnownFiles:
    """Return the known files of a collection, cached until its records change."""
    return store.cached_by_revision(f"known of {collection}", lambda: _group_by_directory(store.versions(collection)))


def _group_by_directory(versions: Mapping[str, ItemVersion]) -> KnownFiles:
    names: dict[str, set[str]] = {}
    for path in versions:
        directory, _, name = path.rpartition("/")
        if directory not in names:
            for place in ancestors_and_self(directory):
                names.setdefault(place, set())
            names.setdefault(directory, set())
        names[directory].add(name)
    return KnownFiles(versions, names)


# --------------------------------------------------------------------------------------------------
# Compare the files of a collection on disk with the indexed versions.

IGNORE_FILE_NAMES: Final = (GIT_IGNORE_FILE, DOWSE_IGNORE_FILE)
# Timestamps may be off by this much: some file systems count in seconds, or use another clock.
_CLOCK_TOLERANCE_NS: Final = 2_000_000_000
# A directory with more files than this is reported as one path.
_MAX_FILES_PER_DIRECTORY: Final = 200


class CollectionDisk:
    """The files of one collection on disk. It remembers directories, so that the next pass reads only changed ones."""

    def __init__(self, source: FileSource, *, now_ns: Callable[[], int] = time.time_ns) -> None:
        self._source = source
        self._root = str(source.root)
        self._now_ns = now_ns
        self._state: tuple[PathFilter, DirectorySnapshots] | None = None
        # Files whose content was compared because the indexed timestamp proved nothing, when the current one did.
        self._verified: dict[str, ItemVersion] = {}

    def is_there(self) -> bool:
        return is_intact_root(self._source.root)

    def find_moved(self, known: KnownFiles, synced_at: float) -> Iterator[str | None]:
        """Yield the paths that may differ in directories where names came or went, and None at points to stop.

        This finds new and deleted files and most edits, because editors replace a file by a new one.
        """
        # Before the first sync ends nearly everything is new, and the answer already says so.
        since_ns = int(synced_at * 1e9) - _CLOCK_TOLERANCE_NS if synced_at else 2**63
        for path in self._load_state()[1].list_moved_names(known.names, since_ns):
            version = None if path is None else known.versions.get(path)
            if path is not None and version is None:
                self._reset_on_ignore_file(path)
                yield path
            else:
                yield path if path and version and self._differs(path, version) else None

    def find_changed(self, known: KnownFiles, skipped: Collection[SkippedItem]) -> Iterator[str | None]:
        """Yield each known path that differs on disk, and None for each of the others."""
        for path, version in known.versions.items():
            yield path if self._differs(path, version) else None
        for item in skipped:
            yield item.path if self._is_outdated(item) else None

    def find_outstanding(
        self, paths: Collection[str], versions: Mapping[str, ItemVersion], skipped: Mapping[str, SkippedItem]
    ) -> dict[str, FileStamp]:
        """Return which of these files, and of the files in these directories, differ from the index.

        `versions` must hold everything indexed at or below the paths.
        """
        found: dict[str, FileStamp] = {}
        for path in {*self._expand_directories(paths), *versions}:
            stamp, version = read_stamp(f"{self._root}/{path}"), versions.get(path)
            refused = skipped.get(path)
            if version is not None:
                differs = self._differs(path, version)
            elif refused is not None:
                differs = stamp.kind != "unknown" and not self._is_unchanged(refused)
            else:
                differs = stamp.kind in ("file", "directory")
            if differs:
                # An indexed file whose place a directory took is gone.
                found[path] = MISSING_STAMP if version is not None and stamp.kind == "directory" else stamp
        return found

    def _load_state(self) -> tuple[PathFilter, DirectorySnapshots]:
        if self._state is None:
            path_filter = self._source.path_filter()
            self._state = path_filter, DirectorySnapshots(self._root, path_filter, self._now_ns)
        return self._state

    def _expand_directories(self, paths: Collection[str]) -> Iterator[str]:
        """Expand directories to the wanted files in them, unless there are too many."""
        for path in paths:
            if read_stamp(f"{self._root}/{path}").kind != "directory":
                yield path
                continue
            files = list(islice(self._files_in(path), _MAX_FILES_PER_DIRECTORY + 1))
            yield from files if len(files) <= _MAX_FILES_PER_DIRECTORY else [path]

    def _files_in(self, directory: str) -> Iterator[str]:
        path_filter, _ = self._load_state()
        for place, folders, names in os.walk(f"{self._root}/{directory}"):
            inside = place.removeprefix(f"{self._root}/")
            folders[:] = [name for name in folders if path_filter.has_directory(f"{inside}/{name}")]
            yield from (f"{inside}/{name}" for name in names if path_filter.has_file(f"{inside}/{name}"))

    def _differs(self, path: str, version: ItemVersion) -> bool:
        """Return whether the file differs from the indexed version, as far as that can be checked."""
        stamp = read_stamp(f"{self._root}/{path}")
        if stamp == FileStamp("file", version.size, version.mtime_ns):
            return not version.settled and not self._is_verified(path, version)
        self._reset_on_ignore_file(path)
        return stamp.kind != "unknown"

    def _reset_on_ignore_file(self, path: str) -> None:
        """Drop the cached path filter if an ignore file changed: other files may be wanted now."""
        if path.endswith(IGNORE_FILE_NAMES):
            self._state = None

    def _is_unchanged(self, skipped: SkippedItem) -> bool:
        return read_stamp(f"{self._root}/{skipped.path}") == FileStamp("file", skipped.size, skipped.mtime_ns)

    def _is_outdated(self, skipped: SkippedItem) -> bool:
        """Return whether a skipped file has changed since.

        A row without a version is only over when its path is gone. That cannot be checked for a path with escapes, nor
        for a row that stands for many files.
        """
        if skipped.mtime_ns >= 0:
            return not self._is_unchanged(skipped)
        is_name = "\\" not in skipped.path and not is_cutoff(skipped)
        return is_name and read_stamp(f"{self._root}/{skipped.path}") == MISSING_STAMP

    def _is_verified(self, path: str, version: ItemVersion) -> bool:
        if self._verified.get(path) == version:
            return True
        started_ns = self._now_ns()
        try:
            item, data = self._source.read(Item(path, version.size, version.mtime_ns))
        except Unreadable:
            return False
        is_same = hashlib.sha256(data).hexdigest() == version.digest
        if is_same and started_ns - item.mtime_ns >= RACY_NS:
            self._verified[path] = version
        return is_same
