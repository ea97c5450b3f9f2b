"""The encoder against a real server: infinity, see `infinity_server.py`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from infinity_server import KEY, LETTERS, WIDTH, Server, executable, running, write_encoder

from dowse.encoders.choose import choose_encoder
from dowse.encoders.http import HttpEncoder
from dowse.engine import Engine
from dowse.errors import EncoderMissing
from dowse.model import Query
from support import OpenEngine, write

pytestmark = pytest.mark.xdist_group("infinity")


def encoder_of(server: Server, key: str = KEY) -> HttpEncoder:
    encoder = choose_encoder(f"openai:tiny@{server.url}", cache_dir=Path(), api_key=key).encoder
    assert isinstance(encoder, HttpEncoder)
    return encoder


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tiny")
    write_encoder(folder)
    return folder


@pytest.fixture(scope="session")
def server(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(executable(), model, tmp_path_factory.mktemp("log") / "infinity.log", "--url-prefix", "/v1") as server:
        yield server


def test_its_model_and_dimension_are_known(server):
    encoder = encoder_of(server)
    assert encoder.dimension == WIDTH
    assert encoder.fingerprint == f"openai:tiny:{WIDTH}"


def test_rows_are_unit_vectors_in_the_order_of_the_texts(server):
    texts = [f"{word} {other}" for word in ("cat", "dog", "ünïcode 漢字", "a\x00b") for other in LETTERS]
    texts[50] = "  "
    encoder = encoder_of(server)
    rows = encoder.encode(texts)
    assert rows.shape == (104, WIDTH)
    lengths = np.linalg.norm(rows, axis=1)
    assert lengths[50] == 0
    np.testing.assert_allclose(np.delete(lengths, 50), 1, atol=1e-5)
    for place in (0, 31, 32, 77, 103):
        np.testing.assert_allclose(encoder.encode([texts[place]])[0], rows[place], atol=1e-5)
    assert encoder.take_problem() == ""


def test_different_texts_get_different_vectors(server):
    cat, dog, again = encoder_of(server).encode(["cat", "dog", "cat"])
    assert cat @ again == pytest.approx(1, abs=1e-5)
    assert cat @ dog < 0.999


def test_a_text_it_refuses_for_its_length_is_cut(server):
    # It takes 122,880 characters at most, and answers a longer text with an error that repeats all of it.
    long = "cat dog " * 20_000
    encoded = encoder_of(server).try_encode(["cat", long, "dog"])
    assert encoded.skipped == []
    np.testing.assert_allclose(encoded.rows, encoder_of(server).encode(["cat", long[:1000], "dog"]), atol=1e-5)


@pytest.mark.parametrize("key", ["", "wrong"])
def test_a_wrong_key_is_told_but_not_shown(server, key):
    with pytest.raises(EncoderMissing, match=r"answered 401: .*check its key") as caught:
        encoder_of(server, key).encode(["cat"])
    assert KEY not in str(caught.value)


def test_an_address_that_is_wrong_is_told(server):
    encoder = choose_encoder(f"openai:tiny@{server.url}/v2/v1", cache_dir=Path(), api_key=KEY).encoder
    with pytest.raises(EncoderMissing, match=r"answered 404: .*check the model and the address"):
        encoder.encode(["cat"])


def test_an_index_is_made_and_asked_and_answers_by_words_when_the_server_is_gone(
    model: Path, tmp_path: Path, root: Path, open_engine: OpenEngine
) -> None:
    write(root, {"a.md": "# Cats\n\ncats purr and sleep\n", "b.md": "# Dogs\n\ndogs bark at night\n"})
    with running(executable(), model, tmp_path / "infinity.log", "--url-prefix", "/v1", key="") as server:
        engine: Engine = open_engine(encoder=f"openai:tiny@{server.url}")
        engine.index([root])
        hits = engine.search(Query("cats purr", recipe="semantic")).hits
        assert len(hits) == 2
    answer = engine.search(Query("cats purr"))
    assert [it.stored.record.path for it in answer.hits] == ["a.md"]
    assert "cannot be reached" in next(it.note for it in answer.steps if it.name == "semantic")
