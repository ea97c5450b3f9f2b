"""One pass over a syntax tree: definitions, scopes, bindings and complexity."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from dowse.ingest.extract.code.expressions import MAX_OFFSET, Binding, NameScope, is_local
from dowse.ingest.extract.code.language import BoundName, Language, SourceText, SyntaxDefinition, as_extension, child
from dowse.model import FunctionMetrics
from dowse.text.receiver_expressions import LAMBDA_PARAMETER

if TYPE_CHECKING:
    from tree_sitter import Node

# --------------------------------------------------------------------------------------------------
# Results of the syntax pass: pending symbols, and call sites to read once all names are known.


class PendingSymbol:
    """A pending symbol: its definition and the values bound to it."""

    __slots__ = ("bindings", "complexity", "definition", "fields", "index", "parent", "returned_nodes", "scope")

    def __init__(self, definition: SyntaxDefinition, index: int, parent: int | None, scope: NameScope | None) -> None:
        self.definition = definition
        self.index = index
        self.parent = parent
        self.scope = scope
        self.bindings: list[tuple[Binding, NameScope | None]] = []
        self.returned_nodes: list[Node] = []
        self.complexity: ComplexityCounter | None = None
        self.fields: dict[str, PendingSymbol] = {}


class PendingCall(NamedTuple):
    """A call or a reference to a callable, with its scope and enclosing definition."""

    node: Node
    scope: NameScope | None
    owner: int | None
    kind: str = "call"


@dataclass(slots=True)
class SyntaxPassResult:
    symbols: list[PendingSymbol] = field(default_factory=list)
    calls: list[PendingCall] = field(default_factory=list)
    errors: int = 0


# --------------------------------------------------------------------------------------------------
# Measure the complexity of functions during the syntax pass.


class ComplexityCounter:
    """The counters of one function; `depth` is the nesting depth of the node being counted."""

    __slots__ = ("_operators", "calls", "cognitive", "cyclomatic", "lambdas", "nesting", "returns")

    def __init__(self) -> None:
        self.cyclomatic = 1
        self.cognitive = 0
        self.nesting = 0
        self.returns = 0
        self.calls = 0
        self.lambdas = 0
        self._operators: list[tuple[int, str]] = []  # ends and signs of the enclosing operators

    def add_branch(self, depth: int) -> None:
        """Count an if, a loop or a catch; nesting adds to its cognitive cost."""
        self.cyclomatic += 1
        self.cognitive += 1 + depth

    def add_switch(self, depth: int) -> None:
        self.cognitive += 1 + depth

    def add_case(self) -> None:
        self.cyclomatic += 1

    def add_else_if(self) -> None:
        """Count an else-if, which adds no nesting cost."""
        self.cyclomatic += 1
        self.cognitive += 1

    def add_else(self) -> None:
        self.cognitive += 1

    def add_operator(self, node: Node) -> None:
        """Count a boolean operator as a branch; a run of equal operators adds to the cognitive cost once."""
        self.cyclomatic += 1
        sign = node.child(1) if node.child_count > 1 else None
        operator = sign.type if sign else ""
        while self._operators and self._operators[-1][0] < node.end_byte:
            self._operators.pop()
        if not self._operators or self._operators[-1][1] != operator:
            self.cognitive += 1
        self._operators.append((node.end_byte, operator))

    def record_depth(self, depth: int) -> None:
        self.nesting = max(self.nesting, depth)

    def stats(self, parameters: int) -> FunctionMetrics:
        return FunctionMetrics(
            self.cyclomatic, self.cognitive, self.nesting, parameters, self.returns, self.calls, self.lambdas
        )


# --------------------------------------------------------------------------------------------------
# The position of the syntax pass: enclosing definition, scope and branch, and the results so far.


class SyntaxFrame:
    """The position up to byte `end`. `local`: names bound here are local."""

    __slots__ = ("branch_end", "complexity", "depth", "end", "local", "narrowed", "scope", "symbol")

    def __init__(
        self,
        end: int,
        symbol: int | None = None,
        scope: NameScope | None = None,
        complexity: ComplexityCounter | None = None,
        depth: int = 0,
        branch_end: int = MAX_OFFSET,
        local: bool = False,
    ) -> None:
        self.end = end
        self.symbol = symbol
        self.scope = scope
        self.complexity = complexity
        self.depth = depth
        self.branch_end = branch_end
        self.local = local
        self.narrowed: list[Binding] = []


class FrameStack:
    """A stack of frames. `handled` has the ids of nodes to skip."""

    __slots__ = ("_stack", "file_scope", "handled", "result", "top")

    def __init__(self) -> None:
        self.result = SyntaxPassResult()
        self.handled: set[int] = set()
        self.file_scope = NameScope(None, runs_later=False)
        self.top = SyntaxFrame(MAX_OFFSET, scope=self.file_scope)
        self._stack = [self.top]

    def enclosing_symbol(self) -> PendingSymbol | None:
        return None if self.top.symbol is None else self.result.symbols[self.top.symbol]

    def open(self, frame: SyntaxFrame) -> None:
        self._stack.append(frame)
        self.top = frame

    def close_before(self, start: int) -> None:
        """Close the frames that end before this byte."""
        while self._stack[-1].end <= start:
            self._stack.pop()
        self.top = self._stack[-1]

    def push(self, node: Node, depth: int, *, scope: NameScope | None = None, branch: bool = False) -> None:
        """Open a frame inside the current one."""
        top = self.top
        frame = SyntaxFrame(
            node.end_byte,
            top.symbol,
            scope or top.scope,
            top.complexity,
            depth,
            node.end_byte if branch else top.branch_end,
            top.local or scope is not None,
        )
        if top.complexity is not None:
            top.complexity.record_depth(depth)
        self.open(frame)


# --------------------------------------------------------------------------------------------------
# Handle the nodes that define something: add pending symbols, each under its parent.

SYNTAX_FUNCTION_KINDS: Final = frozenset({"function", "method", "constructor", "property", "event"})
SYNTAX_HOLDER_KINDS: Final = frozenset({"field", "typeAlias"})  # besides variables
SYNTAX_TYPE_KINDS: Final = frozenset({"namespace", "class", "interface", "struct", "record", "enum"})


class DefinitionHandler:
    def __init__(self, language: Language, source: SourceText, frames: FrameStack) -> None:
        self._language = language
        self._source = source
        self._frames = frames
        self._globals: dict[str, PendingSymbol] = {}
        self._types: dict[tuple[int | None, str], int] = {}  # by parent and name
        self._holders: dict[int, int | None] = {}  # symbols by the nodes whose values may have members

    def define(self, node: Node) -> None:
        if node.id in self._frames.handled:
            return  # named by the variable it is assigned to
        enclosing = self._frames.enclosing_symbol()
        for definition in self._language.define(node, enclosing.definition if enclosing else None, self._source):
            if definition.reopens and self._reopen(definition, node.end_byte):
                continue
            symbol = self._add_owned(definition) if definition.owner else self.add(definition, self._frames.top.symbol)
            if definition.function is not None:
                self._frames.handled.add(definition.function.id)
            if definition.kind in SYNTAX_HOLDER_KINDS:
                self.register_holder(node, symbol.index)
            if definition.kind in SYNTAX_FUNCTION_KINDS and definition.has_body:
                self._open_function(node, symbol)
            elif definition.kind in SYNTAX_TYPE_KINDS:
                self._open_type(MAX_OFFSET if definition.spans_rest_of_file else node.end_byte)

    def register_holder(self, node: Node, number: int | None) -> None:
        """Record which symbol owns the members of a value in the node; None stands for the file itself."""
        self._holders[node.id] = number

    def define_members(self, node: Node) -> None:
        holder = node.parent
        while holder is not None and holder.type in self._language.transparent_nodes:
            holder = holder.parent
        if holder is None or holder.id not in self._holders or self._frames.top.local:
            return
        number = self._holders[holder.id]
        for definition, part in self._language.members(node, self._source):
            kind = definition.kind if number is not None else "variable"
            self.register_holder(part, self.add(definition._replace(kind=kind), number).index)

    def add(self, definition: SyntaxDefinition, parent: int | None, *, by_name: bool = True) -> PendingSymbol:
        """Add a pending symbol; with `by_name`, later assignments to the name are bound to it."""
        symbol = PendingSymbol(definition, len(self._frames.result.symbols), parent, self._frames.top.scope)
        self._frames.result.symbols.append(symbol)
        if by_name:
            self.members(parent).setdefault(definition.name, symbol)
        return symbol

    def members(self, parent: int | None) -> dict[str, PendingSymbol]:
        """Return the members of a symbol by name; without a parent, those of the file."""
        return self._globals if parent is None else self._frames.result.symbols[parent].fields

    def _add_owned(self, definition: SyntaxDefinition) -> PendingSymbol:
        """Add a member of the owner if this file defines that, otherwise an extension."""
        parent = self._frames.top.symbol
        number = self._types.get((parent, definition.owner))
        return self.add(as_extension(definition), parent) if number is None else self.add(definition, number)

    def _open_function(self, node: Node, symbol: PendingSymbol) -> None:
        scope = NameScope(self._frames.top.scope, runs_later=True)
        for parameter in symbol.definition.parameters:
            binding = Binding(node.start_byte, MAX_OFFSET, parameter.type, value_expression=parameter.value_expression)
            scope.bind(parameter.name, binding)
        symbol.complexity, symbol.scope = ComplexityCounter(), scope
        number = len(self._frames.result.symbols) - 1
        self._frames.open(SyntaxFrame(node.end_byte, number, scope, symbol.complexity, 0, MAX_OFFSET, local=True))

    def _open_type(self, end: int) -> None:
        number = len(self._frames.result.symbols) - 1
        self._types.setdefault((self._frames.top.symbol, self._frames.result.symbols[number].definition.name), number)
        self._frames.open(SyntaxFrame(end, number, self._frames.top.scope))

    def _reopen(self, definition: SyntaxDefinition, end: int) -> bool:
        """Reopen the type that the definition extends, if this file defines it; report whether it does."""
        number = self._types.get((self._frames.top.symbol, definition.name))
        if number is None:
            return False
        symbol = self._frames.result.symbols[number]
        bases = dict.fromkeys((*symbol.definition.bases, *definition.bases))
        symbol.definition = symbol.definition._replace(bases=tuple(bases))
        self._frames.open(SyntaxFrame(end, number, self._frames.top.scope))
        return True


# --------------------------------------------------------------------------------------------------
# Handle the nodes of function bodies: returns, branches, lambdas, and the complexity counters.


class BodyHandler:
    def __init__(self, language: Language, source: SourceText, frames: FrameStack) -> None:
        self._language = language
        self._source = source
        self._frames = frames

    def handle_return(self, node: Node) -> None:
        """Record a return of the enclosing function, unless it is inside a lambda."""
        symbol = self._frames.enclosing_symbol()
        if symbol is not None and symbol.complexity is not None and symbol.scope is self._frames.top.scope:
            symbol.complexity.returns += 1
            value = child(node, "0")
            if value is not None:
                symbol.returned_nodes.append(value)

    def handle_result(self, node: Node) -> None:
        symbol = self._frames.enclosing_symbol()
        if symbol is not None and symbol.scope is self._frames.top.scope:
            symbol.returned_nodes.append(node)

    def handle_lambda(self, node: Node) -> None:
        if node.id in self._frames.handled:
            return
        top = self._frames.top
        scope = NameScope(top.scope, runs_later=False)
        for number, parameter in enumerate(self._language.lambda_parameters(node, self._source)):
            is_followed = self._language.followed_nodes and self._language.is_function_type is None
            expression = f"{LAMBDA_PARAMETER}{number}" if is_followed else ""
            binding = Binding(node.start_byte, MAX_OFFSET, parameter.type, parameter.value, parameter.step, expression)
            scope.bind(parameter.name, binding)
        if top.complexity is not None:
            top.complexity.lambdas += 1
        self._frames.push(node, top.depth + 1, scope=scope)

    def handle_scope(self, node: Node) -> None:
        top = self._frames.top
        self._frames.push(node, top.depth, scope=NameScope(top.scope, runs_later=False))

    def handle_branch(self, node: Node) -> None:
        if node.id in self._frames.handled:
            return
        top = self._frames.top
        if top.complexity is not None:
            top.complexity.add_branch(top.depth)
        self._frames.push(node, top.depth + 1, branch=True)

    def handle_else_if(self, node: Node) -> None:
        top = self._frames.top
        self._frames.handled.add(node.id)
        self._end_narrowing(node)
        if top.complexity is not None:
            top.complexity.add_else_if()
        self._frames.push(node, top.depth, branch=True)

    def handle_else(self, node: Node) -> None:
        top = self._frames.top
        self._end_narrowing(node)
        if top.complexity is not None:
            top.complexity.add_else()
        self._frames.push(node, top.depth, branch=True)

    def _end_narrowing(self, node: Node) -> None:
        """End the narrowing by a condition where its else begins."""
        for binding in self._frames.top.narrowed:
            binding.end = min(binding.end, node.start_byte)

    def handle_switch(self, node: Node) -> None:
        top = self._frames.top
        if top.complexity is not None:
            top.complexity.add_switch(top.depth)
        self._frames.push(node, top.depth + 1)

    def handle_case(self, node: Node) -> None:
        top = self._frames.top
        if top.complexity is not None:
            top.complexity.add_case()
        self._frames.push(node, top.depth, branch=True)

    def handle_block(self, node: Node) -> None:
        self._frames.push(node, self._frames.top.depth + 1)

    def handle_operator(self, node: Node) -> None:
        top = self._frames.top
        if top.complexity is not None:
            top.complexity.add_operator(node)


# --------------------------------------------------------------------------------------------------
# Handle the nodes that bind names: locals of a scope, and fields that exist only by assignment.

_MAX_RECEIVER_CHARS: Final = 200
_TYPES_ONLY: Final = frozenset({"interface", "typeAlias"})


class BindingHandler:
    def __init__(
        self, language: Language, source: SourceText, frames: FrameStack, definitions: DefinitionHandler
    ) -> None:
        self._language = language
        self._source = source
        self._frames = frames
        self._definitions = definitions
        self._script_names: set[str] = set()

    def bind(self, node: Node) -> None:
        for bound in self._language.bind(node, self._source):
            top = self._frames.top
            binding = Binding(
                bound.at,
                top.branch_end,
                bound.type,
                bound.value,
                bound.step,
                bound.value_expression,
                bound.narrows,
                bound.key,
            )
            shape = self._language.shapes.get(bound.target.type)
            if bound.is_field:
                self._record_own_field(bound, binding)
            elif shape is not None and shape.member:
                self._record_member(bound, binding)
            elif bound.key and not is_local(self._source.text(bound.target), top.scope):
                if bound.defines is not None:
                    self._record_field(
                        bound.defines, binding, self._source.text(bound.target), None if top.local else top.symbol
                    )
            elif top.local and top.scope is not None and not bound.never_local:
                top.scope.bind(self._source.text(bound.target), binding)
                if bound.narrows:
                    top.narrowed.append(binding)
                elif self._language.has_script_scope and top.scope.parent is self._frames.file_scope:
                    self._record_script_variable(bound)
            elif bound.defines is not None:
                self._record_field(
                    bound.defines,
                    binding,
                    self._source.text(bound.target),
                    top.symbol,
                    splits_blocks=not (top.local or self._language.has_script_scope),
                )
            elif top.scope is not None and self._source.text(bound.target) not in self._definitions.members(None):
                top.scope.bind(self._source.text(bound.target), binding)  # a loop variable at the top level

    def _record_member(self, bound: BoundName, binding: Binding) -> None:
        """Record `this.x = …` as a field of the class around the method."""
        if not self._language.fields_by_assignment:
            return
        owner = self._receiver_class(self._source.text(bound.target))
        if bound.defines is None:
            return
        shape = self._language.shapes[bound.target.type]
        name = self._source.text(child(bound.target, shape.member))
        if owner is not None:
            self._record_field(bound.defines, binding, name, owner)
        elif self._language.exports and not self._frames.top.local:
            self._record_external_member(bound, binding, self._source.text(child(bound.target, shape.base)), name)

    def _record_external_member(self, bound: BoundName, binding: Binding, receiver: str, name: str) -> None:
        """Record top-level `Foo.x = …` as a member of this file's Foo, and `exports.x = …` as one of the file."""
        if bound.defines is None or len(receiver) > _MAX_RECEIVER_CHARS:
            return
        if f"{receiver}.{name}" in self._language.exports:
            self._definitions.register_holder(bound.defines, None)
        elif receiver in self._language.exports:
            if self._source.text(bound.value) != name and name not in self._definitions.members(None):
                self._record_field(bound.defines, binding, name, None, splits_blocks=False)
        elif symbol := self._definitions.members(self._frames.top.symbol).get(receiver.removesuffix(".prototype")):
            self._record_field(bound.defines, binding, name, symbol.index, splits_blocks=False)
        elif receiver[:1].isupper():  # defined below, or in another file
            definition = SyntaxDefinition(
                name, "variable", bound.defines, bound.defines.byte_range, has_body=False, splits_blocks=False
            )
            self._definitions.register_holder(
                bound.defines, self._definitions.add(definition, None, by_name=False).index
            )

    def _record_script_variable(self, bound: BoundName) -> None:
        """Record a top-level variable of a script, once."""
        enclosing, name = self._frames.enclosing_symbol(), self._source.text(bound.target)
        if (
            bound.defines is None
            or name in self._script_names
            or (enclosing and enclosing.definition.kind != "namespace")
        ):
            return
        self._script_names.add(name)
        definition = SyntaxDefinition(
            name, "variable", bound.defines, bound.defines.byte_range, has_body=False, splits_blocks=False
        )
        self._definitions.add(definition, self._frames.top.symbol, by_name=False)

    def _record_own_field(self, bound: BoundName, binding: Binding) -> None:
        """Record `@x = …`, which is always a field of the enclosing class."""
        number = self._frames.top.symbol
        while number is not None and self._frames.result.symbols[number].definition.kind not in SYNTAX_TYPE_KINDS:
            number = self._frames.result.symbols[number].parent
        if number is not None and bound.defines is not None:
            self._record_field(bound.defines, binding, self._source.text(bound.target), number)

    def _receiver_class(self, target: str) -> int | None:
        """Return the class of the receiver if the target is a direct member of `self`."""
        receiver, _, rest = target.partition(".")
        number = self._frames.top.symbol
        while number is not None:
            symbol = self._frames.result.symbols[number]
            first = symbol.definition.parameters[:1]
            if first and first[0].name == receiver:
                return symbol.parent if first[0].value_expression == "this" and "." not in rest else None
            number = symbol.parent
        return None

    def _record_field(
        self, span: Node, binding: Binding, name: str, parent: int | None, *, splits_blocks: bool = True
    ) -> None:
        symbol = self._definitions.members(parent).get(name)
        if symbol is None and binding.key:
            return  # an element of something that is not defined here
        if symbol is None or (self._language.separates_type_names and symbol.definition.kind in _TYPES_ONLY):
            enclosing = None if parent is None else self._frames.result.symbols[parent].definition
            kind = self._language.assigned_kind(name, enclosing)
            definition = SyntaxDefinition(name, kind, span, span.byte_range, binding.type, splits_blocks=splits_blocks)
            symbol = self._definitions.add(definition, parent)
            self._definitions.register_holder(span, symbol.index)
        symbol.bindings.append((binding, self._frames.top.scope))


