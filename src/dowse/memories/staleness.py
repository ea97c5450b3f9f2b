"""Whether a memory may be out of date: what it is anchored to has changed since, or is gone, and by which commit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dowse.memories.anchored import Anchored, spellings
from dowse.model import Collection, Record
from dowse.text.anchors import ANCHORED, Anchor, parse_anchor
from dowse.text.memory_facts import moment_of

HistoryOf = Callable[[Record], tuple[Collection, str] | None]
_KINDS = ("changes", "touches", "renames")
_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Staleness:
    """`commit` is the newest one that touched what is anchored since the memory was written, if there is any."""

    anchor: str
    why: str
    commit: Record | None = None


@dataclass(frozen=True, slots=True)
class Judge:
    """`history_of` gives the history of a file and its path in there."""

    anchored: Anchored
    history_of: HistoryOf

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
        home = self._home(file, anchor.path)
        commit = self._newest(home, anchor, since_ns(memory)) if home else None
        if digest and not anchor.digest and commit is None:
            return None  # nothing is known of what was there, and no commit has touched it
        return Staleness(anchor.target, _why(anchor, file, digest, commit, known=home is not None), commit)

    def _of_commit(self, anchor: Anchor) -> Staleness | None:
        if not self.anchored.histories() or self.anchored.commit(anchor.commit):
            return None
        return Staleness(anchor.target, f"commit {anchor.commit[:12]} is in no indexed history any more")

    def _newest(self, home: tuple[Collection, str], anchor: Anchor, since: int) -> Record | None:
        """The one that changed the definition; of a file, or where none is known to have, that touched the file."""
        history, path = home
        names = [f"{path}#{it}" for it in spellings(anchor.symbol)] if anchor.symbol else []
        found = [
            (record, link)
            for record, link in self.anchored.store.linking([path, *names], _KINDS)
            if record.collection == history.name and record.moment_ns >= since
        ]
        exact = [record for record, link in found if link.target != path]
        return next(iter([*exact, *(record for record, _ in found)]), None)

    def _home(self, file: Record | None, path: str) -> tuple[Collection, str] | None:
        """Of a file that is gone, the history of the place where it was."""
        roots = self.anchored.roots()
        if file is None and roots:
            file = Record(roots[0], path, "", "", 0, 0, "", "")
        return self.history_of(file) if file else None


def since_ns(memory: Record) -> int:
    """When its digests were taken, or else when it was written; in whole seconds, as commits are."""
    taken = moment_of(memory.facets.get("anchored_at", ""))
    seconds = memory.moment_ns // _NS if taken is None else int(taken)
    return seconds * _NS


def outside_validity(facets: Mapping[str, str], now: float) -> list[str]:
    """Whether it is too early or too late for what it says."""
    begins, ends = facets.get("valid_from", ""), facets.get("valid_until", "")
    first, last = moment_of(begins), moment_of(ends, last=True)
    early = [f"not valid before {begins}"] if first is not None and now < first else []
    return [*early, *([f"not valid any more since {ends}"] if last is not None and now > last else [])]


def _why(anchor: Anchor, file: Record | None, digest: str, commit: Record | None, *, known: bool) -> str:
    """`known`: its history is."""
    by = f" by commit {commit.path[:12]}" if commit else ", not committed yet" if known else ""
    if file is None:
        return f"{anchor.path} is not there any more{by and f' (changed{by})'}"
    if not digest:
        return f"{anchor.path} has no {anchor.symbol} any more{by and f' (changed{by})'}"
    told = f": commit {commit.path[:12]}" if commit else by
    return f"{anchor.target} has changed since the memory was written{told}"
