"""Whether a memory may be out of date: what it is anchored to has changed since, or is gone, and by which commit."""

from __future__ import annotations

from dataclasses import dataclass

from dowse.memories.anchored import Anchored
from dowse.memories.causes import Cause, Causes
from dowse.model import Record
from dowse.text.anchors import ANCHORED, Anchor, parse_anchor
from dowse.text.times import moment_of

_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Staleness:
    """`commit` is the newest one that changed what is anchored, if it is known which did."""

    anchor: str
    why: str
    commit: Record | None = None


@dataclass(frozen=True, slots=True)
class Judge:
    anchored: Anchored
    causes: Causes

    def stale(self, record: Record) -> tuple[Staleness, ...]:
        links = [it for it in self.anchored.store.links(record) if it.kind == ANCHORED]
        anchors = [(parse_anchor(it.target), it.context) for it in links]
        found = (self._judged(it._replace(digest=digest), record) for it, digest in anchors if it is not None)
        return tuple(it for it in found if it is not None)

    def _judged(self, anchor: Anchor, memory: Record) -> Staleness | None:
        if anchor.commit:
            return self._of_commit(anchor)
        file = self.anchored.record(anchor.path)
        digest = self.anchored.digest(file, anchor.symbol) if file else ""
        if digest and digest == anchor.digest:
            return None
        if file and digest and not anchor.digest:  # nothing is known of what was there
            commit = self.causes.proof(anchor, file, since_ns(memory))
            return Staleness(anchor.target, _why(anchor, file, digest, Cause(commit)), commit) if commit else None
        cause = self.causes.of(anchor, file, since_ns(memory))
        return Staleness(anchor.target, _why(anchor, file, digest, cause), cause.commit)

    def _of_commit(self, anchor: Anchor) -> Staleness | None:
        if not self.anchored.histories() or self.anchored.commit(anchor.commit):
            return None
        return Staleness(anchor.target, f"commit {anchor.commit[:12]} is in no indexed history any more")


def since_ns(memory: Record) -> int:
    """When its digests were taken, or else when it was written; in whole seconds, as commits are."""
    taken = moment_of(memory.facets.get("anchored_at", ""))
    seconds = memory.moment_ns // _NS if taken is None else int(taken)
    return seconds * _NS


def _why(anchor: Anchor, file: Record | None, digest: str, cause: Cause) -> str:
    by = f" by commit {cause.commit.path[:12]}" if cause.commit else ", not committed yet" if cause.edited else ""
    gone = f" any more{by and f' (changed{by})'}" if cause.existed else ""
    if file is None:
        return f"{anchor.target} is not there{gone}"
    if not digest:
        return f"{anchor.path} has no {anchor.symbol}{gone}"
    told = f": commit {cause.commit.path[:12]}" if cause.commit else by
    return f"{anchor.target} has changed since the memory was written{told}"
