"""The encoder without a model: every token adds a signed weight at a place its hash decides."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from dowse.encoders.base import Traits
from dowse.errors import BadInput

if TYPE_CHECKING:
    from dowse.encoders.base import Matrix

# `.`, `/` and `-` keep paths, versions and flags whole; \w takes words of every script.
TOKEN = re.compile(r"[\w./-]+")


class HashingEncoder:
    """Deterministic on every machine; finds shared words, not shared meaning."""

    def __init__(self, dimension: int = 384) -> None:
        if dimension < 1:
            raise BadInput(f"a vector needs at least one dimension, not {dimension}")
        self._dimension = dimension

    @property
    def name(self) -> str:
        return f"hash-{self._dimension}"

    @property
    def traits(self) -> Traits:
        # BM25 ranks words better: what is near only fills up, in its own order, behind what has the words.
        return Traits(worth=0.0)

    @property
    def fingerprint(self) -> str:
        return f"{self.name}:1"

    @property
    def dimension(self) -> int:
        return self._dimension

    def encode(self, texts: Sequence[str]) -> Matrix:
        import numpy as np

        rows = np.zeros((len(texts), self._dimension), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for token, times in Counter(TOKEN.findall(text.lower())).items():
                place, weight = _contribution(token, self._dimension)
                row[place] += times * weight
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        # A row without tokens, or whose signs cancel out, stays zero instead of becoming not-a-number.
        rows /= np.where(norms > 0, norms, 1)
        return rows


@lru_cache(maxsize=50_000)
def _contribution(token: str, dimension: int) -> tuple[int, float]:
    digest = hashlib.sha256(token.encode("utf-8", "replace")).digest()
    place = int.from_bytes(digest[:4], "little") % dimension
    sign = 1.0 if digest[4] & 1 else -1.0
    return place, sign * (1.0 + digest[5] / 255)
