"""Make vectors for chunks that have none, and move an index from one encoder to another."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dowse.encoders.base import Encoder, take_encoder_problem
from dowse.errors import EncoderMismatch, EncoderMissing
from dowse.model import BREADCRUMB_SEPARATOR, StoredChunk
from dowse.store.base import Store
from dowse.store.types import ACTIVE_ENCODER_KEY, NEXT_ENCODER_KEY, PendingChunk

if TYPE_CHECKING:
    from dowse.encoders.base import Matrix
    from dowse.encoders.cache import VectorCache

_ENCODE_WINDOW_CHUNKS = 512  # chunks that are sorted by length together
_CACHE_BATCH_CHUNKS = 2_000

ProgressCallback = Callable[[str, int, int], None]
"""Called with the stage, the number of items done, and the total."""


def format_encoder_input(title: str, trail: tuple[str, ...], text: str) -> str:
    """Return the encoder's input: title and heading path, then the text."""
    heading = BREADCRUMB_SEPARATOR.join(dict.fromkeys(part for part in (title, *trail) if part))
    return text if not heading or text.lstrip("# ").startswith(heading) else f"{heading}\n\n{text}"


def digest_encoder_input(title: str, trail: tuple[str, ...], text: str) -> bytes:
    return hashlib.sha256(format_encoder_input(title, trail, text).encode()).digest()[:16]


@dataclass(slots=True)
class VectorFillReport:
    """Counts of chunks encoded and of vectors reused from the cache; `notes` are sentences for the user."""

    encoded: int = 0
    reused: int = 0
    notes: list[str] = field(default_factory=list)


def fill_vectors(
    store: Store,
    encoder: Encoder,
    cache: VectorCache,
    filled: VectorFillReport,
    *,
    progress: ProgressCallback,
    out_of_time: Callable[[], bool] = lambda: False,
    stage: str = "encoding",
) -> bool:
    """Make vectors for every chunk that lacks one of this encoder, including chunks that are added meanwhile.

    Updates `filled` as it goes. Returns False if time ran out. Raises OtherVectors if another encoder was chosen
    meanwhile.
    """
    before = None
    while pending := store.vectors.chunks_without_vector(encoder.fingerprint):
        if pending == before:
            return False  # these chunks cannot be loaded; repairing the catalog is not done here
        before, total = pending, store.catalog.counts().encoded
        done = total - len(pending)
        progress(stage, done, total)
        for reused, encoded in _fill_round(store, encoder, cache, pending):
            check_encoder_is_current(store, encoder)
            filled.reused += reused
            filled.encoded += encoded
            done += reused + encoded
            progress(stage, done, total)
            if done < total and out_of_time():
                return False
    check_encoder_is_current(store, encoder)
    return True


def check_encoder_is_current(store: Store, encoder: Encoder) -> None:
    """Raise OtherVectors if a process with another encoder setting has started its own vectors."""
    metadata = store.catalog.metadata()
    if encoder.fingerprint not in (metadata.get(ACTIVE_ENCODER_KEY), metadata.get(NEXT_ENCODER_KEY)):
        current = metadata.get(NEXT_ENCODER_KEY, metadata.get(ACTIVE_ENCODER_KEY, "no encoder"))
        raise EncoderMismatch(
            f"another process is encoding with {current}; set the same encoder for all processes that share an index"
        )


def _fill_round(
    store: Store, encoder: Encoder, cache: VectorCache, pending: list[PendingChunk]
) -> Iterator[tuple[int, int]]:
    """Yield the counts of vectors reused and encoded, batch by batch."""
    missing: list[PendingChunk] = []
    for start in range(0, len(pending), _CACHE_BATCH_CHUNKS):
        batch = pending[start : start + _CACHE_BATCH_CHUNKS]
        uncached = _store_cached(store, encoder, cache, batch)
        missing += uncached
        if len(uncached) < len(batch):
            yield len(batch) - len(uncached), 0
    for start in range(0, len(missing), _ENCODE_WINDOW_CHUNKS):
        for count in _encode_window(store, encoder, cache, missing[start : start + _ENCODE_WINDOW_CHUNKS]):
            yield 0, count


def _store_cached(store: Store, encoder: Encoder, cache: VectorCache, batch: list[PendingChunk]) -> list[PendingChunk]:
    """Store cached vectors for chunks with known texts; return the other chunks."""
    import numpy as np

    cached = cache.get([it.digest for it in batch])
    found = [it for it in batch if it.digest in cached]
    if found:
        matrix = np.array([cached[it.digest] for it in found], dtype=np.float32)
        store.vectors.put_vectors([it.key for it in found], matrix, encoder.fingerprint)
    return [it for it in batch if it.digest not in cached]


def _encode_window(store: Store, encoder: Encoder, cache: VectorCache, window: list[PendingChunk]) -> Iterable[int]:
    from dowse.encoders.base import encode_in_batches

    digests = {it.key: it.digest for it in window}
    chunks = store.catalog.load(list(digests))
    for places, matrix in encode_in_batches(encoder, [_encoder_input(stored) for stored in chunks]):
        check_vectors(encoder, matrix, len(places))
        keys = [chunks[place].key for place in places]
        # A zero row may be a text that the encoder failed on. It is not cached, because a retry might succeed.
        good = [place for place, row in enumerate(matrix) if row.any()]
        cache.put([digests[keys[place]] for place in good], matrix[good])
        store.vectors.put_vectors(keys, matrix, encoder.fingerprint)
        yield len(keys)


