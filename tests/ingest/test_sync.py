"""Flow 1 against a real directory and a real SQLite index."""

from __future__ import annotations

import json
import os
import shutil
import stat
from contextlib import AbstractContextManager
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dowse.config import Settings
from dowse.engine import Engine
from dowse.errors import BadInput, Unreadable
from dowse.ingest.chunk import ChunkLimits
from dowse.ingest.sources.files import FileSource
from dowse.ingest.sync import CollectionSync
from dowse.model import Item, Query
from dowse.tools.core_render import export_json
from oracle.dict_store import DictStore, DictTables
from support import OpenEngine, write

OLD = 1_600_000_000_000_000_000


def age(root: Path) -> None:
    """Files written this instant are read once more by the next sync, on purpose; these are not new any more."""
    for path in root.rglob("*"):
        os.utime(path, ns=(OLD, OLD), follow_symlinks=False)


def exported(engine: Engine) -> list[str]:
    return [json.dumps(export_json(stored)) for stored in engine.export()]


def test_a_second_sync_does_nothing(root: Path, open_engine: OpenEngine) -> None:
    write(root, {"a.md": "# A\n\ntext", "src/b.py": "def b():\n    pass\n"})
    age(root)
    engine = open_engine()
    first = engine.index([root])
    assert (first.listed, first.indexed, first.embedded) == (2, 2, 2)
    again = engine.index([root])
    assert (again.indexed, again.unchanged, again.embedded, again.reused) == (0, 2, 0, 0)


@pytest.mark.parametrize("files", [1000, 1234])
def test_no_transaction_holds_more_than_a_twentieth_of_the_files(root: Path, files: int) -> None:
    """So a kill loses no more than that, however quick the disk is."""
    write(root, {f"d{number % 7}/f{number}.md": f"# File {number}\n\ntext\n" for number in range(files)})
    batches: list[int] = []

    class Counted(DictTables):
        def batch(self, text_bytes: int = 0) -> AbstractContextManager[object]:
            batches.append(self.counts().records)
            return super().batch(text_bytes)

    store = DictStore(Counted())
    CollectionSync(FileSource(root), store, store.writer.add_collection(str(root)).name, ChunkLimits()).run()
    written = [after - before for before, after in pairwise([*batches, files])]
    assert len(batches) >= 20
    assert sum(written) == files and max(written) <= files / 20


def test_touched_but_same_is_not_chunked_again(root: Path, open_engine: OpenEngine) -> None:
    write(root, {"a.md": "# A\n\ntext"})
    engine = open_engine()
    engine.index([root])
    before = exported(engine)
    os.utime(root / "a.md", ns=(OLD, OLD))
    report = engine.index([root])
    assert (report.touched, report.indexed) == (1, 0)
    assert exported(engine) == before
    assert engine.search(Query("text")).hits[0].freshness == "fresh"


@pytest.mark.parametrize(("age_ns", "noticed"), [(1_000_000, True), (10**12, False)])
def test_a_file_read_right_after_it_was_written_is_read_once_more(root: Path, age_ns: int, noticed: bool) -> None:
    """It may have changed again under the same timestamp; a file that was quiet for a while can not have."""
    store = DictStore()
    collection = store.writer.add_collection(str(root)).name
    run = CollectionSync(FileSource(root), store, collection, ChunkLimits(), now_ns=lambda: OLD + age_ns).run
    for text in ("one one one", "two two two"):
        write(root, {"a.md": text})
        age(root)
        run()
    assert [it.chunk.text for it in store.catalog.export()] == ["two two two" if noticed else "one one one"]


def test_only_changed_chunks_are_encoded_again(root: Path, open_engine: OpenEngine) -> None:
    sections = {name: f"# {name}\n\n" + f"{name} words. " * 30 + "\n\n" for name in ("Alpha", "Beta", "Gamma")}
    write(root, {"a.md": "".join(sections.values())})
    engine = open_engine()
    assert engine.index([root]).embedded == 3
    write(root, {"a.md": "".join({**sections, "Beta": "# Beta\n\n" + "other words. " * 30 + "\n\n"}.values())})
    report = engine.index([root])
    assert (report.indexed, report.embedded, report.reused) == (1, 1, 0)


