"""Vectors for the chunks that have none: from the shared cache where the text was seen before, else encoded.

It runs behind the words, batch by batch, so that a kill or a deadline loses one batch at most.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from dowse.encoders.base import Encoder
from dowse.errors import EncoderMissing
from dowse.model import TRAIL_SEPARATOR, Stored
from dowse.store.base import Catalog, Pending, Vectors

if TYPE_CHECKING:
    from dowse.encoders.base import Matrix
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


@dataclass(slots=True)
class Filled:
    """How many chunks were encoded, how many taken from the cache; `notes` are sentences a person should read."""

    encoded: int = 0
    reused: int = 0
    notes: list[str] = field(default_factory=list)


def fill(
    store: VectorStore,
    encoder: Encoder,
    cache: VectorCache,
    filled: Filled,
    *,
    progress: Progress,
    out_of_time: Callable[[], bool] = lambda: False,
) -> bool:
    """Vectors for every chunk that has none of this encoder; counts as it goes; False if time was over before."""
    pending = store.pending(encoder.fingerprint)
    missing = _reuse(store, encoder, cache, pending)
    reused, done = len(pending) - len(missing), 0
    filled.reused += reused
    for start in range(0, len(missing), _WINDOW):
        for count in _encode(store, encoder, cache, missing[start : start + _WINDOW]):
            done += count
            filled.encoded += count
            progress("encoding", reused + done, len(pending))
            if done < len(missing) and out_of_time():
                return False
    return True


def _reuse(store: VectorStore, encoder: Encoder, cache: VectorCache, pending: list[Pending]) -> list[Pending]:
    import numpy as np

    missing: list[Pending] = []
    for start in range(0, len(pending), _REUSED_AT_ONCE):
        part = pending[start : start + _REUSED_AT_ONCE]
        known = cache.get([it.digest for it in part])
        found = [it for it in part if it.digest in known]
        if found:
            matrix = np.array([known[it.digest] for it in found], dtype=np.float32)
            store.put_vectors([it.key for it in found], matrix, encoder.fingerprint)
        missing += [it for it in part if it.digest not in known]
    return missing


def _encode(store: VectorStore, encoder: Encoder, cache: VectorCache, window: list[Pending]) -> Iterable[int]:
    from dowse.encoders.batches import in_batches

    digests = {it.key: it.digest for it in window}
    chunks = store.load(list(digests))
    for places, matrix in in_batches(encoder, [_text_of(stored) for stored in chunks]):
        check_rows(encoder, matrix, len(places))
        keys = [chunks[place].key for place in places]
        # A zero row may be a text the encoder failed on: it might succeed another time.
        good = [place for place, row in enumerate(matrix) if row.any()]
        cache.put([digests[keys[place]] for place in good], matrix[good])
        store.put_vectors(keys, matrix, encoder.fingerprint)
        yield len(keys)


def check_rows(encoder: Encoder, matrix: Matrix, count: int) -> None:
    """What is not a finite row per text never reaches a store."""
    import numpy as np

    if matrix.shape != (count, encoder.dimension) or not np.isfinite(matrix).all():
        raise EncoderMissing(
            f"the encoder {encoder.name} gave {matrix.shape} numbers for {count} texts of {encoder.dimension}, "
            "or some that are not finite; choose another encoder"
        )


def _text_of(stored: Stored) -> str:
    return embed_text(stored.record.title, stored.chunk.trail, stored.chunk.text)
