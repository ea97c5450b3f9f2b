"""The encoder without a model."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dowse.encoders.static import HashingEncoder
from dowse.errors import BadInput

ANY_TEXT = st.text(st.characters())


def test_it_is_the_384_dimensional_one_by_default():
    encoder = HashingEncoder()
    assert (encoder.name, encoder.dimension, encoder.fingerprint) == ("hash-384", 384, "hash-384:1")


def test_vectors_are_the_same_on_every_machine():
    row = HashingEncoder(8).encode(["dowse finds water"])[0]
    np.testing.assert_allclose(row, [0, -0.534897, 0, 0, 0, 0, 0.587606, -0.607128], atol=1e-6)


@pytest.mark.parametrize(
    ("left", "right"),
    [("Straße NORD", "straße nord"), ("a, b!", "b a"), ("見つける", "«見つける»"), ("x\ny", "x y")],
)
def test_case_order_and_punctuation_do_not_count(left, right):
    first, second = HashingEncoder().encode([left, right])
    np.testing.assert_allclose(first, second, atol=1e-6)


@pytest.mark.parametrize(("left", "right"), [("src/a.py", "src a py"), ("--force", "force"), ("a", "aa")])
def test_paths_and_flags_are_words_of_their_own(left, right):
    first, second = HashingEncoder().encode([left, right])
    assert first @ second < 0.9


@pytest.mark.parametrize("text", ["", " \n\t", "?!", "\0"])
def test_a_text_without_tokens_gives_a_zero_row(text):
    rows = HashingEncoder().encode(["word", text])
    assert not rows[1].any()
    assert rows[0].any()


@settings(deadline=None)
@given(st.lists(ANY_TEXT, max_size=5))
def test_rows_are_unit_or_zero_for_any_text(texts):
    rows = HashingEncoder().encode(texts)
    assert rows.shape == (len(texts), 384)
    assert rows.dtype == np.float32
    norms = np.linalg.norm(rows, axis=1)
    assert all(norm == 0 or abs(norm - 1) < 1e-5 for norm in norms)


def test_shared_words_bring_texts_nearer():
    query, near, far = HashingEncoder().encode(
        ["rotate the api keys", "how to rotate keys of the api", "bread and butter"]
    )
    assert query @ near > query @ far + 0.5


def test_lone_surrogates_are_words_too():
    assert HashingEncoder().encode(["a\ud800b"]).any()


def test_a_dimension_below_one_is_refused():
    with pytest.raises(BadInput, match="dimension"):
        HashingEncoder(0)
