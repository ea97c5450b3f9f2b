"""Health checks and repair: derived parts from the catalog, everything else from the files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from dowse.engine.core import EngineCore
from dowse.engine.history_index import HistoryIndex
from dowse.engine.index_service import SyncRunner, never_pause, no_progress
from dowse.errors import IndexDamaged
from dowse.ingest.embed import ProgressCallback
from dowse.model import COMMITS, SyncReport
from dowse.paths import is_intact_root
from dowse.store.types import SIDECARS_PART, DroppedRecord, Finding


@dataclass(frozen=True, slots=True)
class RepairReport:
    """`done`: repairs as sentences. `still_damaged`: parts that are still damaged, with reasons."""

    done: tuple[str, ...]
    still_damaged: Mapping[str, str]


_REPAIR_SENTENCES = {
    "words": "rebuilt the text index from the catalog",
    "names": "rebuilt the name index from the catalog",
    "vectors": "dropped the vectors and encoded them again",
    "records": "rebuilt the table indexes and compared every record with its checksum",
    "sidecars": "deleted the derived files next to the index; they are rebuilt when needed",
}


class HealthService:
    def __init__(self, core: EngineCore, syncs: SyncRunner, histories: HistoryIndex) -> None:
        self._core = core
        self._settings = core.settings
        self._store = core.store
        self._sources = core.sources
        self._syncs = syncs
        self._histories = histories

    def damaged_parts(self) -> Mapping[str, str]:
        """Return the parts that recent answers had to do without, with reasons. Costs nothing."""
        return self._store.maintenance.damaged_parts()

    def probe(self) -> None:
        """Read the pages of the index for a few seconds; damage found counts as if an answer had met it."""
        self._store.maintenance.probe()
        if SIDECARS_PART in self._store.maintenance.damaged_parts():
            self.repair([SIDECARS_PART])

    def check(self, *, deep: bool = False, progress: ProgressCallback = no_progress) -> list[Finding]:
        """Check every part of the index: by counting, or if `deep` by reading everything."""
        return self._store.maintenance.check(deep=deep, progress=progress)

    def repair(self, parts: Iterable[str], *, progress: ProgressCallback = no_progress) -> RepairReport:
        """Rebuild these parts in place. Any damage left afterwards needs a new index: see `dowse.live.heal`."""
        wanted = tuple(dict.fromkeys(parts))
        try:
            with self._store.writing(self._settings.lock_timeout_s):
                lost = self._store.maintenance.begin_repair(wanted, self._available_collections(), progress)
                self._resync_lost(lost, progress)
                self._store.maintenance.finish_repair(progress)
                # Check under the write lock: another process in the middle of a repair would look like damage.
                found = self.check(deep=True, progress=progress)
            self._syncs.embed(SyncReport(), progress, self._settings.lock_timeout_s)
        except IndexDamaged as error:
            return RepairReport((), {"catalog": str(error)})
        done = [_REPAIR_SENTENCES[it] for it in wanted if it in _REPAIR_SENTENCES]
        done += [f"{it.path} was damaged and was read again" for it in lost]
        return RepairReport(tuple(done), {it.part: it.text for it in found if it.state == "problem"})

    def clear_damage_marks(self, *, progress: ProgressCallback = no_progress) -> None:
        """Clear the damage marks of all processes, because nothing is damaged any more."""
        with self._store.writing(self._settings.lock_timeout_s):
            self._store.maintenance.finish_repair(progress)

    def _available_collections(self) -> list[str]:
        return [it.name for it in self._store.catalog.collections() if is_intact_root(Path(it.root))]

    def _resync_lost(self, lost: list[DroppedRecord], progress: ProgressCallback) -> None:
        """Sync whole collections, because not even the path of a damaged record is certain. Only missing records are
        read."""
        names = {it.collection for it in lost}
        for collection in self._store.catalog.collections():
            root = Path(collection.root)
            if not is_intact_root(root) or not names & {collection.name, ""}:
                continue
            if collection.source == COMMITS:
                self._histories.sync_history(collection, False, never_pause, progress)
            else:
                self._syncs.sync(self._sources.files_at(root), collection, (), False, True, progress)
