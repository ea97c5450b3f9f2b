"""Nodes that define something: drafts of symbols, each in the one it stands in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dowse.ingest.extract.code.drafts import Draft
from dowse.ingest.extract.code.language import Definition, Language, extension
from dowse.ingest.extract.code.scopes import EVERYWHERE, Binding, Scope
from dowse.ingest.extract.code.source import Source
from dowse.ingest.extract.code.statistics import Tally
from dowse.ingest.extract.code.sweep.frames import Frame, Frames

if TYPE_CHECKING:
    from tree_sitter import Node

FUNCTIONS: Final = frozenset({"function", "method", "constructor", "property", "event"})
HOLDING: Final = frozenset({"field", "typeAlias"})  # beside variables
TYPES: Final = frozenset({"namespace", "class", "interface", "struct", "record", "enum"})


class Defining:
    def __init__(self, language: Language, source: Source, frames: Frames) -> None:
        self._language = language
        self._source = source
        self._frames = frames
        self._globals: dict[str, Draft] = {}
        self._types: dict[tuple[int | None, str], int] = {}  # by what they stand in and their names
        self._holders: dict[int, int | None] = {}  # drafts by the nodes whose values may have members

    def define(self, node: Node) -> None:
        if node.id in self._frames.claimed:
            return  # named by what it is given to
        around = self._frames.around()
        for definition in self._language.define(node, around.definition if around else None, self._source):
            if definition.reopens and self._reopen(definition, node.end_byte):
                continue
            draft = self._add_owned(definition) if definition.owner else self.add(definition, self._frames.top.draft)
            if definition.function is not None:
                self._frames.claimed.add(definition.function.id)
            if definition.kind in HOLDING:
                self.note_holder(node, draft.number)
            if definition.kind in FUNCTIONS and definition.has_body:
                self._open_function(node, draft)
            elif definition.kind in TYPES:
                self._open_type(EVERYWHERE if definition.to_the_end else node.end_byte)

    def note_holder(self, node: Node, number: int | None) -> None:
        """What members of a value in the node are members of; without a number, they stand in the file itself."""
        self._holders[node.id] = number

    def define_members(self, node: Node) -> None:
        holder = node.parent
        while holder is not None and holder.type in self._language.within:
            holder = holder.parent
        if holder is None or holder.id not in self._holders or self._frames.top.local:
            return
        number = self._holders[holder.id]
        for definition, part in self._language.members(node, self._source):
            kind = definition.kind if number is not None else "variable"
            self.note_holder(part, self.add(definition._replace(kind=kind), number).number)

    def add(self, definition: Definition, parent: int | None, *, by_name: bool = True) -> Draft:
        """`by_name`: what is assigned to the name is given to it."""
        draft = Draft(definition, len(self._frames.found.drafts), parent, self._frames.top.scope)
        self._frames.found.drafts.append(draft)
        if by_name:
            self.members(parent).setdefault(definition.name, draft)
        return draft

    def members(self, parent: int | None) -> dict[str, Draft]:
        """What stands in it by name; without a parent, what stands in the file itself."""
        return self._globals if parent is None else self._frames.found.drafts[parent].fields

    def _add_owned(self, definition: Definition) -> Draft:
        """A member of its owner where that is known here, otherwise an extension of it."""
        here = self._frames.top.draft
        number = self._types.get((here, definition.owner))
        return self.add(extension(definition), here) if number is None else self.add(definition, number)

    def _open_function(self, node: Node, draft: Draft) -> None:
        scope = Scope(self._frames.top.scope, runs_later=True)
        for parameter in draft.definition.parameters:
            binding = Binding(node.start_byte, EVERYWHERE, parameter.type, holds=parameter.holds)
            scope.bind(parameter.name, binding)
        draft.tally, draft.scope = Tally(), scope
        number = len(self._frames.found.drafts) - 1
        self._frames.open(Frame(node.end_byte, number, scope, draft.tally, 0, EVERYWHERE, local=True))

    def _open_type(self, end: int) -> None:
        number = len(self._frames.found.drafts) - 1
        self._types.setdefault((self._frames.top.draft, self._frames.found.drafts[number].definition.name), number)
        self._frames.open(Frame(end, number, self._frames.top.scope))

    def _reopen(self, definition: Definition, end: int) -> bool:
        """Whether the type it adds to is known here; then what follows is in that."""
        number = self._types.get((self._frames.top.draft, definition.name))
        if number is None:
            return False
        draft = self._frames.found.drafts[number]
        bases = dict.fromkeys((*draft.definition.bases, *definition.bases))
        draft.definition = draft.definition._replace(bases=tuple(bases))
        self._frames.open(Frame(end, number, self._frames.top.scope))
        return True