# --------------------------------------------------------------------------------------------------
# Dispatch every captured node to its handler, and record call sites.

_Handler = Callable[["Node"], None]
_Event = tuple[int, int, int, _Handler, "Node"]


class SyntaxPass:
    def __init__(self, language: Language, source: SourceText) -> None:
        self._frames = FrameStack()
        self._definitions = DefinitionHandler(language, source, self._frames)
        self._bindings = BindingHandler(language, source, self._frames, self._definitions)
        self._bodies = BodyHandler(language, source, self._frames)

    def run(self, captures: dict[str, list[Node]]) -> SyntaxPassResult:
        frames = self._frames
        for start, _, _, handler, node in self._sorted_nodes(captures):
            if frames.top.end <= start:
                frames.close_before(start)
            handler(node)
        return frames.result

    def _sorted_nodes(self, captures: dict[str, list[Node]]) -> Iterable[_Event]:
        """Sort nodes by position, outer before inner; the third number keeps the sort from comparing nodes."""
        events: list[_Event] = []
        for name, handler in self._handlers().items():
            for node in captures.get(name, ()):
                start, end = node.byte_range
                events.append((start, -end, len(events), handler, node))
        return sorted(events)

    def _handlers(self) -> dict[str, _Handler]:
        """Return the handler of each capture; for captures of the same node, the order here decides.

        Not stored on the instance: bound methods would form a cycle that keeps this object and its tree alive.
        """
        bodies = self._bodies
        return {
            "error": self._error,
            "define": self._definitions.define,
            "members": self._definitions.define_members,
            "construct": self._construct,
            "decorate": self._decorate,
            "call": self._call,
            "lambda": bodies.handle_lambda,
            "scope": bodies.handle_scope,
            "bind": self._bindings.bind,
            "else_if": bodies.handle_else_if,
            "else": bodies.handle_else,
            "branch": bodies.handle_branch,
            "switch": bodies.handle_switch,
            "case": bodies.handle_case,
            "block": bodies.handle_block,
            "operator": bodies.handle_operator,
            "return": bodies.handle_return,
            "result": bodies.handle_result,
            "refer": partial(self._add_implicit_site, "refer"),
            "assign": partial(self._add_implicit_site, "assign"),
            "iterate": partial(self._add_implicit_site, "iterate"),
            "enter": partial(self._add_implicit_site, "enter"),
            "raise": partial(self._add_implicit_site, "raise"),
        }

    def _add_site(self, node: Node, kind: str) -> None:
        if node.id in self._frames.handled:
            return
        top = self._frames.top
        if top.complexity is not None:
            top.complexity.calls += 1
        self._frames.result.calls.append(PendingCall(node, top.scope, top.symbol, kind))

    def _call(self, node: Node) -> None:
        self._add_site(node, "call")

    def _construct(self, node: Node) -> None:
        self._add_site(node, "new")
        self._frames.handled.add(node.id)

    def _decorate(self, node: Node) -> None:
        self._add_site(node, "decorate")
        self._frames.handled.add(node.id)

    def _add_implicit_site(self, kind: str, node: Node) -> None:
        """Record an implicit site: a name used as a value, or the hidden call of a statement."""
        self._frames.result.calls.append(PendingCall(node, self._frames.top.scope, self._frames.top.symbol, kind))

    def _error(self, _node: Node) -> None:
        self._frames.result.errors += 1
