"""Nodes that give a name something: a local of a scope, or a field that may be defined by that alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dowse.ingest.extract.code.language import Bound, Definition, Language
from dowse.ingest.extract.code.scopes import Binding, is_local
from dowse.ingest.extract.code.source import Source, child
from dowse.ingest.extract.code.sweep.defining import TYPES, Defining
from dowse.ingest.extract.code.sweep.frames import Frames

if TYPE_CHECKING:
    from tree_sitter import Node


class Giving:
    def __init__(self, language: Language, source: Source, frames: Frames, defining: Defining) -> None:
        self._language = language
        self._source = source
        self._frames = frames
        self._defining = defining

    def bind(self, node: Node) -> None:
        for bound in self._language.bind(node, self._source):
            top = self._frames.top
            binding = Binding(
                bound.at, top.branch_end, bound.type, bound.value, bound.step, bound.holds, bound.narrow, bound.key
            )
            shape = self._language.shapes.get(bound.target.type)
            if bound.of_this:
                self._keep_on_this(bound, binding)
            elif shape is not None and shape.member:
                self._assign_member(bound, binding)
            elif bound.key and not is_local(self._source.of(bound.target), top.scope):
                if bound.keeps is not None:
                    self._keep(bound.keeps, binding, self._source.of(bound.target), None if top.local else top.draft)
            elif top.local and top.scope is not None:
                top.scope.bind(self._source.of(bound.target), binding)
                if bound.narrow:
                    top.narrowed.append(binding)
            elif bound.keeps is not None:
                self._keep(bound.keeps, binding, self._source.of(bound.target), top.draft)
            elif top.scope is not None and self._source.of(bound.target) not in self._defining.members(None):
                top.scope.bind(self._source.of(bound.target), binding)  # of a loop at the top of a file

    def _assign_member(self, bound: Bound, binding: Binding) -> None:
        """`this.x = …` is a field of the class the method stands in."""
        if not self._language.fields_by_assignment:
            return
        owner = self._owner(self._source.of(bound.target))
        if owner is not None and bound.keeps is not None:
            shape = self._language.shapes[bound.target.type]
            name = self._source.of(child(bound.target, shape.member))
            self._keep(bound.keeps, binding, name, owner)

    def _keep_on_this(self, bound: Bound, binding: Binding) -> None:
        """`@x = …` says by itself that it is a field of the class around."""
        number = self._frames.top.draft
        while number is not None and self._frames.found.drafts[number].definition.kind not in TYPES:
            number = self._frames.found.drafts[number].parent
        if number is not None and bound.keeps is not None:
            self._keep(bound.keeps, binding, self._source.of(bound.target), number)

    def _owner(self, target: str) -> int | None:
        """The class whose object the target begins with, if it is one member of it."""
        receiver, _, rest = target.partition(".")
        number = self._frames.top.draft
        while number is not None:
            draft = self._frames.found.drafts[number]
            first = draft.definition.parameters[:1]
            if first and first[0].name == receiver:
                return draft.parent if first[0].holds == "this" and "." not in rest else None
            number = draft.parent
        return None

    def _keep(self, span: Node, binding: Binding, name: str, parent: int | None) -> None:
        draft = self._defining.members(parent).get(name)
        if draft is None and binding.key:
            return  # an element of something that is not defined here
        if draft is None:
            around = None if parent is None else self._frames.found.drafts[parent].definition
            kind = self._language.kept(name, around)
            definition = Definition(name, kind, span, span.byte_range, binding.type)
            draft = self._defining.add(definition, parent)
        draft.given.append((binding, self._frames.top.scope))
