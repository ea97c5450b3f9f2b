"""Vectors are made while others write: by one process at a time, cut off at any moment, and complete in the end."""

from __future__ import annotations

import multiprocessing
import random
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from dowse.config import Settings
from dowse.encoders.static import HashingEncoder
from dowse.engine import Engine
from dowse.engine.semantics import IndexEncoders
from dowse.errors import Cancelled
from dowse.ingest.embed import UpgradeEncoders, VectorUpgrade
from dowse.paths import DataPaths
from dowse.store.types import ACTIVE_ENCODER_KEY, NEXT_ENCODER_KEY
from support import OpenEngine, write

SECONDS = 8.0
FILES = 60


def text(rng: random.Random) -> str:
    return f"# Note {rng.getrandbits(32)}\n\n{' '.join(f'word{rng.randrange(500)}' for _ in range(80))}\n"


@pytest.fixture
def filled(root: Path) -> Path:
    rng = random.Random(5)
    write(root, {f"{number}.md": text(rng) for number in range(FILES)})
    return root


def engine_at(index: Path, data: Path, encoder: str = "hashing") -> Engine:
    return Engine(Settings(encoder=encoder, data_dir=data, lock_timeout_s=60.0), index, create=True)


def change_and_sync(index: Path, data: Path, root: Path) -> None:
    rng = random.Random(6)
    ends = time.monotonic() + SECONDS
    with engine_at(index, data) as engine:
        while time.monotonic() < ends:
            write(root, {f"{rng.randrange(FILES * 2)}.md": text(rng) for _ in range(5)})
            for path in rng.sample(sorted(root.glob("*.md")), 2):
                path.unlink()
            engine.index([root], vectors=False)


def encode_all_the_time(index: Path, data: Path) -> None:
    """Switching between two encoders, so that both indexes of vectors are filled under the changes."""
    ends, turn = time.monotonic() + SECONDS, 0
    while time.monotonic() < ends:
        turn += 1
        with engine_at(index, data, "static" if turn % 2 else "hashing") as engine:
            engine.indexing.encode(switch=True)


def vectors_of(engine: Engine) -> dict[tuple[str, int], bytes]:
    stored = list(engine.export())
    found = engine._core.store.vectors.vectors([it.key for it in stored])
    assert len(found) == len(stored)
    return {(it.record.path, it.chunk.ordinal): np.round(found[it.key], 2).tobytes() for it in stored}


def test_writing_and_encoding_at_the_same_time_end_up_as_a_fresh_index(filled: Path, tmp_path: Path) -> None:
    index, data = tmp_path / "i.db", tmp_path / "data"
    engine_at(index, data).close()
    context = multiprocessing.get_context("spawn")
    processes = [
        context.Process(target=change_and_sync, args=(index, data, filled)),
        context.Process(target=encode_all_the_time, args=(index, data)),
        context.Process(target=encode_all_the_time, args=(index, data)),
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)
    assert [process.exitcode for process in processes] == [0, 0, 0]
    with engine_at(index, data) as engine, engine_at(tmp_path / "fresh.db", tmp_path / "other") as fresh:
        assert engine.index([filled], vectors=False).notes == []
        assert engine.indexing.encode(switch=True).notes == []
        fresh.index([filled])
        assert NEXT_ENCODER_KEY not in engine._core.store.catalog.metadata()
        assert vectors_of(engine) == vectors_of(fresh)
        assert [it.chunk for it in engine.export()] == [it.chunk for it in fresh.export()]


def test_words_can_be_written_while_another_process_encodes(open_engine: OpenEngine, filled: Path) -> None:
    one, other = open_engine(), open_engine(lock_timeout_s=0.2)
    one.index([filled], vectors=False)
    synced: list[int] = []

    def meanwhile(stage: str, done: int, total: int) -> None:
        if len(synced) < 3:
            write(filled, {f"new{len(synced)}.md": f"# New {len(synced)}\n\nalpha\n"})
            synced.append(other.index([filled], vectors=False).indexed)

    report = one.indexing.encode(progress=meanwhile)
    assert synced == [1, 1, 1]
    assert report.embedded == FILES + 3  # those that came meanwhile, too
    assert one.status().counts.vectors == FILES + 3


