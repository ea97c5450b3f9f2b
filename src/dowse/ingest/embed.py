"""Vectors for the chunks that have none: from the shared cache where the text was seen before, else encoded.

It runs behind the words, batch by batch, so that a kill or a deadline loses one batch at most.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from dowse.encoders.base import Encoder
from dowse.errors import EncoderMissing, OtherVectors
from dowse.model import TRAIL_SEPARATOR, Stored
from dowse.store.base import ANSWERING, NEXT, Catalog, Pending, Vectors

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
    stage: str = "encoding",
) -> bool:
    """Vectors for every chunk that has none of this encoder, also for those that others add meanwhile.

    Counts as it goes; False if time was over before. Raises OtherVectors when another encoder was chosen meanwhile.
    """
    before = None
    while pending := store.pending(encoder.fingerprint):
        if pending == before:
            return False  # chunks that can not be loaded: they are for whoever mends the catalog
        before, total = pending, store.counts().encoded
        done = total - len(pending)
        progress(stage, done, total)
        for reused, encoded in _round(store, encoder, cache, pending):
            check_place(store, encoder)
            filled.reused += reused
            filled.encoded += encoded
            done += reused + encoded
            progress(stage, done, total)
            if done < total and out_of_time():
                return False
    check_place(store, encoder)
    return True


def check_place(store: VectorStore, encoder: Encoder) -> None:
    """Nobody else is to make vectors meanwhile, but somebody with another setting may have."""
    made = store.manifest()
    if encoder.fingerprint not in (made.get(ANSWERING), made.get(NEXT)):
        other = made.get(NEXT, made.get(ANSWERING, "no encoder"))
        raise OtherVectors(
            f"another process has begun the vectors of {other}; give all that share an index the same encoder"
        )


def _round(
    store: VectorStore, encoder: Encoder, cache: VectorCache, pending: list[Pending]
) -> Iterator[tuple[int, int]]:
    """How many got a vector, from the cache and from the encoder, batch by batch."""
    missing: list[Pending] = []
    for start in range(0, len(pending), _REUSED_AT_ONCE):
        part = pending[start : start + _REUSED_AT_ONCE]
        lacking = _reuse(store, encoder, cache, part)
        missing += lacking
        if len(lacking) < len(part):
            yield len(part) - len(lacking), 0
    for start in range(0, len(missing), _WINDOW):
        for count in _encode(store, encoder, cache, missing[start : start + _WINDOW]):
            yield 0, count


def _reuse(store: VectorStore, encoder: Encoder, cache: VectorCache, part: list[Pending]) -> list[Pending]:
    """Those of the chunks whose texts were never seen; the others have their vectors then."""
    import numpy as np

    known = cache.get([it.digest for it in part])
    found = [it for it in part if it.digest in known]
    if found:
        matrix = np.array([known[it.digest] for it in found], dtype=np.float32)
        store.put_vectors([it.key for it in found], matrix, encoder.fingerprint)
    return [it for it in part if it.digest not in known]


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
