"""The newest commits of a history, brought in before an answer without listing all of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from dowse.engine.histories import REFS, TIPS, Histories
from dowse.errors import BadInput
from dowse.ingest.embed import Progress
from dowse.ingest.sources.git.moves import Moves, moves_between, moves_within, tips_of
from dowse.ingest.sources.git.refs import refs_of, token_of
from dowse.ingest.sources.git.repositories import Found, git_directory_at
from dowse.model import Collection, SyncReport
from dowse.places import leads_elsewhere

# What takes longer than this is for a sync, or for whoever watches.
_MOST: Final = 20
_MUCH: Final = "{} changed much; `dowse index` reads all of it"
OTHERWISE: Final = "indexed by another version or with other settings; `dowse index` reads it anew"


class Recent(Histories):
    def histories_behind(self) -> dict[str, str]:
        """Those whose repositories are not as they were indexed, each with what tells their state now."""
        if not self.settings.git:
            return {}
        with self._store.moment():
            noted, histories = self._store.manifest(), self.histories()
        places = {it.name: git_directory_at(it.root) for it in histories}
        now = {name: token_of(str(place)) for name, place in places.items() if not leads_elsewhere(place)}
        return {
            name: token
            for name, token in now.items()
            if token is not None and noted.get(REFS + name, "").partition(" ")[0] != token
        }

    def histories_told_otherwise(self) -> list[str]:
        """Those that were indexed to their end by a version, or with settings, that tell other things of commits."""
        if not self.settings.git:
            return []
        noted, told = self._store.manifest(), self._how_histories_are_told()
        states = {it.name: noted.get(REFS + it.name, "") for it in self.histories()}
        return [name for name, state in states.items() if state and not state.partition(" ")[2].startswith(told)]

    def _index_notes(self) -> Iterator[str]:
        yield from super()._index_notes()
        yield from (f"{it} is {OTHERWISE}" for it in self.histories_told_otherwise())

    def _overtaken(self) -> dict[str, str]:
        """Those of them that were indexed to their end once: what is there in part is told anyway."""
        noted = self._store.manifest()
        return {name: state for name, state in self.histories_behind().items() if noted.get(REFS + name)}

    def _index_repository(
        self, found: Found, force: bool, enough: Callable[[], bool], progress: Progress
    ) -> SyncReport:
        """To list a hundred thousand commits takes seconds: where few came or went, nothing else is looked at."""
        few = None if force else self._few(found)
        return few or super()._index_repository(found, force, enough, progress)

    def _few(self, found: Found) -> SyncReport | None:
        """None where that is not enough: it was never whole, would be read in another way, or changed much."""
        known = self._history_at(found.git_directory)
        if known is None or known.name not in self.histories_behind():
            return None
        if self._store.manifest().get(REFS + known.name, "").partition(" ")[2] != self._how_histories_are_read():
            return None
        try:
            brought = self._bring_newest(known.name, self.settings.lock_timeout_s)
        except BadInput:
            return None
        with self._store.writing(self.settings.lock_timeout_s):
            self._note_work_trees(known, found)
        listed = self._collection(known.name).listed
        brought = replace(brought, listed=listed, unchanged=max(0, listed - brought.indexed - brought.skipped))
        return replace(brought, notes=[*brought.notes, *self._left_out_of(known)])

    def _bring_newest(self, history: str, wait_s: float) -> SyncReport:
        """Raises BadInput when they are more than a few, or nobody knows which."""
        with self._store.writing(wait_s):
            collection = self._collection(history)
            place = git_directory_at(collection.root)
            refs = None if leads_elsewhere(place) else refs_of(str(place))
            tips = tips_of(place)
            token, _, how = self._store.manifest().get(REFS + history, "").partition(" ")
            moves = self._moves(history, place, tips)
            if refs is None or not token or moves is None:
                raise BadInput(_MUCH.format(history))
            if moves.went or collection.listed + len(moves.came) > self.settings.max_commits:
                report = self._bring_newest_within(collection, place)
            else:
                report = self._bring_in(moves, collection, place)
            self._note_state(history, f"{refs.token} {how}", tips)
        return report

    def _bring_newest_within(self, collection: Collection, place: Path) -> SyncReport:
        """Where something may have gone, and of a history that is cut, where the oldest leave as some come."""
        known = self._store.versions(collection.name).keys()
        within = moves_within(place, known, self.settings.max_commits, _MOST)
        if within is None:
            raise BadInput(_MUCH.format(collection.name))
        moves, cut = within
        return self._bring_in(moves, collection, place, cut)

    def _bring_in(
        self, moves: Moves, collection: Collection, place: Path, cut: tuple[str, str] | None = None
    ) -> SyncReport:
        """`cut` is the first commit that is left out now, with the reason."""
        cuts = {cut[0] if cut else "", before.path if (before := self._cut(collection)) else ""} - {""}
        under = {*moves.came, *moves.went, *cuts}
        if not under:
            return SyncReport()  # a branch or tag of a known commit, or refs that were packed, move none
        source = self._commits(collection, moves.came, cut)
        try:
            return self._run_sync(source, collection, under=tuple(under))
        finally:
            source.close()

    def _moves(self, history: str, place: Path, tips: str) -> Moves | None:
        before = self._store.manifest().get(TIPS + history, "")
        return moves_between(place, before, tips, _MOST) if before and tips else None
