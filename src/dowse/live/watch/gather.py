"""Waits until files are left alone, then hands them on together; knows times only as numbers it is given."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from dowse.ingest.sources.doors import ancestors_and_self
from dowse.live.watch.base import AGAIN, BULK, GIT, LONGEST_WAIT, LOST, RULES, Batch, Reason, Sight, Timing


@dataclass(slots=True)
class _Span:
    """When something was first and last seen since it was handed on."""

    first: float
    last: float

    def ready_at(self, quiet_s: float, disturbed: float = 0.0) -> float:
        return min(self.first + LONGEST_WAIT * quiet_s, max(self.last, disturbed) + quiet_s)


class Due(NamedTuple):
    batch: Batch
    reasons: tuple[Reason, ...]


class Gather:
    """One collection's changes, from being seen to being indexed.

    A file goes out when it, and the arrival of others, has been quiet for the debounce, and at the latest after ten
    times that: one file rewritten all the time holds up no other, and a burst is one batch. Beyond the bulk threshold
    single paths are forgotten and the whole root is compared.
    """

    def __init__(self, collection: str, timing: Timing) -> None:
        self._collection = collection
        self._timing = timing
        self._seen: dict[str, _Span] = {}
        self._trees: set[str] = set()
        self._latest_arrival = 0.0
        self._wholes: dict[Reason, _Span] = {}
        self._out: list[Batch] = []
        self._blinding: list[Batch] = []
        self._missed: set[str] = set()
        self._is_blind = False  # for what was missed
        self.sent = 0

    def see(self, sights: Iterable[Sight], now: float) -> None:
        for kind, path in sights:
            if kind == "git":
                self.compare(GIT, now)
            elif kind in ("rules", "lost"):
                self.compare(RULES if kind == "rules" else LOST, now)
            elif path:
                self._note(path, kind == "tree", now)

    def compare(self, reason: Reason, now: float, *, since: float | None = None) -> None:
        """The whole root is to be compared, in a while."""
        span = self._wholes.setdefault(reason, _Span(now if since is None else since, now))
        span.last = now
        if reason.blind:
            self._seen.clear()
            self._trees.clear()

    def forget(self) -> None:
        """Nothing waits any more, because there is nothing to look at."""
        self._seen.clear()
        self._trees.clear()
        self._wholes.clear()
        self._see_again()

    def due_at(self) -> float | None:
        """When there will be something to hand on, if nothing more is seen."""
        times = [*map(self._whole_at, self._wholes), *map(self._path_at, self._seen)]
        return min(times, default=None)

    def take(self, now: float) -> Due | None:
        """A batch that is due; to be asked again until there is none."""
        reasons = tuple(it for it in self._wholes if self._whole_at(it) <= now)
        if reasons:
            return self._take_all(reasons)
        paths = frozenset(it for it in self._seen if self._path_at(it) <= now)
        if not paths:
            return None
        for path in paths:
            del self._seen[path]
        self._trees -= paths
        return Due(self._hand_on(Batch(self._collection, paths, False, "files changed"), blinds=False), ())

    def done(self, batch: Batch) -> None:
        """The batch is indexed. Another that says the same may still be on its way."""
        for batches in (self._out, self._blinding):
            if batch in batches:
                batches.remove(batch)

    def blinds(self, batch: Batch) -> None:
        """Something may have slipped by: until this batch is indexed, nobody knows what changed."""
        if batch in self._out and batch not in self._blinding:
            self._blinding.append(batch)

    def missed(self, batch: Batch, now: float) -> None:
        """The batch was given up. What it was about goes with the next comparison of everything."""
        if batch in self._out:
            self._missed |= batch.paths
            self._is_blind |= batch in self._blinding or len(self._missed) > self._timing.bulk_threshold
            self.done(batch)
            self.compare(AGAIN, now)

    def pending(self) -> frozenset[str] | None:
        """What was seen and is not indexed yet; None while nobody knows."""
        if self._is_blind or self._blinding or any(it.blind for it in self._wholes):
            return None
        return frozenset(self._seen).union(self._missed, *(it.paths for it in self._out))

    def count(self) -> int:
        """Of what was seen and is not indexed yet; a root to compare counts as one."""
        waiting = len(self._seen) + len(self._wholes)
        return waiting + sum(1 if it.whole else len(it.paths) for it in self._out)

    def _take_all(self, reasons: tuple[Reason, ...]) -> Due:
        for reason in reasons:
            del self._wholes[reason]
        why = ", ".join(it.text for it in reasons)
        batch = Batch(self._collection, frozenset(self._missed), True, why)
        blinds = self._is_blind or any(it.blind for it in reasons)
        self._see_again()
        return Due(self._hand_on(batch, blinds=blinds), reasons)

    def _see_again(self) -> None:
        self._missed.clear()
        self._is_blind = False

    def _hand_on(self, batch: Batch, *, blinds: bool) -> Batch:
        self._out.append(batch)
        if blinds:
            self._blinding.append(batch)
        self.sent += 1
        return batch

    def _note(self, path: str, is_tree: bool, now: float) -> None:
        covering = self._covering(path)
        for span in covering:
            span.last = now  # what covers it waits until this is quiet too
        if covering:
            return
        span = self._seen.get(path) or self._arrived(path, now)
        span.last = now
        if is_tree:
            self._absorb(path, span)
        if len(self._seen) > self._timing.bulk_threshold:
            self.compare(BULK, now, since=min(it.first for it in self._seen.values()))

    def _covering(self, path: str) -> list[_Span]:
        """What will be looked at whole, with this path in it."""
        blind = [span for reason, span in self._wholes.items() if reason.blind]
        if blind or not self._trees:
            return blind
        return [self._seen[it] for it in ancestors_and_self(path) if it in self._trees]

    def _arrived(self, path: str, now: float) -> _Span:
        self._latest_arrival = now
        self._seen[path] = _Span(now, now)
        return self._seen[path]

    def _absorb(self, tree: str, span: _Span) -> None:
        self._trees.add(tree)
        for path in [it for it in self._seen if it.startswith(tree + "/")]:
            span.first = min(span.first, self._seen.pop(path).first)
            self._trees.discard(path)

    def _path_at(self, path: str) -> float:
        return self._seen[path].ready_at(self._timing.debounce_s, self._latest_arrival)

    def _whole_at(self, reason: Reason) -> float:
        timing = self._timing
        waits = {"none": 0.0, "files": timing.debounce_s, "git": timing.git_debounce_s, "again": timing.again_s}
        return self._wholes[reason].ready_at(waits[reason.wait])
