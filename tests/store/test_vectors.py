"""Vectors in SQLite: what the sidecar path finds, how it follows changes, and that it agrees with exact search."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from test_conformance import (  # noqa: F401 - run again, over stores that search through a sidecar
    pieces,
    record,
    test_a_next_index_keeps_step_with_the_chunks,
    test_a_query_is_only_compared_with_vectors_of_its_encoder,
    test_a_scope_filters_before_ranking,
    test_a_second_encoder_fills_beside_the_first_and_takes_over_when_complete,
    test_beginning_again_drops_what_another_encoder_began,
    test_cosine_order_ties_and_zero_vectors,
    test_unchanged_chunks_keep_their_vectors,
    test_vectors_can_be_read_back,
    test_vectors_of_vanished_chunks_are_not_kept,
)

from dowse.encoders.http import MAX_VECTOR_DIMENSION
from dowse.encoders.static import HashingEncoder
from dowse.errors import EncoderMismatch
from dowse.model import Scope, ScoredChunk
from dowse.store.base import Store
from dowse.store.sqlite import SqliteStore
from dowse.store.sqlite import vector_math as coded
from dowse.store.sqlite import vectors as changes
from dowse.store.sqlite.vector_math import (
    CodedRows,
    ExactRows,
    closest_positions,
    encode_signs,
    hamming_distances,
    rotate,
)
from dowse.store.sqlite.vectors import vector_sidecar_path

Matrix = NDArray[np.float32]
OpenStore = Callable[..., SqliteStore]
SIGNS = "--++-+++-++----+-+-+-+++-+-+++-++-+-+--+-++--+-++-+++-+--++--+-+"
DIMENSION = 100  # no multiple of the 64 bits of a word


@pytest.fixture(params=[0, 1, 2])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    opened = SqliteStore(tmp_path / "index.db", exact_up_to=request.param)
    opened.writer.add_collection("/work/notes")
    yield opened
    opened.close()


@pytest.fixture
def open_store(tmp_path: Path) -> Iterator[OpenStore]:
    opened: list[SqliteStore] = []

    def open_one(name: str = "index.db", exact_up_to: int = 10) -> SqliteStore:
        store = SqliteStore(tmp_path / name, exact_up_to=exact_up_to)
        store.writer.add_collection("/work/notes")
        opened.append(store)
        return store

    yield open_one
    for store in opened:
        store.close()


def clustered(count: int, *, seed: int = 1, clusters: int = 20) -> Matrix:
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((clusters, DIMENSION))
    rows = centres[rng.integers(clusters, size=count)] + 0.6 * rng.standard_normal((count, DIMENSION))
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def add(store: SqliteStore, path: str, matrix: Matrix) -> list[int]:
    """A record with a chunk for each row."""
    store.writer.put(record(path), pieces(*(f"{path} {place}" for place in range(len(matrix)))))
    keys = [it.key for it in store.vectors.chunks_without_vector()]
    store.vectors.put_vectors(keys, matrix[: len(keys)])
    return keys


def keys_of(scored: list[ScoredChunk]) -> list[int]:
    return [it.key for it in scored]


def assert_same(ours: list[ScoredChunk], theirs: list[ScoredChunk]) -> None:
    """The same chunks in the same order; how a product is cut into blocks may change its last digit."""
    assert keys_of(ours) == keys_of(theirs)
    assert [it.score for it in ours] == pytest.approx([it.score for it in theirs], abs=1e-6)


def held_rows(store: SqliteStore) -> object:
    held = store.vectors.cache._loaded
    return None if held is None else held.rows


def replace_vectors(store: SqliteStore, made_by: str, matrix: Matrix) -> None:
    """Another encoder's vectors in the place of all there are; a row for each chunk."""
    store.vectors.prepare_vectors(made_by)
    keys = [it.key for it in store.vectors.chunks_without_vector(made_by)]
    store.vectors.put_vectors(keys, matrix[: len(keys)], made_by)
    store.vectors.switch_vectors()


def test_few_vectors_are_searched_exactly_and_need_no_file(open_store: OpenStore, tmp_path: Path) -> None:
    store = open_store(exact_up_to=10)
    add(store, "a.md", clustered(10))
    store.vectors.near(clustered(1)[0], Scope(), 3)
    assert isinstance(held_rows(store), ExactRows)
    assert [it.name for it in tmp_path.iterdir() if "vectors" in it.name] == []
    add(store, "b.md", clustered(1))
    store.vectors.near(clustered(1)[0], Scope(), 3)
    assert isinstance(held_rows(store), CodedRows)
    assert not vector_sidecar_path(tmp_path / "index.db").exists()  # asking writes nothing
    with store.writing(1.0):
        pass
    assert vector_sidecar_path(tmp_path / "index.db").stat().st_mode & 0o777 == 0o600


