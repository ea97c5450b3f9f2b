"""The reranker against a real server, infinity, with a tiny model made here; it needs no network.

The server has dependencies of its own, so it lives in a virtual environment of its own (1.4 GB):
    python -m venv V && V/bin/pip install torch 'infinity-emb[torch,server]==0.0.78'
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
from pathlib import Path

import numpy as np
import pytest

from dowse.encoders.http_names import RERANKERS
from dowse.encoders.http_transport import Transport
from dowse.encoders.rerank_http import HttpReranker
from dowse.errors import EncoderMissing
from dowse.model import Query
from support import OpenEngine, write

KEY = "s3cret"
WIDTH, TOKENS = 32, 64
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
LETTERS = "abcdefghijklmnopqrstuvwxyz"
VOCABULARY = {it: place for place, it in enumerate([*SPECIAL, *LETTERS, *(f"##{it}" for it in LETTERS)])}
OFFLINE = {"HF_HUB_OFFLINE": "1", "DO_NOT_TRACK": "1", "INFINITY_ANONYMOUS_USAGE_STATS": "0", "OMP_NUM_THREADS": "1"}
START_S = 120
pytestmark = pytest.mark.xdist_group("infinity")


def write_model(folder: Path) -> None:
    """A BERT of one layer that classifies, with random weights: equal pairs get equal scores, and that is all."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    config = {
        "architectures": ["BertForSequenceClassification"], "model_type": "bert", "vocab_size": len(VOCABULARY),
        "max_position_embeddings": TOKENS, "hidden_size": WIDTH, "intermediate_size": WIDTH, "num_hidden_layers": 1,
        "num_attention_heads": 2, "id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0},
    }  # fmt: skip
    names = {f"{it.strip('[]').lower()}_token": it for it in SPECIAL}
    tokens = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": TOKENS, **names}
    tokenizer = Tokenizer(models.WordPiece(VOCABULARY, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "tokenizer_config.json").write_text(json.dumps(tokens))
    (folder / "tokenizer.json").write_text(tokenizer.to_str())
    (folder / "model.safetensors").write_bytes(safetensors(weights()))


def weights() -> dict[str, np.ndarray]:
    random = np.random.default_rng(7)
    tables = {"word": len(VOCABULARY), "position": TOKENS, "token_type": 2}
    made = {
        f"bert.embeddings.{name}_embeddings.weight": random.normal(size=(size, WIDTH)) for name, size in tables.items()
    }
    layer = "bert.encoder.layer.0"
    dense = ["bert.pooler.dense", *(f"{layer}.attention.self.{it}" for it in ("query", "key", "value"))]
    dense += [f"{layer}.{it}.dense" for it in ("attention.output", "intermediate", "output")]
    norms = [f"{it}.LayerNorm" for it in ("bert.embeddings", f"{layer}.attention.output", f"{layer}.output")]
    made |= {f"{name}.weight": random.normal(scale=WIDTH**-0.5, size=(WIDTH, WIDTH)) for name in dense}
    made |= {f"{name}.weight": np.ones(WIDTH) for name in norms}
    made |= {f"{name}.bias": np.zeros(WIDTH) for name in dense + norms}
    return made | {"classifier.weight": random.normal(size=(1, WIDTH)), "classifier.bias": np.zeros(1)}


def safetensors(tensors: dict[str, np.ndarray]) -> bytes:
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    data = b""
    for name, tensor in tensors.items():
        blob = tensor.astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": tensor.shape, "data_offsets": [len(data), len(data) + len(blob)]}
        data += blob
    head = json.dumps(header).encode()
    return struct.pack("<Q", len(head)) + head + data


def executable() -> str:
    folder = os.environ.get("INFINITY_VENV", "")
    found = shutil.which("infinity_emb", path=str(Path(folder, "bin"))) if folder else shutil.which("infinity_emb")
    if found is None:
        pytest.skip("the server infinity is not installed: see the docstring of this file")
    return found


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    program, model = executable(), tmp_path_factory.mktemp("tiny")
    write_model(model)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    options = {
        "--model-id": str(model), "--served-model-name": "tiny", "--host": "127.0.0.1", "--port": port,
        "--device": "cpu", "--engine": "torch", "--dtype": "float32",
    }  # fmt: skip
    switches = ["--no-bettertransformer", "--no-model-warmup", "--no-trust-remote-code"]
    command = [program, "v2", *(part for option in options.items() for part in option), *switches]
    log = model / "infinity.log"
    with log.open("wb") as output:
        environment = {**os.environ, **OFFLINE, "INFINITY_API_KEY": KEY}
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=subprocess.STDOUT)
    try:
        await_health(f"http://127.0.0.1:{port}/health", process, log)
        yield f"http://127.0.0.1:{port}"
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


def reranker(url: str, key: str = KEY, batch: int = 32) -> HttpReranker:
    server = RERANKERS.parse(f"cohere:tiny@{url}")
    return HttpReranker(server, Transport(server.url, api_key=key, waits_s=()), batch=batch)


def test_scores_come_in_the_order_of_the_texts(url: str) -> None:
    texts = ["cat", "dog barks", "ünïcode 漢字", "a\x00b", "", "cat dog " * 500, "cat"]
    scores = reranker(url).judge("cats", texts)
    each = [reranker(url).judge("cats", [text])[0] for text in texts]
    assert scores == pytest.approx(each, abs=1e-4)
    assert reranker(url, batch=2).judge("cats", texts) == pytest.approx(each, abs=1e-4)
    assert scores[0] == pytest.approx(scores[-1], abs=1e-6)
    assert len({round(score, 4) for score in scores}) > 2


@pytest.mark.parametrize("key", ["", "wrong"])
def test_a_wrong_key_is_told_but_not_shown(url: str, key: str) -> None:
    with pytest.raises(EncoderMissing, match=r"answered 401: .*check its key") as caught:
        reranker(url, key).judge("cat", ["dog"])
    assert KEY not in str(caught.value)


def test_a_search_is_reranked_by_it(url: str, root: Path, open_engine: OpenEngine) -> None:
    write(root, {"a.md": "# Cats\n\ncats purr and sleep\n", "b.md": "# Dogs\n\ndogs bark at cats\n"})
    engine = open_engine(reranker=f"cohere:tiny@{url}", reranker_key=KEY)
    engine.index([root])
    answer = engine.search(Query("cats purr", recipe="rerank"))
    assert [it.note for it in answer.steps if it.name == "rerank"] == [""]
    by_path = {hit.stored.record.path: hit.evidence["rerank"] for hit in answer.hits}
    expected = reranker(url).judge("cats purr", ["# Cats\n\ncats purr and sleep", "# Dogs\n\ndogs bark at cats"])
    assert by_path == pytest.approx(dict(zip(("a.md", "b.md"), expected, strict=True)), abs=1e-4)
