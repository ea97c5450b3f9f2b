"""What changed something that a memory is anchored to: a commit, as its links tell, or an edit that is in none yet."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from dowse.memories.anchored import Anchored, chains, named, names_in
from dowse.model import Collection, Record, Symbol
from dowse.text.anchors import Anchor
from dowse.text.beginnings import tells

HistoryOf = Callable[[Record], tuple[Collection, str] | None]
EditedLines = Callable[[Record], Sequence[tuple[int, int]]]

_CHANGES = "changes"
_OF_FILES = ("touches", "renames")
_HEAD_LINES = 50  # of a definition, among which is the one that names it, whatever stands before that
_NEWEST = 20  # commits that are looked at one by one
_NAMES = 1_000


@dataclass(frozen=True, slots=True)
class Cause:
    """`edited`: it is not committed yet. `existed`: there was ever something so named, as far as can be known."""

    commit: Record | None = None
    edited: bool = False
    existed: bool = True


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
        ways = self._ways(*home, anchor, file, surely=True) if home else []
        return next(filter(None, (_newest(it, since_ns) for it in ways)), None)

    def of(self, anchor: Anchor, file: Record | None, since_ns: int) -> Cause:
        """Of what has changed or is gone. A commit may be older than the memory, and have come with a merge later."""
        place = file or self._place(anchor.path)
        home = self.history_of(place) if place else None
        if place is None or home is None:
            return Cause(existed=bool(anchor.digest))
        own, *others = self._ways(*home, anchor, file, surely=False)
        if recent := _newest(own, since_ns):
            return Cause(recent)
        if not own and not anchor.digest:
            return Cause(existed=False)
        if self._is_edited(anchor, place):
            return Cause(edited=True)
        recent_others = (_newest(it, since_ns) for it in others)
        return Cause(next(filter(None, (*recent_others, *own[:1], *(it[0] for it in others if it))), None))

    def _ways(
        self, history: Collection, path: str, anchor: Anchor, file: Record | None, *, surely: bool
    ) -> list[list[Record]]:
        """The commits that may have changed it, by what tells so, the most particular first: that one touched the file
        tells of a definition only where none could tell more. The newest first."""
        touching = self._linking(history, [path], _OF_FILES)
        if file is None or not anchor.symbol:
            return [touching]
        symbols = self.anchored.store.symbols(file)
        names = spellings(symbols, anchor.symbol, surely=surely)
        changing = self._linking(history, [f"{path}#{it}" for it in names], (_CHANGES,))
        lost = self._losing(touching, f"{path}#{'.'.join(names_in(anchor.symbol))}.")
        own = sorted([*changing, *lost], key=lambda it: -it.moment_ns)
        return [own] if self._is_told(path, symbols, anchor.symbol, file) else [own, touching]

    def _linking(self, history: Collection, targets: Sequence[str], kinds: Sequence[str]) -> list[Record]:
        return [it for it, _ in self.anchored.store.linking(targets, kinds) if it.collection == history.name]

    def _losing(self, commits: Sequence[Record], start: str) -> Iterator[Record]:
        """Of the newest commits those that changed what stands in it, or stood there: that has no name any more."""
        for commit in commits[:_NEWEST]:
            links = self.anchored.store.links(commit)
            if any(it.kind == _CHANGES and it.target.startswith(start) for it in links):
                yield commit

    def _is_told(self, path: str, symbols: Sequence[Symbol], name: str, file: Record) -> bool:
        """Whether commits that change it say so."""
        found = named(symbols, name)
        lines = self.anchored.store.text(file).split("\n") if found else []
        heads = [(it.name, lines[it.start_line - 1 : it.end_line][:_HEAD_LINES]) for it in found]
        return bool(found) and all(tells(path, name, head) for name, head in heads)

    def _is_edited(self, anchor: Anchor, file: Record) -> bool:
        """Of what is not there, or is a file, whether anything of that file is."""
        edited = self.edited_lines(file)
        own = named(self.anchored.store.symbols(file), anchor.symbol) if anchor.symbol else []
        spans = [(it.start_line, it.end_line) for it in own]
        return any(not spans or _meet(it, spans) for it in edited)

    def _place(self, path: str) -> Record | None:
        """Of a file that is gone, where it was."""
        roots = self.anchored.roots()
        return Record(roots[0], path, "", "", 0, 0, "", "") if roots else None


def spellings(symbols: Sequence[Symbol], name: str, *, surely: bool) -> list[str]:
    """What commits may call what is so named, or stands in it: with all names around it, with one, with none. What may
    also mean something else in the file is left out where that is to be sure."""
    every = list(chains(symbols))
    found = {id(it) for it in named(symbols, name)}
    own = {chain for symbol, chain in zip(symbols, every, strict=True) if id(symbol) in found} or {names_in(name)}
    inside = {chain: None for chain in (*own, *every) if any(chain[: len(it)] == it for it in own)}
    others = {spelt for chain in every if chain not in inside for spelt in _spelt(chain)} if surely else set()
    spelt = dict.fromkeys(it for chain in inside for it in _spelt(chain) if it not in others)
    return list(spelt)[:_NAMES]


def _newest(commits: Sequence[Record], since_ns: int) -> Record | None:
    return commits[0] if commits and commits[0].moment_ns >= since_ns else None


def _spelt(chain: Sequence[str]) -> list[str]:
    return [".".join(chain[-count:]) for count in (len(chain), 2, 1)]


def _meet(span: tuple[int, int], others: Sequence[tuple[int, int]]) -> bool:
    return any(span[0] <= last and first <= span[1] for first, last in others)
