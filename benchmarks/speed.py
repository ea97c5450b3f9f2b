"""How quick everything is on 10,000 files of about one chunk each: `python benchmarks/speed.py`.

Peers are measured in the same run where they are there: ripgrep on the PATH (a full scan for the same words), and
a checkout of Rifflux given with --rifflux (same files, its own hash embedder, like ours here).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from dowse.config import Settings
from dowse.engine import Engine
from dowse.model import Query
from report import machine, table, write_section

FILES = 10_000
WORDS = 20_000
QUERIES = 300


def make_corpus(root: Path) -> list[str]:
    """Markdown files of Zipf-distributed made-up words; returns three-word queries, common and rare words mixed."""
    rng = random.Random(20261115)
    words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(3, 10))) for _ in range(WORDS)]
    weights = [1 / (rank + 1) for rank in range(WORDS)]
    for number in range(FILES):
        path = root / f"d{number // 100:03}" / f"f{number:05}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        title, body = rng.choices(words, weights, k=4), rng.choices(words, weights, k=120)
        path.write_text(f"# {' '.join(title)}\n\n{' '.join(body)}\n")
    return [" ".join(rng.choices(words, weights, k=3)) for _ in range(QUERIES)]


def ms(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def p(values: list[float], percent: int) -> float:
    return sorted(values)[min(len(values) - 1, len(values) * percent // 100)]


def run(command: list[str], environment: dict[str, str], root: Path) -> float:
    return ms(lambda: subprocess.run(command, env=environment, cwd=root, stdout=subprocess.DEVNULL, check=False))


def indexing(engine: Engine, root: Path, ours: dict[str, float]) -> list[list[str]]:
    ours["build"] = ms(lambda: engine.index([root]))
    rows = [["build, 10,000 files, hashing encoder", f"{ours['build']:,.0f} ms", ""]]
    idle = [ms(lambda: engine.index([root])) for _ in range(7)]
    ours["noop"] = statistics.median(idle)
    rows.append(["no-op sync of 10,000 files", f"{statistics.median(idle):.0f} ms", "< 1,000 ms"])
    one, whole = [], []
    for number in range(15):
        path = root / "d042" / "f04242.md"
        for place, times in ((path, one), (root, whole)):
            path.write_text(f"{path.read_text()}\nedit {number} {place.name}\n")
            times.append(ms(lambda place=place: engine.index([place])))
    rows.append(["one changed file, named", f"{statistics.median(one):.1f} ms", "< 50 ms"])
    rows.append(["one changed file, found by a full sync", f"{statistics.median(whole):.0f} ms", ""])
    return rows


def warm(engine: Engine, queries: list[str], ours: dict[str, float]) -> list[list[str]]:
    rows = []
    for recipe, target in (("lexical", "p50 < 3 ms"), ("semantic", ""), ("hybrid", "p50 < 10 ms")):
        total, beside = [], []
        for text in queries:
            encode = ms(lambda text=text: engine._semantics.encode_query(text)) if recipe != "lexical" else 0.0
            took = ms(lambda text=text, recipe=recipe: engine.search(Query(text, recipe=recipe)))
            total.append(took)
            beside.append(max(0.0, took - encode))
        ours[recipe] = p(total, 50)
        figures = f"p50 {p(beside, 50):.2f} ms, p95 {p(beside, 95):.2f} ms"
        rows.append([f"warm {recipe} query beside the encoder's time", figures, target])
    return rows


def cold(environment: dict[str, str], root: Path, queries: list[str]) -> list[list[str]]:
    dowse = [sys.executable, "-m", "dowse", "search", "--json", "--mode"]
    lexical = [run([*dowse, "lexical", text], environment, root) for text in queries[:15]]
    hybrid = [run([*dowse, "hybrid", text], environment, root) for text in queries[:7]]
    bare = [run([sys.executable, "-c", "pass"], environment, root) for _ in range(10)]
    return [
        ["cold `dowse search --mode lexical`, new process", f"{statistics.median(lexical):.0f} ms", "< 300 ms"],
        ["cold `dowse search`, hybrid, hashing encoder", f"{statistics.median(hybrid):.0f} ms", ""],
        ["an empty Python process, for comparison", f"{statistics.median(bare):.0f} ms", ""],
    ]


def encoder_times() -> list[list[str]]:
    """The default encoder's own time, which the query times above leave out."""
    from dowse.encoders.choose import choose

    with tempfile.TemporaryDirectory() as folder:
        choice = choose("auto", cache_dir=Path(folder))
        first = ms(lambda: choice.encoder.encode(["how are retries handled"]))
        again = ms(lambda: choose("auto", cache_dir=Path(folder)).encoder.encode(["how are retries handled"]))
        times = [ms(lambda n=n: choice.encoder.encode([f"how are retries number {n} handled"])) for n in range(30)]
        chunks = [f"{'word ' * 250} {number}" for number in range(32)]
        rate = 32_000 / ms(lambda: choice.encoder.encode(chunks))
    name = choice.encoder.name
    return [
        [f"{name}: first use, graph built", f"{first:.0f} ms", ""],
        [f"{name}: first use in a process, graph cached", f"{again:.0f} ms", ""],
        [f"{name}: one query", f"p50 {p(times, 50):.1f} ms", ""],
        [f"{name}: chunks of 250 words", f"{rate:.1f} per second", ""],
    ]


