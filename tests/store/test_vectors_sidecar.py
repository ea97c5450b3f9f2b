"""The sidecar file: whatever is wrong with it, answers stay right; several processes share it."""

from __future__ import annotations

import logging
import multiprocessing
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from damaging import flip, of_format
from test_vectors import Matrix, add, clustered, held_rows, keys_of, replace_vectors

from dowse.model import Scope
from dowse.store.sqlite import SqliteStore
from dowse.store.sqlite import vector_math as coded
from dowse.store.sqlite import vector_math as sidecar
from dowse.store.sqlite.vector_math import CodedRows
from dowse.store.sqlite.vectors import vector_sidecar_path

COUNT = 60
QUERY = clustered(1, seed=9)


def make(path: Path, matrix: Matrix) -> list[int]:
    """An index with its sidecar, closed again."""
    store = SqliteStore(path, exact_up_to=10)
    store.writer.add_collection("/work/notes")
    with store.writing(1.0):
        keys = add(store, "a.md", matrix)
    store.maintenance.checkpoint()
    store.close()
    assert sidecar.open_vector_sidecar(vector_sidecar_path(path)) is not None
    return keys


def near(path: Path, limit: int = 200) -> list[int]:
    store = SqliteStore(path, create=False, exact_up_to=10)
    try:
        return keys_of(store.vectors.near(QUERY[0], Scope(), limit))
    finally:
        store.close()


def prepare(path: Path) -> list[int]:
    store = SqliteStore(path, create=False, exact_up_to=10)
    try:
        with store.writing(30.0):
            pass
        return keys_of(store.vectors.near(QUERY[0], Scope(), 200))
    finally:
        store.close()


def exact(path: Path, limit: int = 200) -> list[int]:
    store = SqliteStore(path, create=False, exact_up_to=10**6)
    try:
        rows = store.vectors.vectors([it.key for it in store.catalog.export()])
        cosines = {key: float(row @ QUERY[0] / np.linalg.norm(row)) for key, row in rows.items()}
        return sorted(cosines, key=lambda key: (-cosines[key], key))[:limit]
    finally:
        store.close()


def loud(file: Path) -> None:
    """Every row of vectors is another one now."""
    content = bytearray(file.read_bytes())
    rows = np.frombuffer(content, dtype=np.float16, count=COUNT * 100, offset=4_096)
    rows[:] = np.float16(2.0)
    file.write_bytes(content)


DAMAGES = {
    "empty": lambda file: file.write_bytes(b""),
    "short": lambda file: file.write_bytes(file.read_bytes()[:30]),
    "truncated": lambda file: file.write_bytes(file.read_bytes()[:-1]),
    "longer": lambda file: file.write_bytes(file.read_bytes() + b"x"),
    "not ours": lambda file: file.write_bytes(b"something else entirely" * 1_000),
    "magic": flip(lambda size: 0),
    "format": flip(lambda size: 8),
    "epoch": flip(lambda size: 24),
    "seal": flip(lambda size: 44),
    "keys": flip(lambda size: 4_096 + COUNT * 200 + 3),
    "lengths": flip(lambda size: size - 1),
    "rows": loud,
    "a directory": lambda file: (file.unlink(), file.mkdir()),
}


@pytest.mark.parametrize("what", DAMAGES)
def test_a_damaged_file_is_noticed_and_made_anew(tmp_path: Path, what: str) -> None:
    path = tmp_path / "i.db"
    make(path, clustered(COUNT))
    DAMAGES[what](vector_sidecar_path(path))
    before = vector_sidecar_path(path).is_file() and vector_sidecar_path(path).read_bytes()
    store = SqliteStore(path, create=False, exact_up_to=10)
    assert keys_of(store.vectors.near(QUERY[0], Scope(), 200)) == exact(path)
    assert (
        vector_sidecar_path(path).is_file() and vector_sidecar_path(path).read_bytes()
    ) == before  # asking writes nothing
    with store.writing(1.0):
        pass
    store.close()
    if what != "a directory":
        assert sidecar.open_vector_sidecar(vector_sidecar_path(path)) is not None
        assert vector_sidecar_path(path).read_bytes() != before
    assert near(path) == exact(path)


