"""What a look at the disk finds, with a clock and times that are set."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from dowse.ingest.disk_scan import (
    MISSING_STAMP,
    UNKNOWN_STAMP,
    CollectionDisk,
    DirectorySnapshots,
    FileStamp,
    KnownFiles,
    load_known_files,
    read_stamp,
)
from dowse.ingest.sources.files import FileSource
from dowse.model import ItemVersion, SkippedItem
from support import write

MS = 1_000_000
MTIME = 1_700_000_000_000_000_000
NEVER = 2**63


class Clock:
    def __init__(self, now_ns: int) -> None:
        self.now_ns = now_ns

    def __call__(self) -> int:
        return self.now_ns


def put(root: Path, path: str, text: str, mtime_ns: int = MTIME) -> None:
    write(root, {path: text})
    os.utime(root / path, ns=(mtime_ns, mtime_ns))


def version(text: str, *, settled: bool = True, mtime_ns: int = MTIME) -> ItemVersion:
    return ItemVersion(len(text), mtime_ns, hashlib.sha256(text.encode()).hexdigest(), "", settled)


def known(**versions: ItemVersion) -> KnownFiles:
    return KnownFiles(versions, {"": set(versions)})


def given(paths: Iterable[str | None]) -> list[str]:
    return [path for path in paths if path is not None]


# --- files ---


def test_files_are_told_by_size_and_time(root: Path) -> None:
    for name in ("same", "grown", "older", "gone"):
        put(root, name, "text")
    disk = CollectionDisk(FileSource(root), now_ns=Clock(MTIME))
    versions = {name: version("text") for name in ("same", "grown", "older", "gone", "never")}
    put(root, "grown", "longer")
    put(root, "older", "text", MTIME - 1)
    (root / "gone").unlink()
    assert given(disk.find_changed(KnownFiles(versions, {}), [])) == ["grown", "older", "gone", "never"]


@pytest.mark.parametrize("what", ["directory", "link", "pipe"])
def test_what_is_no_file_any_more_differs(root: Path, what: str) -> None:
    if what == "directory":
        (root / "a").mkdir()
    elif what == "link":
        (root / "a").symlink_to("elsewhere")
    else:
        os.mkfifo(root / "a")
    assert given(CollectionDisk(FileSource(root)).find_changed(known(a=version("text")), [])) == ["a"]


def test_a_timestamp_that_proves_nothing_is_not_believed(root: Path) -> None:
    put(root, "a", "other")
    unproven = known(a=version("texts", settled=False))
    assert given(CollectionDisk(FileSource(root)).find_changed(unproven, [])) == ["a"]
    assert given(CollectionDisk(FileSource(root)).find_changed(known(a=version("texts")), [])) == []


def test_content_is_compared_until_the_timestamp_proves_it(root: Path) -> None:
    put(root, "a", "texts")
    clock = Clock(MTIME + 5 * MS)
    disk, unproven = CollectionDisk(FileSource(root), now_ns=clock), known(a=version("texts", settled=False))
    assert given(disk.find_changed(unproven, [])) == []
    put(root, "a", "other")
    assert given(disk.find_changed(unproven, [])) == ["a"]
    put(root, "a", "texts")
    clock.now_ns += 20 * MS
    assert given(disk.find_changed(unproven, [])) == []
    put(root, "a", "other")
    assert given(disk.find_changed(unproven, [])) == [], "an edit at this time would have moved the timestamp"


def test_skipped_files_are_told_when_they_change(root: Path) -> None:
    put(root, "same", "text")
    put(root, "mended", "longer")
    put(root, "any", "text")
    skipped = [
        SkippedItem("c", "same", "why", 4, MTIME),
        SkippedItem("c", "mended", "why", 4, MTIME),
        SkippedItem("c", "any", "why", 0, -1),
    ]
    assert given(CollectionDisk(FileSource(root)).find_changed(known(), skipped)) == ["mended"]


def test_skipped_files_that_are_gone_are_told(root: Path) -> None:
    skipped = [
        SkippedItem("c", "binary", "why", 4, MTIME),
        SkippedItem("c", "large", "20.0 MB, larger than max_file_bytes (10.0 MB)", 0, -1),
        SkippedItem("c", "caf\\xe9", "its name is not valid UTF-8; rename it", 0, -1),
        SkippedItem("c", "z", "beyond max_files (3): it and the 4 files after it are left out", 0, -1),
    ]
    disk = CollectionDisk(FileSource(root))
    assert given(disk.find_changed(known(), skipped)) == ["binary", "large"]
    assert disk.find_outstanding(["binary", "large"], {}, {it.path: it for it in skipped}) == {
        "binary": MISSING_STAMP,
        "large": MISSING_STAMP,
    }


def test_a_place_that_can_not_be_looked_at_is_not_taken_for_changed(root: Path) -> None:
    assert read_stamp(f"{root}/{'x' * 300}") == UNKNOWN_STAMP
    assert read_stamp(f"{root}/a\0b") == UNKNOWN_STAMP
    assert read_stamp(f"{root}/nothing/there") == MISSING_STAMP
    assert given(CollectionDisk(FileSource(root)).find_changed(KnownFiles({"x" * 300: version("text")}, {}), [])) == []


# --- names ---


def folders(root: Path, clock: Clock) -> DirectorySnapshots:
    return DirectorySnapshots(str(root), FileSource(root).path_filter(), clock)


def changed_at(place: Path) -> int:
    return place.lstat().st_ctime_ns


def move_on(place: Path) -> None:
    """Until its time is another: that of a file system moves in steps."""
    before = changed_at(place)
    while changed_at(place) == before:
        write(place, {"probe": "x"})
        (place / "probe").unlink()


def test_a_directory_is_read_again_only_when_its_time_moved(root: Path) -> None:
    write(root, {"a.md": "text", "d/b.md": "text"})
    looked = folders(root, Clock(changed_at(root / "d") + 20 * MS))
    assert sorted(given(looked.list_moved_names({}, 0))) == ["a.md", "d/b.md"]
    assert given(looked.list_moved_names({}, 0)) == []
    move_on(root / "d")
    (root / "d/c.md").touch()
    assert given(looked.list_moved_names({"d": {"b.md"}}, 0)) == ["d/b.md", "d/c.md"]


def test_a_directory_that_was_just_changed_is_read_once_more(root: Path) -> None:
    write(root, {"a.md": "text"})
    clock = Clock(changed_at(root) + 19 * MS)
    looked = folders(root, clock)
    assert given(looked.list_moved_names({}, 0)) == ["a.md"]
    assert given(looked.list_moved_names({}, 0)) == ["a.md"]
    clock.now_ns += 1 * MS
    assert given(looked.list_moved_names({}, 0)) == ["a.md"]
    assert given(looked.list_moved_names({}, 0)) == []


def test_what_was_there_before_is_not_new(root: Path) -> None:
    write(root, {"a.md": "text", "d/b.md": "text"})
    moment = min(changed_at(root), changed_at(root / "d"))
    assert given(folders(root, Clock(NEVER)).list_moved_names({}, NEVER)) == []
    assert len(given(folders(root, Clock(NEVER)).list_moved_names({}, moment))) == 2


def test_all_below_a_directory_that_comes_later_is_new(root: Path, tmp_path: Path) -> None:
    write(root, {"a.md": "text", "old/x.md": "text"})
    write(tmp_path, {"elsewhere/b.md": "text", "elsewhere/in/c.md": "text"})
    looked = folders(root, Clock(NEVER))
    assert given(looked.list_moved_names({}, NEVER)) == []
    (tmp_path / "elsewhere").rename(root / "d")
    assert sorted(given(looked.list_moved_names({}, NEVER))) == ["a.md", "d/b.md", "d/in/c.md"]


def test_what_is_not_wanted_is_not_entered(root: Path) -> None:
    write(root, {"node_modules/a.md": "x", ".git/b.md": "x", "out/c.md": "x", "out/in/d.md": "x", ".gitignore": "out/"})
    assert given(folders(root, Clock(NEVER)).list_moved_names({}, 0)) == [".gitignore"]
    (root / "link").symlink_to("out")
    tracked = {"": set[str](), "out": set[str](), "out/in": {"d.md"}}
    assert sorted(given(folders(root, Clock(NEVER)).list_moved_names(tracked, 0))) == [".gitignore", "out/in/d.md"]


def test_a_directory_that_becomes_a_repository_after_it_was_judged(root: Path) -> None:
    write(root, {"a.md": "x", "mirror/HEAD": "ref: refs/heads/main", "mirror/hooks/h": "x"})
    looked = folders(root, Clock(0))  # so that nothing counts as settled
    assert sorted(given(looked.list_moved_names({}, 0))) == ["a.md", "mirror/HEAD", "mirror/hooks/h"]
    write(root, {"mirror/refs/heads/main": "x", "mirror/objects/ab/c": "x"})
    assert given(looked.list_moved_names({}, 0)) == ["a.md"]
    indexed = {"": set[str](), "mirror": {"HEAD"}, "mirror/hooks": {"h"}}
    assert given(folders(root, Clock(0)).list_moved_names(indexed, 0)) == ["a.md", "mirror/HEAD"]


def test_work_trees_in_a_directory_that_is_a_repository(root: Path) -> None:
    write(root, {"mirror/HEAD": "x", "mirror/refs/r": "x", "mirror/objects/ab/c": "x", "mirror/hooks/h": "x"})
    looked = folders(root, Clock(NEVER))
    assert given(looked.list_moved_names({}, 0)) == []
    move_on(root / "mirror")
    write(root, {"mirror/dev/.git": "gitdir: ../worktrees/dev", "mirror/dev/a.md": "x", "mirror/dev/src/b.md": "x"})
    assert sorted(given(looked.list_moved_names({}, 0))) == ["mirror/dev/a.md", "mirror/dev/src/b.md"]
    move_on(root / "mirror")
    write(
        root, {"mirror/worktrees/it/gitdir": "../../deep/it/.git", "mirror/deep/it/.git": "", "mirror/deep/it/c": "x"}
    )
    assert "mirror/deep/it/c" in given(looked.list_moved_names({}, 0))


def test_directories_that_vanish_or_are_closed(root: Path) -> None:
    write(root, {"d/a.md": "text"})
    looked = folders(root, Clock(NEVER))
    assert given(looked.list_moved_names({}, 0)) == ["d/a.md"]
    (root / "d/a.md").unlink()
    (root / "d").rmdir()
    assert given(looked.list_moved_names({"d": {"a.md"}}, 0)) == []
    root.rmdir()
    assert given(looked.list_moved_names({}, 0)) == []


# --- judging ---


def test_outstanding_are_files_and_what_is_in_directories(root: Path) -> None:
    write(root, {"new.md": "x", "d/new.md": "x", "d/node_modules/n.md": "x", "d/in/deep.md": "x", "picture.png": "x"})
    put(root, "same.md", "text")
    put(root, "d/refused.md", "text")
    disk = CollectionDisk(FileSource(root))
    versions = {"same.md": version("text"), "d/gone.md": version("text")}
    skipped = {"d/refused.md": SkippedItem("c", "d/refused.md", "why", 4, MTIME)}
    found = disk.find_outstanding(["new.md", "same.md", "d", "nothing.md"], versions, skipped)
    assert {path: stamp.kind for path, stamp in found.items()} == {
        "new.md": "file",
        "d/new.md": "file",
        "d/in/deep.md": "file",
        "d/gone.md": "nothing",
    }


def test_a_directory_with_very_many_files_stands_for_them(root: Path) -> None:
    write(root, {f"d/{number}.md": "x" for number in range(250)})
    ((path, stamp),) = CollectionDisk(FileSource(root)).find_outstanding(["d"], {}, {}).items()
    assert (path, stamp.kind) == ("d", "directory") and isinstance(stamp, FileStamp)


def test_known_names_are_laid_out_once_for_each_state(root: Path) -> None:
    from oracle.dict_store import DictStore

    store = DictStore()
    store.writer.add_collection(str(root))
    assert load_known_files(store.catalog, "root") is load_known_files(store.catalog, "root")
    assert load_known_files(store.catalog, "root") == KnownFiles({}, {})
