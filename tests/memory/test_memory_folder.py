"""Memories are files that are whole at every moment, directly in their folder, and thrown away only to the trash."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from dowse.errors import BadInput
from dowse.memory.files import MAX_MEMORY_BYTES, MemoryFolder, lock_folder, move_note_file, write_note_file

NOW = 1_700_000_000.0  # 2023-11-14 22:13:20 UTC


@pytest.fixture
def folder(tmp_path: Path) -> MemoryFolder:
    return MemoryFolder(tmp_path / "root" / ".memories", timeout_s=0.2)


def names(folder: MemoryFolder) -> set[str]:
    return {str(it.relative_to(folder.directory)) for it in folder.directory.rglob("*")}


def test_a_memory_from_its_making_to_the_trash(folder: MemoryFolder) -> None:
    assert folder.create("notes", "---\na: b # c\n---\n\none\n") == "notes.md"
    assert folder.append("notes.md", "two") == "notes.md"
    assert folder.read("notes") == ("notes.md", "---\na: b # c\n---\n\none\n\ntwo\n")
    assert folder.replace("notes", "three") == "notes.md"
    assert folder.read("notes") == ("notes.md", "---\na: b # c\n---\n\nthree\n")
    name, thrown = folder.move_to_trash("notes", NOW)
    assert (name, thrown) == ("notes.md", folder.directory / ".trash" / "notes_20231114_221320.md")
    assert thrown.read_text() == "---\na: b # c\n---\n\nthree\n"
    assert names(folder) == {".trash", ".trash/notes_20231114_221320.md"}


def test_the_trash_never_overwrites(folder: MemoryFolder) -> None:
    for text in ("one", "two", "three"):
        folder.create("notes", text)
        folder.move_to_trash("notes", NOW)
    thrown = sorted((folder.directory / ".trash").iterdir())
    assert [it.name for it in thrown] == [f"notes_20231114_221320{it}.md" for it in ("", "_2", "_3")]
    assert [it.read_text().strip() for it in thrown] == ["one", "two", "three"]


def test_what_is_there_is_not_made_again(folder: MemoryFolder) -> None:
    folder.create("notes", "one")
    for name in ("notes", "Notes.md", "NOTES"):
        with pytest.raises(BadInput, match=r"note 'notes' exists"):
            folder.create(name, "two")
    folder.create("u\u0308ber", "one")
    with pytest.raises(BadInput, match="already"):
        folder.create("\u00dcber", "two")
    assert folder.read("notes")[1] == "one"


@pytest.mark.parametrize("verb", ["read", "append", "replace", "move_to_trash"])
def test_what_is_not_there_is_told(folder: MemoryFolder, verb: str) -> None:
    def ask(name: str) -> None:
        others = {"read": (), "append": ("x",), "replace": ("x",), "move_to_trash": (NOW,)}[verb]
        getattr(folder, verb)(name, *others)

    with pytest.raises(BadInput, match=r"no memory named 'notes\.md'; .*does not exist"):
        ask("notes")
    assert not folder.directory.exists()
    folder.create("Notes", "one")
    if verb != "read":
        with pytest.raises(BadInput, match=r"no memory named 'notes\.md'; did you mean 'Notes\.md'\?"):
            ask("notes")
    with pytest.raises(BadInput, match="`dowse memories` lists"):
        ask("other")
    with pytest.raises(BadInput, match="starts with a dot"):
        ask("../notes")


def test_a_file_written_on_a_system_that_decomposes_letters_is_found(folder: MemoryFolder) -> None:
    folder.create("other", "x")
    (folder.directory / "u\u0308ber.md").write_text("one")
    assert folder.read("u\u0308ber.md") == ("u\u0308ber.md", "one")
    assert folder.read("\u00fcber") == ("u\u0308ber.md", "one")
    with pytest.raises(BadInput, match="did you mean"):
        folder.append("\u00fcber", "two")


def test_merging(folder: MemoryFolder) -> None:
    folder.create("a", "alpha")
    folder.create("b", "beta")
    name, merged, moved = folder.merge(["a", "b.md", "a.md"], "c", lambda texts: " + ".join(texts), NOW)
    assert (name, merged) == ("c.md", ("a.md", "b.md"))
    assert folder.read("c")[1] == "alpha + beta"
    assert [it.read_text() for it in moved] == ["alpha", "beta"]
    assert {it for it in names(folder) if "/" not in it} == {".trash", "c.md"}


def test_merging_into_one_of_them(folder: MemoryFolder) -> None:
    folder.create("a", "alpha")
    folder.create("b", "beta")
    _, _, moved = folder.merge(["a", "b"], "a", "|".join, NOW)
    assert folder.read("a")[1] == "alpha|beta"
    assert sorted(it.read_text() for it in moved) == ["alpha", "beta"]


def test_a_merge_that_can_not_be_leaves_all_as_it_was(folder: MemoryFolder) -> None:
    folder.create("a", "alpha")
    folder.create("b", "beta")
    for sources, target in ((["a", "gone"], "c"), (["a"], "b"), (["a"], "../c")):
        with pytest.raises(BadInput):
            folder.merge(sources, target, "|".join, NOW)
    assert names(folder) == {"a.md", "b.md"}


@pytest.mark.parametrize(
    ("text", "why"),
    [("a\0b", "null byte"), ("\ud800", "invalid Unicode"), ("x" * (MAX_MEMORY_BYTES + 1), "10,000,000 bytes")],
)
def test_what_is_no_text_is_refused(folder: MemoryFolder, text: str, why: str) -> None:
    with pytest.raises(BadInput, match=why):
        folder.create("notes", text)
    folder.create("notes", "one")
    for change in (folder.append, folder.replace):
        with pytest.raises(BadInput, match=why):
            change("notes", text)
    assert folder.read("notes")[1] == "one"


def test_a_file_that_is_not_utf_8_keeps_its_bytes(folder: MemoryFolder) -> None:
    folder.create("notes", "one")
    place = folder.directory / "notes.md"
    place.write_bytes(b"caf\xe9")
    for change in (folder.append, folder.replace):
        with pytest.raises(BadInput, match="not UTF-8"):
            change("notes", "two")
    assert place.read_bytes() == b"caf\xe9"


def test_who_may_read_it_stays(folder: MemoryFolder) -> None:
    folder.create("notes", "one")
    (folder.directory / "notes.md").chmod(0o640)
    folder.append("notes", "two")
    assert (folder.directory / "notes.md").stat().st_mode & 0o777 == 0o640


def test_a_private_folder_is_for_its_user_alone(tmp_path: Path) -> None:
    folder = MemoryFolder(tmp_path / "data" / "memories", private=True)
    folder.create("notes", "one")
    folder.move_to_trash("notes", NOW)
    for place in (folder.directory.parent, folder.directory, folder.directory / ".trash"):
        assert place.stat().st_mode & 0o077 == 0


# --- links, other things, full and read-only disks ---


def test_no_link_is_followed(folder: MemoryFolder, tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("secret")
    folder.create("other", "x")
    (folder.directory / "notes.md").symlink_to(secret)
    (folder.directory / ".writing").symlink_to(secret)
    for ask in (
        lambda: folder.read("notes"),
        lambda: folder.append("notes", "x"),
        lambda: folder.replace("notes", "x"),
    ):
        with pytest.raises(BadInput, match="links are not followed"):
            ask()
    with pytest.raises(BadInput, match="already"):
        folder.create("notes", "x")
    folder.append("other", "y")
    assert secret.read_text() == "secret"


def test_a_dangling_link_is_no_free_name(folder: MemoryFolder, tmp_path: Path) -> None:
    folder.create("other", "x")
    (folder.directory / "notes.md").symlink_to(tmp_path / "nowhere")
    with pytest.raises(BadInput, match="already"):
        folder.create("notes", "x")
    assert not (tmp_path / "nowhere").exists()


def test_a_folder_that_is_a_link_is_refused(folder: MemoryFolder, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "notes.md").write_text("one")
    folder.directory.parent.mkdir()
    folder.directory.symlink_to(outside)
    for ask in (
        lambda: folder.create("x", "x"),
        lambda: folder.read("notes"),
        lambda: folder.move_to_trash("notes", NOW),
    ):
        with pytest.raises(BadInput, match="links are not followed"):
            ask()
    assert list(outside.iterdir()) == [outside / "notes.md"]


def test_a_trash_that_is_a_link_is_refused(folder: MemoryFolder, tmp_path: Path) -> None:
    folder.create("notes", "one")
    (tmp_path / "outside").mkdir()
    (folder.directory / ".trash").symlink_to(tmp_path / "outside")
    with pytest.raises(BadInput, match=r"\.trash is not a directory, and links are not followed"):
        folder.move_to_trash("notes", NOW)
    assert folder.read("notes")[1] == "one"
    assert not any((tmp_path / "outside").iterdir())


def test_what_is_no_file_is_refused(folder: MemoryFolder) -> None:
    folder.create("other", "x")
    os.mkfifo(folder.directory / "pipe.md")
    (folder.directory / "link.md").symlink_to("other.md")
    asks: tuple[Callable[[str], object], ...] = (
        folder.read,
        lambda name: folder.replace(name, "y"),
        lambda name: folder.move_to_trash(name, NOW),
        lambda name: folder.merge([name, "other"], "merged", "|".join, NOW),
    )
    for name, ask in product(("pipe", "link"), asks):
        with pytest.raises(BadInput, match="not a regular file"):
            ask(name)
    left = {it for it in names(folder) if not it.startswith(".trash")}
    assert left == {"other.md", "pipe.md", "link.md"}
    assert folder.read("other")[1] == "x"


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, lambda place: place.symlink_to("other.md")])
def test_only_a_regular_file_is_replaced_or_moved(folder: MemoryFolder, make: Callable[[Path], object]) -> None:
    """Whoever asks: nothing else is taken for the memory that was there a moment ago."""
    folder.create("other", "x")
    make(folder.directory / "notes.md")
    with lock_folder(folder.directory, 1.0) as held:
        for ask in (
            lambda: write_note_file(held, "notes.md", b"y"),
            lambda: move_note_file(held, "notes.md", held, "moved.md"),
        ):
            with pytest.raises(BadInput, match=r"notes\.md is not a regular file"):
                ask()
    assert names(folder) == {"other.md", "notes.md"}


def test_a_file_in_place_of_the_folder_is_told(folder: MemoryFolder) -> None:
    folder.directory.parent.mkdir()
    folder.directory.write_text("x")
    with pytest.raises(BadInput, match="is not a directory"):
        folder.create("notes", "x")


def test_who_holds_the_lock_for_too_long_is_told(folder: MemoryFolder) -> None:
    folder.create("notes", "one")
    with lock_folder(folder.directory, 1.0), pytest.raises(BadInput, match="another process kept it busy"):
        folder.append("notes", "two")
    folder.append("notes", "two")


FULL = """
import resource, sys
from pathlib import Path
from dowse.errors import BadInput
from dowse.memory.files import MemoryFolder
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, resource.RLIM_INFINITY))
folder = MemoryFolder(Path(sys.argv[1]))
for ask in (lambda: folder.append("notes", "x" * 9000), lambda: folder.create("more", "x" * 9000)):
    try:
        ask()
    except BadInput as error:
        print(error)
