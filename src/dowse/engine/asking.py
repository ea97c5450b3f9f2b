"""Search: one ranked answer, with how fresh each hit and how complete the index is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from dowse.engine.following import Outlook
from dowse.engine.memories import Memories
from dowse.errors import BadInput
from dowse.ingest.sources.base import Source
from dowse.ingest.sources.budget import left_out
from dowse.lookup.below import below
from dowse.model import COMMITS, FILES, MEMORIES, NOT_LOOKED, Answer, Completeness, Hit, Item, Query, Seen, Share
from dowse.search.plan import answer
from dowse.search.refine.subjects import Preference
from dowse.search.run import Models
from dowse.search.search import Ranked, search


class Asking(Memories):
    def search(self, query: Query) -> Answer:
        if not query.text.strip():
            raise BadInput("the query is empty; ask for something")
        outlook = self._looked()
        found = self._answered(query, outlook)
        again = None if outlook.seen.complete else self._following.look_at(_stale(found.hits), outlook.seen.as_of)
        return found if again is None else self._answered(query, again)

    def _answered(self, query: Query, outlook: Outlook) -> Answer:
        found = answer(query, self._ranked)
        hits = tuple(self._checked(found.hits))
        steps, completeness = (outlook.step, *found.steps), self.completeness(outlook.seen)
        return Answer(query, hits, steps, completeness, self.now(), found.abstained)

    def _ranked(self, query: Query) -> Ranked:
        return search(
            replace(query, scope=self._scoped(query.scope)),
            self._store,
            Models(self._semantics.encode_query, self._reranking.judge),
            rrf_k=self.settings.rrf_k,
            shares=self._shares(),
            priors=self._preferences.of(query.subject),
            begin=self._beside.begin,
            now=self.now,
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
        folders = self._ways_to_memories()
        sources: dict[str, Source | None] = {}  # each is looked up once, which takes longer than to ask it
        for hit in hits:
            record = hit.stored.record
            if record.collection not in sources:
                sources[record.collection] = self._source_of(record.collection)
            source = sources[record.collection]
            freshness = source.freshness(Item(record.path, record.size, record.mtime_ns)) if source else "gone"
            place = f"{folders[record.collection]}/{record.path}" if record.collection in folders else ""
            yield replace(hit, freshness=freshness, notes=self.doubts(record), place=place)

    def _ways_to_memories(self) -> dict[str, str]:
        """Of each collection of memories, its folder: from the root that it lies below, else in full."""
        collections = self.collections()
        ways = {it.collection: it.way for it in below(collections)}
        return {it.name: ways.get(it.name, it.root) for it in collections if it.source == MEMORIES}

    def _source_of(self, collection: str) -> Source | None:
        """None where another process has dropped the collection since something of it was found."""
        try:
            return self._source(collection)
        except BadInput:
            return None

    def completeness(self, seen: Seen = NOT_LOOKED) -> Completeness:
        with self._store.moment():
            return self._completeness(seen)

    def _completeness(self, seen: Seen) -> Completeness:
        collections, counts = self._store.collections(), self._store.counts()
        shares = self._shares_of_sources()
        return Completeness(
            indexed=shares[FILES].indexed,
            listed=shares[FILES].listed,
            skipped=shares[FILES].skipped,
            left_out=shares[FILES].left_out,
            chunks=counts.chunks,
            vectors=counts.vectors,
            synced_at=min((it.synced_at for it in collections), default=0.0),
            notes=tuple(self._index_notes()),
            seen=seen,
            others=tuple(shares[it] for it in (COMMITS, MEMORIES) if it in shares),
        )

    def _shares_of_sources(self) -> dict[str, Share]:
        """How much is indexed of what each source offers: never more than that, whatever was left out."""
        sizes, skipped, untold = self._store.sizes(), Counter[str](), Counter[str]()
        for row in self._store.skipped():
            skipped[row.collection] += left_out(row)
            untold[row.collection] += left_out(row) - 1  # a row is listed as one
        shares, omissions = {FILES: Share(FILES, 0, 0)}, self.omissions()
        for it in self._store.collections():
            held, lacking = sizes.get(it.name, 0), skipped[it.name]
            offered = max(it.listed + untold[it.name], held + lacking)
            left = omissions[it.name].count if it.source == FILES and it.name in omissions else 0
            own = Share(it.source, held, offered + left, lacking, left)
            shares[it.source] = shares.get(it.source, Share(it.source, 0, 0)).plus(own)
        return shares


def _stale(hits: Iterable[Hit]) -> set[tuple[str, str]]:
    records = [hit.stored.record for hit in hits if hit.freshness in ("changed", "gone")]
    return {(it.collection, it.path) for it in records}
