"""The real transformer: meaning, order, odd texts, and files that are not as they should be."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dowse.encoders.base import encode_in_batches
from dowse.encoders.granite import MAX_MODEL_CHARS, PACK_BYTES, GraniteEncoder
from dowse.errors import EncoderMissing
from support import eventually

TEXTS = [
    "short",
    "",
    "a much longer sentence about how an index is kept fresh while files change below it " * 8,
    "def rotate(keys): return keys[1:] + keys[:1]",
    " \n ",
    "日本語のテキスト",
]


def one(encoder, text):
    return encoder.encode([text])[0]


@pytest.mark.parametrize(
    ("query", "near", "far"),
    [
        ("How do I undo the last commit?", "Reverting a change in git", "Baking bread at home"),
        ("car", "The automobile was parked outside", "The banana was yellow"),
        ("sort a list in descending order", "items.sort(reverse=True)", "socket.connect((host, port))"),
    ],
)
def test_a_paraphrase_is_nearer_than_an_unrelated_text(granite, query, near, far):
    query_row, near_row, far_row = granite.encode([query, near, far])
    assert query_row @ near_row > query_row @ far_row + 0.05


def test_rows_come_in_the_order_of_the_texts(granite):
    rows = granite.encode(TEXTS)
    alone = np.array([one(granite, text) for text in TEXTS])
    np.testing.assert_allclose(rows, alone, atol=1e-5)
    assert rows.shape == (len(TEXTS), granite.dimension)
    assert rows.dtype == np.float32


def test_rows_are_unit_and_blank_texts_zero(granite):
    norms = np.linalg.norm(granite.encode(TEXTS), axis=1)
    np.testing.assert_allclose(norms, [0 if not text.strip() else 1 for text in TEXTS], atol=1e-5)


def test_no_texts_give_no_rows(granite):
    assert granite.encode([]).shape == (0, 384)


def test_the_same_call_gives_the_same_bits(granite):
    np.testing.assert_array_equal(granite.encode(TEXTS), granite.encode(TEXTS))


def test_batches_give_the_same_rows(granite):
    texts = [text * 3 for text in TEXTS]
    rows = np.full((len(texts), granite.dimension), np.nan, dtype=np.float32)
    for positions, part in encode_in_batches(granite, texts):
        rows[positions] = part
    np.testing.assert_allclose(rows, granite.encode(texts), atol=1e-5)


def test_a_huge_text_is_read_as_far_as_the_model_can(granite):
    start = "all work and no play " * (MAX_MODEL_CHARS // 10)
    np.testing.assert_allclose(one(granite, start + "x" * 10_000_000), one(granite, start), atol=1e-5)


def test_white_space_before_the_content_does_not_hide_it(granite):
    np.testing.assert_allclose(one(granite, "\n" * 2 * MAX_MODEL_CHARS + "word"), one(granite, "word"), atol=1e-5)


@pytest.mark.parametrize("text", ["a\ud800b", "\0", "x\0y", "<s></s><pad><mask>", "\u200b", "👩‍👩‍👧", "a" * 5000])
def test_odd_texts_give_a_unit_row(granite, text):
    assert abs(np.linalg.norm(one(granite, text)) - 1) < 1e-5


def test_the_names_of_special_tokens_are_text(granite):
    plain, marked = granite.encode(["the end of a sentence", "the end of a sentence </s>"])
    assert plain @ marked < 0.999
    assert plain @ marked > 0.8


@settings(max_examples=15, deadline=None)
@given(text=st.text(st.characters(), max_size=40))
def test_any_unicode_gives_a_unit_or_zero_row(granite, text):
    norm = np.linalg.norm(one(granite, text))
    assert abs(norm - (1 if text.strip() else 0)) < 1e-5


def test_threads_may_share_the_first_use(weights, graph_dir, granite):
    encoder = GraniteEncoder(weights, cache_dir=graph_dir)
    with ThreadPoolExecutor(4) as pool:
        rows = list(pool.map(lambda text: one(encoder, text), ["the same words"] * 8))
    expected = one(granite, "the same words")
    for row in rows:
        np.testing.assert_allclose(row, expected, atol=1e-5)


def test_neighbours_do_not_change_a_vector(granite):
    neighbours = ["Ω" * 400, "0" * 3_000, "}{" * 900, "two words"]
    np.testing.assert_array_equal(granite.encode(["a quiet text", *neighbours])[0], one(granite, "a quiet text"))


def test_a_question_is_encoded_in_the_thread_that_asks(weights, graph_dir, granite):
    """A session with threads of its own would not have the priority of whoever asks."""
    before = native_threads()
    encoder = GraniteEncoder(weights, cache_dir=graph_dir, threads=8)
    one(encoder, "a question")
    assert not native_threads() - before


def test_threads_end_with_the_call(weights, graph_dir, granite):
    before = native_threads()
    rows = GraniteEncoder(weights, cache_dir=graph_dir, threads=3).encode(TEXTS)
    eventually(lambda: not native_threads() - before, within_s=10)
    np.testing.assert_array_equal(rows, granite.encode(TEXTS))


def native_threads() -> set[str]:
    """The ids of all threads, also of those that Python does not know; none where the system has no /proc.

    A thread that was joined is listed for a moment longer, so tests compare ids, not counts.
    """
    return {task.name for task in Path("/proc/self/task").glob("*")}


# --- the files it lives on --------------------------------------------------------------------


def test_the_graph_is_built_once_and_then_enough(weights, graph_dir, granite, tmp_path):
    shutil.copytree(graph_dir, tmp_path, dirs_exist_ok=True)
    encoder = GraniteEncoder(tmp_path / "no weights", cache_dir=tmp_path)
    np.testing.assert_array_equal(one(encoder, "word"), one(granite, "word"))


def test_nothing_but_the_graph_is_left_in_the_directory(graph_dir, granite):
    assert [path.suffix for path in graph_dir.iterdir()] == [".onnx"]


@pytest.mark.parametrize("damage", ["empty", "cut", "junk"])
def test_a_damaged_graph_is_rebuilt_quietly(weights, graph_dir, granite, tmp_path, capfd, damage):
    [good] = graph_dir.iterdir()
    content = good.read_bytes()
    bad = {"empty": b"", "cut": content[: len(content) // 2], "junk": b"junk" * 1000}[damage]
    (tmp_path / good.name).write_bytes(bad)
    encoder = GraniteEncoder(weights, cache_dir=tmp_path)
    np.testing.assert_array_equal(one(encoder, "word"), one(granite, "word"))
    assert (tmp_path / good.name).read_bytes() == content
    assert capfd.readouterr() == ("", "")


def test_without_a_place_for_the_graph_it_works_from_memory(weights, granite, tmp_path):
    blocked = tmp_path / "a file"
    blocked.write_text("not a directory")
    encoder = GraniteEncoder(weights, cache_dir=blocked)
    np.testing.assert_array_equal(one(encoder, "word"), one(granite, "word"))


def test_other_weights_of_the_same_size_are_refused(tmp_path):
    fake = sized_file(tmp_path / "fake.hmsemb", PACK_BYTES)
    encoder = GraniteEncoder(fake, cache_dir=tmp_path / "graphs")
    with pytest.raises(EncoderMissing, match="not the published ones"):
        encoder.encode(["word"])
    assert not (tmp_path / "graphs").exists()


def test_weights_that_vanished_are_named(tmp_path):
    with pytest.raises(EncoderMissing, match=r"gone\.hmsemb"):
        GraniteEncoder(tmp_path / "gone.hmsemb", cache_dir=tmp_path).encode(["word"])


def sized_file(path: Path, size: int) -> Path:
    with path.open("wb") as file:
        file.truncate(size)
    return path
