"""Some paths of a collection are brought in line with the disk; everything else stays as it was."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dowse.config import Settings
from dowse.engine import Engine
from dowse.errors import BadInput, Cancelled, IndexBusy
from dowse.model import SyncReport
from dowse.store.sqlite.locks import write_lock
from support import OpenEngine, write


def indexed(engine: Engine) -> dict[str, str]:
    return {stored.record.path: stored.chunk.text for stored in engine.export()}


@pytest.fixture
def engine(root: Path, open_engine: OpenEngine) -> Engine:
    write(
        root, {"a.md": "alpha", "b.md": "beta", "docs/c.md": "gamma", "docs/deep/d.md": "delta", ".gitignore": "out/"}
    )
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    engine = open_engine()
    engine.index([root])
    return engine


def test_new_changed_and_deleted_files(root: Path, engine: Engine) -> None:
    before = indexed(engine)
    write(root, {"a.md": "alpha again", "docs/new.md": "epsilon", "b.md": "not asked for"})
    (root / "docs/c.md").unlink()
    report = engine.indexing.refresh("root", ["a.md", "docs/new.md", "docs/c.md"])
    assert (report.indexed, report.deleted, report.embedded) == (2, 1, 0)
    expected = before | {"a.md": "alpha again", "docs/new.md": "epsilon"}
    del expected["docs/c.md"]
    assert indexed(engine) == expected


def test_directories_stand_for_all_that_is_below(root: Path, engine: Engine) -> None:
    shutil.rmtree(root / "docs")
    write(root, {"notes/x.md": "chi", "notes/deep/y.md": "psi"})
    report = engine.indexing.refresh("root", ["docs", "notes/"])
    assert (report.indexed, report.deleted) == (2, 2)
    assert sorted(indexed(engine)) == [".gitignore", "a.md", "b.md", "notes/deep/y.md", "notes/x.md"]


def test_an_emptied_directory_is_emptied_in_the_index(root: Path, engine: Engine) -> None:
    (root / "docs/deep/d.md").unlink()
    assert engine.indexing.refresh("root", ["docs/deep"]).deleted == 1


def test_a_file_takes_the_place_of_a_directory(root: Path, engine: Engine) -> None:
    shutil.rmtree(root / "docs")
    write(root, {"docs": "now a file"})
    engine.indexing.refresh("root", ["docs"])
    assert indexed(engine)["docs"] == "now a file" and "docs/c.md" not in indexed(engine)


def test_what_is_ignored_stays_out_and_what_became_ignored_goes(root: Path, engine: Engine) -> None:
    write(root, {"out/x.md": "ignored"})
    assert engine.indexing.refresh("root", ["out/x.md"]).indexed == 0
    write(root, {".gitignore": "out/\nb.md\n"})
    assert engine.indexing.refresh("root", ["b.md"]).deleted == 1


def test_an_empty_root_keeps_what_is_indexed(root: Path, engine: Engine) -> None:
    shutil.rmtree(root)
    root.mkdir()
    report = engine.indexing.refresh("root", ["a.md", "docs"])
    assert report.deleted == 0 and "kept" in report.notes[0]
    root.rmdir()
    with pytest.raises(BadInput, match="does not exist"):
        engine.indexing.refresh("root", ["a.md"])
    assert len(indexed(engine)) == 5


@pytest.mark.parametrize("path", ["..", "../x.md", "/etc/passwd", "", ".", "docs/../../x", "a\0b", "docs//c.md"])
def test_paths_that_lead_out_are_refused(engine: Engine, path: str) -> None:
    with pytest.raises(BadInput, match="inside"):
        engine.indexing.refresh("root", ["a.md", path])


def test_no_paths_are_no_work_and_an_unknown_collection_is_said(engine: Engine) -> None:
    assert engine.indexing.refresh("root", []) == SyncReport()
    with pytest.raises(BadInput, match="status"):
        engine.indexing.refresh("nowhere", ["a.md"])


def test_a_name_that_is_not_utf8_drops_nothing(root: Path, engine: Engine) -> None:
    before = indexed(engine)
    (root / os.fsdecode(b"\xff.md")).write_text("text")
    report = engine.indexing.refresh("root", [os.fsdecode(b"\xff.md"), os.fsdecode(b"\xfe.md")])
    assert (report.skipped, report.deleted) == (1, 0)
    assert indexed(engine) == before


def test_a_link_is_not_followed(root: Path, tmp_path: Path, engine: Engine) -> None:
    write(tmp_path, {"secret/x.md": "secret"})
    (root / "link").symlink_to(tmp_path / "secret")
    assert engine.indexing.refresh("root", ["link/x.md"]).indexed == 0
    assert engine.indexing.refresh("root", ["link"]).skipped == 1


def test_it_waits_for_the_lock_no_longer_than_told(root: Path, engine: Engine) -> None:
    write(root, {"a.md": "alpha again"})
    with write_lock(engine.index_path, 1), pytest.raises(IndexBusy):
        engine.indexing.refresh("root", ["a.md"], timeout_s=0.0)
    assert engine.indexing.refresh("root", ["a.md"], timeout_s=1.0).indexed == 1


def test_what_a_run_that_was_cut_short_has_counted_is_not_counted_twice(root: Path, engine: Engine) -> None:
    write(root, {"new/x.md": "chi", "new/y.md": "psi"})

    def stop(stage: str, done: int, total: int) -> None:
        raise Cancelled("enough")

    with pytest.raises(Cancelled):
        engine.index([root], progress=stop)
    assert engine.completeness().listed == 7
    engine.indexing.refresh("root", ["new/x.md"])
    assert engine.completeness().listed == 7
    engine.indexing.refresh("root", ["new/y.md"])
    assert (engine.completeness().indexed, engine.completeness().listed) == (7, 7)
    write(root, {"new/z.md": "omega"})
    engine.indexing.refresh("root", ["new/z.md", "new/x.md"])
    assert (engine.completeness().indexed, engine.completeness().listed) == (8, 8)


def test_counts_of_the_whole_follow(root: Path, engine: Engine) -> None:
    write(root, {"new.md": "epsilon"})
    (root / "b.md").unlink()
    shutil.rmtree(root / "docs")
    engine.indexing.refresh("root", ["new.md", "b.md", "docs"])
    completeness = engine.completeness()
    assert (completeness.indexed, completeness.listed) == (3, 3)


FILES = st.dictionaries(
    st.sampled_from(["a.md", "b.md", "d/a.md", "d/e/f.md", "d/x.txt"]), st.text("abc \n", max_size=9)
)


@settings(max_examples=25)
@given(before=FILES, after=FILES)
def test_refreshing_what_changed_is_a_sync(
    before: dict[str, str], after: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    place = tmp_path_factory.mktemp("refresh")
    root = place / "root"
    write(root, {**before, "stays.md": "here"})
    values = Settings(encoder="none", data_dir=place / "data")
    with (
        Engine(values, place / "one.db", create=True) as engine,
        Engine(values, place / "two.db", create=True) as other,
    ):
        engine.index([root])
        shutil.rmtree(root)
        write(root, {**after, "stays.md": "here"})
        engine.indexing.refresh("root", sorted({*before, *after}))
        other.index([root])
        assert indexed(engine) == indexed(other)
        assert engine.completeness().listed == other.completeness().listed
