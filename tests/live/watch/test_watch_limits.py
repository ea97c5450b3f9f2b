"""What the system allows, and where it can not tell."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from dowse.live.watch.inotify import (
    CREATE,
    IS_DIRECTORY,
    Inotify,
    InotifyEvent,
    WatchUnavailable,
    _explain_init_failure,
    decode_events,
)
from dowse.live.watch.polling import remote_file_system
from dowse.live.watch.watcher import max_inotify_watches


def test_as_many_watches_as_the_system_allows():
    allowed = max_inotify_watches()
    assert allowed is not None
    assert allowed > 0


@pytest.mark.parametrize(("told", "expected"), [("8192\n", 8192), ("many\n", None), ("", None), (None, None)])
def test_watches_that_are_not_told(tmp_path, told, expected):
    file = tmp_path / "max_user_watches"
    if told is not None:
        file.write_text(told)
    assert max_inotify_watches(file) == expected


def test_events_as_the_system_writes_them():
    data = bytes.fromhex("01000000000100400000000010000000") + "ü.md".encode().ljust(16, b"\0")
    data += bytes.fromhex("ffffffff004000000000000000000000")
    assert list(decode_events(data)) == [InotifyEvent(1, CREATE | IS_DIRECTORY, "ü.md"), InotifyEvent(-1, 0x4000, "")]


def test_reading_ends_with_what_is_there(root):
    notifier = Inotify()
    notifier.add(str(root))
    (root / "a").write_text("x")
    names = []
    for event in notifier.read():
        names.append(event.name)
        (root / "b").write_text("x")  # as if someone wrote without end
        assert len(names) < 100
    assert names == ["a", "a", "a"]
    assert next(iter(notifier.read())).name == "b"
    notifier.close()
    notifier.close()


def test_what_can_not_be_watched(root):
    notifier = Inotify()
    (root / "file").write_text("")
    (root / "link").symlink_to(".")
    for name, code in (("missing", errno.ENOENT), ("file", errno.ENOTDIR), ("link", errno.ENOTDIR)):
        with pytest.raises(OSError, match=name) as caught:
            notifier.add(f"{root}/{name}")
        assert caught.value.errno == code
    notifier.close()


def test_a_child_does_not_inherit_the_queue():
    notifier = Inotify()
    assert not os.get_inheritable(notifier.fileno())
    notifier.close()


def test_no_inotify_on_this_system(monkeypatch):
    monkeypatch.setattr("ctypes.CDLL", lambda *_, **__: object())
    with pytest.raises(WatchUnavailable, match="has no inotify"):
        Inotify()


@pytest.mark.parametrize(
    ("code", "advice"),
    [(errno.EMFILE, "max_user_instances"), (errno.ENFILE, "file-max"), (errno.EPERM, "not permitted")],
)
def test_each_reason_says_what_to_do(code, advice):
    assert advice in _explain_init_failure(code)


MOUNTS = r"""
22 1 8:1 / / rw,relatime - ext4 /dev/vda rw
30 22 0:40 / /home/with\040space rw - nfs4 server:/x rw
31 22 0:41 / /mnt rw,relatime shared:1 - tmpfs tmpfs rw
32 31 0:42 / /mnt/c rw - 9p drvfs rw
33 32 0:43 / /mnt/c/over rw - 9p drvfs rw
34 33 0:44 / /mnt/c/over rw - ext4 /dev/vdb rw
nonsense
"""


@pytest.mark.parametrize(
    ("root", "kind"),
    [
        ("/home/with space/project", "nfs4"),
        ("/home/with space", "nfs4"),
        ("/home/with", None),
        ("/mnt/c/project", "9p"),
        ("/mnt/cc", None),
        ("/mnt/c/over/project", None),
        ("/", None),
    ],
)
def test_file_systems_on_which_others_change_files(tmp_path, root, kind):
    (tmp_path / "mountinfo").write_text(MOUNTS)
    assert remote_file_system(Path(root), tmp_path / "mountinfo") == kind


def test_where_mounts_are_not_told(tmp_path):
    assert remote_file_system(Path("/home"), tmp_path / "missing") is None
