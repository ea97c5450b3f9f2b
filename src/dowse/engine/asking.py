"""Search: one ranked answer, with how fresh each hit and how complete the index is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from dowse.engine.memories import Memories
from dowse.errors import BadInput, damage
from dowse.model import NOT_LOOKED, Answer, Completeness, Hit, Query, Seen
from dowse.search.plan import answer
from dowse.search.refine.subjects import Preference
from dowse.search.run import Models
from dowse.search.search import Ranked, search
from dowse.store.health import SIDECARS


class Asking(Memories):
    def search(self, query: Query) -> Answer:
        if not query.text.strip():
            raise BadInput("the query is empty; ask for something")
        outlook = self._looked()
        found = answer(query, self._ranked)
        hits = tuple(self._checked(found.hits))
        again = None if outlook.seen.complete else self._following.look_at(_stale(hits), outlook.seen.as_of)
        if again is not None:
            outlook, found = again, answer(query, self._ranked)
            hits = tuple(self._checked(found.hits))
        return Answer(query, hits, (outlook.step, *found.steps), self.completeness(outlook.seen), found.abstained)

    def _ranked(self, query: Query) -> Ranked:
        return search(
            query,
            self._store,
            Models(self._semantics.encode_query, self._reranking.judge),
            rrf_k=self.settings.rrf_k,
            shares=self._shares(),
            priors=self._preferences.of(query.subject),
        )

    def prefer(self, subject: str, path: str, delta: float, collection: str | None = None) -> Preference:
        """Let a document count more or less for a subject's searches from now on, until the engine is closed."""
        record = self._one_record(path, collection)
        return self._preferences.move(subject, record.collection, record.path, delta)

    def _shares(self) -> dict[str, float]:
        words = self.settings.lexical_weight
        return {"lexical": words, "headline": words, "semantic": self.settings.semantic_weight}

    def _checked(self, hits: Iterable[Hit]) -> Iterator[Hit]:
        """Each hit with how its file compares with the disk now, and what a reader should know of it besides."""
        for hit in hits:
            record = hit.stored.record
            yield replace(hit, freshness=self.freshness(record), notes=self.doubts(record))

    def completeness(self, seen: Seen = NOT_LOOKED) -> Completeness:
        collections, counts = self._store.collections(), self._store.counts()
        skipped = len(self._store.skipped())
        notes = []
        unfinished = [it.name for it in collections if not it.synced_at]
        if not collections:
            notes.append("nothing is indexed yet")
        if unfinished:
            notes.append(f"{', '.join(unfinished)} is indexed only in part so far")
        notes.extend(self._semantics.notes())
        notes.extend(damage(part, why) for part, why in self._store.damaged().items() if part != SIDECARS)
        return Completeness(
            indexed=counts.records,
            listed=max(sum(it.listed for it in collections), counts.records + skipped),
            skipped=skipped,
            chunks=counts.chunks,
            vectors=counts.vectors,
            synced_at=min((it.synced_at for it in collections), default=0.0),
            notes=tuple(notes),
            seen=seen,
        )


def _stale(hits: Iterable[Hit]) -> set[tuple[str, str]]:
    records = [hit.stored.record for hit in hits if hit.freshness in ("changed", "gone")]
    return {(it.collection, it.path) for it in records}
