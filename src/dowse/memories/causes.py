"""What changed something that a memory is anchored to: a commit, as its links tell, or an edit that is in none yet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dowse.memories.anchored import Anchored
from dowse.model import Collection, Record, Symbol
from dowse.store.chains import chains_of
from dowse.text.anchors import Anchor
from dowse.text.beginnings import tells
from dowse.text.chains import names_in

HistoryOf = Callable[[Record], tuple[Collection, str] | None]
EditedLines = Callable[[Record], Sequence[tuple[int, int]]]
_Touched = tuple[Record, Sequence[str]]
"""A commit, and which parts of one file it changed."""

_CHANGES = "changes"
_OF_FILES = ("touches", "renames")
_HEAD_LINES = 50  # of a definition, among which is the one that names it, whatever stands before that
_NEWEST = 20  # commits of a file that are looked at one by one
_REMEMBERED = "newest commits of what is anchored"
_NAMES = 1_000


@dataclass(frozen=True, slots=True)
class Cause:
    """`edited`: it is not committed yet. `existed`: there was ever something so named, as far as can be known."""

    commit: Record | None = None
    edited: bool = False
    existed: bool = True


@dataclass(frozen=True, slots=True)
class _Ways:
    """The commits that may have changed something, by what tells so, each the newest first: `sure` those that name
    nothing else, `doubtful` those whose name for it another has, too, `touching` those of the file, which tell of a
    definition only where none could tell more."""

    sure: Sequence[Record] = ()
    doubtful: Sequence[Record] = ()
    touching: Sequence[Record] = ()


@dataclass(frozen=True, slots=True)
class Causes:
    """`history_of` gives the history of a file and its path in there, `edited_lines` the first and last ones of what
    is not in its last commit."""

    anchored: Anchored
    history_of: HistoryOf
    edited_lines: EditedLines

    def proof(self, anchor: Anchor, file: Record, since_ns: int) -> Record | None:
        """The newest commit since that surely changed it, where nothing else tells that it has changed."""
        home = self.history_of(file)
        ways = self._ways(*home, anchor, file) if home else _Ways()
        return _newest(ways.sure, since_ns) or _newest(ways.touching, since_ns)

    def of(self, anchor: Anchor, file: Record | None, since_ns: int) -> Cause:
        """Of what has changed or is gone. A commit may be older than the memory, and have come with a merge later."""
        place = file or self._place(anchor.path)
        home = self.history_of(place) if place else None
        if place is None or home is None:
            return Cause(existed=bool(anchor.digest))
        ways = self._ways(*home, anchor, file)
        if recent := _newest(ways.sure, since_ns):
            return Cause(recent)
        if not (ways.sure or ways.doubtful or anchor.digest):
            return Cause(existed=False)
        if self._is_edited(anchor, place):
            return Cause(edited=True)
        others = (_newest(it, since_ns) for it in (ways.doubtful, ways.touching))
        return Cause(next(filter(None, (*others, *ways.sure[:1], *ways.doubtful[:1], *ways.touching[:1])), None))

    def _ways(self, history: Collection, path: str, anchor: Anchor, file: Record | None) -> _Ways:
        touched = self._touched(history, path)
        touching = [commit for commit, _ in touched]
        if file is None or not anchor.symbol:
            return _Ways(touching)
        chains = chains_of(self.anchored.store, file)
        own = chains.named(anchor.symbol)
        spelt = chains.spelt(own) if own else chains.lost(anchor.symbol)
        # What stood in it and does so no more has no name in the file.
        start = f"{path}#{'.'.join(names_in(anchor.symbol))}."
        losing = [commit for commit, changed in touched if any(it.startswith(start) for it in changed)]
        sure = sorted([*self._changing(history, path, spelt.sure), *losing], key=lambda it: -it.moment_ns)
        doubtful = self._changing(history, path, spelt.doubtful)
        is_told = bool(own) and self._is_told(path, [chains.symbols[it] for it in own], file)
        return _Ways(sure, doubtful, () if is_told else touching)

    def _changing(self, history: Collection, path: str, names: Sequence[str]) -> list[Record]:
        return self._linking(history, [f"{path}#{it}" for it in names[:_NAMES]], (_CHANGES,))

    def _linking(self, history: Collection, targets: Sequence[str], kinds: Sequence[str]) -> list[Record]:
        return [it for it, _ in self.anchored.store.linking(targets, kinds) if it.collection == history.name]

    def _touched(self, history: Collection, path: str) -> Sequence[_Touched]:
        """The newest commits of the file, looked up once for each state of the index: many memories may be anchored to
        what is in one file."""
        known: dict[tuple[str, str], Sequence[_Touched]] = self.anchored.store.remembered(_REMEMBERED, dict)
        key = history.name, path
        if key not in known:
            newest = {it.path: it for it in self._linking(history, [path], _OF_FILES)}
            known[key] = [(it, self._changed(it, path)) for it in list(newest.values())[:_NEWEST]]
        return known[key]

    def _changed(self, commit: Record, path: str) -> list[str]:
        links = self.anchored.store.links(commit)
        return [it.target for it in links if it.kind == _CHANGES and it.target.startswith(f"{path}#")]

    def _is_told(self, path: str, own: Sequence[Symbol], file: Record) -> bool:
        """Whether commits that change it say so."""
        spans = [(it.start_line, min(it.end_line, it.start_line + _HEAD_LINES - 1)) for it in own]
        heads = self.anchored.store.lines_between(file.collection, file.path, spans)
        return all(tells(path, it.name, head) for it, head in zip(own, heads, strict=True))

    def _is_edited(self, anchor: Anchor, file: Record) -> bool:
        """Of what is not there, or is a file, whether anything of that file is."""
        own = self.anchored.named(file, anchor.symbol) if anchor.symbol else []
        spans = [(it.start_line, it.end_line) for it in own]
        return any(not spans or _meet(it, spans) for it in self.edited_lines(file))

    def _place(self, path: str) -> Record | None:
        """Of a file that is gone, where it was."""
        roots = self.anchored.roots()
        return Record(roots[0], path, "", "", 0, 0, "", "") if roots else None


def _newest(commits: Sequence[Record], since_ns: int) -> Record | None:
    return commits[0] if commits and commits[0].moment_ns >= since_ns else None


def _meet(span: tuple[int, int], others: Sequence[tuple[int, int]]) -> bool:
    return any(span[0] <= last and first <= span[1] for first, last in others)
