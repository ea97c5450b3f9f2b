"""Vectors for the chunks that have none: from the shared cache where the text was seen before, else encoded.

It runs behind the words, batch by batch, so that a kill or a deadline loses one batch at most.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Protocol

from dowse.encoders.base import Encoder
from dowse.model import TRAIL_SEPARATOR, Stored
from dowse.store.base import Catalog, Pending, Vectors

if TYPE_CHECKING:
    from dowse.encoders.cache import VectorCache

_WINDOW = 512  # chunks sorted by length together
_REUSED_AT_ONCE = 2_000

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how many are done, and of how many."""


class VectorStore(Catalog, Vectors, Protocol):
    """What filling needs of a store."""


def embed_text(title: str, trail: tuple[str, ...], text: str) -> str:
    """What the encoder sees: where the text stands, then the text."""
    heading = TRAIL_SEPARATOR.join(dict.fromkeys(part for part in (title, *trail) if part))
    return text if not heading or text.lstrip("# ").startswith(heading) else f"{heading}\n\n{text}"


def embed_digest(title: str, trail: tuple[str, ...], text: str) -> bytes:
    return hashlib.sha256(embed_text(title, trail, text).encode()).digest()[:16]


def fill(
    store: VectorStore,
    pending: list[Pending],
    encoder: Encoder,
    cache: VectorCache,
    *,
    progress: Progress,
    out_of_time: Callable[[], bool] = lambda: False,
) -> tuple[int, int]:
    """Vectors for the pending chunks; how many chunks were encoded, and how many taken from the cache."""
    missing = _reuse(store, cache, pending)
    reused = len(pending) - len(missing)
    encoded = 0
    for start in range(0, len(missing), _WINDOW):
        for done in _encode(store, encoder, cache, missing[start : start + _WINDOW]):
            encoded += done
            progress("encoding", reused + encoded, len(pending))
            if out_of_time():
                return encoded, reused
    return encoded, reused


def _reuse(store: VectorStore, cache: VectorCache, pending: list[Pending]) -> list[Pending]:
    import numpy as np

    missing: list[Pending] = []
    for start in range(0, len(pending), _REUSED_AT_ONCE):
        part = pending[start : start + _REUSED_AT_ONCE]
        known = cache.get([it.digest for it in part])
        found = [it for it in part if it.digest in known]
        if found:
            store.put_vectors([it.key for it in found], np.array([known[it.digest] for it in found], dtype=np.float32))
        missing += [it for it in part if it.digest not in known]
    return missing


def _encode(store: VectorStore, encoder: Encoder, cache: VectorCache, window: list[Pending]) -> Iterable[int]:
    from dowse.encoders.batches import in_batches

    digests = {it.key: it.digest for it in window}
    chunks = store.load(list(digests))
    for places, matrix in in_batches(encoder, [_text_of(stored) for stored in chunks]):
        keys = [chunks[place].key for place in places]
        cache.put([digests[key] for key in keys], matrix)
        store.put_vectors(keys, matrix)
        yield len(keys)


def _text_of(stored: Stored) -> str:
    return embed_text(stored.record.title, stored.chunk.trail, stored.chunk.text)
