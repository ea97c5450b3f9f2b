"""A small corpus that changes: some files edited, some gone, some new, as a seed decides."""

from __future__ import annotations

import random
from pathlib import Path

from dowse.ingest.chunk import ChunkLimits
from dowse.ingest.extract.registry import extract
from dowse.ingest.pipeline import PrepareTask, prepare_file
from dowse.model import Chunk, Item

FILES = 150
_WORDS = ["alpha", "beta", "gamma", "delta", "retry", "cache", "index", "token", "query", "chunk", "storm", "river"]

Content = tuple[Chunk, ...]


class Corpus:
    """`state` is what a whole index has of each file."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root = root
        self._rng = random.Random(seed)
        self._number = 0
        self.state: dict[str, Content] = {}
        for _ in range(FILES):
            self._add()

    def change(self) -> None:
        """About a fifth of the files become others, a few go, a few come."""
        for path in self._rng.sample(sorted(self.state), FILES // 5):
            self._write(path)
        for path in self._rng.sample(sorted(self.state), FILES // 30):
            (self.root / path).unlink()
            del self.state[path]
        while len(self.state) < FILES:
            self._add()

    def _add(self) -> None:
        self._number += 1
        self._write(f"d{self._number % 7}/f{self._number}.{self._rng.choice(['md', 'md', 'txt', 'py'])}")

    def _write(self, path: str) -> None:
        text = self._text(path)
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        task = PrepareTask(Item(path, len(text), 1), text.encode(), ChunkLimits())
        self.state[path] = tuple(piece.chunk for piece in prepare_file(task, extract).chunk_inputs)

    def _text(self, path: str) -> str:
        rng, version = self._rng, self._rng.getrandbits(32)
        lines = [" ".join(rng.choices(_WORDS, k=60)) for _ in range(rng.randint(2, 6))]
        if path.endswith(".py"):
            return "\n\n".join(f"def f{place}_{version}():\n    return '{line}'" for place, line in enumerate(lines))
        return f"# File {version}\n\n" + "\n\n".join(f"## Part {part}\n\n{line}" for part, line in enumerate(lines))
