"""The sidecar of lines: whatever is wrong with it, answers stay right; several processes share it."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from damaging import flip
from test_lines import put

from dowse.lookup.grep import GrepQuery, search_lines
from dowse.store.sqlite import SqliteStore
from dowse.store.sqlite import line_state as sidecar
from dowse.store.sqlite.line_index import LineIndexCache, line_sidecar_path
from dowse.store.sqlite.line_log import latest_text_position, read_line_header
from dowse.store.sqlite.line_segment import (
    BLOCK_BYTES,
    BlockChecksums,
    Column,
    LineIndexDamaged,
    SegmentFileName,
    TextFile,
)
from dowse.store.sqlite.locks import write_lock

FILES = 40
WORDS = 50


def text_of(file: int) -> str:
    return "".join(f"word{(file * 7 + line) % 97} shared line {line}\n" for line in range(WORDS))


def make(path: Path) -> None:
    """An index with its sidecar, closed again."""
    store = opened(path)
    store.writer.add_collection("/work/notes")
    with store.writing(1.0):
        for file in range(FILES):
            put(store, f"f{file:02}.py", text_of(file))
    store.maintenance.checkpoint()
    store.close()
    assert sidecar.open_line_sidecar(line_sidecar_path(path)) is not None


def opened(path: Path, up_to: int = 0) -> SqliteStore:
    return SqliteStore(path, lines_without_file_up_to=up_to)


@pytest.fixture
def index(tmp_path: Path) -> Path:
    path = tmp_path / "index.db"
    make(path)
    return path


def counts(store: SqliteStore) -> tuple[int, int, int]:
    """Of three modes how many lines: of postings, of the vocabulary, of the text."""
    asked = (GrepQuery(("word5",)), GrepQuery(("ord1",), "substring"), GrepQuery((r"ed line 1\d$",), "regex", limit=0))
    answers = [search_lines(store.view(), it) for it in asked]
    return answers[0].total_occurrences, answers[1].total_occurrences, answers[2].total_occurrences


def expected(files: int = FILES) -> tuple[int, int, int]:
    lines = [line for file in range(files) for line in text_of(file).splitlines()]
    first = [line.split()[0] for line in lines]
    return first.count("word5"), sum("ord1" in word for word in first), files * 10


DAMAGES: dict[str, Callable[[Path], object]] = {
    "empty": lambda file: file.write_bytes(b""),
    "short": lambda file: file.write_bytes(file.read_bytes()[:30]),
    "truncated": lambda file: file.write_bytes(file.read_bytes()[:-1]),
    "longer": lambda file: file.write_bytes(file.read_bytes() + b"x"),
    "not ours": lambda file: file.write_bytes(b"something else entirely" * 1_000),
    "a directory": lambda file: (file.unlink(), file.mkdir()),
    "magic": flip(lambda size: 0),
    "format": flip(lambda size: 8),
    "seal": flip(lambda size: 60),
    "text": flip(lambda size: 4_096),
    "line starts, words or postings": flip(lambda size: size * 2 // 3),
    "vocabulary": flip(lambda size: size - 4_000),
    "table": flip(lambda size: size - 10),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_damaged_sidecar_changes_no_answer(index: Path, damage: Callable[[Path], object]) -> None:
    damage(line_sidecar_path(index))
    store = opened(index)
    assert counts(store) == expected()
    store.close()


def test_a_damaged_sidecar_is_made_anew(index: Path) -> None:
    DAMAGES["text"](line_sidecar_path(index))
    before = line_sidecar_path(index).read_bytes()
    store = opened(index)
    assert counts(store) == expected()
    assert line_sidecar_path(index).read_bytes() == before  # asking writes nothing
    with store.writing(1.0):
        pass
    store.close()
    made = sidecar.open_line_sidecar(line_sidecar_path(index))
    assert made is not None
    made.segment.text.load()


def test_the_sidecar_of_another_index_is_not_taken(index: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    store = opened(other)
    store.writer.add_collection("/work/notes")
    for file in range(FILES):
        put(store, f"f{file:02}.py", "nothing of the kind")
    store.close()
    shutil.copy(line_sidecar_path(index), line_sidecar_path(other))
    store = opened(other)
    assert counts(store) == (0, 0, 0)
    store.close()


def test_few_texts_need_no_file(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "index.db")
    store.writer.add_collection("/work/notes")
    with store.writing(1.0):
        put(store, "a.py", text_of(0))
    assert search_lines(store.view(), GrepQuery(("shared",))).total_occurrences == WORDS
    assert not line_sidecar_path(tmp_path / "index.db").exists()
    store.close()


def test_a_few_changes_are_followed_without_a_new_file(index: Path) -> None:
    before = read_line_header(line_sidecar_path(index))
    store = opened(index)
    with store.writing(1.0):
        put(store, "f00.py", "quite another text\n")
        store.writer.drop("notes", ["f01.py"])
    assert read_line_header(line_sidecar_path(index)) == before
    assert search_lines(store.view(), GrepQuery(("another",))).total_occurrences == 1
    assert search_lines(store.view(), GrepQuery(("shared",))).total_occurrences == (FILES - 2) * WORDS
    store.close()


def test_many_changes_are_written_at_the_end_of_a_run(index: Path) -> None:
    before = read_line_header(line_sidecar_path(index))
    rng = np.random.default_rng(1)
    store = opened(index)
    with store.writing(1.0):
        put(store, "big.py", "\n".join(map(str, rng.integers(0, 10**12, 60_000))))
    after = read_line_header(line_sidecar_path(index))
    assert after is not None
    assert before is not None
    assert after.text_bytes > before.text_bytes
    assert counts(store) == expected()
    store.close()


def test_small_segments_become_one_before_they_are_many(index: Path) -> None:
    store = opened(index)
    for turn in range(30):
        put(store, f"new{turn}.py", f"fresh{turn} " * 200 * (turn % 5 + 1))
        assert search_lines(store.view(), GrepQuery((f"fresh{turn}",))).total_files == 1
    parts = store.lines.cache._current().parts
    assert 1 < len(parts) < 8
    assert search_lines(store.view(), GrepQuery(("fresh",), "substring", limit=0)).total_files == 30
    store.close()


def test_a_changed_file_counts_once_for_how_rare_a_word_is(index: Path) -> None:
    store = opened(index)
    put(store, "f00.py", text_of(0) + "tail\n")
    fresh = SqliteStore(index, lines_without_file_up_to=10**9)
    for asked in (GrepQuery(("word5",)), GrepQuery(("ord5",), "substring"), GrepQuery(("line 5", "tail"), "phrase")):
        assert search_lines(store.view(), asked).files == search_lines(fresh.view(), asked).files
    store.close()
    fresh.close()


def test_where_no_file_can_be_written_memory_will_do(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line_sidecar_path(index).unlink()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(sidecar, "write_line_sidecar", full)
    store = opened(index)
    assert counts(store) == expected()
    put(store, "f00.py", "gone")
    assert counts(store)[2] == (FILES - 1) * 10
    assert not line_sidecar_path(index).exists()
    store.close()


def test_a_long_log_is_shortened_and_answers_stay_right(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dowse.store.sqlite.line_log._TEXT_LOG_LENGTH", 5)
    reader, writer = opened(index), opened(index)
    assert counts(reader) == expected()
    with writer.writing(1.0):
        for turn in range(30):
            put(writer, "f00.py", f"turn{turn}")
    assert len(writer.db.rows("SELECT 1 FROM text_changes")) <= 10
    assert search_lines(reader.view(), GrepQuery(("turn29",))).total_files == 1
    assert counts(reader)[2] == (FILES - 1) * 10
    reader.close()
    writer.close()


# --- several processes ---


def rewrite(path: Path, times: int) -> None:
    store = opened(path)
    for turn in range(times):
        put(store, "f00.py", text_of(0) + f"turn{turn}\n")
        store.lines.cache._build_sidecar(force=True)
    store.close()


def test_answers_while_another_process_writes_the_sidecar(index: Path) -> None:
    process = multiprocessing.get_context("spawn").Process(target=rewrite, args=(index, 15))
    process.start()
    store = opened(index)
    asked = 0
    while process.is_alive() or not asked:
        assert counts(store) == expected()
        asked += 1
    process.join()
    assert process.exitcode == 0
    assert search_lines(store.view(), GrepQuery(("turn14",))).total_files == 1
    store.close()


def write_slowly(path: Path) -> None:
    store = opened(path)

    def texts() -> Iterator[TextFile]:
        while True:
            time.sleep(0.01)
            yield TextFile(1, SegmentFileName("x.py", "notes"), b"half\n" * 10_000)

    with write_lock(line_sidecar_path(path), 1.0):
        sidecar.write_line_sidecar(line_sidecar_path(path), texts(), latest_text_position(store.db))


def test_a_kill_while_the_sidecar_is_written_leaves_the_old_one(index: Path) -> None:
    before = line_sidecar_path(index).read_bytes()
    process = multiprocessing.get_context("spawn").Process(target=write_slowly, args=(index,))
    process.start()
    unfinished = line_sidecar_path(index).with_name(f"{line_sidecar_path(index).name}.new")
    while not (unfinished.exists() and unfinished.stat().st_size):
        assert process.is_alive()
        time.sleep(0.01)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    assert line_sidecar_path(index).read_bytes() == before
    store = opened(index)
    assert counts(store) == expected()
    with store.writing(1.0):
        put(store, "big.py", "\n".join(map(str, np.random.default_rng(2).integers(0, 10**12, 60_000))))
    assert not unfinished.exists()
    assert counts(store) == expected()
    store.close()


def test_one_of_several_builds_and_the_others_take_what_it_made(index: Path) -> None:
    line_sidecar_path(index).unlink()
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        assert pool.map(counts_of, [index] * 3) == [expected()] * 3
    assert sidecar.open_line_sidecar(line_sidecar_path(index)) is not None


def counts_of(path: Path) -> tuple[int, int, int]:
    store = opened(path)
    try:
        with store.writing(30.0):
            pass
        return counts(store)
    finally:
        store.close()


# --- blocks ---


@pytest.mark.parametrize("bad", [0, BLOCK_BYTES - 1, BLOCK_BYTES, 2 * BLOCK_BYTES + 5])
def test_each_block_is_checked_when_it_is_first_read(bad: int) -> None:
    content = bytearray(os.urandom(2 * BLOCK_BYTES + 10))
    sums = BlockChecksums()
    for start in range(0, len(content), 300_001):
        sums.add(bytes(content[start : start + 300_001]))
    content[bad] ^= 1
    column = Column(np.frombuffer(bytes(content), dtype=np.uint8), sums.values())
    for block in range(3):
        part = (block * BLOCK_BYTES, min((block + 1) * BLOCK_BYTES, len(content)))
        if part[0] <= bad < part[1]:
            with pytest.raises(LineIndexDamaged):
                column.slice(bad, bad + 1)
            with pytest.raises(LineIndexDamaged):
                column.at(np.array([part[0], part[1] - 1]))
        else:
            assert len(column.slice(*part)) == part[1] - part[0]


def test_held_lines_follow_an_empty_index(tmp_path: Path) -> None:
    store = opened(tmp_path / "index.db")
    assert isinstance(store.lines.cache, LineIndexCache)
    answer = search_lines(store.view(), GrepQuery(("x",), "regex"))
    assert (answer.files, answer.index_files, answer.index_words) == ((), 0, 0)
    store.close()
