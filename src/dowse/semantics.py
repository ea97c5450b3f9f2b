"""The encoders of an index: which and why, vectors for its chunks, a vector for a query; never a mix of two."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dowse.encoders.base import Encoder, problem_of, traits_of
from dowse.errors import EncoderMissing
from dowse.ingest.embed import Filled, Progress, check_rows
from dowse.ingest.upgrade import Encoders, Upgrade
from dowse.places import Places
from dowse.search.run import QueryVector
from dowse.store.base import ANSWERING, NEXT, Store

if TYPE_CHECKING:
    from dowse.encoders.cache import VectorCache
    from dowse.encoders.choose import Choice

NONE = "none"
_CACHE_DAYS = 90
_DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class Description:
    name: str
    why: str


def _fast() -> Encoder | None:
    from dowse.encoders.choose import fast

    return fast()


class Semantics:
    def __init__(
        self,
        name: str,
        places: Places,
        store: Store,
        *,
        api_key: str = "",
        fast: Callable[[], Encoder | None] = _fast,
    ) -> None:
        self._name = name
        self._places = places
        self._store = store
        self._api_key = api_key
        self._fast = fast
        self._turn = threading.Lock()
        self._known: dict[str, Encoder] = {}

    @property
    def wanted(self) -> bool:
        return self._name != NONE

    @property
    def name(self) -> str:
        """The name of the encoder, without asking it for anything."""
        try:
            return self._choose(patient=False).encoder.name if self.wanted else NONE
        except EncoderMissing:
            return NONE

    def check(self) -> None:
        """Refuse an unknown encoder at once, before any work is done for it."""
        if self.wanted:
            from dowse.encoders.choose import check_name

            check_name(self._name)

    def _choose(self, *, patient: bool) -> Choice:
        from dowse.encoders.choose import choose

        return choose(self._name, cache_dir=self._places.models, api_key=self._api_key, patient=patient)

    # --- telling ---

    def describe(self) -> Description:
        if not self.wanted:
            return Description(NONE, "semantic search is switched off by the encoder setting")
        try:
            choice = self._choose(patient=False)
        except EncoderMissing as error:
            return Description(NONE, str(error))
        parts = [choice.why.removesuffix("."), *self._standing(choice.encoder), *self.notes()]
        return Description(choice.encoder.name, "; ".join(parts))

    def _standing(self, encoder: Encoder) -> list[str]:
        """What keeps the encoder from answering now."""
        made = self._store.manifest()
        try:
            fingerprint = encoder.fingerprint
        except EncoderMissing as error:
            return [f"but {error}"]
        if fingerprint in (made.get(NEXT), made.get(ANSWERING, fingerprint)):
            return []
        return [f"the index's vectors are of {made[ANSWERING]}, `dowse index` makes those of {fingerprint}"]

    def notes(self) -> tuple[str, ...]:
        """How far the vectors are, where they are not complete."""
        counts, made = self._store.counts(), self._store.manifest()
        if not self.wanted or (NEXT not in made and counts.vectors == counts.encoded):
            return ()
        from dowse.encoders.choose import short_name

        by = f" by {short_name(made[ANSWERING])}" if ANSWERING in made else ""
        having = f"{counts.vectors:,} of {counts.encoded:,} chunks have vectors{by}"
        if NEXT not in made:
            return (having,)
        share = counts.next_vectors / max(counts.encoded, 1)
        ready = "ready" if counts.vectors == counts.encoded else f"{counts.vectors:,} of {counts.encoded:,}"
        quick, full = short_name(made.get(ANSWERING, "")), short_name(made[NEXT])
        return (f"semantic index: {quick} {ready}, {full} {share:.0%}; run `dowse index` to finish",)

    # --- asking ---

    def encode_query(self, text: str) -> QueryVector:
        if not self.wanted:
            return QueryVector(None, "skipped: semantic search is switched off (encoder = none)")
        self.check()
        try:
            return self._encoded(text)
        except EncoderMissing as error:
            return QueryVector(None, f"skipped: {error}")

    def _encoded(self, text: str) -> QueryVector:
        made = self._store.manifest().get(ANSWERING)
        if made is None:
            return QueryVector(None, "skipped: the index has no vectors yet; `dowse index` makes them")
        encoder = self._maker_of(made)
        if encoder is None:
            return QueryVector(
                None,
                f"skipped: the index's vectors were made by {made}, which is not to be had with the encoder setting "
                f"({self._name}); `dowse index` makes them anew",
            )
        matrix = encoder.encode([text])
        check_rows(encoder, matrix, 1)
        if not matrix.any():
            return QueryVector(None, f"skipped: {problem_of(encoder) or 'the query has nothing to encode'}")
        return QueryVector(matrix[0], made_by=made, traits=traits_of(encoder))

    def _maker_of(self, fingerprint: str) -> Encoder | None:
        """The encoder that makes such vectors: one of this machine, or the server of the setting and no other."""
        from dowse.encoders.choose import by_fingerprint

        with self._turn:
            known = self._known.get(fingerprint)
        if known is not None:
            return known
        # Outside of the lock: a server may take long to say who it is.
        encoder = by_fingerprint(fingerprint, cache_dir=self._places.models)
        if encoder is None:
            encoder = self._choose(patient=False).encoder
        if encoder.fingerprint != fingerprint:
            return None
        with self._turn:
            return self._known.setdefault(fingerprint, encoder)

    # --- filling ---

    def fill(self, progress: Progress, out_of_time: Callable[[], bool]) -> Filled:
        """Vectors of the encoder for every chunk, without those of another going before they are complete."""
        if not self.wanted:
            return Filled(notes=["no vectors were made: encoder = none"])
        upgrade = Upgrade(self._store, self._cache, progress, out_of_time)
        try:
            return upgrade.run(self._encoders())
        except EncoderMissing as error:
            return Filled(notes=[f"no vectors were made: {error}"])

    def _encoders(self) -> Encoders:
        choice = self._choose(patient=True)
        return Encoders(self._shared(choice.encoder), self._fast() if choice.slow else None, self._maker_of)

    def _shared(self, encoder: Encoder) -> Encoder:
        """One that is loaded already, if it is of this machine: a server is asked anew, and patiently."""
        from dowse.encoders.choose import by_fingerprint

        fingerprint = encoder.fingerprint
        if by_fingerprint(fingerprint, cache_dir=self._places.models) is None:
            return encoder
        with self._turn:
            return self._known.setdefault(fingerprint, encoder)

    def _cache(self, encoder: Encoder) -> VectorCache:
        from dowse.encoders.cache import VectorCache, cache_file

        cache = VectorCache(cache_file(self._places.vectors, encoder.fingerprint), dimension=encoder.dimension)
        cache.prune(int(time.time() // _DAY_S) - _CACHE_DAYS)
        return cache
