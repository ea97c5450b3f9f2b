"""Step 2: what the teacher makes of the words and of some pairs, kept by text, so that a break costs little."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dowse.encoders.granite import GraniteEncoder, installed_granite_weights

# The beginning of a passage says what it is about, and the teacher's work grows with its length.
TAUGHT_CHARS = 480
PART = 500


class Teacher:
    def __init__(self, work: Path, threads: int) -> None:
        self._encoder = GraniteEncoder(installed_granite_weights(), cache_dir=work / "models", threads=threads)
        self._directory = work / "taught"
        self._directory.mkdir(parents=True, exist_ok=True)
        self._known: dict[bytes, NDArray[np.float16]] = {}
        for part in sorted(self._directory.glob("*.npz")):
            self._read(part)

    def _read(self, part: Path) -> None:
        with np.load(part) as kept:
            self._known |= zip((bytes(it) for it in kept["digests"]), kept["rows"], strict=True)

    def embedded(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row per text; what was made before is read."""
        digests = [_digest(text) for text in texts]
        missing = {digest: text for digest, text in zip(digests, texts, strict=True) if digest not in self._known}
        print(f"the teacher reads {len(missing):,} of {len(texts):,} texts", flush=True)
        for part in _parts(list(missing.items())):
            self._make(dict(part))
        return np.stack([self._known[digest] for digest in digests]).astype(np.float32)

    def _make(self, texts: dict[bytes, str]) -> None:
        rows = self._encoder.encode(list(texts.values())).astype(np.float16)
        first = next(iter(texts))
        kept = self._directory / f"{first.hex()}.npz"
        np.savez(kept, digests=np.array([np.frombuffer(it, dtype=np.uint8) for it in texts]), rows=rows)
        self._read(kept)


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()[:16]


def _parts(items: list[tuple[bytes, str]]) -> list[list[tuple[bytes, str]]]:
    return [items[start : start + PART] for start in range(0, len(items), PART)]
