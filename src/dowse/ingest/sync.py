"""Sync a collection with its source.

Each item goes through: version unchanged? skip; read; digest unchanged? touch; extract; chunk; store. Items that
disappeared are dropped. Other threads and processes read and parse ahead. This module writes many items per
transaction, so a kill loses only the open transaction, and the next run resumes there.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from itertools import count
from typing import TYPE_CHECKING

from dowse.errors import Unreadable
from dowse.ingest.chunk import ChunkLimits, chunking_fingerprint
from dowse.ingest.embed import ProgressCallback
from dowse.ingest.pipeline import ItemReader, PreparedFile, ReadResult, StaleItem
from dowse.ingest.sources.base import Listing, Source
from dowse.ingest.sources.walk import subtree_of
from dowse.model import OMISSIONS_KEY_PREFIX, Item, ItemVersion, Omissions, Record, SkippedItem, SyncReport
from dowse.store.base import Store

if TYPE_CHECKING:
    from dowse.ingest.workers import WorkerPool

# Marks a refusal that may pass without the file changing. No version is stored, so the next run retries.
_UNVERSIONED_MTIME_NS = -1


@dataclass(frozen=True, slots=True)
class CollectionSync:
    """One sync run over one collection.

    `paths` limits the run to these paths, relative to the root. `should_stop` is asked after each batch.
    """

    source: Source
    store: Store
    collection: str
    limits: ChunkLimits
    force: bool = False
    prune: bool = True
    paths: tuple[str, ...] = ()
    progress: ProgressCallback = lambda stage, done, total: None
    now_ns: Callable[[], int] = time.time_ns
    workers: WorkerPool | None = None
    should_stop: Callable[[], bool] = lambda: False

    def run(self) -> SyncReport:
        started_s = self.now_ns() / 1e9
        listing = self.source.listing()
        report = SyncReport(listed=len(listing.items) + len(listing.refused))
        self._store_count(report, None)
        known, skipped = self._load_known(), self._load_skipped()
        is_complete = self._read_and_store(
            self._find_stale(listing, known, skipped, report), len(listing.items), report
        )
        self._record_refused(listing, skipped, report)
        self._drop_missing(listing, known, skipped, report)
        self._store_omissions(listing)
        if is_complete:
            self._store_count(report, started_s)
        self._update_count(len({*known, *skipped}))
        return report

    def _load_known(self) -> dict[str, ItemVersion]:
        return self.store.catalog.versions(self.collection, self.paths or None)

    def _load_skipped(self) -> dict[str, SkippedItem]:
        part = subtree_of(self.paths)
        return {
            it.path: it
            for it in self.store.catalog.skipped_items()
            if it.collection == self.collection and part.holds(it.path)
        }

    def _store_count(self, report: SyncReport, at: float | None) -> None:
        """Store the item count and the sync time. A run over a subtree knows neither."""
        if not self.paths:
            self.store.writer.record_listing(self.collection, listed=report.listed, at=at)

    def _store_omissions(self, listing: Listing) -> None:
        """Store the omission counts. A run over a subtree keeps those of the last full run."""
        key, found = OMISSIONS_KEY_PREFIX + self.collection, listing.omissions()
        text = json.dumps(asdict(found), sort_keys=True) if found != Omissions() else ""
        if not self.paths and self.store.catalog.metadata().get(key, "") != text:
            self.store.writer.note(key, text)

    def _update_count(self, before: int) -> None:
        """Add the items that a subtree run gained or lost to the count of the whole collection."""
        gained = len({*self._load_known(), *self._load_skipped()}) - before if self.paths else 0
        if gained:
            listed = {it.name: it.listed for it in self.store.catalog.collections()}
            # An interrupted full run has already counted the items that this run brings in.
            uncounted = (
                self.store.catalog.counts().records + len(self.store.catalog.skipped_items()) - sum(listed.values())
            )
            gained = min(gained, max(0, uncounted))
            self.store.writer.record_listing(self.collection, listed=max(0, listed[self.collection] + gained), at=None)

    def _find_stale(
        self,
        listing: Listing,
        known: Mapping[str, ItemVersion],
        skipped: Mapping[str, SkippedItem],
        report: SyncReport,
    ) -> list[StaleItem]:
        """Return the items that must be read, and count the others in the report."""
        current = chunking_fingerprint(self.limits)
        stale: list[StaleItem] = []
        recovered: list[str] = []
        for item in listing.items:
            before, refused = known.get(item.path), skipped.get(item.path)
            same_chunking = before is not None and before.chunking == current and not self.force
            if before and same_chunking and _is_same_version(before, item):
                report.unchanged += 1
                recovered += [item.path] if refused else []
            elif refused and not self.force and (refused.size, refused.mtime_ns) == (item.size, item.mtime_ns):
                report.skipped += 1
            else:
                stale.append(StaleItem(item, before.digest if before and same_chunking else ""))
        if recovered:
            self.store.writer.unskip(self.collection, recovered)
        return stale

    def _read_and_store(self, stale: list[StaleItem], total: int, report: SyncReport) -> bool:
        """Read and store the stale items; return False if `should_stop` ended the run early."""
        done = count(total - len(stale))
        self.progress("reading", next(done), total)
        reader = ItemReader(self.source, self.limits, self.workers, self.now_ns)
        for batch in reader.batches(stale, lambda: self.progress("reading", next(done), total)):
            with self.store.writer.batch(sum(it.item.weight for it in batch if it.prepared)):
                for reading in batch:
                    self._write(reading, report)
            if self.should_stop():
                return False
        return True

    def _write(self, reading: ReadResult, report: SyncReport) -> None:
        try:
            if reading.refusal:
                raise reading.refusal
            if reading.prepared is None:
                self._touch(reading)
                report.touched += 1
            else:
                self._put(reading, reading.prepared)
                report.indexed += 1
        except Unreadable as error:
            self._skip(reading.item, str(error), error.lasting, report)

    def _touch(self, reading: ReadResult) -> None:
        item = reading.item
        self.store.writer.touch(
            self.collection, item.path, size=item.size, mtime_ns=item.mtime_ns, settled=reading.settled
        )
        self.store.writer.unskip(self.collection, [item.path])

    def _put(self, reading: ReadResult, content: PreparedFile) -> None:
        item, extract = reading.item, content.extract
        record = Record(
            collection=self.collection,
            path=item.path,
            kind=extract.kind,
            title=extract.title,
            size=item.size,
            mtime_ns=item.mtime_ns,
            digest=reading.digest,
            chunking=chunking_fingerprint(self.limits),
            settled=reading.settled,
            tags=extract.tags,
            aliases=extract.aliases,
            facets=extract.facets,
            at_ns=extract.at_ns,
        )
        text = extract.text if extract.has_line_index else None
        self.store.writer.put(
            record, content.chunk_inputs, extract.symbols, extract.links, extract.calls, text, extract.layout
        )

    def _skip(self, item: Item, reason: str, lasting: bool, report: SyncReport) -> None:
        """Record that an item was skipped.

        A lasting refusal also drops its indexed content; a temporary one keeps it.
        """
        mtime_ns = item.mtime_ns if lasting else _UNVERSIONED_MTIME_NS
        self.store.writer.skip(SkippedItem(self.collection, item.path, reason, item.size, mtime_ns), drop=lasting)
        report.skipped += 1

    def _record_refused(self, listing: Listing, skipped: Mapping[str, SkippedItem], report: SyncReport) -> None:
        for path, reason in listing.refused:
            before = skipped.get(path)
            if before is None or before.reason != reason:
                self.store.writer.skip(SkippedItem(self.collection, path, reason, 0, _UNVERSIONED_MTIME_NS))
            report.skipped += 1

    def _drop_missing(
        self,
        listing: Listing,
        known: Mapping[str, ItemVersion],
        skipped: Mapping[str, SkippedItem],
        report: SyncReport,
    ) -> None:
        offered = {item.path for item in listing.items} | {path for path, _ in listing.refused}
        obsolete = list(self._find_absent(skipped, offered, listing.unreadable_prefixes))
        if obsolete:
            self.store.writer.unskip(self.collection, obsolete)
        gone = list(self._find_absent(known, offered, listing.unreadable_prefixes))
        if gone and listing.is_empty:
            report.notes.append(
                f"the root is empty, so its {len(gone):,} indexed files were kept; "
                "if they were deleted on purpose, run `dowse rebuild`"
            )
        elif self.prune:
            report.deleted = self.store.writer.drop(self.collection, gone)

    def _find_absent(self, known: Iterable[str], offered: set[str], unseen: list[str]) -> Iterable[str]:
        """Yield the known paths that the source no longer offers, except those where it could not look."""
        for path in known:
            if path not in offered and not any(_is_below(path, prefix) for prefix in unseen):
                yield path


def _is_same_version(before: ItemVersion, item: Item) -> bool:
    return before.settled and (before.size, before.mtime_ns) == (item.size, item.mtime_ns)


def _is_below(path: str, prefix: str) -> bool:
    prefix = prefix.rstrip("/")
    return not prefix or path == prefix or path.startswith(prefix + "/")
