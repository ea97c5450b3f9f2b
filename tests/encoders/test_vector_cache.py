"""The shared cache of vectors, on good and on failing files."""

from __future__ import annotations

import multiprocessing
import resource

import apsw
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dowse.encoders.cache import DAY_SECONDS, VectorCache, cache_file

DIMENSION = 4


def digest(number: int) -> bytes:
    return number.to_bytes(16, "big")


def rows(*values: float):
    return np.array([[value] * DIMENSION for value in values], np.float32)


def open_at(path, day: int = 0) -> VectorCache:
    return VectorCache(path, dimension=DIMENSION, busy_ms=50, clock=lambda: day * DAY_SECONDS + 5.0)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deep" / "vectors.sqlite"


@pytest.fixture
def cache(path):
    cache = open_at(path)
    yield cache
    cache.close()


def known(cache: VectorCache, *numbers: int) -> set[int]:
    return {int.from_bytes(key, "big") for key in cache.get([digest(number) for number in numbers])}


def test_what_was_put_is_found_and_nothing_else(cache):
    cache.put([digest(1), digest(2)], rows(0.5, 0.25))
    found = cache.get([digest(2), digest(1), digest(3)])
    assert found.keys() == {digest(1), digest(2)}
    np.testing.assert_array_equal(found[digest(2)], rows(0.25)[0])
    assert found[digest(1)].dtype == np.float32
    assert cache.problem == ""


def test_it_outlives_the_process_that_wrote_it(cache, path):
    cache.put([digest(1)], rows(1))
    cache.close()
    again = open_at(path)
    assert known(again, 1) == {1}
    again.close()


def test_thousands_are_found_at_once(cache):
    numbers = range(3000)
    cache.put([digest(number) for number in numbers], rows(*[0.5] * 3000))
    assert known(cache, *numbers) == set(numbers)


def test_a_later_vector_replaces_the_earlier(cache):
    cache.put([digest(1)], rows(1))
    cache.put([digest(1)], rows(2))
    np.testing.assert_array_equal(cache.get([digest(1)])[digest(1)], rows(2)[0])


def test_nothing_asked_and_nothing_put_is_fine(cache):
    cache.put([], np.zeros((0, DIMENSION), np.float32))
    assert cache.get([]) == {}


@settings(deadline=None, max_examples=30)
@given(matrix=hnp.arrays(np.float32, (3, DIMENSION), elements=st.floats(-1, 1, width=32)))
def test_vectors_keep_the_precision_of_half_floats(tmp_path_factory, matrix):
    cache = open_at(tmp_path_factory.mktemp("half") / "v.sqlite")
    digests = [digest(number) for number in range(3)]
    cache.put(digests, matrix)
    found = cache.get(digests)
    cache.close()
    np.testing.assert_array_equal([found[key] for key in digests], matrix.astype(np.float16))


def test_only_what_was_not_used_since_is_pruned(path):
    early = open_at(path, day=10)
    early.put([digest(1), digest(2), digest(3)], rows(1, 2, 3))
    early.close()
    late = open_at(path, day=20)
    late.get([digest(2)])
    late.put([digest(3)], rows(3))
    late.prune(before_day=20)
    assert known(late, 1, 2, 3) == {2, 3}
    late.close()


def test_a_blob_of_another_size_is_ignored(cache, path):
    cache.put([digest(1)], rows(1))
    with apsw.Connection(str(path)) as connection:
        connection.execute("INSERT INTO vectors VALUES (?, ?, 0)", (digest(2), b"short"))
    assert known(cache, 1, 2) == {1}


def test_a_row_too_few_is_a_mistake_of_the_caller(cache):
    with pytest.raises(ValueError, match="shorter"):
        cache.put([digest(1), digest(2)], rows(1))


def test_two_encoders_have_two_files(tmp_path):
    assert cache_file(tmp_path, "a/b:1").parent == tmp_path
    assert cache_file(tmp_path, "a/b:1") != cache_file(tmp_path, "a/b:2")


# --- failing well ---------------------------------------------------------------------------------


def test_a_file_that_is_no_database_is_begun_anew(path):
    path.parent.mkdir()
    path.write_bytes(b"this was never a database" * 500)
    cache = open_at(path)
    assert "recreated" in cache.problem
    cache.put([digest(1)], rows(1))
    assert known(cache, 1) == {1}
    cache.close()


def test_a_file_damaged_while_closed_is_begun_anew_when_it_shows(path):
    cache = open_at(path)
    cache.put([digest(number) for number in range(2000)], rows(*[0.5] * 2000))
    cache.close()
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)
    damaged = open_at(path)
    assert known(damaged, *range(2000)) == set()
    assert "recreated" in damaged.problem
    damaged.put([digest(1)], rows(1))
    assert known(damaged, 1) == {1}
    damaged.close()


def test_a_place_that_cannot_be_written_only_costs_the_cache(tmp_path):
    (tmp_path / "file").write_text("in the way")
    cache = open_at(tmp_path / "file" / "vectors.sqlite")
    cache.put([digest(1)], rows(1))
    assert cache.get([digest(1)]) == {}
    assert "failed" in cache.problem
    cache.prune(before_day=1)
    cache.close()


def test_a_directory_in_its_place_only_costs_the_cache(path):
    path.mkdir(parents=True)
    cache = open_at(path)
    cache.put([digest(1)], rows(1))
    assert cache.get([digest(1)]) == {}
    assert "failed" in cache.problem
    cache.close()


def test_a_foreign_database_is_left_alone(path):
    path.parent.mkdir()
    with apsw.Connection(str(path)) as connection:
        connection.execute("CREATE TABLE vectors (something TEXT)")
    cache = open_at(path)
    cache.put([digest(1)], rows(1))
    assert cache.get([digest(1)]) == {}
    assert "failed" in cache.problem
    cache.close()
    with apsw.Connection(str(path)) as connection:
        assert list(connection.execute("SELECT * FROM vectors")) == []


@pytest.fixture
def small_disk():
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 * 1024, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_keeps_what_is_there(cache, small_disk):
    cache.put([digest(1)], rows(1))
    assert cache.problem == ""
    many = range(2, 9000)
    cache.put([digest(number) for number in many], rows(*[1] * len(many)))
    assert "failed" in cache.problem
    assert known(cache, 1, 2) == {1}


def test_a_busy_writer_only_costs_what_was_to_be_kept(cache, path):
    cache.put([digest(1)], rows(1))
    other = apsw.Connection(str(path))
    other.execute("BEGIN IMMEDIATE")
    cache.put([digest(2)], rows(2))
    assert "locked" in cache.problem
    assert known(cache, 1, 2) == {1}
    other.execute("ROLLBACK")
    other.close()
    cache.put([digest(2)], rows(2))
    assert known(cache, 1, 2) == {1, 2}


def fill(path, start: int) -> None:
    cache = VectorCache(path, dimension=DIMENSION)
    for number in range(start, start + 20):
        cache.put([digest(number)], rows(number))
    assert cache.problem == ""
    cache.close()


def test_processes_share_the_file(path):
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=fill, args=(path, start)) for start in (0, 20)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0]
    cache = open_at(path)
    assert known(cache, *range(40)) == set(range(40))
    cache.close()
