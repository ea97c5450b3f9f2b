"""The description of a language: grammar, node types and rules."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from dowse.text.receiver_expressions import UNKNOWN_ROOT, instance_root

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Point, Query, Tree

DEFAULT_NAME_PATTERN: Final = re.compile(r"@?[^\W\d]\w*")


@dataclass(frozen=True, slots=True)
class NodeShape:
    """How to translate an expression of one node type. Strings name fields; numbers count named children.

    An expression that depends on another one:

    - `base`: the field with that other expression.
    - `member`: the field with the name of a member of it.
    - `step`: one of `()`, `[]` and `!`, appended to it.
    - `key`: the field with the index, where the step depends on it.
    - `type_arguments`: the field with the explicit type arguments of a call.
    - `never_local`: a member named without an object is never a local.

    Any other expression has one of these:

    - `is_name`: it is a name.
    - `root`: a fixed expression; `{}` in it stands for the type of the field `element`.
    - `type`: the field with its type.
    - `alternatives`: the fields with the alternatives.
    - `translate`: a function that returns the expression; after a leading `@` comes a name that may be a local.
    - `is_literal`: a literal whose elements are read one by one if they may be followed.
    """

    base: str = ""
    member: str = ""
    step: str = ""
    root: str = ""
    type: str = ""
    alternatives: tuple[str, ...] = ()
    element: str = ""
    translate: Callable[[Node, SourceText], str] | None = None
    is_name: bool = False
    type_arguments: str = ""
    never_local: bool = False
    key: str = ""
    is_literal: bool = False


# Named tuples, because a large file has tens of thousands of these.


class Parameter(NamedTuple):
    """A parameter with its declared `type`; else with a `value_expression` such as `this`, or with `value` after
    `step`."""

    name: str
    type: str = ""
    value_expression: str = ""
    value: Node | None = None
    step: str = ""


class SyntaxDefinition(NamedTuple):
    """A definition made by a node. `span` is all of it, `header` the byte range of its signature.

    - Value: `value_expression`, else an object of the declared `type`, else `value`, else what the function returns.
    - `parameters`: all names usable in the body; callers do not pass the first `leading_hidden` and last
      `trailing_hidden` ones.
    - `spans_rest_of_file`: the rest of the file is inside it.
    - `function`: the anonymous function that it names, which then does not count as a lambda.
    - `reopens`: it extends a type (`impl Foo`, `extension Foo`, `void Foo::bar() {}`). If the type is defined above in
      this file, its members and `bases` are added to that; otherwise the definition stands for the type.
    - `owner`: the type of a method written outside of it. If the type is defined above in this file, the method becomes
      a member; otherwise it gets the modifier `extension`, and its receiver, the first parameter, is shown.
    - `splits_blocks`: text blocks may begin and end here; false for a mere word of a larger statement.
    - `is_test`: it and its members are tests though no name in `attributes` says so (`#[cfg(test)]`).
    """

    name: str
    kind: str
    span: Node | NodeRange
    header: tuple[int, int]
    type: str = ""
    value_expression: str = ""
    value: Node | None = None
    parameters: tuple[Parameter, ...] = ()
    leading_hidden: int = 0
    trailing_hidden: int = 0
    modifiers: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    bases: tuple[str, ...] = ()
    has_body: bool = True
    spans_rest_of_file: bool = False
    function: Node | None = None
    reopens: bool = False
    owner: str = ""
    splits_blocks: bool = True
    is_test: bool = False


def as_extension(definition: SyntaxDefinition) -> SyntaxDefinition:
    """Turn a method into an extension of a type defined elsewhere: its receiver is an ordinary parameter."""
    receiver, *others = definition.parameters
    return definition._replace(
        parameters=(receiver._replace(value_expression=""), *others),
        leading_hidden=0,
        modifiers=(*definition.modifiers, "extension"),
    )


class BoundName(NamedTuple):
    """A name bound at byte `at` to an object of the declared `type`, or to `value` after `step`.

    - `defines`: the span of the variable or field it also defines, outside of functions or on `this`.
    - `narrows`: it refines the type within its branch only.
    - `is_field`: the name alone marks a field (`@x`).
    - `never_local`: it is never a local (`X = 1` in a Ruby block).
    - `key`: only this element of the named collection is assigned.
    """

    target: Node
    at: int
    type: str = ""
    value: Node | None = None
    step: str = ""
    value_expression: str = ""
    defines: Node | None = None
    narrows: bool = False
    is_field: bool = False
    never_local: bool = False
    key: str = ""


class ImportedName(NamedTuple):
    """An import. `local` is its name in the file, `*` for everything; `member` the imported member, empty for the
    module."""

    module: str
    local: str
    member: str = ""


class MemberAssignment(NamedTuple):
    """A value assigned to a member; `receiver` is the constructed object if `target` is only a name: `new Job { Done =
    Finish }`."""

    target: Node
    value: Node
    receiver: Node | None = None


class MappingCall(NamedTuple):
    """A call that maps the sequence `receiver`: each element, as `parameter`, becomes `body`, or the result of its
    method `member`. `is_flat`: each becomes several (flat map)."""

    receiver: Node
    parameter: str = ""
    body: Node | None = None
    member: str = ""
    is_flat: bool = False


def _no_parameters(_node: Node, _source: SourceText) -> tuple[Parameter, ...]:
    return ()


def _default_kind(_name: str, _enclosing: SyntaxDefinition | None) -> str:
    return "variable"


def _keep_expression(expression: str) -> str:
    return expression


def _keep_bytes(data: bytes) -> bytes:
    return data


def _keep_result(_definition: SyntaxDefinition, expression: str) -> str:
    return expression


def _no_members(_node: Node, _source: SourceText) -> tuple[tuple[SyntaxDefinition, Node], ...]:
    return ()


@dataclass(frozen=True, slots=True)
class Language:
    """A programming language. The package's docstring explains the captures of `query`."""

    name: str
    suffixes: tuple[str, ...]
    grammar: str  # module of its grammar, followed by `:function` if that is not named `language`
    query: str
    shapes: Mapping[str, NodeShape]
    define: Callable[
        [Node, SyntaxDefinition | None, SourceText], Iterable[SyntaxDefinition]
    ]  # node, enclosing definition
    bind: Callable[[Node, SourceText], Iterable[BoundName]]
    imports: Callable[[Node, SourceText], Iterable[ImportedName]]
    fillers: Mapping[str, str]  # descriptions of nodes that define nothing, by node type
    members: Callable[[Node, SourceText], Iterable[tuple[SyntaxDefinition, Node]]] = _no_members  # each with its node
    transparent_nodes: frozenset[str] = frozenset()  # nodes allowed between a value with members and its holder
    exports: frozenset[str] = frozenset()  # objects whose members are definitions of the file: `module.exports`
    lambda_parameters: Callable[[Node, SourceText], Iterable[Parameter]] = _no_parameters
    instance_of: Callable[[str], str] = instance_root  # the expression for an object of a declared type
    assigned_kind: Callable[[str, SyntaxDefinition | None], str] = (
        _default_kind  # the kind of a name assigned outside of functions
    )
    normalize: Callable[[str], str] = _keep_expression  # normalizes an expression without locals
    call_result: Callable[[SyntaxDefinition, str], str] = _keep_result  # from what the body returns
    has_script_scope: bool = False  # the file is a scope, but others see its names (`$x` of PHP)
    separates_type_names: bool = False  # a type and a value may share a name
    preprocess: Callable[[bytes], bytes] = _keep_bytes  # preprocesses the text; keeps its length and lines
    fields_by_assignment: bool = False  # `this.x = …` defines a field
    pseudo_calls: frozenset[str] = frozenset()  # names and node types that only look like functions or calls
    count_arguments: Callable[[Node], int] | None = (
        None  # counts a call's arguments, without a field `arguments` or a list
    )
    call_method: str = ""  # the method that runs when an object is called
    mapping_call: Callable[[Node, SourceText], MappingCall | None] | None = None
    sequence_type: str = UNKNOWN_ROOT  # the type of a mapped sequence with unknown elements
    file_names: tuple[str, ...] = ()
    # Replaces constructs that the grammar cannot parse, keeping all offsets; used if the first parse has errors.
    simplify: Callable[[bytes], bytes] | None = None
    name_pattern: re.Pattern[str] = DEFAULT_NAME_PATTERN  # matches a name at the start of a text
    followed_nodes: frozenset[str] | None = None  # node types that may hold a function or an object
    # Whether a declared type is a function type. With static types, only values of such types are followed.
    is_function_type: Callable[[str], bool] | None = None
    member_assignment: Callable[[Node, SourceText], MemberAssignment | None] | None = None


