"""Flow 1: bring a collection in line with its source.

items → (version same? skip) → read → (digest same? touch) → extract → chunk → store.put; drop what is gone.
Files are read and parsed ahead by others; here they are written, many in one transaction: a kill at any point loses
what was not written yet, and the next run goes on from there.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from itertools import count
from typing import TYPE_CHECKING

from dowse.errors import Unreadable
from dowse.ingest.chunk import Limits, fingerprint
from dowse.ingest.embed import Progress
from dowse.ingest.prepare import Prepared
from dowse.ingest.reading import Reader, Reading, Stale
from dowse.ingest.sources.base import Listing, Source
from dowse.ingest.sources.part import part_of
from dowse.model import OMISSIONS, Item, Omissions, Record, Skipped, SyncReport, Version
from dowse.store.base import Catalog

if TYPE_CHECKING:
    from dowse.ingest.workers.pool import Workers

# Marks a refusal that may pass without the file changing: no version is remembered, so it is tried again.
_NO_VERSION = -1


@dataclass(frozen=True, slots=True)
class Sync:
    """One run over one collection."""

    source: Source
    store: Catalog
    collection: str
    limits: Limits
    force: bool = False
    prune: bool = True
    under: tuple[str, ...] = ()
    progress: Progress = lambda stage, done, total: None
    now_ns: Callable[[], int] = time.time_ns
    workers: Workers | None = None
    enough: Callable[[], bool] = lambda: False

    def run(self) -> SyncReport:
        begun = self.now_ns() / 1e9
        listing = self.source.listing()
        report = SyncReport(listed=len(listing.items) + len(listing.refused))
        self._mark(report, None)
        known, skipped = self._known(), self._skipped()
        is_whole = self._bring_in(self._stale(listing, known, skipped, report), len(listing.items), report)
        self._refused(listing, skipped, report)
        self._gone(listing, known, skipped, report)
        self._note_omissions(listing)
        if is_whole:
            self._mark(report, begun)
        self._recount(len({*known, *skipped}))
        return report

    def _known(self) -> dict[str, Version]:
        return self.store.versions(self.collection, self.under or None)

    def _skipped(self) -> dict[str, Skipped]:
        part = part_of(self.under)
        return {it.path: it for it in self.store.skipped() if it.collection == self.collection and part.holds(it.path)}

    def _mark(self, report: SyncReport, at: float | None) -> None:
        """How many items there are and when they were looked for, of which a part says nothing."""
        if not self.under:
            self.store.mark(self.collection, listed=report.listed, at=at)

    def _note_omissions(self, listing: Listing) -> None:
        """Counts of a part would say nothing of the whole; one run over it notes them anew."""
        key, found = OMISSIONS + self.collection, listing.omissions()
        text = json.dumps(asdict(found), sort_keys=True) if found != Omissions() else ""
        if not self.under and self.store.manifest().get(key, "") != text:
            self.store.note(key, text)

    def _recount(self, before: int) -> None:
        """What came or went in a part counts for the whole."""
        more = len({*self._known(), *self._skipped()}) - before if self.under else 0
        if more:
            listed = {it.name: it.listed for it in self.store.collections()}
            # A run over the whole that was cut short has counted already what this one brings in.
            uncounted = self.store.counts().records + len(self.store.skipped()) - sum(listed.values())
            more = min(more, max(0, uncounted))
            self.store.mark(self.collection, listed=max(0, listed[self.collection] + more), at=None)

    def _stale(
        self,
        listing: Listing,
        known: Mapping[str, Version],
        skipped: Mapping[str, Skipped],
        report: SyncReport,
    ) -> list[Stale]:
        """What must be read; what need not is counted."""
        current = fingerprint(self.limits)
        stale: list[Stale] = []
        mended: list[str] = []
        for item in listing.items:
            before, refused = known.get(item.path), skipped.get(item.path)
            cut_alike = before is not None and before.chunking == current and not self.force
            if before and cut_alike and _same_version(before, item):
                report.unchanged += 1
                mended += [item.path] if refused else []
            elif refused and not self.force and (refused.size, refused.mtime_ns) == (item.size, item.mtime_ns):
                report.skipped += 1
            else:
                stale.append(Stale(item, before.digest if before and cut_alike else ""))
        if mended:
            self.store.unskip(self.collection, mended)
        return stale

    def _bring_in(self, stale: list[Stale], total: int, report: SyncReport) -> bool:
        """Whether that was all; it may be told that it is enough for now."""
        done = count(total - len(stale))
        self.progress("reading", next(done), total)
        reader = Reader(self.source, self.limits, self.workers, self.now_ns)
        for batch in reader.batches(stale, lambda: self.progress("reading", next(done), total)):
            with self.store.batch(sum(it.item.weight for it in batch if it.prepared)):
                for reading in batch:
                    self._write(reading, report)
            if self.enough():
                return False
        return True

    def _write(self, reading: Reading, report: SyncReport) -> None:
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

    def _touch(self, reading: Reading) -> None:
        item = reading.item
        self.store.touch(self.collection, item.path, size=item.size, mtime_ns=item.mtime_ns, settled=reading.settled)
        self.store.unskip(self.collection, [item.path])

    def _put(self, reading: Reading, content: Prepared) -> None:
        item, extract = reading.item, content.extract
        record = Record(
            collection=self.collection,
            path=item.path,
            kind=extract.kind,
            title=extract.title,
            size=item.size,
            mtime_ns=item.mtime_ns,
            digest=reading.digest,
            chunking=fingerprint(self.limits),
            settled=reading.settled,
            tags=extract.tags,
            aliases=extract.aliases,
            facets=extract.facets,
            at_ns=extract.at_ns,
        )
        text = extract.text if extract.lined else None
        self.store.put(record, content.pieces, extract.symbols, extract.links, extract.calls, text)

    def _skip(self, item: Item, reason: str, lasting: bool, report: SyncReport) -> None:
        """What may pass with the next try costs nothing that is indexed; what lasts until the file changes does."""
        mtime_ns = item.mtime_ns if lasting else _NO_VERSION
        self.store.skip(Skipped(self.collection, item.path, reason, item.size, mtime_ns), drop=lasting)
        report.skipped += 1

    def _refused(self, listing: Listing, skipped: Mapping[str, Skipped], report: SyncReport) -> None:
        for path, reason in listing.refused:
            before = skipped.get(path)
            if before is None or before.reason != reason:
                self.store.skip(Skipped(self.collection, path, reason, 0, _NO_VERSION))
            report.skipped += 1

    def _gone(
        self,
        listing: Listing,
        known: Mapping[str, Version],
        skipped: Mapping[str, Skipped],
        report: SyncReport,
    ) -> None:
        offered = {item.path for item in listing.items} | {path for path, _ in listing.refused}
        forgotten = list(self._absent(skipped, offered, listing.unseen))
        if forgotten:
            self.store.unskip(self.collection, forgotten)
        gone = list(self._absent(known, offered, listing.unseen))
        if gone and listing.vacant:
            report.notes.append(
                f"the root is empty now, so its {len(gone):,} indexed files were kept; "
                "if they are really gone, `dowse rebuild` clears them"
            )
        elif self.prune:
            report.deleted = self.store.drop(self.collection, gone)

    def _absent(self, known: Iterable[str], offered: set[str], unseen: list[str]) -> Iterable[str]:
        """What was there, is not offered now, and lies where this run really looked."""
        for path in known:
            if path not in offered and not any(_below(path, prefix) for prefix in unseen):
                yield path


def _same_version(before: Version, item: Item) -> bool:
    return before.settled and (before.size, before.mtime_ns) == (item.size, item.mtime_ns)


def _below(path: str, prefix: str) -> bool:
    prefix = prefix.rstrip("/")
    return not prefix or path == prefix or path.startswith(prefix + "/")
