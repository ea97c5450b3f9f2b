"""Blocks along definitions: a function stays whole, a large class falls into its members, small neighbours join."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from dowse.ingest.extract.spans import is_closing, leading_start
from dowse.model import TEST_ROLE, TEXT_ROLE, Block, Symbol

# Chosen on public code search sets, where definitions as they come did worse than these and so did larger unions.
WHOLE_CHARS: Final = 2_000  # what is longer falls into what it defines
ALONE_CHARS: Final = 500  # what is longer stands for itself
JOINED_CHARS: Final = 1_200  # as far as smaller neighbours join
MAX_DEPTH: Final = 4
MAX_OPEN: Final = 50  # namespaces in namespaces

_UNCUT: Final = "empty"  # of macros that stand for nothing: what is around them is not about them
_TRANSPARENT: Final = frozenset({"namespace"})


class _Piece(NamedTuple):
    start: int
    end: int
    trail: tuple[str, ...]
    role: str

    @property
    def size(self) -> int:
        return self.end - self.start


def blocks_along(
    text: str, symbols: Sequence[Symbol], undivided: Collection[int] = frozenset(), tests: Collection[int] = frozenset()
) -> tuple[Block, ...]:
    """Blocks that cover `text`, each below the trail of names it stands in.

    The symbols in `undivided` make none, and those in `tests` make blocks of their own role.
    """
    if not text:
        return ()
    pieces = _Cutter(text, symbols, undivided, tests).cut()
    return tuple(Block(it.start, it.end, it.trail, role=it.role) for it in pieces)


class _Cutter:
    def __init__(
        self, text: str, symbols: Sequence[Symbol], undivided: Collection[int], tests: Collection[int]
    ) -> None:
        self._text = text
        self._symbols = symbols
        self._tests = tests
        self._lines = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
        self._lines[-1] = len(text)
        self._inside: defaultdict[int | None, list[int]] = defaultdict(list)
        for place, symbol in enumerate(symbols):
            if place not in undivided and _UNCUT not in symbol.modifiers:
                self._inside[self._home(place)].append(place)

    def _home(self, place: int) -> int | None:
        """The innermost of its parents in whose lines it stands: members may be written outside of their class."""
        symbol = self._symbols[place]
        above = symbol.parent
        while above is not None:
            around = self._symbols[above]
            if around.start_line <= symbol.start_line and symbol.end_line <= around.end_line:
                break
            above = around.parent
        return above

    def _named(self, place: int) -> tuple[str, ...]:
        """Its name, behind those of the parents it stands outside of."""
        names, home, above = [self._symbols[place].name], self._home(place), self._symbols[place].parent
        while above is not None and above != home:
            names.append(self._symbols[above].name)
            above = self._symbols[above].parent
        return tuple(reversed(names))

    def cut(self) -> list[_Piece]:
        return self._joined(self._apart(None, _Piece(0, len(self._text), (), TEXT_ROLE), 0))

    def _apart(self, place: int | None, whole: _Piece, depth: int) -> list[_Piece]:
        """What is defined inside, piece by piece, and what lies between."""
        pieces: list[_Piece] = []
        at = whole.start
        for inner, line, end in self._spans(place, whole):
            if line < at:
                continue  # overlaps what came before: several definitions on one line
            start = leading_start(self._text, line, at)
            if self._text[at:start].strip():
                pieces.append(whole._replace(start=at, end=start))
            else:
                start = at
            pieces += self._definition(inner, whole._replace(start=start, end=end), depth)
            at = end
        if at < whole.end:
            pieces.append(whole._replace(start=at))
        return pieces

    def _definition(self, place: int, piece: _Piece, depth: int) -> list[_Piece]:
        symbol = self._symbols[place]
        is_open = symbol.kind in _TRANSPARENT and symbol.level < MAX_OPEN
        if not is_open:
            piece = piece._replace(trail=(*piece.trail, *self._named(place)))
        if place in self._tests:
            piece = piece._replace(role=TEST_ROLE)
        if depth >= MAX_DEPTH or (piece.size <= WHOLE_CHARS and not is_open):
            return [piece]
        return self._joined(self._apart(place, piece, depth if is_open else depth + 1))

    def _spans(self, place: int | None, whole: _Piece) -> Iterator[tuple[int, int, int]]:
        """The definitions inside, each with the beginning of its first line and the end of its last."""
        for inner in sorted(self._inside[place], key=lambda it: self._symbols[it].start_line):
            symbol = self._symbols[inner]
            last = min(max(symbol.end_line, symbol.start_line), len(self._lines) - 1)
            start = self._lines[min(symbol.start_line, last) - 1]
            if whole.start <= start < self._lines[last] <= whole.end:
                yield inner, start, self._lines[last]

    def _joined(self, pieces: list[_Piece]) -> list[_Piece]:
        """Small neighbours together, below the trail they share; closing marks with what they close."""
        joined: list[_Piece] = []
        for piece in pieces:
            before = joined[-1] if joined else None
            if before and is_closing(self._text, piece.start, piece.end):
                joined[-1] = before._replace(end=piece.end)
            elif before and is_closing(self._text, before.start, before.end):
                joined[-1] = piece._replace(start=before.start)
            elif before and _may_join(before, piece):
                joined[-1] = before._replace(end=piece.end, trail=_shared(before.trail, piece.trail))
            else:
                joined.append(piece)
        return joined


def _may_join(before: _Piece, piece: _Piece) -> bool:
    is_small = max(before.size, piece.size) <= ALONE_CHARS and piece.end - before.start <= JOINED_CHARS
    return is_small and before.role == piece.role


def _shared(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    length = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return one[:length]
