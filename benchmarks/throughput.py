"""How many chunks each encoder does per second and per CPU-second, and how near a transformer comes to its runtime."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dowse.config import Settings
from dowse.encoders.base import Encoder
from dowse.encoders.choose import choose_encoder
from dowse.engine import Engine
from dowse.ingest.embed import format_encoder_input
from dowse.ingest.sources.corpus import CorpusSource
from measuring import say
from report import Section, table
from timing import Cost, costed

SOURCES = ("anthropic_docs", "anthropic_codebase")
CHUNKS = 256
ROUNDS = 3
TRANSFORMER = "granite"


def measure(bench: Path, work: Path, encoders: Sequence[str]) -> Section:
    texts = _chunks(bench)
    models = work / "data" / "models"
    measured = {name: choose_encoder(name, cache_dir=models).encoder for name in encoders if name != "none"}
    costs = _costs(measured, texts)
    rows = [[name, *_rates(cost, len(texts)), _against(cost, costs)] for name, cost in costs.items()]
    if TRANSFORMER in measured:
        rows.append(_bare(measured[TRANSFORMER], texts))
    size = sum(map(len, texts)) / len(texts)
    lines = [
        f"Every encoder gets the same {len(texts)} chunks of documentation and code, {size:,.0f} characters on "
        f"average. The figure is the best of {ROUNDS} alternating rounds. Bare onnxruntime runs the encoder's own "
        "batches, already tokenised, one after another.",
        "",
        *table(["encoder", "chunks per second", "per CPU-second", "CPU ratio"], rows),
    ]
    return Section("throughput", "Encoder throughput", lines)


def _chunks(bench: Path) -> list[str]:
    """Chunks of real texts as encoders get them, evenly taken from all."""
    texts: list[str] = []
    for name in SOURCES:
        corpus = bench / name / "corpus.jsonl"
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            with Engine(Settings(encoder="none", data_dir=place), place / "index.db", create=True) as engine:
                engine.indexing.index_source(name, CorpusSource(corpus))
                texts += [
                    format_encoder_input(it.record.title, it.chunk.trail, it.chunk.text) for it in engine.export()
                ]
    step = max(1, len(texts) // CHUNKS)
    return texts[::step][:CHUNKS]


def _costs(encoders: Mapping[str, Encoder], texts: Sequence[str]) -> dict[str, Cost]:
    """Rounds of all take turns, so that a busy moment of the machine hits each."""
    for encoder in encoders.values():
        encoder.encode(texts[:1])
    found: dict[str, list[Cost]] = {name: [] for name in encoders}
    for turn in range(ROUNDS):
        for name, encoder in encoders.items():
            say(f"{name}: {len(texts)} chunks, round {turn + 1} of {ROUNDS}")
            found[name].append(costed(encoder.encode, texts)[1])
    return {name: _least(costs) for name, costs in found.items()}


def _least(costs: Sequence[Cost]) -> Cost:
    return Cost(min(it.wall_ms for it in costs), min(it.cpu_ms for it in costs))


def _rates(cost: Cost, count: int) -> list[str]:
    return [f"{count * 1000 / each:,.1f}" for each in cost]


def _against(cost: Cost, costs: Mapping[str, Cost]) -> str:
    return f"{costs[TRANSFORMER].cpu_ms / cost.cpu_ms:,.2f} × {TRANSFORMER}" if TRANSFORMER in costs else ""


class _Recorder:
    """A session that keeps what it is fed."""

    def __init__(self, session: Any) -> None:
        self.session = session
        self.fed: list[tuple[Any, Any]] = []

    def run(self, wanted: Any, feeds: Any) -> Any:
        self.fed.append((wanted, feeds))
        return self.session.run(wanted, feeds)


def _bare(encoder: Any, texts: Sequence[str]) -> list[str]:
    """Rounds of both take turns, so that a busy moment of the machine hits both."""
    say("bare onnxruntime on the same batches")
    model = encoder._model()
    recorder = _Recorder(model._session)
    model._session = recorder
    encoder.encode(texts)
    model._session = recorder.session
    whole, bare = [], []
    for _ in range(ROUNDS):
        whole.append(costed(encoder.encode, texts)[1])
        bare.append(costed(lambda: [recorder.session.run(wanted, feeds) for wanted, feeds in recorder.fed])[1])
    best = _least(bare)
    ratio = f"the encoder reaches {best.cpu_ms / _least(whole).cpu_ms:.0%} of it"
    return [f"bare onnxruntime, {TRANSFORMER}'s graph", *_rates(best, len(texts)), ratio]
