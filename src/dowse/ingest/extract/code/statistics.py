"""How involved a function is, counted while its nodes pass by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dowse.model import Stats

if TYPE_CHECKING:
    from tree_sitter import Node


class Tally:
    """The counts of one function; `depth` is always that of the place something is counted at."""

    __slots__ = ("_operators", "calls", "cognitive", "cyclomatic", "lambdas", "nesting", "returns")

    def __init__(self) -> None:
        self.cyclomatic = 1
        self.cognitive = 0
        self.nesting = 0
        self.returns = 0
        self.calls = 0
        self.lambdas = 0
        self._operators: list[tuple[int, str]] = []  # where those around the present one end, and which they are

    def branch(self, depth: int) -> None:
        """An if, a loop, a catch: the deeper it lies, the harder it is to follow."""
        self.cyclomatic += 1
        self.cognitive += 1 + depth

    def switch(self, depth: int) -> None:
        self.cognitive += 1 + depth

    def case(self) -> None:
        self.cyclomatic += 1

    def further(self) -> None:
        """An else-if goes on where an if stands."""
        self.cyclomatic += 1
        self.cognitive += 1

    def otherwise(self) -> None:
        self.cognitive += 1

    def operator(self, node: Node) -> None:
        """Every boolean operator is a branch; a run of the same one is followed as a whole."""
        self.cyclomatic += 1
        sign = node.child(1) if node.child_count > 1 else None
        written = sign.type if sign else ""
        while self._operators and self._operators[-1][0] < node.end_byte:
            self._operators.pop()
        if not self._operators or self._operators[-1][1] != written:
            self.cognitive += 1
        self._operators.append((node.end_byte, written))

    def deepen(self, depth: int) -> None:
        self.nesting = max(self.nesting, depth)

    def stats(self, parameters: int) -> Stats:
        return Stats(self.cyclomatic, self.cognitive, self.nesting, parameters, self.returns, self.calls, self.lambdas)
