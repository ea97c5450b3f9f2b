"""How soon a change is seen: a function is added to a file, the file synced, until every lookup shows it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from code_search.corpora import Corpus
from dowse.callgraph.facts import CallQuery
from dowse.engine import Engine
from dowse.lookup.grep import GrepQuery
from dowse.store.types import SymbolQuery
from timing import ms, p, p50_p95, timed

EDITS = 10

_ADDED = {
    ".cs": "\nclass Added{n} {{\n    void caller{n}() {{ probe{n}(); }}\n    void probe{n}() {{ }}\n}}\n",
    ".py": "\n\ndef caller{n}():\n    return probe{n}()\n\n\ndef probe{n}():\n    return {n}\n",
}


@dataclass(frozen=True, slots=True)
class Seen:
    """Milliseconds from the change: the sync, then one lookup after the other."""

    sync: float
    grep: float
    symbols: float
    calls: float

    @property
    def total(self) -> float:
        return self.sync + self.grep + self.symbols + self.calls


def rows(engine: Engine, corpus: Corpus) -> list[list[str]]:
    path = middle(corpus)
    try:
        with restored(path):
            _edited(engine, path, 0)  # the first one starts what later ones find running
            seen = [_edited(engine, path, number) for number in range(1, EDITS + 1)]
    finally:
        engine.index([path])
    size_kb = path.stat().st_size / 1000
    parts = ", ".join(
        f"{name} {p([getattr(it, name) for it in seen], 50):.1f}" for name in ("sync", "grep", "symbols", "calls")
    )
    total = p50_p95([it.total for it in seen])
    return [
        [
            f"{corpus.name}: a function added to a file of {size_kb:.0f} kB, until grep, symbols and calls show it",
            total,
            parts,
        ]
    ]


def middle(corpus: Corpus) -> Path:
    """A file of middling size that ends like code, so that what is appended is code too."""
    paths = sorted(corpus.root.rglob(f"*{corpus.plan.suffix}"), key=lambda it: (it.stat().st_size, str(it)))
    later = paths[len(paths) // 2 :]
    return next(it for it in later if corpus.plan.suffix != ".cs" or it.read_bytes().rstrip().endswith(b"}"))


@contextmanager
def restored(path: Path) -> Iterator[None]:
    before = path.read_bytes()
    try:
        yield
    finally:
        path.write_bytes(before)


def _edited(engine: Engine, path: Path, number: int) -> Seen:
    with path.open("a", encoding="utf-8") as file:
        file.write(_ADDED[path.suffix].format(n=number))
    sync = ms(engine.index, [path])
    name = f"probe{number}"
    lines, grep = timed(engine.grep, GrepQuery((name,)))
    definitions, symbols = timed(engine.symbols, SymbolQuery((name,), matching="exact"))
    tree, calls = timed(engine.calls, CallQuery(name, depth=1))
    if not (lines.total_files and definitions.total and tree.nodes):
        raise SystemExit(f"{name} was added to {path} and synced, but is not found everywhere")
    return Seen(sync, grep, symbols, calls)
