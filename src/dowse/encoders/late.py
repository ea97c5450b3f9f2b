"""Late interaction: each word of the query looks for its nearest in the text, with the default encoder's own tokens."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from dowse.encoders.granite import PACK_SHA256, Transformer, readable
from dowse.encoders.once import Once

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Halves: TypeAlias = NDArray[np.float16]

NAME = "late"
# Raise it whenever the graph is written differently.
GRAPH_FORMAT = 2
# A passage of 300 tokens takes 230 kB: about 550 of them.
KEPT_BYTES = 128_000_000


class LateInteraction:
    """Vectors of texts that were judged before are kept, so that the same candidates cost little the next time."""

    def __init__(
        self, weights: Path, *, cache_dir: Path, threads: int | None = None, kept_bytes: int = KEPT_BYTES
    ) -> None:
        graph_file = cache_dir / f"granite-tokens-{GRAPH_FORMAT}-{PACK_SHA256[:16]}.onnx"
        self._model = Once(lambda: Transformer(graph_file, partial(_graph, weights), threads))
        self._kept = Kept(kept_bytes)

    @property
    def name(self) -> str:
        return NAME

    def judge(self, query: str, texts: Sequence[str]) -> list[float]:
        import numpy as np

        (asked,) = self._encoded([readable(query)])
        wanted = asked.astype(np.float32)
        return [_max_sim(wanted, vectors) for vectors in self._vectors([readable(text) for text in texts])]

    def _vectors(self, texts: list[str]) -> list[Halves]:
        digests = [hashlib.sha256(text.encode()).digest() for text in texts]
        known = {digest: rows for digest in digests if (rows := self._kept.get(digest)) is not None}
        missing = {digest: text for digest, text in zip(digests, texts, strict=True) if digest not in known}
        for digest, made in zip(missing, self._encoded(list(missing.values())), strict=True):
            known[digest] = made
            self._kept.put(digest, made)
        return [known[digest] for digest in digests]

    def _encoded(self, texts: list[str]) -> list[Halves]:
        """A row for each token of each text."""
        import numpy as np

        model = self._model()
        tokens = model.tokens(texts)
        found: dict[int, Halves] = {}
        for group, output in model.run(tokens):
            for place, rows in zip(group, output, strict=True):
                found[place] = rows[: len(tokens[place])].astype(np.float16)
        return [found[place] for place in range(len(texts))]


class Kept:
    """Digest of a text → its vectors; the ones unused for longest go when there is no room."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._lock = threading.Lock()
        self._vectors: OrderedDict[bytes, Halves] = OrderedDict()

    def get(self, digest: bytes) -> Halves | None:
        with self._lock:
            if digest in self._vectors:
                self._vectors.move_to_end(digest)
            return self._vectors.get(digest)

    def put(self, digest: bytes, vectors: Halves) -> None:
        with self._lock:
            if digest in self._vectors:
                return
            self._vectors[digest] = vectors
            self._bytes += vectors.nbytes
            while self._bytes > self._most_bytes:
                self._bytes -= self._vectors.popitem(last=False)[1].nbytes


def _max_sim(asked: NDArray[np.float32], vectors: Halves) -> float:
    """The mean, over the query's tokens, of the cosine to the nearest token of the text."""
    import numpy as np

    return float((asked @ vectors.astype(np.float32).T).max(axis=1).mean())


def _graph(weights: Path) -> bytes:
    from dowse.encoders.pack import read_pack
    from dowse.encoders.roberta import tokens_file

    return tokens_file(read_pack(weights, PACK_SHA256))
