"""Flow 1: bring a collection in line with its source.

items → (version same? skip) → read → (digest same? touch) → extract → chunk → store.put; drop what is gone.
Each item is one transaction: a kill at any point loses nothing, and the next run goes on from there.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from dowse.errors import Unreadable
from dowse.ingest.chunk import Limits, chunk, fingerprint
from dowse.ingest.embed import Progress, embed_digest
from dowse.ingest.extract.table import extractor_for
from dowse.ingest.sources.base import Listing, Source
from dowse.model import Item, Record, Skipped, SyncReport, Version
from dowse.store.base import Catalog, Piece

# A file written this shortly before it was read may change again under the same timestamp.
_RACY_NS = 20_000_000
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
    under: str = ""
    progress: Progress = lambda stage, done, total: None
    now_ns: Callable[[], int] = time.time_ns

    def run(self) -> SyncReport:
        listing = self.source.listing()
        report = SyncReport(listed=len(listing.items) + len(listing.refused))
        self._mark(report, None)
        known = self.store.versions(self.collection, self.under)
        skipped = {
            it.path: it
            for it in self.store.skipped()
            if it.collection == self.collection and _below(it.path, self.under)
        }
        for done, item in enumerate(listing.items, 1):
            self._item(item, known.get(item.path), skipped.get(item.path), report)
            self.progress("reading", done, len(listing.items))
        self._refused(listing, skipped, report)
        self._gone(listing, known, skipped, report)
        self._mark(report, self.now_ns() / 1e9)
        return report

    def _mark(self, report: SyncReport, at: float | None) -> None:
        """How many items there are and when all of them were seen, of which a part says nothing."""
        if not self.under:
            self.store.mark(self.collection, listed=report.listed, at=at)

    def _item(self, item: Item, before: Version | None, skipped: Skipped | None, report: SyncReport) -> None:
        current = fingerprint(self.limits)
        if before and not self.force and _same_version(before, item) and before.chunking == current:
            report.unchanged += 1
            if skipped:
                self.store.unskip(self.collection, [item.path])
        elif skipped and not self.force and (skipped.size, skipped.mtime_ns) == (item.size, item.mtime_ns):
            report.skipped += 1
        else:
            self._read(item, before, current, report)

    def _read(self, item: Item, before: Version | None, chunking: str, report: SyncReport) -> None:
        version = Skipped(self.collection, item.path, "", item.size, item.mtime_ns)
        try:
            item, data = self.source.read(item)
            digest = hashlib.sha256(data).hexdigest()
            if before and not self.force and (before.digest, before.chunking) == (digest, chunking):
                self.store.touch(
                    self.collection,
                    item.path,
                    size=item.size,
                    mtime_ns=item.mtime_ns,
                    settled=self._is_settled(item),
                )
                self.store.unskip(self.collection, [item.path])
                report.touched += 1
                return
            self._put(item, data, digest, chunking)
            report.indexed += 1
        except Unreadable as error:
            self._skip(version, str(error), error.lasting, report)
        except (ValueError, ArithmeticError, LookupError, RecursionError, MemoryError, UnicodeError) as error:
            # One of the places that catch broadly: whatever a parser makes of a broken file, the run goes on.
            self._skip(version, f"can not be parsed ({type(error).__name__}: {error})"[:300], True, report)

    def _put(self, item: Item, data: bytes, digest: str, chunking: str) -> None:
        extract = extractor_for(item.path)(item, data)
        record = Record(
            collection=self.collection,
            path=item.path,
            kind=extract.kind,
            title=extract.title,
            size=item.size,
            mtime_ns=item.mtime_ns,
            digest=digest,
            chunking=chunking,
            settled=self._is_settled(item),
            tags=extract.tags,
            aliases=extract.aliases,
            facets=extract.facets,
        )
        pieces = [
            Piece(part, embed_digest(extract.title, part.trail, part.text)) for part in chunk(extract, self.limits)
        ]
        self.store.put(record, pieces, extract.symbols, extract.links, extract.calls, extract.text)

    def _is_settled(self, item: Item) -> bool:
        """Whether a later change would certainly move the timestamp."""
        return self.now_ns() - item.mtime_ns >= _RACY_NS

    def _skip(self, version: Skipped, reason: str, lasting: bool, report: SyncReport) -> None:
        """What may pass with the next try costs nothing that is indexed; what lasts until the file changes does."""
        mtime_ns = version.mtime_ns if lasting else _NO_VERSION
        self.store.skip(Skipped(self.collection, version.path, reason, version.size, mtime_ns), drop=lasting)
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
