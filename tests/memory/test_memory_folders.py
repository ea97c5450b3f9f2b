"""Memories in folders of their folder: called by their paths there, and by no path that leads anywhere else."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dowse.errors import BadInput
from dowse.memory.files import MemoryFolder

NOW = 1_700_000_000.0  # 2023-11-14 22:13:20 UTC


@pytest.fixture
def folder(tmp_path: Path) -> MemoryFolder:
    return MemoryFolder(tmp_path / "root" / ".memories", timeout_s=0.2)


def names(folder: MemoryFolder) -> set[str]:
    return {str(it.relative_to(folder.directory)) for it in folder.directory.rglob("*") if not it.is_dir()}


def test_a_memory_in_a_folder_from_its_making_to_the_trash(folder: MemoryFolder) -> None:
    assert folder.create("plans/2026/q3", "one\n") == "plans/2026/q3.md"
    assert folder.append("plans/2026/q3.md", "two") == "plans/2026/q3.md"
    assert folder.read("plans/2026/q3") == ("plans/2026/q3.md", "one\n\ntwo\n")
    assert folder.replace("plans/2026/q3", "three") == "plans/2026/q3.md"
    name, thrown = folder.move_to_trash("plans/2026/q3", NOW)
    assert (name, thrown) == ("plans/2026/q3.md", folder.directory / ".trash/plans/2026/q3_20231114_221320.md")
    assert thrown.read_text() == "three\n"
    assert names(folder) == {".trash/plans/2026/q3_20231114_221320.md"}


def test_folders_made_by_hand(folder: MemoryFolder) -> None:
    (folder.directory / "plans").mkdir(parents=True)
    (folder.directory / "plans" / "q3.markdown").write_text("one")
    assert folder.read("plans/q3.markdown") == ("plans/q3.markdown", "one")
    with pytest.raises(BadInput, match=r"no memory named 'plans/Q3\.markdown'; did you mean 'plans/q3\.markdown'\?"):
        folder.append("plans/Q3.markdown", "two")
    assert folder.read("plans/Q3.markdown") == ("plans/q3.markdown", "one")
    with pytest.raises(BadInput, match=r"no memory named 'ideas/q3\.md'; `dowse memories` lists"):
        folder.append("ideas/q3", "x")
    assert not (folder.directory / "ideas").exists()


def test_the_trash_never_overwrites_and_tells_folders_apart(folder: MemoryFolder) -> None:
    for name in ("plans/q3", "plans/q3", "ideas/q3", "q3"):
        folder.create(name, f"of {name}")
        folder.move_to_trash(name, NOW)
    stamp = "20231114_221320"
    trash = {it.removeprefix(".trash/") for it in names(folder)}
    assert trash == {f"plans/q3_{stamp}.md", f"plans/q3_{stamp}_2.md", f"ideas/q3_{stamp}.md", f"q3_{stamp}.md"}
    assert (folder.directory / f".trash/ideas/q3_{stamp}.md").read_text() == "of ideas/q3"


def test_merging_across_folders(folder: MemoryFolder) -> None:
    folder.create("a", "alpha")
    folder.create("plans/b", "beta")
    name, merged, moved = folder.merge(["a", "plans/b.md"], "done/2026/c", "|".join, NOW)
    assert (name, merged) == ("done/2026/c.md", ("a.md", "plans/b.md"))
    assert folder.read("done/2026/c")[1] == "alpha|beta"
    assert [it.read_text() for it in moved] == ["alpha", "beta"]
    folder.merge(["done/2026/c"], "done/2026/c", "".join, NOW)
    assert (folder.directory / ".trash/done/2026/c_20231114_221320.md").read_text() == "alpha|beta"


def test_names_and_folders_that_some_system_takes_for_one_are_refused(folder: MemoryFolder) -> None:
    folder.create("plans/q3", "one")
    with pytest.raises(BadInput, match=r"note 'plans/q3' exists"):
        folder.create("Plans/q3", "two")
    with pytest.raises(BadInput, match="folder 'plans' exists already"):
        folder.create("Plans/q4", "two")
    with pytest.raises(BadInput, match="folder 'plans' exists already"):
        folder.create("PLANS/deeper/q4", "two")
    folder.create("plans/deeper/q4", "two")
    assert names(folder) == {"plans/q3.md", "plans/deeper/q4.md"}


def test_a_file_on_the_way_is_told(folder: MemoryFolder) -> None:
    folder.create("notes", "one")
    (folder.directory / "plans").write_text("of another program")
    for ask in (lambda: folder.create("plans/x", "x"), lambda: folder.read("plans/x")):
        with pytest.raises(BadInput, match="plans is not a directory"):
            ask()
    assert names(folder) == {"notes.md", "plans"}


def test_no_folder_is_called_like_a_note(folder: MemoryFolder) -> None:
    folder.create("p", "one")
    for name in ("a.md/b", "P.md/q", "p.md/q", "plans/a.Markdown/b.md"):
        for verb in verbs(folder, name, "p"):
            with pytest.raises(BadInput, match="one of its folders ends like a note"):
                verb()
    assert names(folder) == {"p.md"}


def test_a_directory_in_place_of_a_memory_is_told_and_stays_where_it_is(folder: MemoryFolder) -> None:
    """Made by hand: whatever is asked about it, its notes are not touched."""
    folder.create("notes", "one")
    for place in ("a.md", "plans/a.md"):
        (folder.directory / place).mkdir(parents=True)
        (folder.directory / place / "b.md").write_text("mine")
        for verb in verbs(folder, place):
            with pytest.raises(BadInput, match=rf"{place} is a directory, not a memory; rename it"):
                verb()
    assert names(folder) == {"notes.md", "a.md/b.md", "plans/a.md/b.md"}
    assert folder.read("notes")[1] == "one"


def test_a_private_folder_is_so_all_the_way_down(tmp_path: Path) -> None:
    folder = MemoryFolder(tmp_path / "memories", private=True)
    folder.create("plans/2026/q3", "one")
    folder.move_to_trash("plans/2026/q3", NOW)
    made = [it for it in (tmp_path / "memories").rglob("*") if it.is_dir()]
    assert len(made) == 5
    assert all(it.stat().st_mode & 0o077 == 0 for it in made)


def test_a_tree_too_deep_to_follow_hinders_nothing(folder: MemoryFolder) -> None:
    folder.create("notes", "one")
    place = os.open(folder.directory, os.O_RDONLY)
    for _ in range(1_500):
        os.mkdir("d", dir_fd=place)
        place, above = os.open("d", os.O_RDONLY, dir_fd=place), place
        os.close(above)
    os.close(place)
    folder.create("plans/q3", "two")
    with pytest.raises(BadInput, match="did you mean"):
        folder.append("plans/Q3", "three")
    subprocess.run(["rm", "-rf", folder.directory / "d"], check=True)  # Python could not follow it either


def verbs(folder: MemoryFolder, name: str, other: str = "notes") -> list[Callable[[], object]]:
    """Everything that takes a name; the other one is that of a memory."""
    return [
        lambda: folder.read(name),
        lambda: folder.append(name, "intruder"),
        lambda: folder.replace(name, "intruder"),
        lambda: folder.create(name, "intruder"),
        lambda: folder.merge([name], "merged", "|".join, NOW),
        lambda: folder.merge([other], name, "|".join, NOW),
        lambda: folder.move_to_trash(name, NOW),
    ]


def test_no_link_on_the_way_is_followed(folder: MemoryFolder, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "plans").mkdir(parents=True)
    (outside / "plans" / "q3.md").write_text("secret")
    folder.create("notes", "one")
    (folder.directory / "plans").symlink_to(outside / "plans")
    (folder.directory / "deep").mkdir()
    (folder.directory / "deep" / "plans").symlink_to("../../../outside/plans")
    for name in ("plans/q3", "plans/new", "deep/plans/q3", "deep/plans/new/new"):
        for verb in verbs(folder, name):
            with pytest.raises(BadInput, match="links are not followed"):
                verb()
    assert [it.name for it in (outside / "plans").iterdir()] == ["q3.md"]
    assert (outside / "plans" / "q3.md").read_text() == "secret"
    assert names(folder) >= {"notes.md"}


def test_a_link_in_the_trash_is_not_followed(folder: MemoryFolder, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    folder.create("plans/q3", "one")
    (folder.directory / ".trash").mkdir()
    (folder.directory / ".trash" / "plans").symlink_to(tmp_path / "outside")
    with pytest.raises(BadInput, match="links are not followed"):
        folder.move_to_trash("plans/q3", NOW)
    assert folder.read("plans/q3")[1] == "one"
    assert not any((tmp_path / "outside").iterdir())


@contextmanager
def a_place_with_traps() -> Iterator[tuple[Path, MemoryFolder]]:
    """A folder of memories with links in it, and beside it what nobody may read or write through it."""
    with tempfile.TemporaryDirectory() as made:
        top = Path(made)
        (top / "out").mkdir()
        for it in ("a.md", "out/a.md", "out/.md", "memories.md"):
            (top / it).write_text("secret")
        folder = MemoryFolder(top / "memories", timeout_s=5)
        folder.create("notes", "mine")
        folder.create("b/a", "mine")
        for link, target in (
            ("out", "../out"),
            ("b/up", ".."),
            ("b/top", "../.."),
            ("abs", str(top)),
            ("c.md", "../a.md"),
        ):
            (folder.directory / link).symlink_to(target)
        yield top, folder


def outside(top: Path) -> dict[str, str]:
    inside = top / "memories"
    files = (it for it in top.rglob("*") if it.is_file() and inside not in it.parents)
    return {str(it.relative_to(top)): it.read_text() for it in files}


WAYS = st.sampled_from(
    ["out", "abs", "abs/out", "b/up", "b/up/out", "b/top", "b/top/out", "b", "new", "..", "b/..", "", "~"]
)
PART = st.sampled_from(
    ["a", "a.md", "b", "c", "out", "up", "abs", "..", ".", "", ".md", ".trash", "\\..", "memories", "new"]
)
NAME = st.tuples(WAYS, PART).map("/".join) | st.lists(PART, min_size=1, max_size=5).map("/".join)


@settings(max_examples=60, deadline=None)
@given(st.lists(NAME | st.text(alphabet="./ab\\\0~", min_size=1, max_size=8), min_size=1, max_size=3))
def test_nothing_outside_is_ever_read_or_written(asked: list[str]) -> None:
    with a_place_with_traps() as (top, folder):
        before = outside(top)
        for verb in (verb for name in asked for verb in verbs(folder, name)):
            with suppress(BadInput):
                assert "secret" not in str(verb())
        assert outside(top) == before
        real = (it for it in folder.directory.rglob("*") if it.is_file() and not it.is_symlink())
        assert not any("secret" in it.read_text() for it in real)
