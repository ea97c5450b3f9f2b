"""Vectors at scale: exact search against the sidecar: `python benchmarks/vectors.py [--sizes 10000 100000 1000000]`.

The vectors are made up: a mixture of Gaussians in which few directions hold most of the variance, as encoders give.
Each path runs in a process of its own, so that its memory is its own.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from dowse.model import Scope
from dowse.store.sqlite import SqliteStore
from dowse.store.sqlite.vectors import EXACT_UP_TO, sidecar_of
from report import machine, table, write_section

DIMENSION = 384
CLUSTERS = 20
SPREAD = 0.7  # of a cluster, against 1 between them
DECAY = 0.3  # the n-th direction's share falls with n to this power
AT_ONCE = 20_000
QUERIES = 200
LIMIT = 10
PARTS = 10  # records, so that a scope can hold a tenth
CHANGED = 1_000
SEED = 20261116
TENTH = Scope(paths=("part3.md",))


@dataclass(frozen=True, slots=True)
class Measured:
    p50: float
    p95: float
    cpu: float
    scoped: float
    first: float
    rss_mb: float
    found: list[set[int]]
    notes: dict[str, float]


def mixture(rng: np.random.Generator) -> Callable[[int], np.ndarray]:
    scales = np.arange(1, DIMENSION + 1, dtype=np.float32) ** -DECAY
    turn, _ = np.linalg.qr(rng.standard_normal((DIMENSION, DIMENSION)))
    directions = (scales[:, None] * turn).astype(np.float32)
    centres = rng.standard_normal((CLUSTERS, DIMENSION), dtype=np.float32)

    def draw(count: int) -> np.ndarray:
        noise = rng.standard_normal((count, DIMENSION), dtype=np.float32)
        rows = (centres[rng.integers(CLUSTERS, size=count)] + SPREAD * noise) @ directions
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    return draw


def batches(size: int, draw: Callable[[int], np.ndarray]) -> Iterator[tuple[range, np.ndarray]]:
    for start in range(0, size, AT_ONCE):
        count = min(AT_ONCE, size - start)
        yield range(start + 1, start + count + 1), draw(count)


def make(path: Path, size: int) -> tuple[np.ndarray, float]:
    """An index of chunks without text; the queries, and how long writing the vectors took."""
    draw = mixture(np.random.default_rng(SEED))
    store = SqliteStore(path)
    store.add_collection("/bench")
    with store.db.transaction() as connection:
        for part in range(PARTS):
            connection.execute(
                "INSERT INTO records VALUES (?, 1, ?, 'doc', '', 1, 1, 'd', 'c', 1, '[]', '[]', '{}')",
                (part + 1, f"part{part}.md"),
            )
        connection.execute(
            "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?) "
            "INSERT INTO chunks SELECT n, n % ? + 1, n, n, 'body', 1, 1, x'00', '', '', '', '', '', '' FROM numbers",
            (size + CHANGED, PARTS),
        )
    writing = 0.0
    for keys, matrix in batches(size, draw):
        writing += ms(lambda keys=keys, matrix=matrix: store.put_vectors(keys, matrix))
    store.settle()
    store.close()
    return draw(QUERIES), writing


def ms(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    began = clock()
    work()
    return (clock() - began) * 1000


def measure(path: Path, queries: np.ndarray, exact_up_to: int) -> Measured:
    store = SqliteStore(path, create=False, exact_up_to=exact_up_to)
    first = ms(lambda: store.near(queries[0], Scope(), LIMIT))
    for query in queries[:20]:
        store.near(query, Scope(), LIMIT)
    began = time.process_time()
    times, found = [], []
    for query in queries:
        times.append(ms(lambda query=query: found.append({it.key for it in store.near(query, Scope(), LIMIT)})))
    cpu = (time.process_time() - began) * 1000 / len(queries)
    scoped = [ms(lambda query=query: store.near(query, TENTH, LIMIT)) for query in queries[:20]]
    rss_mb = memory_mb()
    notes = following(store, queries[0]) if exact_up_to == 0 else {}
    store.close()
    return Measured(p(times, 50), p(times, 95), cpu, p(scoped, 50), first, rss_mb, found, notes)


def reopened(path: Path, query: np.ndarray) -> float:
    """The first answer of a process that finds the sidecar made."""
    store = SqliteStore(path, create=False, exact_up_to=0)
    return ms(lambda: store.near(query, Scope(), LIMIT))


def following(store: SqliteStore, query: np.ndarray) -> dict[str, float]:
    """A thousand vectors more, then without them again: committing, and the first answer after it."""
    keys = [it.key for it in store.pending()][:CHANGED]
    matrix = np.random.default_rng(SEED).standard_normal((len(keys), DIMENSION), dtype=np.float32)

    def ask() -> object:
        return store.near(query, Scope(), LIMIT)

    def remove() -> None:
        with store.db.transaction() as connection:
            connection.executemany("DELETE FROM vectors WHERE chunk = ?", [(key,) for key in keys])

    notes = {"add": ms(lambda: store.put_vectors(keys, matrix)), "after add": ms(ask)}
    return notes | {"remove": ms(remove), "after remove": ms(ask)}


def memory_mb() -> float:
    """Resident memory without the pages of mapped files, which the system may take back at any time."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["RssAnon"].split()[0]) / 1024


