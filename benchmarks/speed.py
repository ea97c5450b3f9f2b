"""How quick everything is: indexing, syncing, cold starts and memory on 10,000 files, warm queries at several sizes.

Vectors are those of the hashing encoder, and the encoder's own time is counted apart, so that the figures are those of
the search; what a transformer takes for a query stands beside. Peers are measured in the same run where they are
installed.
"""

from __future__ import annotations

import os
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path

import peers
from dowse.config import Settings
from dowse.encoders.choose import choose_encoder
from dowse.engine import Engine
from dowse.model import Query
from dowse.paths import DataPaths
from dowse.search.recipes import RECIPES
from dowse.search.run import QueryVector
from made_up import Corpus, make_corpus
from measuring import say
from processes import cold, serving_memory
from report import Section, table
from timing import ms, p, p50_p95, timed

ENCODER = "hashing"
AIMS = {("lexical", 10_000): "p50 < 3 ms", ("hybrid", 10_000): "p50 < 10 ms"}
RERANKED = ("late", "rerank")
RERANKED_QUERIES = 20

Row = list[str]
Rows = list[Row]


def measure(sizes: Sequence[int], work: Path, rifflux: Path | None) -> Section:
    rows: Rows = []
    for size in sizes:
        with tempfile.TemporaryDirectory(dir=_made(work)) as name:
            rows += _at(size, Path(name).resolve(), whole=size == sizes[0], rifflux=rifflux)
    rows += _encoder_times(work)
    lines = [
        "The machine is shared and noisy: compare figures only within the table.",
        "",
        *table(["what", "measured", "aim or ratio"], rows),
    ]
    return Section("speed", "Speed", lines)


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _at(size: int, folder: Path, *, whole: bool, rifflux: Path | None) -> Rows:
    """The warm queries at one size; with `whole` also what is measured once."""
    say(f"{size:,} chunks: writing files")
    corpus = make_corpus(folder / "corpus", size)
    settings = Settings(encoder=ENCODER, data_dir=folder / "data")
    ours: dict[str, float] = {}
    with Engine(settings, DataPaths.of(settings).index_path(corpus.root), create=True) as engine:
        rows = _building(engine, corpus, ours)
        rows += _syncing(engine, corpus, ours) if whole else []
        rows += _warm(engine, corpus, ours)
    say(f"{size:,} chunks: peers")
    rows += peers.words(corpus, ours)
    if whole:
        say("new processes")
        environment = os.environ | {"DOWSE_DATA_DIR": str(folder / "data"), "DOWSE_ENCODER": ENCODER}
        rows += cold(environment, corpus.root, corpus.queries)
        rows += serving_memory(environment, corpus.root)
        rows += peers.ripgrep(corpus, environment)
        rows += peers.rifflux(rifflux, corpus, folder, ours)
    return rows


def _building(engine: Engine, corpus: Corpus, ours: dict[str, float]) -> Rows:
    say(f"{len(corpus.texts):,} chunks: indexing")
    ours["build"] = ms(lambda: engine.index([corpus.root]))
    counts = engine.status().counts
    size_mb = engine.index_path.stat().st_size / 1e6
    rate = counts.chunks / ours["build"] * 1000
    what = f"build, {corpus.files:,} files, {counts.chunks:,} chunks, {ENCODER} encoder"
    return [[what, f"{ours['build']:,.0f} ms, {rate:,.0f} chunks/s, index {size_mb:.0f} MB", ""]]


def _syncing(engine: Engine, corpus: Corpus, ours: dict[str, float]) -> Rows:
    ours["noop"] = statistics.median(ms(lambda: engine.index([corpus.root])) for _ in range(7))
    path = sorted(corpus.root.glob("*/*.md"))[corpus.files // 2]
    named = [_edited(engine, path, path, number) for number in range(15)]
    found = [_edited(engine, path, corpus.root, number) for number in range(15, 30)]
    return [
        [f"no-op sync of {corpus.files:,} files", f"{ours['noop']:.0f} ms", "< 1,000 ms"],
        ["one changed file, given by path", f"{statistics.median(named):.1f} ms", "< 50 ms"],
        ["one changed file, found by a full sync", f"{statistics.median(found):.0f} ms", ""],
    ]


def _edited(engine: Engine, path: Path, place: Path, number: int) -> float:
    path.write_text(f"{path.read_text()}\nedit {number}\n")
    return ms(lambda: engine.index([place]))


def _warm(engine: Engine, corpus: Corpus, ours: dict[str, float]) -> Rows:
    size, rows = len(corpus.texts), []
    say(f"{size:,} chunks: asking")
    for recipe in ("lexical", "semantic", "hybrid"):
        total, beside = _asked(engine, corpus.queries, recipe)
        ours[recipe] = p(total, 50)
        what = f"warm {recipe} query, {size:,} chunks, without the encoder's time"
        rows.append([what, p50_p95(beside), AIMS.get((recipe, size), "")])
    for recipe in RERANKED:
        if recipe in RECIPES:
            _, beside = _asked(engine, corpus.queries[:RERANKED_QUERIES], recipe)
            rows.append([f"warm {recipe} query, {size:,} chunks, without the encoder's time", p50_p95(beside), ""])
    return rows


def _asked(engine: Engine, queries: Sequence[str], recipe: str) -> tuple[list[float], list[float]]:
    """Milliseconds of each query, and without what its encoding took."""
    spent = _encoder_stopwatch(engine)
    total, beside = [], []
    engine.search(Query(queries[0], recipe=recipe))
    for text in queries:
        spent.clear()
        took = ms(engine.search, Query(text, recipe=recipe))
        total.append(took)
        beside.append(took - sum(spent))
        if "semantic" in RECIPES[recipe].retrievers and not spent:
            raise SystemExit("the stopwatch on the encoder does not run any more; see _encoder_stopwatch")
    return total, beside


def _encoder_stopwatch(engine: Engine) -> list[float]:
    """Collects what each encoding of a query takes from now on."""
    spent: list[float] = []
    encode = engine._core.encoders.encode_query

    def watched(text: str) -> QueryVector:
        vector, took = timed(encode, text)
        spent.append(took)
        return vector

    engine._core.encoders.encode_query = watched  # type: ignore[method-assign]
    return spent


def _encoder_times(work: Path) -> Rows:
    """The default encoder's own time, which the query times leave out."""
    question = "how are retries handled"
    with tempfile.TemporaryDirectory(dir=work) as folder:
        choice = choose_encoder("auto", cache_dir=Path(folder))
        first = ms(lambda: choice.encoder.encode([question]))
        again = ms(lambda: choose_encoder("auto", cache_dir=Path(folder)).encoder.encode([question]))
        times = [ms(choice.encoder.encode, [f"{question} {number}"]) for number in range(50)]
    name = choice.encoder.name
    return [
        [f"{name}: first use, graph built", f"{first:.0f} ms", ""],
        [f"{name}: first use in a process, graph cached", f"{again:.0f} ms", ""],
        [f"{name}: one query", p50_p95(times), ""],
    ]
