"""The encoders of an index: which and why, vectors for its chunks, a vector for a query; never a mix of two."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dowse.encoders.base import Encoder, problem_of, traits_of
from dowse.errors import EncoderMissing
from dowse.ingest.embed import Filled, Progress, check_rows
from dowse.ingest.upgrade import MUCH, Encoders, Upgrade
from dowse.places import Places
from dowse.processes import run_at_low_priority
from dowse.search.run import QueryVector
from dowse.store.base import ANSWERING, ENCODER_SETTING, NEXT, Store

if TYPE_CHECKING:
    from dowse.encoders.cache import VectorCache
    from dowse.encoders.choose import Choice

NONE = "none"
GiveWay = Callable[[Callable[[], bool]], None]
"""Waits as long as others need the processor, or until it is told to stop."""
_CACHE_DAYS = 90
# A question is one short text: more threads make it no faster, and a session without threads of its own runs at the
# priority of whoever asks.
_QUERY_THREADS = 1
_DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class Description:
    name: str
    why: str


def _how_to_switch(name: str) -> str:
    return f"`dowse index --encoder {name} --switch-encoder` replaces them"


def _fast() -> Encoder | None:
    from dowse.encoders.choose import fast

    return fast()


def _run_at_low_priority(upgrade: Upgrade, encoders: Encoders, give_way: GiveWay) -> Filled:
    def run(is_interrupted: Callable[[], bool]) -> Filled:
        def is_stopped() -> bool:
            return is_interrupted() or upgrade.out_of_time()

        def is_over() -> bool:
            give_way(is_stopped)
            return is_stopped()

        return replace(upgrade, out_of_time=is_over).run(encoders)

    return run_at_low_priority(run)


@dataclass(frozen=True, slots=True)
class Plan:
    """Whose vectors the index gets: those of the encoder `name`, or none (empty). `conflict` says why these are not
    those of the encoder that was asked for."""

    name: str
    conflict: str = ""


class Semantics:
    def __init__(
        self,
        name: str,
        places: Places,
        store: Store,
        *,
        api_key: str = "",
        fast: Callable[[], Encoder | None] = _fast,
        threads: int = 0,
    ) -> None:
        self._name = name
        self._places = places
        self._store = store
        self._api_key = api_key
        self._fast = fast
        self._threads = threads
        self._turn = threading.Lock()
        self._known: dict[str, Encoder] = {}

    @property
    def wanted(self) -> bool:
        return self._name != NONE

    @property
    def name(self) -> str:
        """The name of the encoder, without asking it for anything."""
        try:
            return self._choose(self._asked_or_kept(), patient=False).encoder.name if self.wanted else NONE
        except EncoderMissing:
            return NONE

    def check(self) -> None:
        """Refuse an unknown encoder at once, before any work is done for it."""
        if self.wanted:
            from dowse.encoders.choose import check_name

            check_name(self._name)

    def _choose(self, name: str, *, patient: bool) -> Choice:
        from dowse.encoders.choose import choose

        return choose(
            name, cache_dir=self._places.models, api_key=self._api_key, patient=patient, threads=self._threads
        )

    # --- which ---

    def _kept(self) -> str:
        """The setting that the index is kept with; empty where there is none yet, or only a server's vectors tell."""
        from dowse.encoders.choose import setting_of

        made = self._store.manifest()
        return made.get(ENCODER_SETTING) or setting_of(made.get(NEXT) or made.get(ANSWERING, ""))

    def _asked_or_kept(self) -> str:
        """`auto` leaves the choice to the index, unless that would have texts sent to a server."""
        from dowse.encoders.choose import ALIASES, AUTO, is_local

        asked = ALIASES.get(self._name, self._name)
        kept = self._kept()
        return kept if asked == AUTO and is_local(kept) else asked

    def _plan(self) -> Plan:
        """Vectors that are there are never replaced by those of another encoder only because a run names it."""
        asked, kept = self._asked_or_kept(), self._kept()
        if asked == kept or not self._has_vectors():
            return Plan(asked)
        from dowse.encoders.choose import is_local, short_name

        made = self._store.manifest()
        wanted = self._choose(asked, patient=True).encoder.fingerprint
        if wanted == (made.get(NEXT) or made.get(ANSWERING)) or wanted == self._local_fingerprint(kept):
            return Plan(asked)
        counts, by = self._store.counts(), short_name(made.get(ANSWERING, ""))
        conflict = f"the index keeps its {counts.vectors:,} vectors by {by}; {_how_to_switch(asked)}"
        return Plan(kept if is_local(kept) else "", conflict)

    def _has_vectors(self) -> bool:
        counts = self._store.counts()
        return bool(counts.vectors or counts.next_vectors)

    def _local_fingerprint(self, name: str) -> str:
        from dowse.encoders.choose import is_local

        return self._choose(name, patient=False).encoder.fingerprint if is_local(name) else ""

    # --- telling ---

    def describe(self) -> Description:
        if not self.wanted:
            return Description(NONE, "semantic search is switched off by the encoder setting")
        try:
            choice = self._choose(self._asked_or_kept(), patient=False)
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
        asked = self._asked_or_kept()
        step = f"`dowse index` makes those of {fingerprint}" if asked == self._kept() else _how_to_switch(asked)
        return [f"the index's vectors are of {made[ANSWERING]}, {step}"]

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
        rest = "`dowse jobs` shows the rest, `dowse index` finishes it"
        return (f"semantic index: {quick} {ready}, {full} {share:.0%}; {rest}",)

    def lacking(self) -> int:
        """How many chunks have no vector of the encoder that the index is brought to."""
        made = self._store.manifest()
        return self._lacking(made.get(NEXT) or made.get(ANSWERING, "")) if self.wanted else 0

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
                f"({self._name}); {_how_to_switch(self._name)}",
            )
        matrix = encoder.encode([text])
        check_rows(encoder, matrix, 1)
        if not matrix.any():
            return QueryVector(None, f"skipped: {problem_of(encoder) or 'the query has nothing to encode'}")
        return QueryVector(matrix[0], made_by=made, traits=traits_of(encoder), note=self._instead(made))

    def _instead(self, made: str) -> str:
        """That another encoder was asked for than the one the vectors are of; a server is not asked who it is."""
        from dowse.encoders.choose import AUTO, is_local, short_name

        asked = self._asked_or_kept()
        if asked == AUTO or not is_local(asked) or asked == self._kept():
            return ""
        if self._local_fingerprint(asked) in (made, self._store.manifest().get(NEXT)):
            return ""
        return f"compared by {short_name(made)}, which made the index's vectors, not by {asked}"

    def _maker_of(self, fingerprint: str) -> Encoder | None:
        """The encoder that makes such vectors: one of this machine, or the server of the setting and no other."""
        from dowse.encoders.choose import by_fingerprint

        with self._turn:
            known = self._known.get(fingerprint)
        if known is not None:
            return known
        # Outside of the lock: a server may take long to say who it is.
        encoder = by_fingerprint(fingerprint, cache_dir=self._places.models, threads=_QUERY_THREADS)
        if encoder is None:
            encoder = self._choose(self._name, patient=False).encoder
        if encoder.fingerprint != fingerprint:
            return None
        with self._turn:
            return self._known.setdefault(fingerprint, encoder)

    # --- filling ---

    def fill(
        self,
        progress: Progress,
        out_of_time: Callable[[], bool],
        *,
        switch: bool = False,
        quick_only: bool = False,
        give_way: GiveWay | None = None,
    ) -> Filled:
        """Vectors for every chunk, without those of another encoder going before they are complete. `switch`: of the
        encoder that is asked for, whichever made those that are there. `quick_only`: those of a slow encoder are left
        out where others can answer. `give_way`: a slow one has the lowest priority and calls it between batches."""
        if not self.wanted:
            return Filled(notes=["no vectors were made: encoder = none"])
        upgrade = Upgrade(self._store, self._cache, progress, out_of_time)
        try:
            plan = self._switched() if switch else self._plan()
            if not plan.name:
                return Filled(notes=[f"no vectors were made: {plan.conflict}"])
            encoders = self._encoders(plan.name)
            if not self._has_vectors() and self._store.manifest().get(ENCODER_SETTING) != plan.name:
                self._store.note(ENCODER_SETTING, plan.name)
            if encoders.quick is not None:
                upgrade.run(encoders, quick_only=True)
            if not out_of_time() and not (encoders.quick and quick_only and self._has_vectors()):
                _run_at_low_priority(upgrade, encoders, give_way) if give_way else upgrade.run(encoders)
            filled = upgrade.filled
            filled.notes += filter(None, [plan.conflict])
            return filled
        except EncoderMissing as error:
            return Filled(notes=[f"no vectors were made: {error}"])

    def _switched(self) -> Plan:
        from dowse.encoders.choose import ALIASES

        asked = ALIASES.get(self._name, self._name)
        self._store.note(ENCODER_SETTING, asked)
        return Plan(asked)

    def _encoders(self, name: str) -> Encoders:
        choice = self._choose(name, patient=True)
        self._refuse_downgrade(choice.encoder)
        return Encoders(self._for_filling(choice.encoder), self._fast() if choice.slow else None, self._maker_of)

    def _refuse_downgrade(self, encoder: Encoder) -> None:
        """`auto` takes what is installed: less than last time is no reason to replace better vectors."""
        from dowse.encoders.choose import AUTO, short_name

        made = self._store.manifest().get(ANSWERING, "")
        quick = self._fast()
        if self._kept() != AUTO or quick is None or not self._has_vectors():
            return
        if encoder.fingerprint == quick.fingerprint != made:
            raise EncoderMissing(f"the index's vectors are by {short_name(made)}, which is not installed here")

    def _for_filling(self, encoder: Encoder) -> Encoder:
        """For few texts the one that questions use, which is loaded already. Many have one of their own, whose threads
        have the priority of the thread that loads it. A server is asked anew, and patiently."""
        from dowse.encoders.choose import by_fingerprint

        fingerprint = encoder.fingerprint
        if by_fingerprint(fingerprint, cache_dir=self._places.models) is None:
            return encoder
        is_much = self._lacking(fingerprint) > MUCH
        return encoder if is_much else self._maker_of(fingerprint) or encoder

    def _lacking(self, fingerprint: str) -> int:
        """How many chunks have no vector of this encoder."""
        made, counts = self._store.manifest(), self._store.counts()
        having = {made.get(ANSWERING, ""): counts.vectors, made.get(NEXT, ""): counts.next_vectors}
        return counts.encoded - having.get(fingerprint, 0)

    def _cache(self, encoder: Encoder) -> VectorCache:
        from dowse.encoders.cache import VectorCache, cache_file

        cache = VectorCache(cache_file(self._places.vectors, encoder.fingerprint), dimension=encoder.dimension)
        cache.prune(int(time.time() // _DAY_S) - _CACHE_DAYS)
        return cache
