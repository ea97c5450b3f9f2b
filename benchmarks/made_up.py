"""Corpora of made-up words that are distributed like real ones, of any size, the same on every machine."""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

WORDS = 20_000
FILES = 10_000
QUERIES = 300
SEED = 20261115


@dataclass(frozen=True, slots=True)
class Corpus:
    root: Path
    files: int
    texts: list[str]
    """One per chunk, as peers get them."""
    queries: list[str]
    """Three words each, common and rare ones mixed."""


def make_corpus(root: Path, chunks: int) -> Corpus:
    """At most 10,000 Markdown files, each with as many sections of one chunk as it takes."""
    rng = random.Random(SEED)
    words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(3, 10))) for _ in range(WORDS)]
    falling = list(accumulate(1 / (rank + 1) for rank in range(WORDS)))

    def some(count: int) -> str:
        return " ".join(rng.choices(words, cum_weights=falling, k=count))

    files = min(FILES, chunks)
    texts: list[str] = []
    for number in range(files):
        sections = range(chunks * number // files, chunks * (number + 1) // files)
        own = [f"# {some(4)}\n\n{some(120)}\n" for _ in sections]
        path = root / f"d{number // 100:03}" / f"f{number:05}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(own))
        texts += own
    return Corpus(root, files, texts, [some(3) for _ in range(QUERIES)])
