"""Cut code into chunks along its definitions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from dowse.ingest.extract.markdown import has_only_closers, leading_comment_start
from dowse.model import TEST_ROLE, TEXT_ROLE, Block, Symbol

# Tuned on public code search benchmarks: unmerged definitions scored worse than these limits, and so did larger blocks.
MAX_WHOLE_CHARS: Final = 2_000  # longer definitions are split into their members
MAX_JOINABLE_CHARS: Final = 500  # longer pieces are never joined
MAX_JOINED_CHARS: Final = 1_200  # maximum size of joined neighbours
MAX_SPLIT_DEPTH: Final = 4
MAX_NAMESPACE_DEPTH: Final = 50  # nested namespaces

_EMPTY_MACRO: Final = "empty"  # modifier of macros without a value: the code around them does not belong to them
_TRANSPARENT: Final = frozenset({"namespace"})


class _DefinitionPiece(NamedTuple):
    start: int
    end: int
    trail: tuple[str, ...]
    role: str

    @property
    def size(self) -> int:
        return self.end - self.start


def split_along_definitions(
    text: str, symbols: Sequence[Symbol], undivided: Collection[int] = frozenset(), tests: Collection[int] = frozenset()
) -> tuple[Block, ...]:
    """Return blocks that cover `text`, each with the breadcrumb of the definitions around it.

    Symbols in `undivided` start no block. Symbols in `tests` get blocks with the test role.
    """
    if not text:
        return ()
    pieces = _DefinitionSplitter(text, symbols, undivided, tests).split()
    return tuple(Block(piece.start, piece.end, piece.trail, role=piece.role) for piece in pieces)


class _DefinitionSplitter:
    def __init__(
        self, text: str, symbols: Sequence[Symbol], undivided: Collection[int], tests: Collection[int]
    ) -> None:
        self._text = text
        self._symbols = symbols
        self._tests = tests
        self._lines = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
        self._lines[-1] = len(text)
        self._children: defaultdict[int | None, list[int]] = defaultdict(list)
        for index, symbol in enumerate(symbols):
            if index not in undivided and _EMPTY_MACRO not in symbol.modifiers:
                self._children[self._containing_parent(index)].append(index)

    def _containing_parent(self, index: int) -> int | None:
        """Return the innermost ancestor that contains the symbol's lines: members may be outside of their class."""
        symbol = self._symbols[index]
        ancestor = symbol.parent
        while ancestor is not None:
            enclosing = self._symbols[ancestor]
            if enclosing.start_line <= symbol.start_line and symbol.end_line <= enclosing.end_line:
                break
            ancestor = enclosing.parent
        return ancestor

    def _qualified_name(self, index: int) -> tuple[str, ...]:
        """Return the symbol's name, preceded by the ancestors whose lines do not contain it."""
        names, container, ancestor = (
            [self._symbols[index].name],
            self._containing_parent(index),
            self._symbols[index].parent,
        )
        while ancestor is not None and ancestor != container:
            names.append(self._symbols[ancestor].name)
            ancestor = self._symbols[ancestor].parent
        return tuple(reversed(names))

    def split(self) -> list[_DefinitionPiece]:
        return self._join(self._split(None, _DefinitionPiece(0, len(self._text), (), TEXT_ROLE), 0))

    def _split(self, index: int | None, whole: _DefinitionPiece, depth: int) -> list[_DefinitionPiece]:
        """Split a piece into the definitions inside and the text between them."""
        pieces: list[_DefinitionPiece] = []
        at = whole.start
        for inner, line, end in self._spans(index, whole):
            if line < at:
                continue  # overlaps the previous one: several definitions on one line
            start = leading_comment_start(self._text, line, at)
            if self._text[at:start].strip():
                pieces.append(whole._replace(start=at, end=start))
            else:
                start = at
            pieces += self._split_definition(inner, whole._replace(start=start, end=end), depth)
            at = end
        if at < whole.end:
            pieces.append(whole._replace(start=at))
        return pieces

    def _split_definition(self, index: int, piece: _DefinitionPiece, depth: int) -> list[_DefinitionPiece]:
        symbol = self._symbols[index]
        is_open = symbol.kind in _TRANSPARENT and symbol.level < MAX_NAMESPACE_DEPTH
        if not is_open:
            piece = piece._replace(trail=(*piece.trail, *self._qualified_name(index)))
        if index in self._tests:
            piece = piece._replace(role=TEST_ROLE)
        if depth >= MAX_SPLIT_DEPTH or (piece.size <= MAX_WHOLE_CHARS and not is_open):
            return [piece]
        return self._join(self._split(index, piece, depth if is_open else depth + 1))

    def _spans(self, index: int | None, whole: _DefinitionPiece) -> Iterator[tuple[int, int, int]]:
        """Yield the definitions inside, each with the start of its first line and the end of its last."""
        for inner in sorted(self._children[index], key=lambda it: self._symbols[it].start_line):
            symbol = self._symbols[inner]
            last = min(max(symbol.end_line, symbol.start_line), len(self._lines) - 1)
            start = self._lines[min(symbol.start_line, last) - 1]
            if whole.start <= start < self._lines[last] <= whole.end:
                yield inner, start, self._lines[last]

    def _join(self, pieces: list[_DefinitionPiece]) -> list[_DefinitionPiece]:
        """Join small neighbours under their common breadcrumb, and closing brackets with the code they close."""
        joined: list[_DefinitionPiece] = []
        for piece in pieces:
            before = joined[-1] if joined else None
            if before and has_only_closers(self._text, piece.start, piece.end):
                joined[-1] = before._replace(end=piece.end)
            elif before and has_only_closers(self._text, before.start, before.end):
                joined[-1] = piece._replace(start=before.start)
            elif before and _may_join(before, piece):
                joined[-1] = before._replace(end=piece.end, trail=_common_prefix(before.trail, piece.trail))
            else:
                joined.append(piece)
        return joined


def _may_join(before: _DefinitionPiece, piece: _DefinitionPiece) -> bool:
    is_small = max(before.size, piece.size) <= MAX_JOINABLE_CHARS and piece.end - before.start <= MAX_JOINED_CHARS
    return is_small and before.role == piece.role


def _common_prefix(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    length = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return one[:length]