# --------------------------------------------------------------------------------------------------
# Parsers and queries, created on first use of a language and cached for the life of the process.

_ERROR_PATTERNS = "\n(ERROR) @error\n(MISSING) @error\n"
# Patterns of a few nodes stay far below this; the limit bounds the cost of a hostile file.
_MATCHES_IN_FLIGHT = 10_000


@dataclass(frozen=True, slots=True)
class Grammar:
    parser: Parser
    query: Query

    def parse(self, data: bytes) -> Tree:
        return self.parser.parse(data)

    def captures(self, root: Node) -> dict[str, list[Node]]:
        """Return every captured node, by capture name."""
        from tree_sitter import QueryCursor

        return QueryCursor(self.query, match_limit=_MATCHES_IN_FLIGHT).captures(root)


@lru_cache(maxsize=64)
def load_grammar(name: str, query: str) -> Grammar:
    """Load a grammar and compile its query; `name` is a module, followed by `:function` if that is not named
    `language`."""
    from tree_sitter import Language, Parser, Query

    module, _, function = name.partition(":")
    language = Language(getattr(importlib.import_module(module), function or "language")())
    return Grammar(Parser(language), Query(language, query + _ERROR_PATTERNS))


# --------------------------------------------------------------------------------------------------
# The bytes a tree was parsed from, addressed by node.