def check_vectors(encoder: Encoder, matrix: Matrix, count: int) -> None:
    """Raise EncoderMissing unless there is one finite row per text, so that no bad vector reaches a store."""
    import numpy as np

    if matrix.shape != (count, encoder.dimension):
        raise EncoderMissing(
            f"the encoder {encoder.name} returned vectors of shape {matrix.shape} instead of "
            f"{count, encoder.dimension}; choose another encoder"
        )
    if not np.isfinite(matrix).all():
        raise EncoderMissing(
            f"the encoder {encoder.name} returned values that are not finite (NaN or infinity); choose another encoder"
        )


def _encoder_input(stored: StoredChunk) -> str:
    return format_encoder_input(stored.record.title, stored.chunk.trail, stored.chunk.text)


# --------------------------------------------------------------------------------------------------
# Upgrade the vectors of an index to the configured encoder: quick vectors first, then better ones.
#
# The current vectors keep answering queries until the next ones are complete. Then the switch is atomic.

MAX_CHUNKS_WITHOUT_QUICK = 64
"""Number of chunks to encode from which the first answers would have to wait for a transformer."""


@dataclass(frozen=True, slots=True)
class UpgradeEncoders:
    """The configured encoder, an optional quick one to start with, and a lookup of encoders by fingerprint."""

    configured: Encoder
    quick: Encoder | None
    find_encoder: Callable[[str], Encoder | None]


@dataclass(slots=True)
class VectorUpgrade:
    store: Store
    open_cache: Callable[[Encoder], VectorCache]
    progress: ProgressCallback
    is_out_of_time: Callable[[], bool]
    filled: VectorFillReport = field(default_factory=VectorFillReport)

    def run(self, encoders: UpgradeEncoders, *, quick_only: bool = False) -> VectorFillReport:
        """Make the missing vectors. A failing encoder ends the run with a note; stored vectors stay, and the next run
        resumes.

        `quick_only`: make only the vectors that are needed to answer queries at once.
        """
        wanted = encoders.configured.fingerprint
        try:
            if not self._is_complete(wanted) and self._make_quick_vectors(encoders):
                if not quick_only:
                    self._make_wanted_vectors(encoders.configured)
                elif self.store.catalog.counts().vectors:
                    self.store.vectors.prepare_vectors(wanted)  # so that every process can see how much is left to do
        except EncoderMismatch as error:
            self.filled.notes.append(f"encoding stopped: {error}")
        except EncoderMissing as error:
            self.filled.notes.append(f"{self._describe_failure(wanted)}: {error}")
        return self.filled

    def _is_complete(self, wanted: str) -> bool:
        metadata, counts = self.store.catalog.metadata(), self.store.catalog.counts()
        return (
            metadata.get(ACTIVE_ENCODER_KEY) == wanted
            and NEXT_ENCODER_KEY not in metadata
            and counts.vectors == counts.encoded
        )

    def _make_quick_vectors(self, encoders: UpgradeEncoders) -> bool:
        """Make vectors to answer with before the long encoding; return whether there is time left for that."""
        quick, wanted = encoders.quick, encoders.configured.fingerprint
        if quick is not None and self._needs_quick_vectors(quick, encoders.configured):
            try:
                self.store.vectors.prepare_vectors(quick.fingerprint)
                return self._fill(quick, "quick encoding")
            except EncoderMissing as error:
                # The quick vectors only bridge the time until the better ones are done.
                self.filled.notes.append(f"no quick vectors were made: {error}")
        answering = self.store.catalog.metadata().get(ACTIVE_ENCODER_KEY)
        if answering in (None, wanted) or not self.store.catalog.counts().vectors:
            return True
        is_quick = quick is not None and quick.fingerprint == answering
        if not is_quick and len(self.store.vectors.chunks_without_vector(answering)) > MAX_CHUNKS_WITHOUT_QUICK:
            return True
        encoder = encoders.find_encoder(answering)
        return encoder is None or self._fill(encoder, "quick encoding")

    def _needs_quick_vectors(self, quick: Encoder, wanted: Encoder) -> bool:
        if quick.fingerprint == wanted.fingerprint or self.store.catalog.counts().vectors:
            return False
        pending = self.store.vectors.chunks_without_vector()
        if len(pending) <= MAX_CHUNKS_WITHOUT_QUICK:
            return False
        with self._use_cache(wanted) as cache:
            return cache.count_missing([it.digest for it in pending]) > MAX_CHUNKS_WITHOUT_QUICK

    def _make_wanted_vectors(self, wanted: Encoder) -> None:
        self.store.vectors.prepare_vectors(wanted.fingerprint)
        # A chunk that was added after the last fill prevents the switch.
        while self._fill(wanted) and self.store.catalog.metadata().get(NEXT_ENCODER_KEY) == wanted.fingerprint:
            self.store.vectors.switch_vectors(wanted.fingerprint)

    def _fill(self, encoder: Encoder, stage: str = "encoding") -> bool:
        if not self.store.vectors.chunks_without_vector(encoder.fingerprint):
            return True
        with self._use_cache(encoder) as cache:
            try:
                return fill_vectors(
                    self.store,
                    encoder,
                    cache,
                    self.filled,
                    progress=self.progress,
                    out_of_time=self.is_out_of_time,
                    stage=stage,
                )
            finally:
                problem = take_encoder_problem(encoder)
                self.filled.notes += [problem] if problem else []

    @contextmanager
    def _use_cache(self, encoder: Encoder) -> Iterator[VectorCache]:
        cache = self.open_cache(encoder)
        try:
            yield cache
        finally:
            if cache.problem and cache.problem not in self.filled.notes:
                self.filled.notes.append(cache.problem)
            cache.close()

    def _describe_failure(self, wanted: str) -> str:
        """Describe the work that a failure leaves, as the start of a sentence."""
        left = len(self.store.vectors.chunks_without_vector(wanted))
        if not self.filled.encoded + self.filled.reused:
            return "no vectors were made"
        return f"{left:,} chunks have no vector yet (`dowse index` continues)"
