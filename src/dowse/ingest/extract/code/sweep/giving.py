"""Nodes that give a name something: a local of a scope, or a field that may be defined by that alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dowse.ingest.extract.code.language import Bound, Definition, Language
from dowse.ingest.extract.code.scopes import Binding, is_local
from dowse.ingest.extract.code.source import Source, child
from dowse.ingest.extract.code.sweep.defining import TYPES, Defining
from dowse.ingest.extract.code.sweep.frames import Frames

if TYPE_CHECKING:
    from tree_sitter import Node


_MAX_RECEIVER_CHARS: Final = 200
_TYPES_ONLY: Final = frozenset({"interface", "typeAlias"})


class Giving:
    def __init__(self, language: Language, source: Source, frames: Frames, defining: Defining) -> None:
        self._language = language
        self._source = source
        self._frames = frames
        self._defining = defining
        self._of_script: set[str] = set()

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
            elif top.local and top.scope is not None and not bound.lasts:
                top.scope.bind(self._source.of(bound.target), binding)
                if bound.narrow:
                    top.narrowed.append(binding)
                elif self._language.scripts and top.scope.parent is self._frames.of_file:
                    self._keep_of_script(bound)
            elif bound.keeps is not None:
                self._keep(
                    bound.keeps,
                    binding,
                    self._source.of(bound.target),
                    top.draft,
                    divides=not (top.local or self._language.scripts),
                )
            elif top.scope is not None and self._source.of(bound.target) not in self._defining.members(None):
                top.scope.bind(self._source.of(bound.target), binding)  # of a loop at the top of a file

    def _assign_member(self, bound: Bound, binding: Binding) -> None:
        """`this.x = …` is a field of the class the method stands in."""
        if not self._language.fields_by_assignment:
            return
        owner = self._owner(self._source.of(bound.target))
        if bound.keeps is None:
            return
        shape = self._language.shapes[bound.target.type]
        name = self._source.of(child(bound.target, shape.member))
        if owner is not None:
            self._keep(bound.keeps, binding, name, owner)
        elif self._language.exports and not self._frames.top.local:
            self._assign_elsewhere(bound, binding, self._source.of(child(bound.target, shape.onto)), name)

    def _assign_elsewhere(self, bound: Bound, binding: Binding, receiver: str, name: str) -> None:
        """`Foo.x = …` outside of functions is a member of the Foo that this file defines; `exports.x` is its own."""
        if bound.keeps is None or len(receiver) > _MAX_RECEIVER_CHARS:
            return
        if f"{receiver}.{name}" in self._language.exports:
            self._defining.note_holder(bound.keeps, None)
        elif receiver in self._language.exports:
            if self._source.of(bound.value) != name and name not in self._defining.members(None):
                self._keep(bound.keeps, binding, name, None, divides=False)
        elif draft := self._defining.members(self._frames.top.draft).get(receiver.removesuffix(".prototype")):
            self._keep(bound.keeps, binding, name, draft.number, divides=False)
        elif receiver[:1].isupper():  # defined below, or in another file
            definition = Definition(
                name, "variable", bound.keeps, bound.keeps.byte_range, has_body=False, divides=False
            )
            self._defining.note_holder(bound.keeps, self._defining.add(definition, None, by_name=False).number)

    def _keep_of_script(self, bound: Bound) -> None:
        """A name of the file itself, once."""
        around, name = self._frames.around(), self._source.of(bound.target)
        if bound.keeps is None or name in self._of_script or (around and around.definition.kind != "namespace"):
            return
        self._of_script.add(name)
        definition = Definition(name, "variable", bound.keeps, bound.keeps.byte_range, has_body=False, divides=False)
        self._defining.add(definition, self._frames.top.draft, by_name=False)

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

    def _keep(self, span: Node, binding: Binding, name: str, parent: int | None, *, divides: bool = True) -> None:
        draft = self._defining.members(parent).get(name)
        if draft is None and binding.key:
            return  # an element of something that is not defined here
        if draft is None or (self._language.types_apart and draft.definition.kind in _TYPES_ONLY):
            around = None if parent is None else self._frames.found.drafts[parent].definition
            kind = self._language.kept(name, around)
            definition = Definition(name, kind, span, span.byte_range, binding.type, divides=divides)
            draft = self._defining.add(definition, parent)
            self._defining.note_holder(span, draft.number)
        draft.given.append((binding, self._frames.top.scope))
