"""How many chunks each encoder does per second, and how near a transformer comes to its bare runtime."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dowse.config import Settings
from dowse.encoders.base import Encoder
from dowse.encoders.choose import choose
from dowse.engine import Engine
from dowse.ingest.embed import embed_text
from dowse.ingest.sources.corpus import CorpusSource
from measuring import say
from report import Section, table
from timing import ms

SOURCES = ("anthropic_docs", "anthropic_codebase")
CHUNKS = 256
ROUNDS = 3
TRANSFORMER = "granite"


def measure(bench: Path, work: Path, encoders: Sequence[str]) -> Section:
    texts = _chunks(bench)
    models = work / "data" / "models"
    rates = {name: _rate(name, choose(name, cache_dir=models).encoder, texts) for name in encoders if name != "none"}
    rows = [[name, f"{rate:,.1f}", _against(rate, rates)] for name, rate in rates.items()]
    if TRANSFORMER in rates:
        rows.append(_beside_bare(choose(TRANSFORMER, cache_dir=models).encoder, texts))
    size = sum(map(len, texts)) / len(texts)
    lines = [
        f"The same {len(texts)} chunks of documentation and code, {size:,.0f} characters on average; the best of "
        f"{ROUNDS} rounds. Bare onnxruntime runs the batches the encoder made, padded and tokenised before.",
        "",
        *table(["encoder", "chunks per second", "ratio"], rows),
    ]
    return Section("throughput", "Throughput of the encoders", lines)


def _chunks(bench: Path) -> list[str]:
    """Chunks of real texts as encoders get them, evenly taken from all."""
    texts: list[str] = []
    for name in SOURCES:
        corpus = bench / name / "corpus.jsonl"
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            with Engine(Settings(encoder="none", data_dir=place), place / "index.db", create=True) as engine:
                engine.index_source(name, CorpusSource(corpus))
                texts += [embed_text(it.record.title, it.chunk.trail, it.chunk.text) for it in engine.export()]
    step = max(1, len(texts) // CHUNKS)
    return texts[::step][:CHUNKS]


def _rate(name: str, encoder: Encoder, texts: Sequence[str]) -> float:
    say(f"{name}: {len(texts)} chunks, {ROUNDS} rounds")
    encoder.encode(texts[:1])
    return len(texts) * 1000 / min(ms(lambda: encoder.encode(texts)) for _ in range(ROUNDS))


def _against(rate: float, rates: dict[str, float]) -> str:
    return f"{rate / rates[TRANSFORMER]:,.1f} × {TRANSFORMER}" if TRANSFORMER in rates else ""


class _Recorder:
    """A session that keeps what it is fed."""

    def __init__(self, session: Any) -> None:
        self.session = session
        self.fed: list[tuple[Any, Any]] = []

    def run(self, wanted: Any, feeds: Any) -> Any:
        self.fed.append((wanted, feeds))
        return self.session.run(wanted, feeds)


def _beside_bare(encoder: Any, texts: Sequence[str]) -> list[str]:
    """Rounds of both take turns, so that a busy moment of the machine hits both."""
    say("bare onnxruntime on the same batches")
    encoder.encode(texts[:1])
    model = encoder._model()
    recorder = _Recorder(model._session)
    model._session = recorder
    encoder.encode(texts)
    model._session = recorder.session
    whole, bare = [], []
    for _ in range(ROUNDS):
        whole.append(ms(lambda: encoder.encode(texts)))
        bare.append(ms(lambda: [recorder.session.run(wanted, feeds) for wanted, feeds in recorder.fed]))
    ratio = f"the encoder reaches {min(bare) / min(whole):.0%} of it"
    return [f"bare onnxruntime, {TRANSFORMER}'s graph", f"{len(texts) * 1000 / min(bare):,.1f}", ratio]
