"""Other search engines on the same texts and queries, in the same run, where they are installed."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from made_up import Corpus
from processes import run_ms
from timing import ms, p, p50_p95, timed, times

LIMIT = 10
Rows = list[list[str]]
Ask = Callable[[str], object]


def words(corpus: Corpus, ours: Mapping[str, float]) -> Rows:
    """Engines for words only: each indexes the texts in memory and gives the keys of ten hits, without their texts."""
    rows: Rows = []
    for name, make in {"bm25s": _bm25s, "tantivy": _tantivy}.items():
        if importlib.util.find_spec(name) is None:
            rows.append([f"{name}, words", "not installed", ""])
            continue
        ask, built = timed(make, corpus.texts)
        ask(corpus.queries[0])
        took = [ms(ask, text) for text in corpus.queries]
        ratio = f"{times(p(took, 50), ours['lexical'])} Dowse's lexical"
        what = f"{name}, words, {len(corpus.texts):,} chunks"
        rows.append([what, f"{p50_p95(took)}; build {built:,.0f} ms", ratio])
    return rows


def _bm25s(texts: list[str]) -> Ask:
    import bm25s

    index = bm25s.BM25()
    index.index(bm25s.tokenize(texts, show_progress=False), show_progress=False)

    def ask(text: str) -> object:
        tokens = bm25s.tokenize([text], show_progress=False)
        return index.retrieve(tokens, k=LIMIT, show_progress=False)

    return ask


def _tantivy(texts: list[str]) -> Ask:
    import tantivy

    schema = tantivy.SchemaBuilder().add_text_field("text").add_integer_field("key", stored=True).build()
    index = tantivy.Index(schema)
    writer = index.writer()
    for key, text in enumerate(texts):
        writer.add_document(tantivy.Document(text=text, key=key))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()
    return lambda text: searcher.search(index.parse_query(text, ["text"]), LIMIT).hits


def ripgrep(corpus: Corpus, environment: Mapping[str, str]) -> Rows:
    if shutil.which("rg") is None:
        return [["ripgrep", "not on this machine's PATH", ""]]
    patterns = ["|".join(text.split()) for text in corpus.queries[:15]]
    took = [run_ms(["rg", "--count", "-i", "-e", it, "."], environment, corpus.root) for it in patterns]
    return [["ripgrep, full scan for the same words", f"{statistics.median(took):.0f} ms", ""]]


RIFFLUX = """
import json, sys, time
from pathlib import Path
from rifflux.mcp import tools
root, db, queries = Path(sys.argv[1]), Path(sys.argv[2]), json.loads(sys.argv[3])
def ms(work):
    began = time.perf_counter(); work(); return (time.perf_counter() - began) * 1000
result = {"build": ms(lambda: tools.reindex(db, root))}
result["noop"] = sorted(ms(lambda: tools.reindex(db, root)) for _ in range(5))[2]
for mode in ("lexical", "hybrid"):
    result[mode] = sorted(ms(lambda: tools.search_rifflux(db, text, 10, mode)) for text in queries)[len(queries) // 2]
print(json.dumps(result))
"""


def rifflux(checkout: Path | None, corpus: Corpus, folder: Path, ours: Mapping[str, float]) -> Rows:
    """A checkout of Rifflux on the same files with its own hash embedder, like ours here."""
    if checkout is None:
        return []
    environment = os.environ | {"PYTHONPATH": str(checkout / "src"), "RIFFLUX_EMBEDDING_BACKEND": "hash"}
    queries = json.dumps(corpus.queries[:60])
    command = [sys.executable, "-c", RIFFLUX, str(corpus.root), str(folder / "rifflux.db"), queries]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    figures = json.loads(done.stdout.splitlines()[-1])
    return [
        [f"Rifflux, {name}", f"{theirs:,.1f} ms", f"{times(theirs, ours[name])} Dowse's"]
        for name, theirs in figures.items()
    ]
