"""Nodes that functions are made of: what they return, their branches and lambdas, and what is counted of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dowse.ingest.extract.code.language import Language
from dowse.ingest.extract.code.scopes import EVERYWHERE, Binding, Scope
from dowse.ingest.extract.code.source import Source, child
from dowse.ingest.extract.code.sweep.frames import Frames
from dowse.text.expressions import OF_LAMBDA

if TYPE_CHECKING:
    from tree_sitter import Node


class Bodies:
    def __init__(self, language: Language, source: Source, frames: Frames) -> None:
        self._language = language
        self._source = source
        self._frames = frames

    def take_return(self, node: Node) -> None:
        """Of a lambda inside of the function it is none."""
        draft = self._frames.around()
        if draft is not None and draft.tally is not None and draft.scope is self._frames.top.scope:
            draft.tally.returns += 1
            value = child(node, "0")
            if value is not None:
                draft.returned.append(value)

    def take_result(self, node: Node) -> None:
        draft = self._frames.around()
        if draft is not None and draft.scope is self._frames.top.scope:
            draft.returned.append(node)

    def take_lambda(self, node: Node) -> None:
        if node.id in self._frames.claimed:
            return
        top = self._frames.top
        scope = Scope(top.scope, runs_later=False)
        for number, parameter in enumerate(self._language.lambda_parameters(node, self._source)):
            is_followed = self._language.follows and self._language.is_function_type is None
            held = f"{OF_LAMBDA}{number}" if is_followed else ""
            binding = Binding(node.start_byte, EVERYWHERE, parameter.type, parameter.value, parameter.step, held)
            scope.bind(parameter.name, binding)
        if top.tally is not None:
            top.tally.lambdas += 1
        self._frames.push(node, top.depth + 1, scope=scope)

    def take_scope(self, node: Node) -> None:
        top = self._frames.top
        self._frames.push(node, top.depth, scope=Scope(top.scope, runs_later=False))

    def take_branch(self, node: Node) -> None:
        if node.id in self._frames.claimed:
            return
        top = self._frames.top
        if top.tally is not None:
            top.tally.branch(top.depth)
        self._frames.push(node, top.depth + 1, branch=True)

    def take_further(self, node: Node) -> None:
        top = self._frames.top
        self._frames.claimed.add(node.id)
        self._turn(node)
        if top.tally is not None:
            top.tally.further()
        self._frames.push(node, top.depth, branch=True)

    def take_otherwise(self, node: Node) -> None:
        top = self._frames.top
        self._turn(node)
        if top.tally is not None:
            top.tally.otherwise()
        self._frames.push(node, top.depth, branch=True)

    def _turn(self, node: Node) -> None:
        """What a condition says about a name is over where its else begins."""
        for binding in self._frames.top.narrowed:
            binding.end = min(binding.end, node.start_byte)

    def take_switch(self, node: Node) -> None:
        top = self._frames.top
        if top.tally is not None:
            top.tally.switch(top.depth)
        self._frames.push(node, top.depth + 1)

    def take_case(self, node: Node) -> None:
        top = self._frames.top
        if top.tally is not None:
            top.tally.case()
        self._frames.push(node, top.depth, branch=True)

    def take_block(self, node: Node) -> None:
        self._frames.push(node, self._frames.top.depth + 1)

    def take_operator(self, node: Node) -> None:
        top = self._frames.top
        if top.tally is not None:
            top.tally.operator(node)