def test_equal_to_exact_search_when_the_candidates_cover_everything(open_store: OpenStore) -> None:
    coded_store, exact = open_store(), open_store("exact.db", exact_up_to=10**6)
    matrix = clustered(900)
    for it in (coded_store, exact):
        add(it, "a.md", matrix)
    for query in clustered(20, seed=2):
        assert_same(coded_store.vectors.near(query, Scope(), 25), exact.vectors.near(query, Scope(), 25))
    assert isinstance(held_rows(coded_store), CodedRows) and isinstance(held_rows(exact), ExactRows)


def test_recall_when_they_do_not(open_store: OpenStore) -> None:
    coded_store, exact = open_store(), open_store("exact.db", exact_up_to=10**6)
    matrix = clustered(4_000, clusters=40)
    for it in (coded_store, exact):
        add(it, "a.md", matrix)
    found = 0
    for query in matrix[:50] + 0.3 * clustered(50, seed=2):
        theirs, ours = (set(keys_of(it.vectors.near(query, Scope(), 10))) for it in (exact, coded_store))
        found += len(theirs & ours)
    assert found / 500 >= 0.95
    rows = held_rows(coded_store)
    assert isinstance(rows, CodedRows)
    assert len(rows._candidates(matrix[0], rows.alive, 10)) == 1_000


def test_sparse_vectors_are_found_as_dense_ones_are(open_store: OpenStore) -> None:
    """Words at places their hashes decide, as the encoder without a model gives them: few values are not zero."""
    store, draw = open_store(), random.Random(5)
    words = [f"word{number}" for number in range(3_000)]
    encode = HashingEncoder().encode
    matrix = encode([" ".join(draw.sample(words, 60)) for _ in range(4_000)])
    keys = np.array(add(store, "a.md", matrix))
    found = 0
    for query in encode([" ".join(draw.sample(words, 4)) for _ in range(40)]):
        cosines = matrix @ query
        least = np.sort(cosines)[-10] - 1e-3
        found += sum(cosines[np.searchsorted(keys, it.key)] >= least for it in store.vectors.near(query, Scope(), 10))
    assert found / 400 >= 0.95


@pytest.mark.parametrize("count", [15, 60, 400])  # fewer than the candidates, a small part, a large part
def test_a_scope_is_applied_before_the_candidates_are_chosen(
    open_store: OpenStore, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """Everything outside the scope is nearer: had it been ranked first, nothing would be left of the inside."""
    monkeypatch.setattr(coded, "_MIN_CANDIDATES", 20)
    store = open_store()
    query = clustered(1)[0]
    add(store, "outside.md", np.tile(query, (500, 1)))
    inside = add(store, "inside.md", -clustered(count, seed=3))
    scored = store.vectors.near(query, Scope(paths=("inside.md",)), 5)
    assert len(scored) == 5 and set(keys_of(scored)) <= set(inside)
    assert store.vectors.near(query, Scope(paths=("nowhere.md",)), 5) == []


steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(0, 7), st.integers(1, 12)),
        st.tuples(st.just("drop"), st.integers(0, 7), st.just(0)),
        st.tuples(st.just("again"), st.integers(0, 7), st.just(0)),
        st.tuples(st.just("switch"), st.just(0), st.just(0)),
        st.tuples(st.just("reopen"), st.just(0), st.just(0)),
    ),
    max_size=12,
)


@settings(max_examples=25)
@given(steps=steps)
def test_any_changes_leave_what_a_fresh_store_has(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, int]]
) -> None:
    path = tmp_path_factory.mktemp("store") / "i.db"
    reader, writer = SqliteStore(path, exact_up_to=8), SqliteStore(path, exact_up_to=8)
    writer.writer.add_collection("/work/notes")
    add(writer, "base.md", clustered(40))
    query = clustered(1, seed=5)[0]
    for seed, (what, number, count) in enumerate(steps):
        if what == "add":
            add(writer, f"{number}.md", clustered(count, seed=seed))
        elif what == "drop":
            writer.writer.drop("notes", [f"{number}.md", "base.md" if number == 7 else ""])
        elif what == "again":
            stored = [it.key for it in writer.catalog.export()]
            writer.vectors.put_vectors(stored[:3], clustered(3, seed=seed)[: len(stored[:3])])
        elif what == "switch":
            replace_vectors(writer, f"encoder {seed}", clustered(200, seed=seed))
        else:
            reader.close()
            reader = SqliteStore(path, exact_up_to=8)
        fresh = SqliteStore(path, exact_up_to=10**6)
        assert_same(reader.vectors.near(query, Scope(), 30), fresh.vectors.near(query, Scope(), 30))
        fresh.close()
    reader.close()
    writer.close()


