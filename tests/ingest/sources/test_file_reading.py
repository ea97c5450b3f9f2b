"""Reading a listed file: bytes and version belong together, and nothing outside the root is read."""

from __future__ import annotations

import os
import shutil
import socket
import threading
from pathlib import Path

import pytest

from dowse.errors import Unreadable
from dowse.ingest.sources.files import FileSource
from dowse.model import Item
from dowse.safe_open import open_below


@pytest.fixture
def root(tmp_path):
    place = tmp_path / "root"
    (place / "dir").mkdir(parents=True)
    (place / "dir/a.md").write_bytes(b"one")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/a.md").write_bytes(b"secret")
    return place


def item_at(path: str) -> Item:
    return Item(path, 0, 0)


def test_the_version_returned_is_that_of_the_bytes(root):
    source = FileSource(root)
    (listed,) = source.listing().items
    assert source.read(listed) == (listed, b"one")
    (root / "dir/a.md").write_bytes(b"longer")
    read, content = source.read(listed)
    status = (root / "dir/a.md").stat()
    assert (content, read) == (b"longer", Item("dir/a.md", 6, status.st_mtime_ns))


@pytest.mark.parametrize(
    "path",
    [
        "../outside/a.md",
        "dir/../../outside/a.md",
        "/etc/passwd",
        "dir//a.md",
        "./dir/a.md",
        "",
        ".",
        "..",
        "dir/",
        "a\0b",
        "\ud800",
    ],
)
def test_a_path_that_is_not_plainly_inside_is_not_read(root, path):
    with pytest.raises(Unreadable, match="leads out of the collection"):
        FileSource(root).read(item_at(path))
    with pytest.raises((OSError, ValueError)), open_below(str(root), path):
        pass


def test_links_are_not_followed(root):
    source = FileSource(root)
    (root / "file.md").symlink_to("../outside/a.md")
    with pytest.raises(Unreadable, match="a symbolic link, not a regular file") as refusal:
        source.read(item_at("file.md"))
    assert not refusal.value.lasting
    shutil.rmtree(root / "dir")
    (root / "dir").symlink_to("../outside")
    with pytest.raises(Unreadable, match="cannot be read"):
        source.read(item_at("dir/a.md"))


def replace_by_pipe(path: Path) -> None:
    os.mkfifo(path)


def replace_by_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path.name)


@pytest.mark.parametrize(
    ("replace", "reason"),
    [
        (replace_by_pipe, "a named pipe, not a regular file"),
        (replace_by_socket, "a socket, not a regular file"),
        (Path.mkdir, "a directory, not a regular file"),
    ],
)
def test_what_replaced_a_file_is_not_opened(root, monkeypatch, replace, reason):
    monkeypatch.chdir(root / "dir")
    (root / "dir/a.md").unlink()
    replace(root / "dir/a.md")
    with pytest.raises(Unreadable, match=reason):
        FileSource(root).read(item_at("dir/a.md"))


def test_a_device_is_not_opened():
    with pytest.raises(Unreadable, match="a device, not a regular file"):
        FileSource(Path("/dev")).read(item_at("zero"))


def test_a_missing_file_may_come_back(root):
    with pytest.raises(Unreadable, match="cannot be read: No such file") as refusal:
        FileSource(root).read(item_at("dir/b.md"))
    assert not refusal.value.lasting


def test_a_file_that_grew_too_large_stays_unread(root):
    source = FileSource(root, max_file_bytes=2)
    with pytest.raises(Unreadable, match="larger than max_file_bytes") as refusal:
        source.read(item_at("dir/a.md"))
    assert refusal.value.lasting
    assert FileSource(root, max_file_bytes=3).read(item_at("dir/a.md"))[1] == b"one"


def test_a_file_whose_size_does_not_fit_its_content_counts_as_changing():
    """What the kernel makes up says it is empty and is not, like a file that grows while it is read."""
    with pytest.raises(Unreadable, match="the file changed while it was read") as refusal:
        FileSource(Path("/proc/self")).read(item_at("status"))
    assert not refusal.value.lasting


def test_bytes_and_version_agree_while_a_writer_is_busy(root):
    path = root / "dir/a.md"
    stop = threading.Event()

    def write() -> None:
        size = 0
        while not stop.is_set():
            size = (size + 70_001) % 900_000
            path.write_bytes(b"x" * size)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for _ in range(200):
            try:
                item, content = FileSource(root).read(item_at("dir/a.md"))
            except Unreadable as problem:
                assert str(problem) == "the file changed while it was read"
            else:
                assert item.size == len(content)
    finally:
        stop.set()
        thread.join()


def test_no_descriptor_is_left_open(root):
    source = FileSource(root)
    before = len(list(Path("/proc/self/fd").iterdir()))
    for path in ("dir/a.md", "dir/none.md", "none/a.md", "dir"):
        try:
            source.read(item_at(path))
        except Unreadable:
            continue
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_freshness_follows_the_file(root):
    source = FileSource(root)
    (item,) = source.listing().items
    path = root / "dir/a.md"
    assert source.freshness(item) == "fresh"
    path.write_bytes(b"two")
    os.utime(path, ns=(item.mtime_ns, item.mtime_ns + 1))
    assert source.freshness(item) == "changed"
    os.utime(path, ns=(item.mtime_ns, item.mtime_ns))
    assert source.freshness(item) == "fresh"
    path.write_bytes(b"three")
    os.utime(path, ns=(item.mtime_ns, item.mtime_ns))
    assert source.freshness(item) == "changed"
    path.unlink()
    assert source.freshness(item) == "gone"
    path.symlink_to("../../outside/a.md")
    assert source.freshness(item) == "gone"
    path.unlink()
    shutil.rmtree(root / "dir")
    (root / "dir").write_text("a file now")
    assert source.freshness(item) == "gone"
    assert source.freshness(item_at("x" * 300)) == "unknown"
