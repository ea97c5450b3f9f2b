"""The polling backend, for file systems without events."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from dowse.git.repository import HEAD_FILE, is_bare
from dowse.ingest.sources.walk import find_work_trees, work_tree_entries
from dowse.live.watch.debounce import (
    GIT_ENTRY_NAME,
    FileEvent,
    GitWatchDirectory,
    WatchTarget,
    git_watch_directories,
    is_ignore_rules_file,
)
from dowse.text.unicode import is_valid_name

_POLL_DIVISOR = 10  # polling takes at most 1/10 of the time

_PollStamp = tuple[int, int, int, int]


class PollingBackend:
    """Compares a root with its state at the last poll. A large root is polled less often than configured."""

    def __init__(self, place: WatchTarget, every_s: float, clock: Callable[[], float]) -> None:
        self._place = place
        self._root = str(place.root)
        self._every_s = every_s
        self._clock = clock
        self.received = 0
        self.directories = 0
        self.next_at = 0.0
        self._known = self._scan_timed()

    def read_events(self) -> list[FileEvent]:
        before, self._known = self._known, self._scan_timed()
        changed = {event for event, _ in before.items() ^ self._known.items()}
        self.received += len(changed)
        return sorted({it if it.kind == "file" else FileEvent(it.kind) for it in changed})

    def close(self) -> None:
        """Do nothing: polling holds no resources."""

    def _scan_timed(self) -> dict[FileEvent, _PollStamp]:
        began = self._clock()
        found = dict(self._walk())
        self.next_at = self._clock() + max(self._every_s, _POLL_DIVISOR * (self._clock() - began))
        return found

    def _walk(self) -> Iterator[tuple[FileEvent, _PollStamp]]:
        """Yield everything whose change would be reported, with the stamp that reveals the change."""
        self.directories = 0
        waiting = [""]
        while waiting:
            directory = waiting.pop()
            self.directories += 1
            entries = _scan_entries(f"{self._root}/{directory}")
            bare = f"{self._root}/{directory}".removesuffix("/")
            if any(entry.name == HEAD_FILE for entry in entries) and is_bare(bare):
                yield from _stamp_bare_repository(bare)
                ways = work_tree_entries(bare)
                entries = [entry for entry in entries if entry.name in ways]
            for entry in entries:
                path = f"{directory}/{entry.name}" if directory else entry.name
                if entry.name == GIT_ENTRY_NAME:
                    yield from self._git_stamps(f"{self._root}/{directory}")
                elif entry.is_dir(follow_symlinks=False):
                    if self._place.wants_directory(path):
                        waiting.append(path)
                elif is_ignore_rules_file(path):
                    yield from _stamp_event(FileEvent("rules", path), entry.path)
                elif is_valid_name(path) and self._place.wants_file(path):
                    yield from _stamp_event(FileEvent("file", path), entry.path)

    def _git_stamps(self, top: str) -> Iterator[tuple[FileEvent, _PollStamp]]:
        for signs in git_watch_directories(top):
            for name in _list_names(signs):
                kind = signs.classify(name)
                if kind is not None:
                    place = f"{signs.directory}/{name}"
                    yield from _stamp_event(FileEvent(kind, place), place)


def _scan_entries(directory: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as scan:
            return list(scan)
    except OSError:
        return []


def _stamp_bare_repository(bare: str) -> Iterator[tuple[FileEvent, _PollStamp]]:
    """Yield the files that show whether a bare repository, or a work tree in it, was created or removed."""
    for place in (f"{bare}/{HEAD_FILE}", *(f"{it}/{GIT_ENTRY_NAME}" for it in find_work_trees(bare))):
        yield from _stamp_event(FileEvent("rules", place), place)


def _list_names(signs: GitWatchDirectory) -> list[str]:
    return [entry.name for entry in _scan_entries(signs.directory)]


def _stamp_event(event: FileEvent, place: str) -> Iterator[tuple[FileEvent, _PollStamp]]:
    try:
        status = os.lstat(place)
    except OSError:
        return
    if not stat.S_ISDIR(status.st_mode):
        yield event, (status.st_mtime_ns, status.st_size, status.st_ino, status.st_mode)


# --------------------------------------------------------------------------------------------------
# File systems on which other machines make changes that this system does not see.

_MOUNTINFO_FILE = Path("/proc/self/mountinfo")
_NETWORK_FILE_SYSTEMS = ("nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "glusterfs", "lustre")
_HOST_SHARED_FILE_SYSTEMS = ("9p", "virtiofs", "vboxsf", "prl_fs", "drvfs", "fuse.vmhgfs-fuse")
_FUSE_FILE_SYSTEMS = ("fuse.sshfs", "fuse.rclone", "fuse.s3fs", "fuse.gcsfuse", "fuse.glusterfs")
_REMOTE_FILE_SYSTEMS = frozenset((*_NETWORK_FILE_SYSTEMS, *_HOST_SHARED_FILE_SYSTEMS, *_FUSE_FILE_SYSTEMS))
_OCTAL_ESCAPE = re.compile(r"\\([0-7]{3})")


def remote_file_system(root: Path, mounts: Path = _MOUNTINFO_FILE) -> str | None:
    """Return the type of the root's file system if it is remote, for example `nfs4`."""
    try:
        lines = mounts.read_text(errors="surrogateescape").splitlines()
    except OSError:
        return None
    around = {str(it) for it in (root, *root.parents)}
    found = [(mount, kind) for mount, kind in map(_parse_mount, lines) if mount in around]
    # Of several mounts at one path the last one hides the others.
    kind = max(reversed(found), key=lambda it: len(it[0]), default=("", ""))[1]
    return kind if kind in _REMOTE_FILE_SYSTEMS else None


def _parse_mount(line: str) -> tuple[str, str]:
    """Parse the mount point and the file system type."""
    before, _, after = line.partition(" - ")
    place = _OCTAL_ESCAPE.sub(lambda it: chr(int(it[1], 8)), before.split(" ")[4]) if before.count(" ") > 4 else ""
    return place, after.partition(" ")[0]
