"""Whether the index is sound, and mending it: from the catalog what is a cache of it, from the files the rest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from dowse.engine.histories import Histories
from dowse.engine.syncing import never, quiet
from dowse.errors import IndexDamaged
from dowse.ingest.embed import Progress
from dowse.model import COMMITS, SyncReport
from dowse.places import is_stored_root
from dowse.store.health import SIDECARS, Finding, Lost


@dataclass(frozen=True, slots=True)
class Mended:
    """What was done, in sentences, and what is damaged still: parts with their reasons."""

    done: tuple[str, ...]
    left: Mapping[str, str]


_DONE = {
    "words": "the words index was made anew from the catalog",
    "names": "the index of names was made anew from the catalog",
    "vectors": "the vectors were dropped and encoded again",
    "records": "the indexes inside the tables were made anew, and every record compared with its checksum",
    "sidecars": "the derived files beside the index were dropped; whoever needs them makes them anew",
}


class Healing(Histories):
    def damaged(self) -> Mapping[str, str]:
        """The parts that answers had to do without lately, each with the reason; a look at these costs nothing."""
        return self._store.damaged()

    def probe(self) -> None:
        """Read the pages of the index for a few seconds; what is not sound counts as met by an answer."""
        self._store.probe()
        if SIDECARS in self._store.damaged():
            self.mend([SIDECARS])

    def check(self, *, deep: bool = False, progress: Progress = quiet) -> list[Finding]:
        """What is found of every part of the index: by counting, or by reading everything."""
        return self._store.check(deep=deep, progress=progress)

    def mend(self, parts: Iterable[str], *, progress: Progress = quiet) -> Mended:
        """Make these parts anew, in place. What is left afterwards needs a whole new index: see `live.healing`."""
        wanted = tuple(dict.fromkeys(parts))
        try:
            with self._store.writing(self.settings.lock_timeout_s):
                lost = self._store.begin_mending(wanted, self._available(), progress)
                self._read_again(lost, progress)
                self._store.finish_mending(progress)
                # While nobody else can be in the middle of mending, which would look like something left.
                found = self.check(deep=True, progress=progress)
            self._embed(SyncReport(), progress, self.settings.lock_timeout_s)
        except IndexDamaged as error:
            return Mended((), {"catalog": str(error)})
        done = [_DONE[it] for it in wanted if it in _DONE]
        done += [f"{it.path} was damaged and is read again" for it in lost]
        return Mended(tuple(done), {it.part: it.text for it in found if it.state == "problem"})

    def reassure(self, *, progress: Progress = quiet) -> None:
        """Nothing is damaged any more: whatever processes remember to have met is out of date."""
        with self._store.writing(self.settings.lock_timeout_s):
            self._store.finish_mending(progress)

    def _available(self) -> list[str]:
        return [it.name for it in self._store.collections() if is_stored_root(Path(it.root))]

    def _read_again(self, lost: list[Lost], progress: Progress) -> None:
        """As a whole, because of a damaged record not even the path is certain; only what is missing is read."""
        names = {it.collection for it in lost}
        for collection in self._store.collections():
            root = Path(collection.root)
            if not is_stored_root(root) or not names & {collection.name, ""}:
                continue
            if collection.source == COMMITS:
                self._sync_history(collection, False, never, progress)
            else:
                self._sync(self._files(root), collection, (), False, True, progress)
