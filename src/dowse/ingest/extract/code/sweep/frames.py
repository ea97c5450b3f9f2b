"""Where the pass stands: in which definition, scope and branch, until which byte, and what was found so far."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dowse.ingest.extract.code.drafts import Draft, Findings
from dowse.ingest.extract.code.scopes import EVERYWHERE, Binding, Scope
from dowse.ingest.extract.code.statistics import Tally

if TYPE_CHECKING:
    from tree_sitter import Node


class Frame:
    """Where the pass stands until byte `end`. `local`: names that are bound here are local ones."""

    __slots__ = ("branch_end", "depth", "draft", "end", "local", "narrowed", "scope", "tally")

    def __init__(
        self,
        end: int,
        draft: int | None = None,
        scope: Scope | None = None,
        tally: Tally | None = None,
        depth: int = 0,
        branch_end: int = EVERYWHERE,
        local: bool = False,
    ) -> None:
        self.end = end
        self.draft = draft
        self.scope = scope
        self.tally = tally
        self.depth = depth
        self.branch_end = branch_end
        self.local = local
        self.narrowed: list[Binding] = []


class Frames:
    """A stack. `claimed` are nodes that are spoken for: whoever meets them again passes over them."""

    __slots__ = ("_stack", "claimed", "found", "of_file", "top")

    def __init__(self) -> None:
        self.found = Findings()
        self.claimed: set[int] = set()
        self.of_file = Scope(None, runs_later=False)
        self.top = Frame(EVERYWHERE, scope=self.of_file)
        self._stack = [self.top]

    def around(self) -> Draft | None:
        return None if self.top.draft is None else self.found.drafts[self.top.draft]

    def open(self, frame: Frame) -> None:
        self._stack.append(frame)
        self.top = frame

    def leave(self, start: int) -> None:
        """Close what is over before this byte."""
        while self._stack[-1].end <= start:
            self._stack.pop()
        self.top = self._stack[-1]

    def push(self, node: Node, depth: int, *, scope: Scope | None = None, branch: bool = False) -> None:
        """Open a part of what is open now."""
        top = self.top
        frame = Frame(
            node.end_byte,
            top.draft,
            scope or top.scope,
            top.tally,
            depth,
            node.end_byte if branch else top.branch_end,
            top.local or scope is not None,
        )
        if top.tally is not None:
            top.tally.deepen(depth)
        self.open(frame)