def test_the_vector_cache_is_shared_between_clones(tmp_path: Path) -> None:
    values = {"encoder": "hashing", "data_dir": tmp_path / "data"}
    for name, expected in (("one", (1, 0)), ("two", (0, 1))):
        write(tmp_path / name, {"a.md": "# Same\n\ncontent"})
        with Engine(Settings(**values), tmp_path / f"{name}.db", create=True) as engine:
            report = engine.index([tmp_path / name])
            assert (report.embedded, report.reused) == expected


def test_deleted_files_are_pruned_unless_asked_not_to(root: Path, open_engine: OpenEngine) -> None:
    write(root, {"a.md": "alpha", "b.md": "beta"})
    engine = open_engine()
    engine.index([root])
    (root / "b.md").unlink()
    assert engine.index([root], prune=False).deleted == 0
    assert engine.status().counts.records == 2
    answer = engine.search(Query("beta", recipe="lexical"))
    assert (answer.hits[0].freshness, answer.completeness.disk_freshness.pending) == ("gone", 0)
    assert engine.indexing.refresh("root", ["b.md"]).deleted == 0
    assert engine.index([root]).deleted == 1
    assert engine.status().counts.records == 1


def test_an_emptied_or_missing_root_deletes_nothing(root: Path, open_engine: OpenEngine) -> None:
    write(root, {"a.md": "alpha"})
    engine = open_engine()
    engine.index([root])
    (root / "a.md").unlink()
    report = engine.index([root])
    assert report.deleted == 0
    assert engine.search(Query("alpha", recipe="lexical")).hits[0].freshness == "gone"
    assert "kept" in report.notes[0] and "rebuild" in report.notes[0]
    with pytest.raises(BadInput, match="does not exist"):
        engine.index([root.with_name("rot")])
    root.rmdir()
    with pytest.raises(BadInput, match="does not exist"):
        engine.index([root])
    assert engine.status().counts.records == 1


def test_the_last_indexed_file_of_a_root_that_is_not_empty_is_pruned(root: Path, open_engine: OpenEngine) -> None:
    write(root, {"a.md": "alpha", "picture.png": "no text"})
    engine = open_engine()
    engine.index([root])
    (root / "a.md").unlink()
    assert engine.index([root]).deleted == 1


def test_an_index_inside_the_root_is_not_indexed(root: Path, tmp_path: Path) -> None:
    write(root, {"docs/a.md": "alpha"})
    values = Settings(encoder="none", data_dir=tmp_path / "data")
    with Engine(values, root / "docs" / "my [1].idx", create=True) as engine:
        assert engine.index([root]).listed == 1
        assert engine.index([root]).listed == 1
        assert engine.completeness().complete


def test_an_emptied_part_of_a_root_deletes_nothing(root: Path, open_engine: OpenEngine) -> None:
    write(root, {"docs/deep/a.md": "alpha", "b.md": "beta"})
    engine = open_engine()
    engine.index([root])
    (root / "docs/deep/a.md").unlink()
    report = engine.index([root / "docs"])
    assert report.deleted == 0 and "kept" in report.notes[0]
    assert engine.index([root]).deleted == 1


def test_a_part_says_nothing_of_the_whole(root: Path, open_engine: OpenEngine) -> None:
    write(root, {f"{number}.md": "text" for number in range(5)} | {"sub/a.md": "text"})
    engine = open_engine()
    engine.index([root / "sub" / "a.md"])
    assert not engine.completeness().complete
    engine.index([root])
    engine.index([root / "sub"])
    assert engine.completeness().complete


def test_an_inner_root_that_is_gone_does_not_stop_the_outer_one(root: Path, open_engine: OpenEngine) -> None:
    write(root, {"docs/a.md": "alpha", "b.md": "beta"})
    engine = open_engine()
    engine.index([root / "docs"])
    shutil.rmtree(root / "docs")
    report = engine.index([root])
    assert report.indexed == 1 and "is missing" in report.notes[0]


