"""A directory that was renamed or moved keeps what was indexed of it."""

from __future__ import annotations

from pathlib import Path

from dowse.engine.base import Base
from dowse.ingest.sources.moved import Traces, has_left, identity_key, identity_of, likeness, sample
from dowse.model import COMMITS, FILES, Collection, Version


class Moving(Base):
    def relocate(self, place: Path, former: Path | None = None) -> str:
        """Let a collection whose root is gone, and whose files are here now, belong to this place; a sentence if so.

        Whoever knows already that it is the one of the root `former` need not have it looked for.
        """
        if self._moved_to(place, former) is None:
            return ""
        with self._store.writing(self.settings.lock_timeout_s):
            return self._relocate(place, former)

    def _relocate(self, place: Path, former: Path | None = None) -> str:
        """The same for whoever holds the write lock."""
        collection = self._moved_to(place, former)
        if collection is None:
            return ""
        for it in self._store.collections():
            if Path(it.root).is_relative_to(collection.root):  # the history of its repository moves along
                self._store.move_collection(it.name, str(place / Path(it.root).relative_to(collection.root)))
                self._sources.pop(it.name, None)
        self._note_identity(place)
        return f"took over the index of {collection.root}, which is gone"

    def _moved_to(self, place: Path, former: Path | None = None) -> Collection | None:
        """The collection that surely was of this directory, if the place has none and is part of none."""
        known = [(it, self._traces(it)) for it in self._store.collections() if it.source == FILES]
        if any(place.is_relative_to(traces.root) and not has_left(traces, place) for _, traces in known):
            return None
        if former is not None:
            return next((it for it, traces in known if traces.root == former and has_left(traces, place)), None)
        fitting = [(found, it) for it, traces in known if (found := likeness(traces, place))]
        return max(fitting, key=lambda pair: pair[0])[1] if fitting else None

    def _traces(self, collection: Collection) -> Traces:
        def files() -> dict[str, Version]:
            return self._some(collection.name)

        def commits() -> dict[str, list[str]]:
            below = [it for it in self._store.collections() if it.source == COMMITS]
            return {it.root: list(self._some(it.name)) for it in below if Path(it.root).is_relative_to(collection.root)}

        identity = self._store.manifest().get(identity_key(collection.root), "")
        return Traces(Path(collection.root), identity, files, commits)

    def _some(self, collection: str) -> dict[str, Version]:
        versions = self._store.versions(collection)
        return {path: versions[path] for path in sample(versions)}

    def _note_identity(self, root: Path) -> None:
        """Which directory it is, by what it keeps when it is renamed."""
        key, value = identity_key(str(root)), identity_of(root)
        if self._store.manifest().get(key) != value:
            self._store.note(key, value)