"""


def test_a_full_disk_leaves_nothing_half_written(folder: MemoryFolder) -> None:
    """A limit to the size of files makes the system refuse in the middle of writing, as a full disk does."""
    folder.create("notes", "one")
    done = subprocess.run([sys.executable, "-c", FULL, folder.directory], capture_output=True, text=True, check=True)
    told = done.stdout.splitlines()
    assert len(told) == 2
    assert all("cannot write" in line and "check the disk" in line for line in told)
    assert folder.read("notes")[1] == "one"
    assert names(folder) == {"notes.md"}


READ_ONLY = """
import os, sys
from pathlib import Path
from dowse.errors import BadInput
from dowse.memory.files import MemoryFolder
if os.getuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
folder = MemoryFolder(Path(sys.argv[1]))
try:
    folder.append("notes", "x")
except BadInput as error:
    print(error)
print(folder.read("notes")[1])
"""


def test_a_folder_that_may_not_be_written_to_is_read_and_told(public_path: Path) -> None:
    folder = MemoryFolder(public_path / "memories")
    folder.create("notes", "one")
    (folder.directory / "notes.md").chmod(0o444)
    folder.directory.chmod(0o555)
    done = subprocess.run(
        [sys.executable, "-c", READ_ONLY, folder.directory], capture_output=True, text=True, check=True
    )
    folder.directory.chmod(0o755)
    assert "cannot write" in done.stdout
    assert done.stdout.endswith("one\n")
    assert names(folder) == {"notes.md"}
