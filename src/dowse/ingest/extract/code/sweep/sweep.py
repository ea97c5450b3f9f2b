"""The pass itself: every node that is named goes to what takes its kind; calls are noted as they are met."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING

from dowse.ingest.extract.code.drafts import Findings, Site
from dowse.ingest.extract.code.language import Language
from dowse.ingest.extract.code.source import Source
from dowse.ingest.extract.code.sweep.bodies import Bodies
from dowse.ingest.extract.code.sweep.defining import Defining
from dowse.ingest.extract.code.sweep.frames import Frames
from dowse.ingest.extract.code.sweep.giving import Giving

if TYPE_CHECKING:
    from tree_sitter import Node

_Taker = Callable[["Node"], None]
_Event = tuple[int, int, int, _Taker, "Node"]


class Sweep:
    def __init__(self, language: Language, source: Source) -> None:
        self._frames = Frames()
        self._defining = Defining(language, source, self._frames)
        self._giving = Giving(language, source, self._frames, self._defining)
        self._bodies = Bodies(language, source, self._frames)

    def run(self, captures: dict[str, list[Node]]) -> Findings:
        frames = self._frames
        for start, _, _, taker, node in self._in_order(captures):
            if frames.top.end <= start:
                frames.leave(start)
            taker(node)
        return frames.found

    def _in_order(self, captures: dict[str, list[Node]]) -> Iterable[_Event]:
        """Outer nodes before inner ones; the third number keeps nodes themselves from being compared."""
        events: list[_Event] = []
        for name, taker in self._takers().items():
            for node in captures.get(name, ()):
                start, end = node.byte_range
                events.append((start, -end, len(events), taker, node))
        return sorted(events)

    def _takers(self) -> dict[str, _Taker]:
        """What takes which capture; where two name the same node, the one that stands first here comes first.

        Not kept: the methods would keep this object, and with it the tree, from going when it is done with.
        """
        bodies = self._bodies
        return {
            "error": self._error,
            "define": self._defining.define,
            "members": self._defining.define_members,
            "construct": self._construct,
            "decorate": self._decorate,
            "call": self._call,
            "lambda": bodies.take_lambda,
            "scope": bodies.take_scope,
            "bind": self._giving.bind,
            "further": bodies.take_further,
            "otherwise": bodies.take_otherwise,
            "branch": bodies.take_branch,
            "switch": bodies.take_switch,
            "case": bodies.take_case,
            "block": bodies.take_block,
            "operator": bodies.take_operator,
            "return": bodies.take_return,
            "result": bodies.take_result,
            "refer": partial(self._implied, "refer"),
            "assign": partial(self._implied, "assign"),
            "iterate": partial(self._implied, "iterate"),
            "enter": partial(self._implied, "enter"),
            "raise": partial(self._implied, "raise"),
        }

    def _site(self, node: Node, kind: str) -> None:
        if node.id in self._frames.claimed:
            return
        top = self._frames.top
        if top.tally is not None:
            top.tally.calls += 1
        self._frames.found.sites.append(Site(node, top.scope, top.draft, kind))

    def _call(self, node: Node) -> None:
        self._site(node, "call")

    def _construct(self, node: Node) -> None:
        self._site(node, "new")
        self._frames.claimed.add(node.id)

    def _decorate(self, node: Node) -> None:
        self._site(node, "decorate")
        self._frames.claimed.add(node.id)

    def _implied(self, kind: str, node: Node) -> None:
        """What is no call as it is written: a name that is passed on, or what a statement calls without saying so."""
        self._frames.found.sites.append(Site(node, self._frames.top.scope, self._frames.top.draft, kind))

    def _error(self, _node: Node) -> None:
        self._frames.found.errors += 1