@pytest.mark.parametrize("number", [0, 1, 3, 2**32 - 1])
def test_a_file_of_another_version_is_replaced_without_a_word_of_damage(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, number: int
) -> None:
    path = tmp_path / "i.db"
    make(path, clustered(COUNT))
    before = of_format(vector_sidecar_path(path), number)
    assert sidecar.open_vector_sidecar(vector_sidecar_path(path)) is None
    with open(vector_sidecar_path(path), "rb") as theirs, caplog.at_level(logging.INFO):
        assert near(path) == exact(path)
        assert vector_sidecar_path(path).read_bytes() == before  # asking writes nothing
        assert prepare(path) == exact(path)
        assert theirs.read() == before  # whoever has it open goes on with it
    assert sidecar.open_vector_sidecar(vector_sidecar_path(path)) is not None
    assert [it.name for it in tmp_path.iterdir() if "damaged" in it.name] == []
    assert caplog.messages == []


def test_a_file_of_another_version_is_dropped_where_few_vectors_are_left(tmp_path: Path) -> None:
    path = tmp_path / "i.db"
    make(path, clustered(COUNT))
    of_format(vector_sidecar_path(path), 1)
    store = SqliteStore(path, create=False, exact_up_to=COUNT)
    with store.writing(1.0):
        pass
    store.close()
    assert [it.name for it in tmp_path.iterdir() if "-vectors" in it.name and not it.name.endswith(".lock")] == []


@pytest.mark.parametrize("what", ["short", "format", "seal", "not ours"])
def test_a_damaged_file_is_set_aside_and_told_of(tmp_path: Path, caplog: pytest.LogCaptureFixture, what: str) -> None:
    """A format that another version might have, under a seal that is not of it, is damage."""
    path = tmp_path / "i.db"
    make(path, clustered(COUNT))
    DAMAGES[what](vector_sidecar_path(path))
    before = vector_sidecar_path(path).read_bytes()
    prepare(path)
    assert (tmp_path / "i.db-vectors.damaged").read_bytes() == before
    assert "was damaged" in caplog.text


