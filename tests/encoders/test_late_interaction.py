"""Late interaction with the real transformer: what is near, what is kept, and texts that are odd."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from dowse.encoders.granite import GraniteEncoder
from dowse.encoders.rerank import LateInteraction, TokenVectorCache
from dowse.errors import EncoderMissing

QUERY = "How do I undo the last commit?"
TEXTS = [
    "Reverting a change: git reset moves the branch back to the commit before.",
    "Baking bread at home takes flour, water, salt and patience.",
    "",
    "日本語のテキスト",
    "a\ud800b",
    "x" * 100_000,
]


@pytest.fixture(scope="module")
def late_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("token graphs")


@pytest.fixture(scope="module")
def late(weights: Path, late_dir: Path) -> LateInteraction:
    return LateInteraction(weights, cache_dir=late_dir, threads=1)


def test_the_nearer_text_scores_higher_and_odd_ones_are_taken(late: LateInteraction) -> None:
    scores = late.judge(QUERY, TEXTS)
    assert scores[0] > max(scores[1:]) + 0.02
    assert all(-1.001 <= score <= 1.001 for score in scores)


def test_a_text_answers_itself_best(late: LateInteraction) -> None:
    (score,) = late.judge(TEXTS[0], [TEXTS[0]])
    assert score == pytest.approx(1, abs=2e-3)


def test_scores_do_not_depend_on_what_else_is_judged(late: LateInteraction, weights: Path, late_dir: Path) -> None:
    alone = LateInteraction(weights, cache_dir=late_dir, threads=1, kept_bytes=0)
    each = [alone.judge(QUERY, [text])[0] for text in TEXTS]
    np.testing.assert_allclose(alone.judge(QUERY, TEXTS[::-1])[::-1], each, atol=1e-3)
    np.testing.assert_allclose(late.judge(QUERY, [*TEXTS, *TEXTS]), each * 2, atol=1e-3)


def test_no_texts_give_no_scores(late: LateInteraction) -> None:
    assert late.judge(QUERY, []) == []


def test_threads_share_one_model(weights: Path, late_dir: Path, late: LateInteraction) -> None:
    shared = LateInteraction(weights, cache_dir=late_dir, threads=1)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: shared.judge(QUERY, TEXTS[:2]), range(6)))
    for answer in answers:
        np.testing.assert_allclose(answer, late.judge(QUERY, TEXTS[:2]), atol=1e-3)


def test_texts_judged_before_are_not_run_again(
    weights: Path, late_dir: Path, late: LateInteraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    reranker = LateInteraction(weights, cache_dir=late_dir, threads=1)
    first = reranker.judge(QUERY, TEXTS[:3])
    encoded: list[list[str]] = []
    run = reranker._encode_tokens
    monkeypatch.setattr(reranker, "_encode_tokens", lambda texts: encoded.append(texts) or run(texts))
    assert reranker.judge(QUERY, TEXTS[:3]) == first
    assert encoded == [[QUERY], []]


def test_it_has_a_graph_beside_that_of_the_encoder(
    granite: GraniteEncoder, graph_dir: Path, late_dir: Path, late: LateInteraction
) -> None:
    late.judge(QUERY, TEXTS[:1])
    (own,) = late_dir.iterdir()
    (other,) = graph_dir.iterdir()
    assert own.name != other.name


def test_weights_that_vanished_are_named(tmp_path: Path) -> None:
    with pytest.raises(EncoderMissing, match=r"gone\.hmsemb"):
        LateInteraction(tmp_path / "gone.hmsemb", cache_dir=tmp_path).judge(QUERY, TEXTS)


# --- what is kept -----------------------------------------------------------------------------


def rows(number: int) -> np.ndarray:
    return np.full((5, 10), number, dtype=np.float16)  # 100 bytes


def test_the_one_unused_for_longest_goes_first() -> None:
    kept = TokenVectorCache(250)
    kept.put(b"a", rows(1))
    kept.put(b"b", rows(2))
    assert kept.get(b"a") is not None
    kept.put(b"c", rows(3))
    assert kept.get(b"b") is None
    assert [kept.get(it) is not None for it in (b"a", b"c")] == [True, True]


def test_the_same_again_takes_no_more_room() -> None:
    kept = TokenVectorCache(250)
    for _ in range(9):
        kept.put(b"a", rows(1))
    kept.put(b"b", rows(2))
    assert [kept.get(it) is not None for it in (b"a", b"b")] == [True, True]


def test_what_is_larger_than_all_room_is_not_kept() -> None:
    kept = TokenVectorCache(99)
    kept.put(b"a", rows(1))
    assert kept.get(b"a") is None
    kept = TokenVectorCache(100)
    kept.put(b"a", rows(1))
    assert kept.get(b"a") is not None
