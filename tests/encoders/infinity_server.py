"""A real server, infinity, with tiny models made here; it needs no network.

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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from support import eventually

KEY = "s3cret"
WIDTH, TOKENS = 32, 64
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
LETTERS = "abcdefghijklmnopqrstuvwxyz"
VOCABULARY = {it: place for place, it in enumerate([*SPECIAL, *LETTERS, *(f"##{it}" for it in LETTERS)])}
OFFLINE = {"HF_HUB_OFFLINE": "1", "DO_NOT_TRACK": "1", "INFINITY_ANONYMOUS_USAGE_STATS": "0", "OMP_NUM_THREADS": "1"}
START_S = 300  # a cold start imports all of torch, on a busy machine


@dataclass
class Server:
    url: str
    process: subprocess.Popen[bytes]


def write_encoder(folder: Path) -> None:
    """A BERT of two layers with random weights: it means nothing, but equal texts get equal vectors."""
    _write(folder, {"architectures": ["BertModel"]}, _bert("", layers=2), layers=2)


def write_reranker(folder: Path) -> None:
    """A BERT of one layer that classifies, with random weights: equal pairs get equal scores, and that is all."""
    head = {"classifier.weight": np.random.default_rng(8).normal(size=(1, WIDTH)), "classifier.bias": np.zeros(1)}
    labels = {"id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}}
    config = {"architectures": ["BertForSequenceClassification"], **labels}
    _write(folder, config, _bert("bert.", layers=1) | head, layers=1)


def _write(folder: Path, config: Mapping[str, object], tensors: Mapping[str, np.ndarray], layers: int) -> None:
    size = {"hidden_size": WIDTH, "intermediate_size": WIDTH, "num_hidden_layers": layers, "num_attention_heads": 2}
    kind = {"model_type": "bert", "vocab_size": len(VOCABULARY), "max_position_embeddings": TOKENS}
    names = {f"{it.strip('[]').lower()}_token": it for it in SPECIAL}
    tokens = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": TOKENS, **names}
    (folder / "config.json").write_text(json.dumps({**config, **kind, **size}))
    (folder / "tokenizer_config.json").write_text(json.dumps(tokens))
    (folder / "tokenizer.json").write_text(_tokenizer())
    (folder / "model.safetensors").write_bytes(_safetensors(tensors))


def _tokenizer() -> str:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    made = Tokenizer(models.WordPiece(VOCABULARY, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return str(made.to_str())


def _bert(prefix: str, layers: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(7)
    rows = {"word": len(VOCABULARY), "position": TOKENS, "token_type": 2}
    made = {
        f"{prefix}embeddings.{name}_embeddings.weight": random.normal(size=(count, WIDTH))
        for name, count in rows.items()
    }
    dense, norms = [f"{prefix}pooler.dense"], [f"{prefix}embeddings.LayerNorm"]
    for layer in (f"{prefix}encoder.layer.{it}" for it in range(layers)):
        dense += [f"{layer}.attention.self.{it}" for it in ("query", "key", "value")]
        dense += [f"{layer}.{it}.dense" for it in ("attention.output", "intermediate", "output")]
        norms += [f"{layer}.attention.output.LayerNorm", f"{layer}.output.LayerNorm"]
    made |= {f"{name}.weight": random.normal(scale=WIDTH**-0.5, size=(WIDTH, WIDTH)) for name in dense}
    made |= {f"{name}.weight": np.ones(WIDTH) for name in norms}
    return made | {f"{name}.bias": np.zeros(WIDTH) for name in dense + norms}


def _safetensors(tensors: Mapping[str, np.ndarray]) -> bytes:
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
    eventually(lambda: not Path(folder, "installing").exists(), "infinity is still being installed", within_s=1_800)
    found = shutil.which("infinity_emb", path=str(Path(folder, "bin"))) if folder else shutil.which("infinity_emb")
    if found is None and folder:
        pytest.fail(f"there is no infinity_emb in INFINITY_VENV={folder}")
    if found is None:
        pytest.skip("needs the server infinity, 1.4 GB: set INFINITY_VENV, see tests/encoders/infinity_server.py")
    return found


@contextlib.contextmanager
def running(program: str, model: Path, log: Path, *more: str, key: str = KEY) -> Iterator[Server]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    options = {
        "--model-id": str(model), "--served-model-name": "tiny", "--host": "127.0.0.1", "--port": port,
        "--device": "cpu", "--engine": "torch", "--dtype": "float32",
    }  # fmt: skip
    switches = ["--no-bettertransformer", "--no-model-warmup", "--no-trust-remote-code"]
    command = [program, "v2", *_flat(options), *switches, *more]
    with log.open("wb") as output:
        environment = {**os.environ, **OFFLINE, "INFINITY_API_KEY": key}
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=subprocess.STDOUT)
    try:
        _await_health(f"http://127.0.0.1:{port}/health", process, log)
        yield Server(f"http://127.0.0.1:{port}", process)
    finally:
        process.kill()
        process.wait()


def _flat(options: Mapping[str, str]) -> Sequence[str]:
    return [part for option in options.items() for part in option]


def _await_health(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + START_S
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=5):
            return
        time.sleep(0.2)
    pytest.fail(f"infinity did not start:\n{log.read_text(errors='replace')[-3000:]}")