def test_few_vectors_are_answered_without_making_bits_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever file lies there that nobody can use."""
    path = tmp_path / "i.db"
    make(path, clustered(COUNT))
    of_format(vector_sidecar_path(path), 1)
    made: list[object] = []
    monkeypatch.setattr(coded, "encode_signs", made.append)
    store = SqliteStore(path, create=False, exact_up_to=COUNT)
    assert keys_of(store.vectors.near(QUERY[0], Scope(), 200)) == exact(path)
    store.close()
    assert made == []


def test_damage_while_it_is_in_use_is_noticed_in_what_is_found(tmp_path: Path) -> None:
    path = tmp_path / "i.db"
    make(path, clustered(COUNT))
    store = SqliteStore(path, exact_up_to=10)
    assert len(store.vectors.near(QUERY[0], Scope(), 5)) == 5
    with open(vector_sidecar_path(path), "r+b") as file:
        file.seek(4_096)
        file.write(np.full((COUNT, 100), 3.0, dtype=np.float16).tobytes())
    assert keys_of(store.vectors.near(QUERY[0], Scope(), 5)) == exact(path, 5)
    store.close()


def test_the_file_of_another_index_is_not_believed(tmp_path: Path) -> None:
    make(tmp_path / "one.db", clustered(COUNT))
    make(tmp_path / "two.db", clustered(COUNT, seed=2))
    shutil.copy(vector_sidecar_path(tmp_path / "one.db"), vector_sidecar_path(tmp_path / "two.db"))
    assert near(tmp_path / "two.db") == exact(tmp_path / "two.db")


def test_the_file_of_a_later_time_is_not_believed(tmp_path: Path) -> None:
    """An older copy of the index is put back and goes another way: keys mean other chunks then."""
    path, copy = tmp_path / "i.db", tmp_path / "copy.db"
    make(path, clustered(COUNT))
    shutil.copy(path, copy)
    for seed, source in ((3, path), (4, copy)):
        store = SqliteStore(source, exact_up_to=10)
        with store.writing(1.0):
            add(store, "b.md", clustered(30, seed=seed))
            add(store, "c.md", QUERY if source == path else -QUERY)
        store.maintenance.checkpoint()
        store.close()
    copy.replace(path)
    assert near(path) == exact(path)


def test_a_stale_file_is_followed_by_the_log(tmp_path: Path) -> None:
    path = tmp_path / "i.db"
    make(path, clustered(COUNT))
    before = vector_sidecar_path(path).read_bytes()
    store = SqliteStore(path, exact_up_to=10)
    (key,) = add(store, "b.md", QUERY)
    store.close()
    assert near(path)[0] == key
    assert vector_sidecar_path(path).read_bytes() == before


def test_what_a_killed_builder_left_is_no_obstacle(tmp_path: Path) -> None:
    path = tmp_path / "i.db"
    make(path, clustered(COUNT))
    vector_sidecar_path(path).unlink()
    left = tmp_path / "i.db-vectors.new"
    left.write_bytes(b"half")
    prepare(path)
    assert near(path) == exact(path)
    assert not left.exists() and vector_sidecar_path(path).exists()


def test_a_full_disk_fails_no_query(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "i.db"
    make(path, clustered(COUNT))
    vector_sidecar_path(path).unlink()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    store = SqliteStore(path, exact_up_to=10)
    assert keys_of(store.vectors.near(QUERY[0], Scope(), 200)) == exact(path)
    assert isinstance(held_rows(store), CodedRows)
    with store.writing(1.0):
        (key,) = add(store, "b.md", QUERY)
    assert keys_of(store.vectors.near(QUERY[0], Scope(), 1)) == [key]
    with store.writing(1.0):
        add(store, "c.md", clustered(40, seed=3))
    assert keys_of(store.vectors.near(QUERY[0], Scope(), 200)) == exact(path)
    store.close()
    assert [it.name for it in tmp_path.iterdir() if it.name.endswith((".new", "-vectors"))] == []


@pytest.mark.skipif(os.geteuid() != 0, reason="dropping privileges needs root")
@pytest.mark.parametrize("state", ["missing", "damaged", "whole"])
def test_a_directory_that_may_not_be_written_to(public_path: Path, state: str) -> None:
    made, folder = public_path / "i.db", public_path / "locked"
    make(made, clustered(COUNT))
    if state == "damaged":
        loud(vector_sidecar_path(made))
    folder.mkdir()
    for file in [made, *([] if state == "missing" else [vector_sidecar_path(made)])]:
        Path(shutil.copy(file, folder)).chmod(0o644)
    folder.chmod(0o555)
    names = sorted(it.name for it in folder.iterdir())
    process = multiprocessing.get_context("spawn").Process(target=_ask_as_nobody, args=(folder / "i.db", made))
    process.start()
    process.join()
    assert process.exitcode == 0
    assert sorted(it.name for it in folder.iterdir()) == names


def _ask_as_nobody(path: Path, other: Path) -> None:
    expected = near(other)  # imports what is needed while that may still be read
    os.setuid(65_534)
    assert near(path) == expected == exact(path)


def test_a_reading_process_follows_a_writing_one(tmp_path: Path) -> None:
    path = tmp_path / "i.db"
    make(path, clustered(COUNT))
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    reader = context.Process(target=_serve, args=(path, theirs))
    reader.start()
    writer = SqliteStore(path, exact_up_to=10)
    try:
        for step in range(6):
            if step == 3:
                replace_vectors(writer, "another", clustered(200, seed=40))
            if step == 5:
                writer.writer.drop("notes", ["a.md", "0.md"])
            add(writer, f"{step}.md", clustered(6, seed=step))
            ours.send("ask")
            assert ours.recv() == exact(path)
    finally:
        ours.send("stop")
        reader.join()
        writer.close()
    assert reader.exitcode == 0


def _serve(path: Path, pipe: multiprocessing.connection.Connection) -> None:
    store = SqliteStore(path, create=False, exact_up_to=10)
    while pipe.recv() != "stop":
        pipe.send(keys_of(store.vectors.near(QUERY[0], Scope(), 200)))
    store.close()


def test_processes_that_build_at_the_same_time(tmp_path: Path) -> None:
    path = tmp_path / "i.db"
    make(path, clustered(COUNT))
    vector_sidecar_path(path).unlink()
    context = multiprocessing.get_context("spawn")
    with context.Pool(3) as pool:
        answers = pool.map(prepare, [path] * 6)
        pool.close()
        pool.join()
    assert answers == [exact(path)] * 6
    assert sidecar.open_vector_sidecar(vector_sidecar_path(path)) is not None
    assert not (tmp_path / "i.db-vectors.new").exists()