def p(values: list[float], percent: int) -> float:
    return sorted(values)[min(len(values) - 1, len(values) * percent // 100)]


def apart(work: Callable[..., object], *values: object) -> object:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(work, *values).result()


def rows_for(size: int) -> list[list[str]]:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "index.db"
        queries, writing = apart(make, path, size)
        exact = apart(measure, path, queries, 10**9)
        coded = apart(measure, path, queries, 0)
        again = apart(reopened, path, queries[0])
        sizes = path.stat().st_size / 1e6, sidecar_of(path).stat().st_size / 1e6
    recall = sum(len(ours & theirs) for ours, theirs in zip(coded.found, exact.found, strict=True)) / QUERIES / LIMIT
    both = [("exact", exact, "1", ["–"] * 4), ("sidecar", coded, f"{recall:.3f}", [])]
    notes = coded.notes
    both[1][3].extend(
        [
            f"{again:,.0f}",
            f"{notes['add']:.0f} + {notes['after add']:.0f}",
            f"{notes['remove']:.0f} + {notes['after remove']:.0f}",
            f"{sizes[1]:,.0f} MB",
        ]
    )
    both[0][3][3] = f"({sizes[0]:,.0f} MB index)"
    print(f"{size:,}: writing the vectors took {writing:,.0f} ms", flush=True)
    return [
        [
            f"{size:,}, {path_name}", f"{it.p50:.2f}", f"{it.p95:.2f}", f"{it.cpu:.2f}", f"{it.scoped:.1f}", shown,
            f"{it.first:,.0f}", rest[0], rest[1], rest[2], rest[3], f"{it.rss_mb:,.0f} MB",
        ]
        for path_name, it, shown, rest in both
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--dry-run", action="store_true", help="print only, leave RESULTS.md as it is")
    options = parser.parse_args()
    header = [
        "vectors, path", "p50", "p95", "CPU", "p50, scope of a tenth", "recall@10", "first answer, all made",
        "first answer, file there", "add 1,000 + next answer", "remove 1,000 + next answer", "file", "own memory",
    ]  # fmt: skip
    rows = [row for size in options.sizes for row in rows_for(size)]
    lines = [
        "## Vectors", "",
        f"`python benchmarks/vectors.py`, {machine()}. {DIMENSION} dimensions, {QUERIES} queries, top {LIMIT}, times "
        f"in ms. Up to {EXACT_UP_TO:,} vectors the exact path is taken, above it the sidecar. Memory is without the "
        "pages of mapped files. A shared and noisy machine: compare inside the table.", "",
        *table(header, rows),
    ]  # fmt: skip
    print("\n".join(lines))
    if not options.dry_run:
        write_section("vectors", lines)


if __name__ == "__main__":
    main()