def test_what_can_not_be_read_just_now_is_kept(root: Path) -> None:
    class Failing(FileSource):
        def read(self, item: Item) -> tuple[Item, bytes]:
            raise Unreadable("Input/output error", lasting=False)

    write(root, {"a.md": "alpha"})
    store = DictStore()
    name = store.writer.add_collection(str(root)).name
    CollectionSync(FileSource(root), store, name, ChunkLimits()).run()
    write(root, {"a.md": "alpha beta"})
    CollectionSync(Failing(root), store, name, ChunkLimits()).run()
    assert [it.chunk.text for it in store.catalog.export()] == ["alpha"]
    assert [it.reason for it in store.catalog.skipped_items()] == ["Input/output error"]
    CollectionSync(FileSource(root), store, name, ChunkLimits()).run()
    assert [it.chunk.text for it in store.catalog.export()] == ["alpha beta"]
    assert store.catalog.skipped_items() == []


def test_a_changed_trail_is_noticed_where_the_text_is_the_same(root: Path, open_engine: OpenEngine) -> None:
    body = "word " * 40
    write(root, {"a.md": f"---\ntitle: A\n---\n# A\n\n{body}\n\n## B\n\n{body}\n"})
    engine = open_engine()
    engine.index([root])
    write(root, {"a.md": f"---\ntitle: A\n---\n{body}\n\n## B\n\n{body}\n"})
    engine.index([root])
    assert [it.chunk.trail for it in engine.export()] == [(), ("B",)]


def test_a_second_root_never_removes_the_first(tmp_path: Path, open_engine: OpenEngine) -> None:
    for name in ("one", "two"):
        write(tmp_path / name, {"same.md": f"text of {name}"})
    engine = open_engine()
    engine.index([tmp_path / "one"])
    report = engine.index([tmp_path / "two"])
    assert report.deleted == 0
    assert [it.name for it in engine.status().collections] == ["one", "two"]
    assert len(engine.search(Query("text", recipe="lexical")).hits) == 2


def test_a_place_inside_a_root_belongs_to_it(root: Path, open_engine: OpenEngine) -> None:
    write(root, {"docs/a.md": "alpha", "b.md": "beta"})
    engine = open_engine()
    engine.index([root])
    (root / "docs" / "a.md").unlink()
    (root / "b.md").unlink()
    write(root, {"docs/c.md": "gamma"})
    report = engine.index([root / "docs"])
    assert (report.indexed, report.deleted) == (1, 1)
    assert {it.record.path for it in engine.export()} == {"b.md", "docs/c.md"}
    assert len(engine.status().collections) == 1


def test_a_root_around_an_indexed_one_leaves_it_its_files(root: Path, open_engine: OpenEngine) -> None:
    write(root, {"docs/a.md": "alpha", "b.md": "beta"})
    engine = open_engine()
    engine.index([root / "docs"])
    engine.index([root])
    write(root, {"docs/a.md": "alpha again"})
    assert engine.index([root]).indexed == 1
    assert sorted((it.record.collection, it.record.path) for it in engine.export()) == [
        ("docs", "a.md"),
        (root.name, "b.md"),
    ]


def test_a_lone_file_is_indexed_into_its_directory(root: Path, open_engine: OpenEngine) -> None:
    write(root, {"a.md": "alpha", "b.md": "beta"})
    engine = open_engine()
    report = engine.index([root / "a.md"])
    assert report.indexed == 1
    sentence = engine.completeness().sentence(0)
    assert sentence == f"0 hits; 1 of 1 files indexed; {root.name}: only partly indexed so far"
    engine.index([root / "b.md"])
    assert engine.completeness().indexed == 2
    engine.index([root])
    assert engine.completeness().complete
    (root / "b.md").unlink()
    engine.index([root])
    assert [it.record.path for it in engine.export()] == ["a.md"]


def test_a_changed_chunker_chunks_everything_again(root: Path, open_engine: OpenEngine) -> None:
    write(root, {"a.md": "# A\n\n" + "word " * 300})
    age(root)
    open_engine().index([root])
    engine = open_engine(max_chunk_chars=200)
    assert engine.index([root]).indexed == 1
    assert max(len(it.chunk.text) for it in engine.export()) <= 200


