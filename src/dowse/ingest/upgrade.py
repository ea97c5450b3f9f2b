"""The vectors of an index, brought to the encoder that is wanted: quick ones first, better ones behind them.

Whatever answers goes on answering until the next vectors are complete; then they take its place at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dowse.encoders.base import Encoder, problem_of
from dowse.errors import EncoderMissing, OtherVectors
from dowse.ingest.embed import Filled, Progress, VectorStore, fill
from dowse.store.base import ANSWERING, NEXT

if TYPE_CHECKING:
    from dowse.encoders.cache import VectorCache

MUCH = 64
"""Chunks: with more than this to encode, a transformer lets its first answers wait."""


@dataclass(frozen=True, slots=True)
class Encoders:
    """The one that is wanted; a quick one to begin with, if that pays; and where the others come from."""

    wanted: Encoder
    quick: Encoder | None
    maker_of: Callable[[str], Encoder | None]


@dataclass(slots=True)
class Upgrade:
    store: VectorStore
    open_cache: Callable[[Encoder], VectorCache]
    progress: Progress
    out_of_time: Callable[[], bool]
    filled: Filled = field(default_factory=Filled)

    def run(self, encoders: Encoders, *, quick_only: bool = False) -> Filled:
        """A failing encoder ends it with a note; what is stored by then stays, and the next run goes on from there.
        `quick_only`: no more than what can be had at once to answer with."""
        wanted = encoders.wanted.fingerprint
        try:
            if not self._done(wanted) and self._first(encoders):
                if not quick_only:
                    self._then(encoders.wanted)
                elif self.store.counts().vectors:
                    self.store.begin_vectors(wanted)  # so that everybody can tell what is left to do
        except OtherVectors as error:
            self.filled.notes.append(f"making vectors was stopped: {error}")
        except EncoderMissing as error:
            self.filled.notes.append(f"{self._left(wanted)}: {error}")
        return self.filled

    def _done(self, wanted: str) -> bool:
        made, counts = self.store.manifest(), self.store.counts()
        return made.get(ANSWERING) == wanted and NEXT not in made and counts.vectors == counts.encoded

    def _first(self, encoders: Encoders) -> bool:
        """Something to answer with, before the long work; whether there is time left for that."""
        quick, wanted = encoders.quick, encoders.wanted.fingerprint
        if quick is not None and self._worthwhile(quick, encoders.wanted):
            try:
                self.store.begin_vectors(quick.fingerprint)
                return self._fill(quick, "quick encoding")
            except EncoderMissing as error:
                # It only bridges the time until the better one is done.
                self.filled.notes.append(f"no quick vectors were made: {error}")
        answering = self.store.manifest().get(ANSWERING)
        if answering in (None, wanted) or not self.store.counts().vectors:
            return True
        is_quick = quick is not None and quick.fingerprint == answering
        if not is_quick and len(self.store.pending(answering)) > MUCH:
            return True
        maker = encoders.maker_of(answering)
        return maker is None or self._fill(maker, "quick encoding")

    def _worthwhile(self, quick: Encoder, wanted: Encoder) -> bool:
        if quick.fingerprint == wanted.fingerprint or self.store.counts().vectors:
            return False
        pending = self.store.pending()
        if len(pending) <= MUCH:
            return False
        with self._cache(wanted) as cache:
            return cache.lacking([it.digest for it in pending]) > MUCH

    def _then(self, wanted: Encoder) -> None:
        self.store.begin_vectors(wanted.fingerprint)
        # A chunk that came after the last one was filled keeps the switch from happening.
        while self._fill(wanted) and self.store.manifest().get(NEXT) == wanted.fingerprint:
            self.store.switch_vectors(wanted.fingerprint)

    def _fill(self, encoder: Encoder, stage: str = "encoding") -> bool:
        if not self.store.pending(encoder.fingerprint):
            return True
        with self._cache(encoder) as cache:
            try:
                return fill(
                    self.store,
                    encoder,
                    cache,
                    self.filled,
                    progress=self.progress,
                    out_of_time=self.out_of_time,
                    stage=stage,
                )
            finally:
                problem = problem_of(encoder)
                self.filled.notes += [problem] if problem else []

    @contextmanager
    def _cache(self, encoder: Encoder) -> Iterator[VectorCache]:
        cache = self.open_cache(encoder)
        try:
            yield cache
        finally:
            if cache.problem and cache.problem not in self.filled.notes:
                self.filled.notes.append(cache.problem)
            cache.close()

    def _left(self, wanted: str) -> str:
        """What a failure leaves to do, as the beginning of a sentence."""
        left = len(self.store.pending(wanted))
        if not self.filled.encoded + self.filled.reused:
            return "no vectors were made"
        return f"vectors were made for some chunks, {left:,} wait for the next `dowse index`"
