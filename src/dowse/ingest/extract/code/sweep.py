"""One pass over the nodes a language's query names, in the order they stand: who is in whom, and what holds what."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from dowse.ingest.extract.code.drafts import Draft, Findings, Site
from dowse.ingest.extract.code.language import Bound, Definition, Language, extension
from dowse.ingest.extract.code.scopes import EVERYWHERE, Binding, Scope
from dowse.ingest.extract.code.source import Source, child
from dowse.ingest.extract.code.statistics import Tally

if TYPE_CHECKING:
    from tree_sitter import Node

FUNCTIONS: Final = frozenset({"function", "method", "constructor", "property", "event"})
TYPES: Final = frozenset({"namespace", "class", "interface", "struct", "record", "enum"})


class _Frame:
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


class Sweep:
    def __init__(self, language: Language, source: Source) -> None:
        self.found = Findings()
        self._language = language
        self._source = source
        self._top = _Frame(EVERYWHERE)
        self._stack = [self._top]
        self._globals: dict[str, Draft] = {}
        self._types: dict[tuple[int | None, str], int] = {}  # by what they stand in and their names
        self._claimed: set[int] = set()

    def run(self, captures: dict[str, list[Node]]) -> Findings:
        stack = self._stack
        for start, _, _, taker, node in self._in_order(captures):
            while stack[-1].end <= start:
                stack.pop()
                self._top = stack[-1]
            taker(node)
        return self.found

    def _in_order(
        self, captures: dict[str, list[Node]]
    ) -> Iterable[tuple[int, int, int, Callable[[Node], None], Node]]:
        """Outer nodes before inner ones; the third number keeps nodes themselves from being compared."""
        events: list[tuple[int, int, int, Callable[[Node], None], Node]] = []
        for name, taker in self._takers().items():
            for node in captures.get(name, ()):
                start, end = node.byte_range
                events.append((start, -end, len(events), taker, node))
        return sorted(events)

    def _takers(self) -> dict[str, Callable[[Node], None]]:
        """What takes which capture; where two name the same node, the one that stands first here comes first.

        Not kept: the methods would keep this object, and with it the tree, from going when it is done with.
        """
        return {
            "error": self._error,
            "define": self._define,
            "construct": self._construct,
            "decorate": self._decorate,
            "call": self._call,
            "lambda": self._lambda,
            "scope": self._scope,
            "bind": self._bind,
            "further": self._further,
            "otherwise": self._otherwise,
            "branch": self._branch,
            "switch": self._switch,
            "case": self._case,
            "block": self._block,
            "operator": self._operator,
            "return": self._return,
            "result": self._result,
            "refer": self._refer,
        }

    def _push(self, node: Node, depth: int, *, scope: Scope | None = None, branch: bool = False) -> None:
        top = self._top
        frame = _Frame(
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
        self._stack.append(frame)
        self._top = frame

    # --- definitions ---

    def _define(self, node: Node) -> None:
        around = self._around()
        for definition in self._language.define(node, around.definition if around else None, self._source):
            if definition.reopens and self._reopen(definition, node.end_byte):
                continue
            draft = self._add_owned(definition) if definition.owner else self._add(definition, self._top.draft)
            if definition.function is not None:
                self._claimed.add(definition.function.id)
            if definition.kind in FUNCTIONS and definition.has_body:
                self._open_function(node, draft)
            elif definition.kind in TYPES:
                self._open_type(EVERYWHERE if definition.to_the_end else node.end_byte)

    def _around(self) -> Draft | None:
        return None if self._top.draft is None else self.found.drafts[self._top.draft]

    def _add(self, definition: Definition, parent: int | None) -> Draft:
        draft = Draft(definition, parent, self._top.scope)
        self.found.drafts.append(draft)
        names = self._globals if parent is None else self.found.drafts[parent].fields
        names.setdefault(definition.name, draft)
        return draft

    def _add_owned(self, definition: Definition) -> Draft:
        """A member of its owner where that is known here, otherwise an extension of it."""
        number = self._types.get((self._top.draft, definition.owner))
        return (
            self._add(definition, number) if number is not None else self._add(extension(definition), self._top.draft)
        )

    def _open_function(self, node: Node, draft: Draft) -> None:
        scope = Scope(self._top.scope, runs_later=True)
        for parameter in draft.definition.parameters:
            binding = Binding(node.start_byte, EVERYWHERE, parameter.type, holds=parameter.holds)
            scope.bind(parameter.name, binding)
        draft.tally, draft.scope = Tally(), scope
        number = len(self.found.drafts) - 1
        self._top = _Frame(node.end_byte, number, scope, draft.tally, 0, EVERYWHERE, local=True)
        self._stack.append(self._top)

    def _open_type(self, end: int) -> None:
        number = len(self.found.drafts) - 1
        self._types.setdefault((self._top.draft, self.found.drafts[number].definition.name), number)
        self._top = _Frame(end, number, self._top.scope)
        self._stack.append(self._top)

    def _reopen(self, definition: Definition, end: int) -> bool:
        """Whether the type it adds to is known here; then what follows is in that."""
        number = self._types.get((self._top.draft, definition.name))
        if number is None:
            return False
        draft = self.found.drafts[number]
        bases = dict.fromkeys((*draft.definition.bases, *definition.bases))
        draft.definition = draft.definition._replace(bases=tuple(bases))
        self._top = _Frame(end, number, self._top.scope)
        self._stack.append(self._top)
        return True

    # --- names that are given something ---

    def _bind(self, node: Node) -> None:
        for bound in self._language.bind(node, self._source):
            top = self._top
            binding = Binding(bound.at, top.branch_end, bound.type, bound.value, bound.step, bound.holds, bound.narrow)
            shape = self._language.shapes.get(bound.target.type)
            if bound.of_this:
                self._keep_on_this(bound, binding)
            elif shape is not None and shape.member:
                self._assign_member(bound, binding)
            elif top.local and top.scope is not None:
                top.scope.bind(self._source.of(bound.target), binding)
                if bound.narrow:
                    top.narrowed.append(binding)
            elif bound.keeps is not None:
                self._keep(bound.keeps, binding, self._source.of(bound.target), top.draft)

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
        number = self._top.draft
        while number is not None and self.found.drafts[number].definition.kind not in TYPES:
            number = self.found.drafts[number].parent
        if number is not None and bound.keeps is not None:
            self._keep(bound.keeps, binding, self._source.of(bound.target), number)

    def _owner(self, target: str) -> int | None:
        """The class whose object the target begins with, if it is one member of it."""
        receiver, _, rest = target.partition(".")
        number = self._top.draft
        while number is not None:
            draft = self.found.drafts[number]
            first = draft.definition.parameters[:1]
            if first and first[0].name == receiver:
                return draft.parent if first[0].holds == "this" and "." not in rest else None
            number = draft.parent
        return None

    def _keep(self, span: Node, binding: Binding, name: str, parent: int | None) -> None:
        names = self._globals if parent is None else self.found.drafts[parent].fields
        draft = names.get(name)
        if draft is None:
            around = None if parent is None else self.found.drafts[parent].definition
            kind = self._language.kept(name, around)
            definition = Definition(name, kind, span, span.byte_range, binding.type)
            draft = self._add(definition, parent)
        draft.given.append((binding, self._top.scope))

    # --- calls ---

    def _site(self, node: Node, kind: str) -> None:
        if node.id in self._claimed:
            return
        top = self._top
        if top.tally is not None:
            top.tally.calls += 1
        self.found.sites.append(Site(node, top.scope, top.draft, kind))

    def _call(self, node: Node) -> None:
        self._site(node, "call")

    def _construct(self, node: Node) -> None:
        self._site(node, "new")
        self._claimed.add(node.id)

    def _decorate(self, node: Node) -> None:
        self._site(node, "decorate")
        self._claimed.add(node.id)

    def _refer(self, node: Node) -> None:
        self.found.sites.append(Site(node, self._top.scope, self._top.draft, "refer"))

    def _error(self, _node: Node) -> None:
        self.found.errors += 1

    # --- what functions are made of ---

    def _return(self, node: Node) -> None:
        """Of a lambda inside of the function it is none."""
        draft = self._around()
        if draft is not None and draft.tally is not None and draft.scope is self._top.scope:
            draft.tally.returns += 1
            value = child(node, "0")
            if value is not None:
                draft.returned.append(value)

    def _result(self, node: Node) -> None:
        draft = self._around()
        if draft is not None and draft.scope is self._top.scope:
            draft.returned.append(node)

    def _lambda(self, node: Node) -> None:
        if node.id in self._claimed:
            return
        scope = Scope(self._top.scope, runs_later=False)
        for parameter in self._language.lambda_parameters(node, self._source):
            binding = Binding(node.start_byte, EVERYWHERE, parameter.type, parameter.value, parameter.step)
            scope.bind(parameter.name, binding)
        if self._top.tally is not None:
            self._top.tally.lambdas += 1
        self._push(node, self._top.depth + 1, scope=scope)

    def _scope(self, node: Node) -> None:
        self._push(node, self._top.depth, scope=Scope(self._top.scope, runs_later=False))

    def _branch(self, node: Node) -> None:
        if node.id in self._claimed:
            return
        if self._top.tally is not None:
            self._top.tally.branch(self._top.depth)
        self._push(node, self._top.depth + 1, branch=True)

    def _further(self, node: Node) -> None:
        self._claimed.add(node.id)
        self._turn(node)
        if self._top.tally is not None:
            self._top.tally.further()
        self._push(node, self._top.depth, branch=True)

    def _otherwise(self, node: Node) -> None:
        self._turn(node)
        if self._top.tally is not None:
            self._top.tally.otherwise()
        self._push(node, self._top.depth, branch=True)

    def _turn(self, node: Node) -> None:
        """What a condition says about a name is over where its else begins."""
        for binding in self._top.narrowed:
            binding.end = min(binding.end, node.start_byte)

    def _switch(self, node: Node) -> None:
        if self._top.tally is not None:
            self._top.tally.switch(self._top.depth)
        self._push(node, self._top.depth + 1)

    def _case(self, node: Node) -> None:
        if self._top.tally is not None:
            self._top.tally.case()
        self._push(node, self._top.depth, branch=True)

    def _block(self, node: Node) -> None:
        self._push(node, self._top.depth + 1)

    def _operator(self, node: Node) -> None:
        if self._top.tally is not None:
            self._top.tally.operator(node)
