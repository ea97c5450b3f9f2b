"""The files of one collection as they are on disk, compared with what is known of them."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import islice
from typing import Final

from dowse.errors import Unreadable
from dowse.ingest.disk.folders import Folders
from dowse.ingest.disk.known import Known
from dowse.ingest.disk.stamps import NOTHING, RACY_NS, Stamp, stamp_of
from dowse.ingest.sources.budget import is_cut
from dowse.ingest.sources.doors import IGNORE_FILE
from dowse.ingest.sources.files import FileSource
from dowse.ingest.sources.git.repository import GIT_IGNORE_FILE
from dowse.ingest.sources.judge import Judge
from dowse.model import Item, Skipped, Version
from dowse.places import is_stored_root

IGNORE_FILES: Final = (GIT_IGNORE_FILE, IGNORE_FILE)
# File systems that count in seconds, or whose clock is not ours, may be off by so much.
_COARSE_NS: Final = 2_000_000_000
# A directory with more files than this is told as one.
_MOST_IN_A_DIRECTORY: Final = 200


class Disk:
    """It remembers what it saw, so that the next pass reads only directories that changed."""

    def __init__(self, source: FileSource, *, now_ns: Callable[[], int] = time.time_ns) -> None:
        self._source = source
        self._root = str(source.root)
        self._now_ns = now_ns
        self._held: tuple[Judge, Folders] | None = None
        # Files whose content was compared because their timestamp proves nothing, at a time when it did.
        self._proven: dict[str, Version] = {}

    def is_there(self) -> bool:
        return is_stored_root(self._source.root)

    def moved(self, known: Known, synced_at: float) -> Iterator[str | None]:
        """What may differ in directories in which names came or went, and None in between, as often as one may want
        to stop. That finds new and deleted files, and most edits: editors put a new file in the old one's place.
        """
        # Before the first sync ends, nearly everything is new, and the answer says so already.
        since_ns = int(synced_at * 1e9) - _COARSE_NS if synced_at else 2**63
        for path in self._looked()[1].moved_names(known.names, since_ns):
            version = None if path is None else known.versions.get(path)
            if path is not None and version is None:
                self._notice(path)
                yield path
            else:
                yield path if path and version and self._differs(path, version) else None

    def changed(self, known: Known, skipped: Collection[Skipped]) -> Iterator[str | None]:
        """Which known files differ, and None for the others."""
        for path, version in known.versions.items():
            yield path if self._differs(path, version) else None
        for it in skipped:
            yield it.path if self._is_over(it) else None

    def outstanding(
        self, paths: Collection[str], versions: Mapping[str, Version], skipped: Mapping[str, Skipped]
    ) -> dict[str, Stamp]:
        """Which of these files, and of the files in these directories, are not as they are known.

        `versions` are of everything known at or below the paths.
        """
        found: dict[str, Stamp] = {}
        for path in {*self._spread(paths), *versions}:
            stamp, version = stamp_of(f"{self._root}/{path}"), versions.get(path)
            refused = skipped.get(path)
            if version is not None:
                differs = self._differs(path, version)
            elif refused is not None:
                differs = stamp.kind != "unknown" and not self._is_still(refused)
            else:
                differs = stamp.kind in ("file", "directory")
            if differs:
                found[path] = stamp
        return found

    def _looked(self) -> tuple[Judge, Folders]:
        if self._held is None:
            judge = self._source.judge()
            self._held = judge, Folders(self._root, judge, self._now_ns)
        return self._held

    def _spread(self, paths: Collection[str]) -> Iterator[str]:
        """Directories as the wanted files in them; as they are where these are many."""
        for path in paths:
            if stamp_of(f"{self._root}/{path}").kind != "directory":
                yield path
                continue
            files = list(islice(self._files_in(path), _MOST_IN_A_DIRECTORY + 1))
            yield from files if len(files) <= _MOST_IN_A_DIRECTORY else [path]

    def _files_in(self, directory: str) -> Iterator[str]:
        judge, _ = self._looked()
        for place, folders, names in os.walk(f"{self._root}/{directory}"):
            inside = place.removeprefix(f"{self._root}/")
            folders[:] = [name for name in folders if judge.has_directory(f"{inside}/{name}")]
            yield from (f"{inside}/{name}" for name in names if judge.has_file(f"{inside}/{name}"))

    def _differs(self, path: str, version: Version) -> bool:
        """Whether what is there is not the known version, for certain or for all that can be told."""
        stamp = stamp_of(f"{self._root}/{path}")
        if stamp == Stamp("file", version.size, version.mtime_ns):
            return not version.settled and not self._is_proven(path, version)
        self._notice(path)
        return stamp.kind != "unknown"

    def _notice(self, path: str) -> None:
        """Other files may be wanted from now on."""
        if path.endswith(IGNORE_FILES):
            self._held = None

    def _is_still(self, skipped: Skipped) -> bool:
        return stamp_of(f"{self._root}/{skipped.path}") == Stamp("file", skipped.size, skipped.mtime_ns)

    def _is_over(self, skipped: Skipped) -> bool:
        """Whether it was skipped as something else than is there; without a version, only that it is gone can be told,
        and not of a name that was written with escapes, nor of a row that stands for others."""
        if skipped.mtime_ns >= 0:
            return not self._is_still(skipped)
        is_name = "\\" not in skipped.path and not is_cut(skipped)
        return is_name and stamp_of(f"{self._root}/{skipped.path}") == NOTHING

    def _is_proven(self, path: str, version: Version) -> bool:
        if self._proven.get(path) == version:
            return True
        begun_ns = self._now_ns()
        try:
            item, data = self._source.read(Item(path, version.size, version.mtime_ns))
        except Unreadable:
            return False
        is_same = hashlib.sha256(data).hexdigest() == version.digest
        if is_same and begun_ns - item.mtime_ns >= RACY_NS:
            self._proven[path] = version
        return is_same