def test_changes_lie_beside_the_file_until_they_are_many(open_store: OpenStore, tmp_path: Path) -> None:
    store = open_store()
    with store.writing(1.0):
        add(store, "a.md", clustered(100))
    query = clustered(1, seed=9)
    store.vectors.near(query[0], Scope(), 5)
    file = vector_sidecar_path(tmp_path / "index.db")
    before = file.stat().st_ino, file.read_bytes()
    (key,) = add(store, "b.md", query)
    assert keys_of(store.vectors.near(query[0], Scope(), 1)) == [key]
    store.writer.drop("notes", ["b.md"])
    assert key not in keys_of(store.vectors.near(query[0], Scope(), 200))
    assert (file.stat().st_ino, file.read_bytes()) == before
    with store.writing(1.0):
        add(store, "c.md", clustered(30, seed=4))
    assert len(store.vectors.near(query[0], Scope(), 200)) == 130
    assert file.read_bytes() != before[1] and len(held_rows(store).tail) == 0  # type: ignore[attr-defined]


def test_deleting_really_deletes(open_store: OpenStore, tmp_path: Path) -> None:
    store = open_store()
    secret = clustered(30, seed=7)
    with store.writing(1.0):
        add(store, "kept.md", clustered(100))
        gone = add(store, "secret.md", secret)
    assert set(keys_of(store.vectors.near(secret[0], Scope(), 1))) <= set(gone)
    file = vector_sidecar_path(tmp_path / "index.db")
    rows = [row.tobytes() for row in secret.astype(np.float16)]
    assert all(row in file.read_bytes() for row in rows)
    with store.writing(1.0):
        store.writer.drop("notes", ["secret.md"])
    assert not set(gone) & set(keys_of(store.vectors.near(secret[0], Scope(), 200)))
    assert not any(row in file.read_bytes() for row in rows)


def test_switching_leaves_no_copy(open_store: OpenStore, tmp_path: Path) -> None:
    store, reader = open_store(), open_store()
    store.vectors.prepare_vectors("one")
    old = clustered(50)
    with store.writing(1.0):
        add(store, "a.md", old)
    assert vector_sidecar_path(tmp_path / "index.db").exists()
    assert len(reader.vectors.near(old[0], Scope(), 5, "one")) == 5
    replace_vectors(store, "two", clustered(50, seed=2)[:, :40])
    assert not vector_sidecar_path(tmp_path / "index.db").exists()
    with pytest.raises(EncoderMismatch, match="from two, not from one"):
        reader.vectors.near(old[0], Scope(), 5, "one")
    assert len(reader.vectors.near(old[0, :40], Scope(), 5, "two")) == 5
    with store.encoding(1.0):
        pass
    assert old[0].astype(np.float16).tobytes() not in vector_sidecar_path(tmp_path / "index.db").read_bytes()


def test_a_file_that_is_not_needed_any_more_is_removed(open_store: OpenStore, tmp_path: Path) -> None:
    store = open_store()
    with store.writing(1.0):
        add(store, "a.md", clustered(5))
        add(store, "b.md", clustered(50))
    store.vectors.near(clustered(1)[0], Scope(), 5)
    assert vector_sidecar_path(tmp_path / "index.db").exists()
    with store.writing(1.0):
        store.writer.drop("notes", ["b.md"])
    assert len(store.vectors.near(clustered(1)[0], Scope(), 20)) == 5
    assert not vector_sidecar_path(tmp_path / "index.db").exists()


def test_indexing_prepares_the_file_for_whoever_asks_first(open_store: OpenStore, tmp_path: Path) -> None:
    store = open_store()
    with store.writing(1.0):
        add(store, "a.md", clustered(10))
    assert not vector_sidecar_path(tmp_path / "index.db").exists()
    with store.writing(1.0):
        add(store, "b.md", clustered(1))
    assert vector_sidecar_path(tmp_path / "index.db").exists()


def test_the_log_is_kept_short_and_whoever_is_behind_it_reads_anew(
    open_store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "VECTOR_LOG_LENGTH", 5)
    store, reader = open_store(), open_store()
    add(store, "a.md", clustered(100))
    query = clustered(1, seed=9)
    reader.vectors.near(query[0], Scope(), 5)
    (key,) = add(store, "b.md", query)
    for number in range(4):
        add(store, f"{number}.md", clustered(3, seed=number))
    ((count,),) = store.db.rows("SELECT count(*) FROM vector_changes")
    assert count <= 5 + 3
    assert keys_of(reader.vectors.near(query[0], Scope(), 1)) == [key]
    assert len(reader.vectors.near(query[0], Scope(), 200)) == 113


