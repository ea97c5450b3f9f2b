"""The instant encoder: its tokens, its sums, its data."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dowse.encoders.base import EncoderTraits, get_traits
from dowse.encoders.choose import choose_encoder, encoder_by_fingerprint, encoder_short_name, fast_encoder
from dowse.encoders.static import (
    MAX_STATIC_CHARS,
    STATIC_DATA_FILE,
    STATIC_DATA_SHA256,
    STATIC_DIMENSION,
    TEXTS_PER_LOOKUP,
    StaticEncoder,
    normalize_identifiers,
)
from dowse.errors import EncoderMissing

WORDS = ["[UNK]", "parse", "http", "header", "2024", "aero", "##foil", "straße"]
ANY_TEXT = st.text(st.characters())
UNIT = np.eye(STATIC_DIMENSION, dtype=np.float32)


@pytest.fixture
def tiny(tmp_path):
    """Word n points along axis n, n times as long as the first; the unknown word nowhere."""
    rows = np.zeros((len(WORDS), STATIC_DIMENSION), dtype=np.int8)
    for number in range(1, len(WORDS)):
        rows[number, number] = 100
    path = tmp_path / "tiny.npz"
    listed = np.frombuffer("\n".join(WORDS).encode(), dtype=np.uint8)
    np.savez(path, rows=rows, scales=np.arange(len(WORDS), dtype=np.float32), words=listed)
    return StaticEncoder(path, sha256=hashlib.sha256(path.read_bytes()).hexdigest())


@pytest.fixture(scope="module")
def static():
    return StaticEncoder()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("parse", {1: 1}),
        ("PARSE, http!", {1: 1, 2: 1}),
        ("parseHTTPHeader", {1: 1, 2: 1, 3: 1}),
        ("ParseHttp_header-2024", {1: 1, 2: 1, 3: 1, 4: 1}),
        ("parse parse\nhttp", {1: 2, 2: 1}),
        ("aerofoil", {5: 1, 6: 1}),
        ("Straße", {7: 1}),
        ("parse quux 見", {1: 1}),
    ],
)
def test_a_text_is_the_sum_of_its_words(tiny, text, words):
    wanted = sum(times * number * UNIT[number] for number, times in words.items())
    np.testing.assert_allclose(tiny.encode([text])[0], wanted / np.linalg.norm(wanted), atol=1e-6)


@pytest.mark.parametrize("text", ["", " \n\t", "?!", "\0", "quux", "[UNK]", "\ud800", "見つける"])
def test_a_text_without_a_known_word_gives_a_zero_row_and_spoils_no_other(tiny, text):
    rows = tiny.encode([text, "parse", text, text, "http", text])
    np.testing.assert_array_equal(rows, [UNIT[0] * 0, UNIT[1], UNIT[0] * 0, UNIT[0] * 0, UNIT[2], UNIT[0] * 0])


@pytest.mark.parametrize(
    ("text", "apart"),
    [
        ("parseHTTPHeader", "parse http header"),
        ("getURL", "get url"),
        ("HTML5Parser", "html5 parser"),
        ("snake_case", "snake_case"),
        ("ÄpfelBaum", "äpfel baum"),
    ],
)
def test_identifiers_are_taken_apart_at_capitals(text, apart):
    assert normalize_identifiers(text).split() == apart.split()


def test_what_is_beyond_the_limit_does_not_count(tiny):
    filler = " " * (MAX_STATIC_CHARS - len("parse"))
    np.testing.assert_array_equal(tiny.encode([f"parse{filler}http"]), tiny.encode(["parse"]))


def test_no_texts_give_no_rows(tiny):
    assert tiny.encode([]).shape == (0, STATIC_DIMENSION)


@pytest.mark.parametrize("count", [TEXTS_PER_LOOKUP - 1, TEXTS_PER_LOOKUP, 2 * TEXTS_PER_LOOKUP + 1])
def test_rows_keep_their_order_across_batches(tiny, count):
    texts = [WORDS[1 + at % 4] for at in range(count)]
    np.testing.assert_array_equal(tiny.encode(texts), [UNIT[1 + at % 4] for at in range(count)])


@settings(deadline=None, max_examples=50)
@given(st.lists(ANY_TEXT, max_size=5))
def test_rows_are_unit_or_zero_and_do_not_depend_on_their_neighbours(static, texts):
    rows = static.encode(texts)
    assert (rows.shape, rows.dtype) == ((len(texts), STATIC_DIMENSION), np.float32)
    assert all(norm == 0 or abs(norm - 1) < 1e-5 for norm in np.linalg.norm(rows, axis=1))
    for row, text in zip(rows, texts, strict=True):
        np.testing.assert_array_equal(row, static.encode([text])[0])


# --- the data ---------------------------------------------------------------------------------


def test_the_shipped_data_is_small_and_the_one_the_fingerprint_names(static):
    data = STATIC_DATA_FILE.read_bytes()
    assert len(data) <= 10_000_000
    assert hashlib.sha256(data).hexdigest() == STATIC_DATA_SHA256
    assert STATIC_DATA_SHA256[:16] in static.fingerprint


# All but the first four were written down before the encoder was asked about them; none was left out afterwards.
SAME_MEANING = [
    ("remove a file", "delete the document from disk", "the king of France"),
    ("how do I sign in", "authentication with a password and a token", "sorting numbers in a list"),
    ("speed up a slow query", "making the database faster with an index", "blood cells of the heart"),
    ("car engine", "automobile motor", "unicode string"),
    ("wrong login details", "invalid credentials error", "rotate the image by ninety degrees"),
    ("heart attack", "myocardial infarction", "compiler optimisation"),
    ("copy a folder", "duplicate the directory tree", "plot a histogram"),
    ("the program crashed", "the process terminated with a fatal exception", "wine from the south of Italy"),
    ("send an email", "deliver the message by SMTP", "invert a matrix"),
    ("kids", "young children", "network socket"),
    ("make text bigger", "increase the font size", "commit a transaction"),
    ("run later", "schedule the job for a future time", "chemical bond of carbon"),
    ("undo my last change", "revert the previous commit", "temperature of the atmosphere"),
    ("what does it cost", "price and billing", "parse the abstract syntax tree"),
    ("lift of a wing", "aerodynamic force on an airfoil", "user preferences dialog"),
    ("merge two tables", "join the dataframes on a column", "kidney disease in adults"),
    ("too many requests", "rate limit exceeded", "draw a circle"),
    ("random number", "sample from the uniform distribution", "email attachment"),
    ("is it equal", "compare both values for equality", "upload to the bucket"),
    ("tumour growth", "cancer cell proliferation", "keyboard shortcut"),
]


def test_most_texts_of_one_meaning_are_nearer_than_others_without_a_shared_word(static):
    rows = static.encode([text for case in SAME_MEANING for text in case]).reshape(
        len(SAME_MEANING), 3, STATIC_DIMENSION
    )
    wrong = [
        case[0] for case, (asked, near, far) in zip(SAME_MEANING, rows, strict=True) if asked @ near <= asked @ far
    ]
    assert len(wrong) <= 3, wrong


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda path: path.write_bytes(b""), "damaged"),
        (lambda path: path.write_bytes(path.read_bytes()[:-1]), "damaged"),
        (lambda path: path.write_bytes(path.read_bytes().replace(b"http", b"htpt")), "damaged"),
        (lambda path: path.unlink(), "cannot be read"),
        (lambda path: (path.unlink(), path.mkdir()), "cannot be read"),
    ],
)
def test_data_that_is_not_intact_is_refused_and_the_next_step_said(tiny, tmp_path, damage, message):
    damage(tmp_path / "tiny.npz")
    with pytest.raises(EncoderMissing, match=rf"{message}.*: reinstall dowse"):
        tiny.encode(["parse"])


def test_threads_share_one_load(static):
    texts = [[f"word {at}", "delete file"] for at in range(8)]
    with ThreadPoolExecutor(4) as pool:
        for asked, rows in zip(texts, pool.map(StaticEncoder().encode, texts), strict=True):
            np.testing.assert_array_equal(rows, static.encode(asked))


def test_another_process_gives_the_same_vectors(static):
    code = (
        "import sys; from dowse.encoders.static import StaticEncoder;"
        "sys.stdout.buffer.write(StaticEncoder().encode(['parseHTTPHeader of the request']).tobytes())"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert run.stdout == static.encode(["parseHTTPHeader of the request"]).tobytes()


# --- choosing it ------------------------------------------------------------------------------


def test_its_name_and_its_fingerprint_lead_to_it(static, tmp_path):
    choice = choose_encoder("static", cache_dir=tmp_path)
    assert isinstance(choice.encoder, StaticEncoder)
    assert (choice.why, choice.slow) == ("chosen in the settings.", False)
    found = encoder_by_fingerprint(static.fingerprint, cache_dir=tmp_path)
    assert isinstance(found, StaticEncoder)
    assert encoder_by_fingerprint("static-256:0000000000000000:1", cache_dir=tmp_path) is None
    assert encoder_short_name(static.fingerprint) == "static-256"
    assert fast_encoder().fingerprint == static.fingerprint


def test_it_counts_for_less_than_words(static):
    assert get_traits(static) == EncoderTraits(
        ranking_weight=0.23, similarity_floor=0.2, min_confidence=0.1338, unknown_word_penalty=0.5
    )


def test_making_it_imports_no_heavy_library():
    code = (
        "import sys; from dowse.encoders.static import StaticEncoder; StaticEncoder();"
        "print([name for name in ('numpy', 'tokenizers') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
