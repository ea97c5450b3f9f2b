"""File systems on which others make changes that this system is not told of."""

from __future__ import annotations

import re
from pathlib import Path

_MOUNTS = Path("/proc/self/mountinfo")
_NETWORK = ("nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "glusterfs", "lustre")
_OF_HOST = ("9p", "virtiofs", "vboxsf", "prl_fs", "drvfs", "fuse.vmhgfs-fuse")
_MOUNTED_BY_USER = ("fuse.sshfs", "fuse.rclone", "fuse.s3fs", "fuse.gcsfuse", "fuse.glusterfs")
_REMOTE = frozenset((*_NETWORK, *_OF_HOST, *_MOUNTED_BY_USER))
_ESCAPED = re.compile(r"\\([0-7]{3})")


def remote_kind(root: Path, mounts: Path = _MOUNTS) -> str | None:
    """The kind of the root's file system if it is such a one, e.g. `nfs4`."""
    try:
        lines = mounts.read_text(errors="surrogateescape").splitlines()
    except OSError:
        return None
    around = {str(it) for it in (root, *root.parents)}
    found = [(mount, kind) for mount, kind in map(_mount, lines) if mount in around]
    # Of several at one place the last one hides the others.
    kind = max(reversed(found), key=lambda it: len(it[0]), default=("", ""))[1]
    return kind if kind in _REMOTE else None


def _mount(line: str) -> tuple[str, str]:
    """Where something is mounted, and its kind."""
    before, _, after = line.partition(" - ")
    place = _ESCAPED.sub(lambda it: chr(int(it[1], 8)), before.split(" ")[4]) if before.count(" ") > 4 else ""
    return place, after.partition(" ")[0]