@given(
    rows=st.lists(st.lists(st.sampled_from([-1.0, 0.0, 0.5]), min_size=70, max_size=70), min_size=1, max_size=8),
    wanted=st.integers(1, 7),
)
def test_distances_count_the_signs_that_differ(rows: list[list[float]], wanted: int) -> None:
    matrix = np.array(rows, dtype=np.float32)
    result = hamming_distances(encode_signs(matrix), matrix[0])
    values = matrix.astype(np.float64) @ turn_of(70)
    unsure = (np.abs(values) < 1e-5) | (np.abs(values[0]) < 1e-5)  # rounding may give them either sign
    differing = (values > 0) != (values[0] > 0)
    assert ((differing & ~unsure).sum(axis=1) <= result).all()
    assert (result <= (differing | unsure).sum(axis=1)).all()
    if wanted < len(rows):
        assert sorted(result[closest_positions(result, wanted)].tolist()) == sorted(result.tolist())[:wanted]


def turn_of(dimension: int) -> NDArray[np.float64]:
    """Where each value goes."""
    return rotate(np.eye(dimension, dtype=np.float32)).reshape(dimension, -1).astype(np.float64)


@pytest.mark.parametrize("dimension", [1, 2, 64, 70, 384, 1_000])
def test_a_turn_keeps_angles_and_spreads_each_value_over_all(dimension: int) -> None:
    turn = turn_of(dimension)
    assert turn.shape[1] == -(-dimension // 64) * 64
    assert turn @ turn.T == pytest.approx(np.eye(dimension), abs=1e-5)
    assert np.abs(turn).max() <= 2 / turn.shape[1] ** 0.5 + 1e-6
    assert (np.abs(turn) > 1e-6).mean() > 0.9


def test_a_turn_is_the_same_everywhere() -> None:
    """Files that were made elsewhere, or by another numpy, are read with it."""
    turn = turn_of(128)
    assert np.abs(turn[:, 0]) == pytest.approx(np.full(128, 128**-0.5), abs=1e-6)
    assert "".join("+" if it > 0 else "-" for it in turn[:64, 0]) == SIGNS
    waves = np.cos(np.pi / 64 * 3 * 5.5) * (2 / 64) ** 0.5 * np.cos(np.pi / 2 * 1.5)
    assert abs(turn[64 + 5, 64 + 3]) == pytest.approx(abs(waves), abs=1e-6)


def test_vectors_of_many_dimensions_are_turned_in_little_memory() -> None:
    """As much as an encoder server may give; a matrix of all dimensions by all would take a gigabyte."""
    matrix = np.random.default_rng(3).standard_normal((200, MAX_VECTOR_DIMENSION), dtype=np.float32)
    tracemalloc.start()
    try:
        codes = encode_signs(matrix)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < matrix.nbytes
    assert hamming_distances(codes, matrix[7])[7] == 0
    assert np.sort(hamming_distances(codes, matrix[7]))[1] == pytest.approx(MAX_VECTOR_DIMENSION / 2, rel=0.1)


def test_wide_vectors_are_read_in_smaller_parts() -> None:
    blobs = iter([(key, bytes(2 * MAX_VECTOR_DIMENSION)) for key in range(1, 1_001)])
    parts = list(coded.read_blocks(blobs))
    assert max(it.rows.nbytes for it in parts) <= coded._PART_BYTES
    assert np.concatenate([it.keys for it in parts]).tolist() == list(range(1, 1_001))


def test_vectors_that_are_no_numbers_spoil_only_themselves() -> None:
    matrix = np.array([[1, 2], [np.inf, -np.inf], [np.nan, 1]], dtype=np.float16)
    assert hamming_distances(encode_signs(matrix), np.array([1, 2], dtype=np.float32))[0] == 0


def test_rows_are_scored_as_numpy_would_down_to_the_smallest_half_floats() -> None:
    halves = np.array([[6e-8, -3e-5, 1.0], [-2.5, 0.1, 65504.0], [0.0, 0.0, 0.0]], dtype=np.float16)
    block = coded.VectorBlock.of(coded.read_blocks((key, row.tobytes()) for key, row in enumerate(halves, 1)))
    query = np.array([0.6, 0.0, -0.8], dtype=np.float32)
    expected = halves.astype(np.float32) @ query / np.maximum(block.lengths, 1e-30)
    assert coded._row_cosines(block, np.arange(3), query) == pytest.approx(expected, rel=1e-5)


def test_nothing_is_held_until_it_is_asked_for(open_store: OpenStore) -> None:
    store = open_store()
    add(store, "a.md", clustered(3))
    assert held_rows(store) is None