def test_where_another_process_makes_them_it_says_so(open_engine: OpenEngine, filled: Path) -> None:
    one, other = open_engine(), open_engine(lock_timeout_s=0.1)
    note = "another process is encoding vectors; `dowse status` shows its progress"
    with one._core.store.encoding(1.0):
        assert other.index([filled]).notes == [note]
        assert other.indexing.encode().notes == [note]
        assert other.status().counts.chunks == FILES
    assert other.indexing.encode().embedded == FILES


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("dowse.encoders.base.BATCH_CHARS", 2_000)
    yield


@pytest.mark.usefixtures("small_batches")
def test_cancelled_it_keeps_what_it_has_and_lets_others_go_on(open_engine: OpenEngine, filled: Path) -> None:
    engine = open_engine()
    engine.index([filled], vectors=False)

    def cancel(stage: str, done: int, total: int) -> None:
        if done > 10:
            raise Cancelled("enough")

    with pytest.raises(Cancelled):
        engine.indexing.encode(progress=cancel)
    kept = engine.status().counts.vectors
    assert 10 < kept < FILES
    assert open_engine().indexing.encode().embedded == FILES - kept


@pytest.mark.usefixtures("small_batches")
def test_another_choice_of_encoder_meanwhile_ends_it_with_a_note(open_engine: OpenEngine, filled: Path) -> None:
    engine = open_engine()
    engine.index([filled])
    store = engine._core.store
    wanted, chosen = HashingEncoder(64), HashingEncoder(96)

    def choose(stage: str, done: int, total: int) -> None:
        store.vectors.prepare_vectors(chosen.fingerprint)

    semantics = IndexEncoders("hashing", DataPaths.of(engine.settings), store)
    work = VectorUpgrade(store, semantics._cache, choose, lambda: False)
    filling = work.run(UpgradeEncoders(wanted, None, lambda fingerprint: None))
    (note,) = filling.notes
    assert filling.encoded < FILES / 2  # it does not go on for nothing
    assert note.startswith("encoding stopped: another process is encoding with hash-96:1")
    made = store.catalog.metadata()
    assert (made[ACTIVE_ENCODER_KEY], made[NEXT_ENCODER_KEY]) == (HashingEncoder().fingerprint, chosen.fingerprint)
    keys = [it.key for it in store.vectors.chunks_without_vector(chosen.fingerprint)]
    store.vectors.put_vectors(keys, np.ones((len(keys), 96), dtype=np.float32), chosen.fingerprint)
    assert not store.vectors.switch_vectors(wanted.fingerprint)
    assert store.catalog.metadata()[NEXT_ENCODER_KEY] == chosen.fingerprint
    assert store.vectors.switch_vectors(chosen.fingerprint)


@pytest.mark.usefixtures("small_batches")
def test_a_chunk_that_comes_at_the_last_moment_is_there_before_the_switch(
    open_engine: OpenEngine, filled: Path
) -> None:
    engine, other = open_engine(), open_engine()
    engine.index([filled])
    store, switch, came = engine._core.store, engine._core.store.vectors.switch_vectors, []

    def late(encoder_fingerprint: str | None = None) -> bool:
        if not came:
            write(filled, {"late.md": "# Late\n\nalpha\n"})
            came.append(other.index([filled], vectors=False).indexed)
        return switch(encoder_fingerprint)

    store.vectors.switch_vectors = late  # type: ignore[method-assign]
    semantics = IndexEncoders("hashing", DataPaths.of(engine.settings), store)
    work = VectorUpgrade(store, semantics._cache, lambda *_: None, lambda: False)
    assert work.run(UpgradeEncoders(HashingEncoder(64), None, lambda fingerprint: None)).encoded == FILES + 1
    assert came == [1]
    assert store.catalog.metadata()[ACTIVE_ENCODER_KEY] == "hash-64:1" and store.catalog.counts().vectors == FILES + 1
