"""The encoder of an index: choose, load, switch, and encode what has no vector yet."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dowse.encoders.base import Encoder, get_traits, take_encoder_problem
from dowse.errors import EncoderMissing
from dowse.ingest.embed import (
    MAX_CHUNKS_WITHOUT_QUICK,
    ProgressCallback,
    UpgradeEncoders,
    VectorFillReport,
    VectorUpgrade,
    check_vectors,
)
from dowse.paths import DataPaths
from dowse.processes import run_at_low_priority
from dowse.search.run import QueryVector
from dowse.store.base import Store
from dowse.store.types import ACTIVE_ENCODER_KEY, ENCODER_SETTING_KEY, NEXT_ENCODER_KEY

if TYPE_CHECKING:
    from dowse.encoders.cache import VectorCache
    from dowse.encoders.choose import EncoderChoice

NO_ENCODER = "none"
YieldFn = Callable[[Callable[[], bool]], None]
"""Waits while others need the processor, or until its argument returns true."""
_CACHE_DAYS = 90
# A query is one short text, so more threads do not help. A session without threads runs at the caller's priority.
_QUERY_THREADS = 1
_SECONDS_PER_CACHE_DAY = 86_400


@dataclass(frozen=True, slots=True)
class EncoderStatus:
    name: str
    why: str


def _switch_advice(name: str) -> str:
    return f"run `dowse index --encoder {name} --switch-encoder` to replace them"


def _default_fast_encoder() -> Encoder | None:
    from dowse.encoders.choose import fast_encoder

    return fast_encoder()


def _upgrade_at_low_priority(upgrade: VectorUpgrade, encoders: UpgradeEncoders, give_way: YieldFn) -> VectorFillReport:
    def run(is_interrupted: Callable[[], bool]) -> VectorFillReport:
        def is_stopped() -> bool:
            return is_interrupted() or upgrade.is_out_of_time()

        def is_over() -> bool:
            give_way(is_stopped)
            return is_stopped()

        return replace(upgrade, is_out_of_time=is_over).run(encoders)

    return run_at_low_priority(run)


@dataclass(frozen=True, slots=True)
class EncoderPlan:
    """The encoder whose vectors the index gets (empty: none). `conflict` says why it is not the requested one."""

    name: str
    conflict: str = ""


class IndexEncoders:
    def __init__(
        self,
        name: str,
        places: DataPaths,
        store: Store,
        *,
        api_key: str = "",
        fast: Callable[[], Encoder | None] = _default_fast_encoder,
        threads: int = 0,
    ) -> None:
        self._name = name
        self._places = places
        self._store = store
        self._api_key = api_key
        self._fast = fast
        self._threads = threads
        self._lock = threading.Lock()
        self._known: dict[str, Encoder] = {}

    @property
    def is_enabled(self) -> bool:
        return self._name != NO_ENCODER

    @property
    def name(self) -> str:
        """Return the name of the encoder without contacting it."""
        try:
            return (
                self._choose(self._effective_setting(), patient=False).encoder.name if self.is_enabled else NO_ENCODER
            )
        except EncoderMissing:
            return NO_ENCODER

    def check(self) -> None:
        """Raise `BadInput` for an unknown encoder before any work is done."""
        if self.is_enabled:
            from dowse.encoders.choose import check_encoder_name

            check_encoder_name(self._name)

    def _choose(self, name: str, *, patient: bool) -> EncoderChoice:
        from dowse.encoders.choose import choose_encoder

        return choose_encoder(
            name, cache_dir=self._places.models, api_key=self._api_key, patient=patient, threads=self._threads
        )

    # --- selection ---

    def _stored_setting(self) -> str:
        """Return the encoder setting stored in the index; empty if there is none or its vectors come from a server."""
        from dowse.encoders.choose import setting_for_fingerprint

        metadata = self._store.catalog.metadata()
        return metadata.get(ENCODER_SETTING_KEY) or setting_for_fingerprint(
            metadata.get(NEXT_ENCODER_KEY) or metadata.get(ACTIVE_ENCODER_KEY, "")
        )

    def _effective_setting(self) -> str:
        """Return the requested encoder. `auto` defers to the index, unless that would send texts to a server."""
        from dowse.encoders.choose import AUTO_ENCODER, ENCODER_ALIASES, is_local_encoder

        requested = ENCODER_ALIASES.get(self._name, self._name)
        stored = self._stored_setting()
        return stored if requested == AUTO_ENCODER and is_local_encoder(stored) else requested

    def _plan_encoder(self) -> EncoderPlan:
        """Plan the encoder. Existing vectors are never replaced just because one run names another encoder."""
        requested, stored = self._effective_setting(), self._stored_setting()
        if requested == stored or not self._has_vectors():
            return EncoderPlan(requested)
        from dowse.encoders.choose import encoder_short_name, is_local_encoder

        metadata = self._store.catalog.metadata()
        target = self._choose(requested, patient=True).encoder.fingerprint
        if target == (
            metadata.get(NEXT_ENCODER_KEY) or metadata.get(ACTIVE_ENCODER_KEY)
        ) or target == self._local_fingerprint(stored):
            return EncoderPlan(requested)
        counts, by = self._store.catalog.counts(), encoder_short_name(metadata.get(ACTIVE_ENCODER_KEY, ""))
        conflict = f"the index keeps its {counts.vectors:,} vectors from {by}; {_switch_advice(requested)}"
        return EncoderPlan(stored if is_local_encoder(stored) else "", conflict)

    def _has_vectors(self) -> bool:
        counts = self._store.catalog.counts()
        return bool(counts.vectors or counts.next_vectors)

    def _local_fingerprint(self, name: str) -> str:
        from dowse.encoders.choose import is_local_encoder

        return self._choose(name, patient=False).encoder.fingerprint if is_local_encoder(name) else ""

    # --- status ---

    def describe(self) -> EncoderStatus:
        if not self.is_enabled:
            return EncoderStatus(NO_ENCODER, "semantic search: off (encoder = none)")
        try:
            choice = self._choose(self._effective_setting(), patient=False)
        except EncoderMissing as error:
            return EncoderStatus(NO_ENCODER, str(error))
        parts = [choice.why.removesuffix("."), *self._answering_problem(choice.encoder), *self.notes()]
        return EncoderStatus(choice.encoder.name, "; ".join(parts))

    def _answering_problem(self, encoder: Encoder) -> list[str]:
        """Return the reason why the encoder cannot answer queries now, if any."""
        metadata = self._store.catalog.metadata()
        try:
            fingerprint = encoder.fingerprint
        except EncoderMissing as error:
            return [f"but {error}"]
        if fingerprint in (metadata.get(NEXT_ENCODER_KEY), metadata.get(ACTIVE_ENCODER_KEY, fingerprint)):
            return []
        requested = self._effective_setting()
        step = (
            f"run `dowse index` to replace them with vectors from {fingerprint}"
            if requested == self._stored_setting()
            else _switch_advice(requested)
        )
        return [f"the index has vectors from {metadata[ACTIVE_ENCODER_KEY]}; {step}"]

    def notes(self) -> tuple[str, ...]:
        """Return the progress of the vectors if they are incomplete."""
        counts, metadata = self._store.catalog.counts(), self._store.catalog.metadata()
        if not self.is_enabled or (NEXT_ENCODER_KEY not in metadata and counts.vectors == counts.encoded):
            return ()
        from dowse.encoders.choose import encoder_short_name

        by = f" from {encoder_short_name(metadata[ACTIVE_ENCODER_KEY])}" if ACTIVE_ENCODER_KEY in metadata else ""
        progress = f"{counts.vectors:,} of {counts.encoded:,} chunks have vectors{by}"
        if NEXT_ENCODER_KEY not in metadata:
            return (progress,)
        share = counts.next_vectors / max(counts.encoded, 1)
        ready = "ready" if counts.vectors == counts.encoded else f"{counts.vectors:,} of {counts.encoded:,}"
        quick, full = (
            encoder_short_name(metadata.get(ACTIVE_ENCODER_KEY, "")),
            encoder_short_name(metadata[NEXT_ENCODER_KEY]),
        )
        rest = "`dowse jobs` shows progress, `dowse index` finishes it"
        return (f"semantic index: {quick} {ready}, {full} {share:.0%}; {rest}",)

    def count_missing(self) -> int:
        """Return how many chunks lack a vector of the target encoder."""
        metadata = self._store.catalog.metadata()
        return (
            self._count_missing(metadata.get(NEXT_ENCODER_KEY) or metadata.get(ACTIVE_ENCODER_KEY, ""))
            if self.is_enabled
            else 0
        )

    # --- queries ---

    def encode_query(self, text: str) -> QueryVector:
        if not self.is_enabled:
            return QueryVector(None, "skipped: semantic search is off (encoder = none)")
        self.check()
        try:
            return self._encode_with_index_encoder(text)
        except EncoderMissing as error:
            return QueryVector(None, f"skipped: {error}")

    def _encode_with_index_encoder(self, text: str) -> QueryVector:
        active = self._store.catalog.metadata().get(ACTIVE_ENCODER_KEY)
        if active is None:
            return QueryVector(None, "skipped: the index has no vectors yet; run `dowse index`")
        encoder = self._encoder_for_fingerprint(active)
        if encoder is None:
            return QueryVector(
                None,
                f"skipped: the index has vectors from {active}, which the encoder setting ({self._name}) excludes; "
                f"{_switch_advice(self._name)}",
            )
        matrix = encoder.encode([text])
        check_vectors(encoder, matrix, 1)
        if not matrix.any():
            return QueryVector(
                None, f"skipped: {take_encoder_problem(encoder) or 'the query has no content to encode'}"
            )
        return QueryVector(
            matrix[0],
            encoder_fingerprint=active,
            traits=get_traits(encoder),
            note=self._other_encoder_note(active),
        )

    def _other_encoder_note(self, active: str) -> str:
        """Return a note if the vectors come from another encoder than the requested one. Servers are not contacted for
        this."""
        from dowse.encoders.choose import AUTO_ENCODER, encoder_short_name, is_local_encoder

        requested = self._effective_setting()
        if requested == AUTO_ENCODER or not is_local_encoder(requested) or requested == self._stored_setting():
            return ""
        if self._local_fingerprint(requested) in (
            active,
            self._store.catalog.metadata().get(NEXT_ENCODER_KEY),
        ):
            return ""
        return f"compared with {encoder_short_name(active)}, the encoder of this index, instead of {requested}"

    def _encoder_for_fingerprint(self, fingerprint: str) -> Encoder | None:
        """Return the encoder with this fingerprint: a local one, or the server of the setting."""
        from dowse.encoders.choose import encoder_by_fingerprint

        with self._lock:
            known = self._known.get(fingerprint)
        if known is not None:
            return known
        # Do this outside the lock, because a server may take long to identify itself.
        encoder = encoder_by_fingerprint(fingerprint, cache_dir=self._places.models, threads=_QUERY_THREADS)
        if encoder is None:
            encoder = self._choose(self._name, patient=False).encoder
        if encoder.fingerprint != fingerprint:
            return None
        with self._lock:
            return self._known.setdefault(fingerprint, encoder)

    # --- indexing ---

    def fill(
        self,
        progress: ProgressCallback,
        out_of_time: Callable[[], bool],
        *,
        switch: bool = False,
        quick_only: bool = False,
        give_way: YieldFn | None = None,
    ) -> VectorFillReport:
        """Create the missing vectors. Vectors of the previous encoder are kept until the new ones are complete.

        - `switch`: use the requested encoder, whichever made the existing vectors.
        - `quick_only`: skip a slow encoder if other vectors can answer queries.
        - `give_way`: run a slow encoder at the lowest priority and call this between batches.
        """
        if not self.is_enabled:
            return VectorFillReport(notes=["no vectors were made: encoder = none"])
        upgrade = VectorUpgrade(self._store, self._cache, progress, out_of_time)
        try:
            plan = self._plan_switch() if switch else self._plan_encoder()
            if not plan.name:
                return VectorFillReport(notes=[f"no vectors were made: {plan.conflict}"])
            encoders = self._choose_encoders(plan.name)
            if not self._has_vectors() and self._store.catalog.metadata().get(ENCODER_SETTING_KEY) != plan.name:
                self._store.writer.note(ENCODER_SETTING_KEY, plan.name)
            if encoders.quick is not None:
                upgrade.run(encoders, quick_only=True)
            if not out_of_time() and not (encoders.quick and quick_only and self._has_vectors()):
                _upgrade_at_low_priority(upgrade, encoders, give_way) if give_way else upgrade.run(encoders)
            filled = upgrade.filled
            filled.notes += filter(None, [plan.conflict])
            return filled
        except EncoderMissing as error:
            return VectorFillReport(notes=[f"no vectors were made: {error}"])

    def _plan_switch(self) -> EncoderPlan:
        from dowse.encoders.choose import ENCODER_ALIASES

        requested = ENCODER_ALIASES.get(self._name, self._name)
        self._store.writer.note(ENCODER_SETTING_KEY, requested)
        return EncoderPlan(requested)

    def _choose_encoders(self, name: str) -> UpgradeEncoders:
        choice = self._choose(name, patient=True)
        self._refuse_downgrade(choice.encoder)
        return UpgradeEncoders(
            self._encoder_for_indexing(choice.encoder),
            self._fast() if choice.slow else None,
            self._encoder_for_fingerprint,
        )

    def _refuse_downgrade(self, encoder: Encoder) -> None:
        """Raise if `auto` would replace better vectors because the better encoder is no longer installed."""
        from dowse.encoders.choose import AUTO_ENCODER, encoder_short_name

        current = self._store.catalog.metadata().get(ACTIVE_ENCODER_KEY, "")
        quick = self._fast()
        if self._stored_setting() != AUTO_ENCODER or quick is None or not self._has_vectors():
            return
        if encoder.fingerprint == quick.fingerprint != current:
            raise EncoderMissing(f"the index has vectors from {encoder_short_name(current)}, which is not installed")

    def _encoder_for_indexing(self, encoder: Encoder) -> Encoder:
        """Return the encoder to use for indexing.

        A few texts use the query encoder, which is already loaded. Many texts use a separate one whose threads have the
        priority of the loading thread. A server gets a separate, patient connection.
        """
        from dowse.encoders.choose import encoder_by_fingerprint

        fingerprint = encoder.fingerprint
        if encoder_by_fingerprint(fingerprint, cache_dir=self._places.models) is None:
            return encoder
        has_many = self._count_missing(fingerprint) > MAX_CHUNKS_WITHOUT_QUICK
        return encoder if has_many else self._encoder_for_fingerprint(fingerprint) or encoder

    def _count_missing(self, fingerprint: str) -> int:
        """Return how many chunks lack a vector of this encoder."""
        metadata, counts = self._store.catalog.metadata(), self._store.catalog.counts()
        vector_counts = {
            metadata.get(ACTIVE_ENCODER_KEY, ""): counts.vectors,
            metadata.get(NEXT_ENCODER_KEY, ""): counts.next_vectors,
        }
        return counts.encoded - vector_counts.get(fingerprint, 0)

    def _cache(self, encoder: Encoder) -> VectorCache:
        from dowse.encoders.cache import VectorCache, cache_file

        cache = VectorCache(cache_file(self._places.vectors, encoder.fingerprint), dimension=encoder.dimension)
        cache.prune(int(time.time() // _SECONDS_PER_CACHE_DAY) - _CACHE_DAYS)
        return cache