class NodeRange(NamedTuple):
    """The extent of several adjacent nodes, with the attributes of a node."""

    start_byte: int
    end_byte: int
    start_point: Point
    end_point: Point

    @classmethod
    def spanning(cls, first: Node, last: Node) -> NodeRange:
        return cls(first.start_byte, last.end_byte, first.start_point, last.end_point)


class SourceText:
    """The source text by node; trees count in UTF-8 bytes."""

    __slots__ = ("_ascii_text", "data")

    def __init__(self, text: str) -> None:
        self.data = text.encode(errors="replace")
        self._ascii_text = text if text.isascii() else ""  # ASCII needs no decoding

    def text(self, node: Node | None) -> str:
        """Return the text of a node; empty without one."""
        if node is None:
            return ""
        if self._ascii_text:
            return self._ascii_text[node.start_byte : node.end_byte]
        return self.data[node.start_byte : node.end_byte].decode(errors="replace")

    def one_line(self, start: int, end: int, max_bytes: int) -> str:
        """Return the text of a span on one line, blanks collapsed."""
        return " ".join(self.data[start : min(end, start + max_bytes)].decode(errors="ignore").split())


_BLANK_TABLE: Final = bytes(10 if each == 10 else 32 for each in range(256))


def blank_out(data: bytearray, start: int, end: int) -> None:
    """Blank out bytes before parsing; line ends and all offsets stay."""
    data[start:end] = data[start:end].translate(_BLANK_TABLE)


def child(node: Node, name: str) -> Node | None:
    """Return the child in a field; a number selects a named child, not counting comments."""
    if not name.isdigit():
        return node.child_by_field_name(name)
    number = int(name)
    if number >= node.named_child_count:
        return None
    found = node.named_child(number)
    if found is None or not found.is_extra:
        return found
    parts = [each for each in node.named_children if not each.is_extra]
    return parts[number] if number < len(parts) else None


def first_child_of(node: Node, *types: str) -> Node | None:
    """Return the first child of one of these types."""
    return next((each for each in node.named_children if each.type in types), None)


def argument_value(node: Node) -> Node:
    """Return the value inside an argument node, as in C#; any other node is its own value."""
    return node.named_children[-1] if node.type == "argument" and node.named_child_count else node
