"""The encoder against a real server, infinity, with a tiny model made here; it needs no network.

The server has dependencies of its own, so it lives in a virtual environment of its own (1.4 GB), which `.ci/run` makes:
    python3 -m venv V && V/bin/pip install torch==2.13.0 'infinity-emb[torch,server]==0.0.78'
and the tests find it by `INFINITY_VENV=V`, or by `infinity_emb` on the PATH.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import struct
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from dowse.encoders.choose import choose
from dowse.encoders.http import HttpEncoder
from dowse.engine import Engine
from dowse.errors import EncoderMissing
from dowse.model import Query
from support import OpenEngine, write

KEY = "s3cret"
WIDTH, TOKENS = 32, 64
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
LETTERS = "abcdefghijklmnopqrstuvwxyz"
VOCABULARY = {it: place for place, it in enumerate([*SPECIAL, *LETTERS, *(f"##{it}" for it in LETTERS)])}
OFFLINE = {"HF_HUB_OFFLINE": "1", "DO_NOT_TRACK": "1", "INFINITY_ANONYMOUS_USAGE_STATS": "0", "OMP_NUM_THREADS": "1"}
START_S = 300  # a cold start imports all of torch, on a busy machine
NAME = Path(__file__).name
pytestmark = pytest.mark.xdist_group("infinity")


def write_model(folder: Path) -> None:
    """A BERT of two layers with random weights: it means nothing, but equal texts get equal vectors."""
    size = {"hidden_size": WIDTH, "intermediate_size": WIDTH, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = {
        "architectures": ["BertModel"], "model_type": "bert", "vocab_size": len(VOCABULARY),
        "max_position_embeddings": TOKENS, **size,
    }  # fmt: skip
    names = {f"{it.strip('[]').lower()}_token": it for it in SPECIAL}
    tokens = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": TOKENS, **names}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "tokenizer_config.json").write_text(json.dumps(tokens))
    (folder / "tokenizer.json").write_text(tokenizer())
    (folder / "model.safetensors").write_bytes(safetensors(weights()))


def tokenizer() -> str:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    made = Tokenizer(models.WordPiece(VOCABULARY, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return str(made.to_str())


def weights() -> dict[str, np.ndarray]:
    random = np.random.default_rng(7)
    rows = {"word": len(VOCABULARY), "position": TOKENS, "token_type": 2}
    made = {f"embeddings.{name}_embeddings.weight": random.normal(size=(count, WIDTH)) for name, count in rows.items()}
    dense, norms = ["pooler.dense"], ["embeddings.LayerNorm"]
    for layer in ("encoder.layer.0", "encoder.layer.1"):
        dense += [f"{layer}.attention.self.{it}" for it in ("query", "key", "value")]
        dense += [f"{layer}.{it}.dense" for it in ("attention.output", "intermediate", "output")]
        norms += [f"{layer}.attention.output.LayerNorm", f"{layer}.output.LayerNorm"]
    made |= {f"{name}.weight": random.normal(scale=WIDTH**-0.5, size=(WIDTH, WIDTH)) for name in dense}
    made |= {f"{name}.weight": np.ones(WIDTH) for name in norms}
    return made | {f"{name}.bias": np.zeros(WIDTH) for name in dense + norms}


def safetensors(tensors: dict[str, np.ndarray]) -> bytes:
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    data = b""
    for name, tensor in tensors.items():
        blob = tensor.astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": tensor.shape, "data_offsets": [len(data), len(data) + len(blob)]}
        data += blob
    head = json.dumps(header).encode()
    return struct.pack("<Q", len(head)) + head + data


@dataclass
class Server:
    url: str
    process: subprocess.Popen[bytes]

    def encoder(self, key: str = KEY) -> HttpEncoder:
        encoder = choose(f"openai:tiny@{self.url}", cache_dir=Path(), api_key=key).encoder
        assert isinstance(encoder, HttpEncoder)
        return encoder


def executable() -> str:
    folder = os.environ.get("INFINITY_VENV", "")
    found = shutil.which("infinity_emb", path=str(Path(folder, "bin"))) if folder else shutil.which("infinity_emb")
    if found is None and folder:
        pytest.fail(f"there is no infinity_emb in INFINITY_VENV={folder}")
    if found is None:
        pytest.skip("needs the server infinity, 1.4 GB: set INFINITY_VENV, see the docstring of tests/encoders/" + NAME)
    return found


@contextlib.contextmanager
def running(program: str, model: Path, log: Path, key: str) -> Iterator[Server]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    options = {
        "--model-id": str(model), "--served-model-name": "tiny", "--host": "127.0.0.1", "--port": port,
        "--url-prefix": "/v1", "--device": "cpu", "--engine": "torch", "--dtype": "float32",
    }  # fmt: skip
    switches = ["--no-bettertransformer", "--no-model-warmup", "--no-trust-remote-code"]
    command = [program, "v2", *(part for option in options.items() for part in option), *switches]
    with log.open("wb") as output:
        environment = {**os.environ, **OFFLINE, "INFINITY_API_KEY": key}
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=subprocess.STDOUT)
    try:
        await_health(f"http://127.0.0.1:{port}/health", process, log)
        yield Server(f"http://127.0.0.1:{port}", process)
    finally:
        process.kill()
        process.wait()


def await_health(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + START_S
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=5):
            return
        time.sleep(0.2)
    pytest.fail(f"infinity did not start:\n{log.read_text(errors='replace')[-3000:]}")


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tiny")
    write_model(folder)
    return folder


@pytest.fixture(scope="session")
def server(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(executable(), model, tmp_path_factory.mktemp("log") / "infinity.log", KEY) as server:
        yield server


def test_its_model_and_dimension_are_known(server):
    encoder = server.encoder()
    assert encoder.dimension == WIDTH
    assert encoder.fingerprint == f"openai:tiny:{WIDTH}"


def test_rows_are_unit_vectors_in_the_order_of_the_texts(server):
    texts = [f"{word} {other}" for word in ("cat", "dog", "ünïcode 漢字", "a\x00b") for other in LETTERS]
    texts[50] = "  "
    encoder = server.encoder()
    rows = encoder.encode(texts)
    assert rows.shape == (104, WIDTH)
    lengths = np.linalg.norm(rows, axis=1)
    assert lengths[50] == 0
    np.testing.assert_allclose(np.delete(lengths, 50), 1, atol=1e-5)
    for place in (0, 31, 32, 77, 103):
        np.testing.assert_allclose(encoder.encode([texts[place]])[0], rows[place], atol=1e-5)
    assert encoder.take_problem() == ""


def test_different_texts_get_different_vectors(server):
    cat, dog, again = server.encoder().encode(["cat", "dog", "cat"])
    assert cat @ again == pytest.approx(1, abs=1e-5)
    assert cat @ dog < 0.999


def test_a_text_it_refuses_for_its_length_is_cut(server):
    # It takes 122,880 characters at most, and answers a longer text with an error that repeats all of it.
    long = "cat dog " * 20_000
    encoded = server.encoder().try_encode(["cat", long, "dog"])
    assert encoded.skipped == []
    np.testing.assert_allclose(encoded.rows, server.encoder().encode(["cat", long[:1000], "dog"]), atol=1e-5)


@pytest.mark.parametrize("key", ["", "wrong"])
def test_a_wrong_key_is_told_but_not_shown(server, key):
    with pytest.raises(EncoderMissing, match=r"answered 401: .*check its key") as caught:
        server.encoder(key).encode(["cat"])
    assert KEY not in str(caught.value)


def test_an_address_that_is_wrong_is_told(server):
    encoder = choose(f"openai:tiny@{server.url}/v2/v1", cache_dir=Path(), api_key=KEY).encoder
    with pytest.raises(EncoderMissing, match=r"answered 404: .*check the model and the address"):
        encoder.encode(["cat"])


def test_an_index_is_made_and_asked_and_answers_by_words_when_the_server_is_gone(
    model: Path, tmp_path: Path, root: Path, open_engine: OpenEngine
) -> None:
    write(root, {"a.md": "# Cats\n\ncats purr and sleep\n", "b.md": "# Dogs\n\ndogs bark at night\n"})
    with running(executable(), model, tmp_path / "infinity.log", "") as server:
        engine: Engine = open_engine(encoder=f"openai:tiny@{server.url}")
        engine.index([root])
        hits = engine.search(Query("cats purr", recipe="semantic")).hits
        assert len(hits) == 2
    answer = engine.search(Query("cats purr"))
    assert [it.stored.record.path for it in answer.hits] == ["a.md"]
    assert "cannot be reached" in next(it.note for it in answer.steps if it.name == "semantic")
