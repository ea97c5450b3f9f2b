"""What every question goes through first: the look at the disk, and the repair of what is quickly repaired."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dowse.config import Settings
from dowse.engine.clock import SYSTEM_CLOCK, Clock
from dowse.engine.following import Following, Outlook
from dowse.engine.look import Look, Pending
from dowse.engine.newest import Newest
from dowse.engine.recent import Recent
from dowse.engine.repairs import Repairs
from dowse.ingest.disk.disk import Disk
from dowse.ingest.sources.files import FileSource
from dowse.lookup.below import from_roots
from dowse.model import Collection, Freshness, Item, Record, Scope, Seen
from dowse.store.base import Store

if TYPE_CHECKING:
    from dowse.ingest.workers.pool import Workers


class Fresh(Recent):
    def __init__(
        self,
        settings: Settings,
        index: Path,
        *,
        create: bool,
        store: Store | None = None,
        workers: Workers | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        super().__init__(settings, index, create=create, store=store, workers=workers)
        repair_s = settings.repair_ms / 1000
        self._look = Look(self._store, self._disk, clock, repair_s)
        # Half of the time is for the lock, so that the other half can be used.
        repairs = Repairs(lambda name, paths: self._bring_in_line(name, paths, repair_s / 2), clock.elapsed)
        self._following = Following(self._look, repairs, clock, repair_s)
        newest = Repairs(lambda name, _: self._bring_newest(name, repair_s / 2), clock.elapsed)
        self._newest = Newest(self._overtaken, newest, clock.elapsed, repair_s)
        self._clock = clock

    def close(self) -> None:
        self._following.close()
        self._newest.close()
        super().close()

    def now(self) -> float:
        """The time of day, from which every age is counted."""
        return self._clock.now()

    def _scoped(self, scope: Scope) -> Scope:
        """What was asked for, as every question has to put it: globs lead from a root into what lies below it."""
        return from_roots(scope, self._store.collections())

    def watched_by(self, pending: Pending) -> None:
        """From now on, ask this for what changed and is not indexed yet instead of looking at every file.

        It gives paths by collection, or None as long as it can not know.
        """
        self._look.watched_by(pending)

    def has_nothing_pending(self) -> bool:
        """Whether somebody watches the files, and every change that was seen is indexed."""
        return self._look.has_nothing_pending()

    def freshness(self, record: Record) -> Freshness:
        """How its file compares with the disk now."""
        return self._source(record.collection).freshness(Item(record.path, record.size, record.mtime_ns))

    def _looked(self) -> Outlook:
        repair_s = self.settings.repair_ms / 1000
        new = self._take_in_new_memories(repair_s / 2) if repair_s else ()
        outlook, notes = self._following.look(), (*new, *self._newest.look())
        seen = replace(outlook.seen, notes=(*outlook.seen.notes, *notes))
        return replace(outlook, seen=seen) if notes else outlook

    def _seen(self) -> Seen:
        return self._looked().seen

    def _disk(self, collection: Collection) -> Disk | None:
        """None for what is no directory, such as a corpus that was indexed under a name."""
        source = self._source(collection.name)
        if not isinstance(source, FileSource) or not source.root.is_absolute():
            return None
        return Disk(source, now_ns=lambda: int(self._clock.now() * 1e9))