def serving_memory(environment: dict[str, str], root: Path) -> list[list[str]]:
    """Resident memory of `dowse mcp` after the handshake and ten hybrid searches."""
    rows = []
    for encoder in ("hashing", "auto"):
        rows.append([f"memory of `dowse mcp`, encoder {encoder}", f"{_rss_mb(environment, root, encoder):.0f} MB", ""])
    return rows


def _rss_mb(environment: dict[str, str], root: Path, encoder: str) -> float:
    command = [sys.executable, "-m", "dowse", "mcp", "--encoder", encoder]
    if encoder == "auto":
        # The index is made with the hashing encoder: a small one of its own shows the transformer's memory.
        root = root / "d001"
        command += ["--root", str(root), "--index", str(root.parent.parent / "small.db")]
    process = subprocess.Popen(
        command, cwd=root, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )

    def ask(number: int, method: str, params: dict) -> dict:
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.flush()
        while (answer := json.loads(process.stdout.readline())).get("id") != number:
            pass
        return answer

    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
    ask(1, "initialize", hello)
    process.stdin.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
    ask(2, "tools/call", {"name": "index", "arguments": {}})
    for number in range(10):
        ask(3 + number, "tools/call", {"name": "search", "arguments": {"query": f"word {number}"}})
    status = Path(f"/proc/{process.pid}/status").read_text()
    process.stdin.close()
    process.wait(10)
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024


def ripgrep(root: Path, environment: dict[str, str], queries: list[str]) -> list[list[str]]:
    if shutil.which("rg") is None:
        return [["ripgrep", "not on this machine's PATH", ""]]
    times = [
        run(["rg", "--count", "-i", "-e", "|".join(text.split()), "."], environment, root) for text in queries[:15]
    ]
    return [["ripgrep, a full scan for the same words", f"{statistics.median(times):.0f} ms", ""]]


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


def rifflux(
    checkout: Path | None, root: Path, folder: Path, queries: list[str], ours: dict[str, float]
) -> list[list[str]]:
    if checkout is None:
        return []
    environment = os.environ | {"PYTHONPATH": str(checkout / "src"), "RIFFLUX_EMBEDDING_BACKEND": "hash"}
    command = [sys.executable, "-c", RIFFLUX, str(root), str(folder / "rifflux.db"), json.dumps(queries[:60])]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    figures = json.loads(done.stdout.splitlines()[-1])
    return [
        [f"Rifflux, {name}", f"{theirs:,.1f} ms", f"{theirs / ours[name]:.1f} × Dowse's"]
        for name, theirs in figures.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rifflux", type=Path, help="a checkout of Rifflux to measure in the same run")
    parser.add_argument("--dry-run", action="store_true", help="print only, leave RESULTS.md as it is")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        root = folder / "corpus"
        queries = make_corpus(root)
        environment = os.environ | {"DOWSE_DATA_DIR": str(folder / "data"), "DOWSE_ENCODER": "hashing"}
        settings = Settings(encoder="hashing", data_dir=folder / "data")
        from dowse.places import Places

        with Engine(settings, Places.of(settings).index_of(root), create=True) as engine:
            ours: dict[str, float] = {}
            rows = indexing(engine, root, ours)
            chunks = engine.status().counts.chunks
            size_mb = engine.index_path.stat().st_size / 1e6
            rows += warm(engine, queries, ours)
        rows += cold(environment, root, queries)
        rows += serving_memory(environment, root)
        rows += encoder_times()
        rows += ripgrep(root, environment, queries)
        rows += rifflux(options.rifflux, root, folder, queries, ours)
    lines = [
        "## Speed", "", f"`python benchmarks/speed.py`, {machine()}. {FILES:,} files, {chunks:,} chunks, "
        f"index {size_mb:.0f} MB. A shared and noisy machine: compare inside the table.", "",
        *table(["what", "measured", "aim or ratio"], rows),
    ]  # fmt: skip
    print("\n".join(lines))
    if not options.dry_run:
        write_section("speed", lines)


if __name__ == "__main__":
    main()
