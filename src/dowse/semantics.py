"""The encoder of an index: which one and why, vectors for its chunks, a vector for a query; never a mix of two."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dowse.encoders.base import Encoder
from dowse.errors import EncoderMissing
from dowse.ingest.embed import Progress, fill
from dowse.places import Places
from dowse.search.run import QueryVector
from dowse.store.base import Store

if TYPE_CHECKING:
    from dowse.encoders.cache import VectorCache

NONE = "none"
_MANIFEST_KEY = "encoder"
_CACHE_DAYS = 90
_DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class Description:
    name: str
    why: str


@dataclass(frozen=True, slots=True)
class Filled:
    encoded: int = 0
    reused: int = 0
    notes: tuple[str, ...] = ()


class Semantics:
    def __init__(self, name: str, places: Places, store: Store) -> None:
        self._name = name
        self._places = places
        self._store = store
        self._turn = threading.Lock()
        self._known: dict[str, Encoder] = {}

    @property
    def wanted(self) -> bool:
        return self._name != NONE

    def describe(self) -> Description:
        if not self.wanted:
            return Description(NONE, "semantic search is switched off by the encoder setting")
        try:
            from dowse.encoders.choose import choose

            choice = choose(self._name, cache_dir=self._places.models)
        except EncoderMissing as error:
            return Description(NONE, str(error))
        made = self._store.manifest().get(_MANIFEST_KEY)
        why = choice.why
        if made and made != choice.encoder.fingerprint:
            why += f"; the index's vectors are of {made}, `dowse index` makes them anew"
        return Description(choice.encoder.name, why)

    def check(self) -> None:
        """Refuse an unknown encoder at once, before any work is done for it."""
        if self.wanted:
            from dowse.encoders.choose import check_name

            check_name(self._name)

    # --- asking ---

    def encode_query(self, text: str) -> QueryVector:
        if not self.wanted:
            return QueryVector(None, "skipped: semantic search is switched off (encoder = none)")
        try:
            return self._encoded(text)
        except EncoderMissing as error:
            return QueryVector(None, f"skipped: {error}")

    def _encoded(self, text: str) -> QueryVector:
        made = self._store.manifest().get(_MANIFEST_KEY)
        if made is None:
            return QueryVector(None, "skipped: the index has no vectors yet; `dowse index` makes them")
        encoder = self._maker_of(made)
        if encoder is None:
            return QueryVector(
                None,
                f"skipped: the index's vectors were made by {made}, which is not what the encoder setting "
                f"({self._name}) gives here; `dowse index` makes them anew",
            )
        vector = encoder.encode([text])[0]
        if not vector.any():
            return QueryVector(None, "skipped: the query has nothing to encode")
        return QueryVector(vector)

    def _maker_of(self, fingerprint: str) -> Encoder | None:
        """The encoder the index was made with, if the setting allows it and it can be had here."""
        from dowse.encoders.choose import by_fingerprint, choose

        with self._turn:
            if fingerprint not in self._known:
                if self._name == "auto":
                    encoder = by_fingerprint(fingerprint, cache_dir=self._places.models)
                else:
                    encoder = choose(self._name, cache_dir=self._places.models).encoder
                if encoder is None or encoder.fingerprint != fingerprint:
                    return None
                self._known[fingerprint] = encoder
            return self._known[fingerprint]

    # --- filling ---

    def fill(self, progress: Progress, out_of_time: Callable[[], bool]) -> Filled:
        """Vectors for every chunk that has none; all of them anew when the encoder has changed."""
        if not self.wanted:
            return Filled(notes=("no vectors were made: encoder = none",))
        try:
            return self._filled(progress, out_of_time)
        except EncoderMissing as error:
            return Filled(notes=(f"no vectors were made: {error}",))

    def _filled(self, progress: Progress, out_of_time: Callable[[], bool]) -> Filled:
        counts = self._store.counts()
        if counts.vectors == counts.chunks and self._unchanged():
            return Filled()
        encoder = self._adopt()
        cache = self._cache(encoder)
        try:
            pending = self._store.pending()
            encoded, reused = fill(self._store, pending, encoder, cache, progress=progress, out_of_time=out_of_time)
            cache.prune(_today() - _CACHE_DAYS)
            return Filled(encoded, reused, (cache.problem,) if cache.problem else ())
        finally:
            cache.close()

    def _unchanged(self) -> bool:
        from dowse.encoders.choose import choose

        chosen = choose(self._name, cache_dir=self._places.models).encoder
        return self._store.manifest().get(_MANIFEST_KEY) == chosen.fingerprint

    def _adopt(self) -> Encoder:
        """The encoder of the setting; vectors of any other are dropped before its first one is written."""
        from dowse.encoders.choose import choose

        encoder = choose(self._name, cache_dir=self._places.models).encoder
        with self._turn:
            encoder = self._known.setdefault(encoder.fingerprint, encoder)
        if self._store.manifest().get(_MANIFEST_KEY) != encoder.fingerprint:
            self._store.clear_vectors()
            self._store.note(_MANIFEST_KEY, encoder.fingerprint)
        return encoder

    def _cache(self, encoder: Encoder) -> VectorCache:
        from dowse.encoders.cache import VectorCache, cache_file

        return VectorCache(cache_file(self._places.vectors, encoder.fingerprint), dimension=encoder.dimension)


def _today() -> int:
    return int(time.time() // _DAY_S)
