"""Answers follow the disk: what changed is found, indexed first if that is quick, and told otherwise."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from dowse.engine.clock import Clock
from dowse.engine.look import Look, Sighting
from dowse.engine.repairs import Repairs
from dowse.engine.rounds import Place
from dowse.ingest.disk.disk import IGNORE_FILES
from dowse.ingest.disk.stamps import NOTHING, Stamp
from dowse.model import Seen, Step

# What takes longer than an answer may wait is for a sync, or for whoever watches the files.
_FILES_A_SECOND: Final = 80
_BYTES_A_SECOND: Final = 4_000_000
# Who waits less begins as much, which goes on behind the answer; who waits longer need not wait for more.
_LEAST_S: Final = 0.25
_MOST_S: Final = 5.0
_REMEDY: Final = "`dowse index` brings in what changed"
_EXAMPLES: Final = 3
_MOST_REMEMBERED: Final = 10_000
_LAST_WORD_S: Final = 2.0


@dataclass(frozen=True, slots=True)
class Outlook:
    """What an answer may say of the disk, and what it took to know."""

    seen: Seen
    step: Step


class Following:
    def __init__(self, look: Look, repairs: Repairs, clock: Clock, repair_s: float) -> None:
        self._look = look
        self._repairs = repairs
        self._clock = clock
        self._repair_s = repair_s
        worth_s = min(max(repair_s, _LEAST_S), _MOST_S)
        self._most_files, self._most_bytes = int(worth_s * _FILES_A_SECOND), int(worth_s * _BYTES_A_SECOND)
        # What was tried in vain, or need not be indexed: not once more before it changes.
        self._tried: dict[Place, Stamp] = {}

    def look(self) -> Outlook:
        """Before an answer."""
        began = self._clock.elapsed()
        return self._outlook(self._look.take(), began)

    def look_at(self, places: Iterable[Place], as_of: float = 0.0) -> Outlook | None:
        """At files an answer came across: None when nothing could be done about them."""
        began = self._clock.elapsed()
        outstanding = self._look.check(places)
        if not self._quick(outstanding):
            return None
        return self._outlook(Sighting(as_of, False, len(outstanding), outstanding), began)

    def close(self) -> None:
        self._repairs.close(_LAST_WORD_S)

    def _outlook(self, sighting: Sighting, began: float) -> Outlook:
        quick = self._quick(sighting.outstanding)
        why = self._repairs.run(self._ways(quick), self._repair_s) if quick else ""
        left = self._left(sighting.outstanding, quick, why) if quick else self._told(sighting.outstanding)
        paths = sorted(path for _, path in left)
        why = why or ("" if self._look.is_watched or set(left) <= set(quick) else _REMEDY)
        notes = tuple(filter(None, (why if left else "", *sighting.notes)))
        seen = Seen(sighting.as_of, len(paths), tuple(paths[:_EXAMPLES]), notes, sighting.complete)
        took_ms = (self._clock.elapsed() - began) * 1000
        found = len(sighting.outstanding)
        note = f"{found:,} changed, {max(0, found - len(left)):,} of them indexed first" if found else ""
        return Outlook(seen, Step("freshness", sighting.looked, found, round(took_ms, 3), note))

    def _quick(self, outstanding: Mapping[Place, Stamp]) -> list[Place]:
        """What is indexed before the answer: not many, not much, and not again in vain."""
        untried = [it for it, stamp in outstanding.items() if self._tried.get(it) != stamp]
        if not self._repair_s or len(untried) > self._most_files:
            return []
        room = self._most_bytes
        quick: list[Place] = []
        for place in sorted(untried, key=lambda it: (outstanding[it].size, it)):
            room -= outstanding[place].size
            if room >= 0 and outstanding[place].kind != "directory" and self._way(place) is not None:
                quick.append(place)
        return quick

    def _ways(self, places: Iterable[Place]) -> dict[str, tuple[str, ...]]:
        ways: defaultdict[str, list[str]] = defaultdict(list)
        for place in places:
            ways[place[0]].append(self._way(place) or "")
        return {collection: () if "" in paths else tuple(paths) for collection, paths in ways.items()}

    def _way(self, place: Place) -> str | None:
        """What must be compared: for an ignore file all that it decides over, which may be too much."""
        directory, _, name = place[1].rpartition("/")
        if name not in IGNORE_FILES:
            return place[1]
        return directory if directory or self._look.is_small() else None

    def _left(self, before: Mapping[Place, Stamp], quick: list[Place], why: str) -> list[Place]:
        after = self._look.check(before)
        if not why:
            self._remember(quick, before, after)
        return self._told(after)

    def _remember(self, quick: list[Place], before: Mapping[Place, Stamp], after: Mapping[Place, Stamp]) -> None:
        if len(self._tried) > _MOST_REMEMBERED:
            self._tried.clear()
        # What is gone and yet kept, because the root is empty, costs little to try again.
        self._tried |= {it: before[it] for it in quick if after.get(it) == before[it] != NOTHING}

    def _told(self, outstanding: Mapping[Place, Stamp]) -> list[Place]:
        """Not what is not indexed and need not be."""
        return [it for it, stamp in outstanding.items() if self._tried.get(it) != stamp or self._look.is_known(it)]