def test_force_reads_everything_again_and_changes_nothing(root: Path, open_engine: OpenEngine) -> None:
    write(root, {"a.md": "# A\n\nalpha", "b.txt": "beta"})
    age(root)
    engine = open_engine()
    engine.index([root])
    before = exported(engine)
    report = engine.index([root], force=True)
    assert (report.indexed, report.embedded) == (2, 0)
    assert exported(engine) == before


def test_bad_files_are_listed_and_the_run_goes_on(root: Path, open_engine: OpenEngine) -> None:
    write(root, {"good.md": "# Good\n\nfine", "bomb.md": "---\na: &a [x]\nb: [*a, *a]\n---\n\nbody survives\n"})
    (root / "nul.txt").write_bytes(b"a\0b")
    (root / "latin.txt").write_bytes(b"caf\xe9 is not UTF-8")
    (root / "long.txt").write_bytes(b"x" * 5_000)
    os.mkfifo(root / "pipe.md")
    (root / "loop").symlink_to(root)
    (root / "outside.md").symlink_to("/etc/hostname")
    engine = open_engine(max_file_bytes=4_000)
    report = engine.index([root])
    assert report.indexed == 3
    skipped = {it.path: it.reason for it in engine.status().skipped}
    assert set(skipped) == {"nul.txt", "long.txt", "pipe.md", "outside.md"}
    assert "binary" in skipped["nul.txt"]
    assert "max_file_bytes" in skipped["long.txt"]
    assert engine.search(Query("survives", recipe="lexical")).hits
    again = engine.index([root])
    assert (again.indexed, again.skipped) == (0, 4)


def test_a_skipped_file_that_is_mended_is_indexed(root: Path, open_engine: OpenEngine) -> None:
    (root / "a.txt").write_bytes(b"a\0b")
    engine = open_engine()
    engine.index([root])
    assert len(engine.status().skipped) == 1
    (root / "a.txt").write_text("mended text")
    engine.index([root])
    assert engine.status().skipped == ()
    (root / "a.txt").write_bytes(b"a\0b")
    engine.index([root])
    assert engine.status().counts.records == 0
    (root / "a.txt").unlink()
    (root / "b.txt").write_text("so that the root is not empty")
    engine.index([root])
    assert engine.status().skipped == ()


def test_the_index_is_private_to_the_user(root: Path, open_engine: OpenEngine) -> None:
    write(root, {"a.md": "secret"})
    engine = open_engine()
    engine.index([root])
    assert stat.S_IMODE(engine.index_path.stat().st_mode) & 0o077 == 0


NAMES = ["a.md", "b.md", "docs/c.md", "docs/d.txt", "src/e.py"]
BODIES = [
    "# One\n\nalpha",
    "# One\n\nalpha\n\n## Two\n\nbeta " * 5,
    "",
    "plain gamma",
    "---\ntags: [x]\n---\n# T\n[[a]]",
]
edits = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.sampled_from(NAMES), st.sampled_from(BODIES)),
        st.tuples(st.just("delete"), st.sampled_from(NAMES), st.just("")),
        st.tuples(st.just("sync"), st.just(""), st.just("")),
    ),
    max_size=12,
)


@settings(max_examples=25)
@given(edits=edits)
def test_any_edits_and_a_sync_give_what_a_fresh_index_gives(
    tmp_path_factory: pytest.TempPathFactory, edits: list[tuple[str, str, str]]
) -> None:
    folder = tmp_path_factory.mktemp("edits")
    root = folder / "root"
    write(root, {"always.md": "here"})
    values = {"encoder": "hashing", "data_dir": folder / "data", "min_chunk_chars": 5}
    with Engine(Settings(**values), folder / "kept.db", create=True) as kept:
        for action, name, body in edits:
            if action == "write":
                write(root, {name: body})
            elif action == "delete":
                (root / name).unlink(missing_ok=True)
            else:
                kept.index([root])
        kept.index([root])
        with Engine(Settings(**values), folder / "fresh.db", create=True) as fresh:
            fresh.index([root])
            assert exported(kept) == exported(fresh)
            assert kept.status().counts == fresh.status().counts
            query = Query("alpha beta gamma")
            answers = [
                [(it.stored.chunk_id, round(it.score, 9)) for it in engine.search(query).hits]
                for engine in (kept, fresh)
            ]
            assert sorted(answers[0]) == sorted(answers[1])
