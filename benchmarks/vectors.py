"""Vectors at scale: comparing all of them against scanning their sign bits, beside what peers take for the same.

The base is real where it can be: vectors of the default encoder that an earlier part of the benchmarks kept, each new
one a mixture of two with a little noise. Else it is made up: a mixture of Gaussians in which few directions hold most
of the variance, as encoders give. Each path and peer runs in a process of its own, so that its memory is its own.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import ParamSpec, TypeVar

import numpy as np

import vector_peers
from dowse.encoders.granite import GRANITE_DIMENSION
from dowse.model import Scope
from dowse.store.sqlite import SqliteStore
from dowse.store.sqlite.vectors import MAX_EXACT_VECTORS, vector_sidecar_path
from measuring import say
from report import Section, table
from timing import ms, p, timed, times
from vector_base import SEED, Base, Matrix, drawing

AT_ONCE = 20_000
QUERIES = 200
LIMIT = 10
PARTS = 10  # records, so that a scope can hold a tenth
CHANGED = 1_000
TENTH = Scope(paths=("part3.md",))
NEVER = 10**9

Given = ParamSpec("Given")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Measured:
    times: list[float]
    cpu: float
    scoped: float
    first: float
    rss_mb: float
    found: list[set[int]]
    notes: dict[str, float]


def measure(sizes: Sequence[int], base: Base) -> Section:
    rows: list[list[str]] = []
    others: list[list[str]] = []
    for size in sizes:
        ours, theirs = _at(size, base)
        rows += ours
        others += theirs
    header = [
        "vectors, path", "p50", "p95", "CPU", "p50, scope of 10 %", "recall@10", "first answer, file built",
        "first answer, file present", "add 1,000 + next answer", "remove 1,000 + next answer", "file", "own memory",
    ]  # fmt: skip
    lines = [
        f"{base.described}. {GRANITE_DIMENSION} dimensions, {QUERIES} queries, top {LIMIT}, times in ms. Up to "
        f"{MAX_EXACT_VECTORS:,} vectors, Dowse uses the exact path; above that, the sidecar. Memory excludes the pages "
        "of mapped files. The machine is shared and noisy: compare figures only within the table.", "",
        *table(header, rows), "",
        "Peers use the same vectors and queries, with default settings. Like Dowse here, they return keys only.", "",
        *table(["vectors, peer", "p50", "p95", "recall@10", "build", "ratio to Dowse's path"], others),
    ]  # fmt: skip
    return Section("vectors", "Vectors", lines)


def _at(size: int, base: Base) -> tuple[list[list[str]], list[list[str]]]:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "index.db"
        queries, writing = _apart(make, path, size, base)
        say(f"{size:,} vectors: written in {writing:,.0f} ms")
        exact = _apart(searched, path, queries, NEVER)
        coded = _apart(searched, path, queries, 0)
        again = _apart(reopened, path, queries[0])
        ours = _own_rows(size, exact, coded, again, path)
    taken = exact if size <= MAX_EXACT_VECTORS else coded
    theirs = []
    for peer in vector_peers.PEERS:
        say(f"{size:,} vectors: {peer}")
        theirs.append(_peer_row(size, peer, queries, base, exact.found, p(taken.times, 50)))
    return ours, theirs


def _own_rows(size: int, exact: Measured, coded: Measured, again: float, path: Path) -> list[list[str]]:
    index_mb, sidecar_mb = path.stat().st_size / 1e6, vector_sidecar_path(path).stat().st_size / 1e6
    notes = coded.notes
    changed = [f"{notes[it]:.0f} + {notes[f'after {it}']:.0f}" for it in ("add", "remove")]
    right = f"{recall(coded.found, exact.found):.3f}"
    shown = {
        "exact": (exact, "1", ["–", "–", "–", f"({index_mb:,.0f} MB index)"]),
        "sidecar": (coded, right, [f"{again:,.0f}", *changed, f"{sidecar_mb:,.0f} MB"]),
    }
    return [
        [
            f"{size:,}, {name}", f"{p(it.times, 50):.2f}", f"{p(it.times, 95):.2f}", f"{it.cpu:.2f}",
            f"{it.scoped:.1f}", recalled, f"{it.first:,.0f}", *rest, f"{it.rss_mb:,.0f} MB",
        ]
        for name, (it, recalled, rest) in shown.items()
    ]  # fmt: skip


def _peer_row(size: int, peer: str, queries: Matrix, base: Base, truth: list[set[int]], ours_ms: float) -> list[str]:
    label = f"{size:,}, {peer}"
    if not vector_peers.installed(peer):
        return [label, "not installed", "", "", "", ""]
    if size > vector_peers.PEERS[peer].largest:
        return [label, "skipped: too slow", "", "", "", ""]
    took, found, build_ms = _apart(_peer, peer, size, queries, base)
    ratio = times(p(took, 50), ours_ms)
    right = f"{recall(found, truth):.3f}"
    return [label, f"{p(took, 50):.2f}", f"{p(took, 95):.2f}", right, f"{build_ms:,.0f}", ratio]


def _peer(peer: str, size: int, queries: Matrix, base: Base) -> tuple[list[float], list[set[int]], float]:
    draw = drawing(base)
    matrix = np.vstack([rows for _, rows in batches(size, draw)])
    with tempfile.TemporaryDirectory() as folder:
        ask, build_ms = timed(vector_peers.PEERS[peer].make, matrix, Path(folder), LIMIT)
        ask(queries[0])
        answers = [timed(ask, query) for query in queries]
    # Keys of a store begin with 1.
    return [took for _, took in answers], [{key + 1 for key in found} for found, _ in answers], build_ms


def recall(found: list[set[int]], truth: list[set[int]]) -> float:
    return sum(len(ours & theirs) for ours, theirs in zip(found, truth, strict=True)) / (len(truth) * LIMIT)


def batches(size: int, draw: Callable[[int], Matrix]) -> Iterator[tuple[range, Matrix]]:
    for start in range(0, size, AT_ONCE):
        count = min(AT_ONCE, size - start)
        yield range(start + 1, start + count + 1), draw(count)


def make(path: Path, size: int, base: Base) -> tuple[Matrix, float]:
    """An index of chunks without text; the queries, and how long writing the vectors took."""
    draw = drawing(base)
    store = SqliteStore(path)
    store.writer.add_collection("/bench")
    with store.db.transaction() as connection:
        for part in range(PARTS):
            connection.execute(
                "INSERT INTO records (id, collection, path, kind, title, size, mtime_ns, digest, chunking, settled, "
                "tags, aliases, facets) VALUES (?, 1, ?, 'doc', '', 1, 1, 'd', 'c', 1, '[]', '[]', '{}')",
                (part + 1, f"part{part}.md"),
            )
        connection.execute(
            "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?) "
            "INSERT INTO chunks (id, record, ordinal, public_id, role, start_line, end_line, digest, title, trail, "
            "text, names, tags, path) "
            "SELECT n, n % ? + 1, n, n, 'body', 1, 1, x'00', '', '', '', '', '', '' FROM numbers",
            (size + CHANGED, PARTS),
        )
    writing = sum(ms(store.vectors.put_vectors, keys, matrix) for keys, matrix in batches(size, draw))
    store.maintenance.checkpoint()
    store.close()
    return draw(QUERIES), writing


def searched(path: Path, queries: Matrix, exact_up_to: int) -> Measured:
    store = SqliteStore(path, create=False, exact_up_to=exact_up_to)
    first = ms(all_made, store, queries[0])
    for query in queries[:20]:
        store.vectors.near(query, Scope(), LIMIT)
    began = time.process_time()
    answers = [timed(store.vectors.near, query, Scope(), LIMIT) for query in queries]
    cpu = (time.process_time() - began) * 1000 / len(queries)
    scoped = [ms(store.vectors.near, query, TENTH, LIMIT) for query in queries[:20]]
    rss_mb = memory_mb()
    notes = following(store, queries[0]) if exact_up_to == 0 else {}
    store.close()
    found = [{it.key for it in hits} for hits, _ in answers]
    return Measured([took for _, took in answers], cpu, p(scoped, 50), first, rss_mb, found, notes)


def all_made(store: SqliteStore, query: Matrix) -> None:
    """As after a run that wrote: whoever only asks makes no file."""
    with store.writing(1.0):
        pass
    store.vectors.near(query, Scope(), LIMIT)


def reopened(path: Path, query: Matrix) -> float:
    """The first answer of a process that finds the sidecar made."""
    store = SqliteStore(path, create=False, exact_up_to=0)
    return ms(store.vectors.near, query, Scope(), LIMIT)


def following(store: SqliteStore, query: Matrix) -> dict[str, float]:
    """A thousand vectors more, then without them again: committing, and the first answer after it."""
    keys = [it.key for it in store.vectors.chunks_without_vector()][:CHANGED]
    matrix = np.random.default_rng(SEED).standard_normal((len(keys), GRANITE_DIMENSION), dtype=np.float32)

    def remove() -> None:
        with store.db.transaction() as connection:
            connection.executemany("DELETE FROM vectors WHERE chunk = ?", [(key,) for key in keys])

    notes = {
        "add": ms(store.vectors.put_vectors, keys, matrix),
        "after add": ms(store.vectors.near, query, Scope(), LIMIT),
    }
    return notes | {"remove": ms(remove), "after remove": ms(store.vectors.near, query, Scope(), LIMIT)}


def memory_mb() -> float:
    """Resident memory without the pages of mapped files, which the system may take back at any time."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["RssAnon"].split()[0]) / 1024


def _apart(work: Callable[Given, Result], *values: Given.args, **named: Given.kwargs) -> Result:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(work, *values, **named).result()
