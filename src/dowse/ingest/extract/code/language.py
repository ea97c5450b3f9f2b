"""What the engine has to be told about a programming language: tables, one query and a few small functions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from dowse.text.expressions import UNKNOWN, instance

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.source import Extent, Source


NAMES: Final = re.compile(r"@?[^\W\d]\w*")


@dataclass(frozen=True, slots=True)
class Shape:
    """How an expression of one type of node reads. Names are those of fields, numbers count named children.

    `onto` is what it stands on; from there `member` is the name of a member, `step` one of `()`, `[]` and `!`. Or it
    stands on nothing: `name` says that it is a name, `root` is a fixed expression, `type` the field with its type,
    `either` fields with the ways it may go, and `{}` in `root` stands for the type of what is in the field `element`,
    or `read` tells an expression; what that begins with `@` begins with a name that may be a local one. `types` is the
    field with the types that a call writes for what it calls. `bare`: a name without an object is never a local's.
    `key` is the field with what chooses an element, where the step tells which one. `written`: its elements are read
    one by one, as far as what they hold may be followed.
    """

    onto: str = ""
    member: str = ""
    step: str = ""
    root: str = ""
    type: str = ""
    either: tuple[str, ...] = ()
    element: str = ""
    read: Callable[[Node, Source], str] | None = None
    name: bool = False
    types: str = ""
    bare: bool = False
    key: str = ""
    written: bool = False


# Tuples, because a large file has tens of thousands of them.


class Parameter(NamedTuple):
    """`type` as written; else `holds`, such as `this`, or what `value` is after `step`."""

    name: str
    type: str = ""
    holds: str = ""
    value: Node | None = None
    step: str = ""


class Definition(NamedTuple):
    """What a node defines. `span` is all of it, `header` the bytes of its signature.

    What it holds is told by `holds`, else by its written `type`, else by `value`, else, for functions, by what they
    return. `parameters` are all that can be used in its body; callers do not pass the first `hidden` and the last
    `added` of them. `to_the_end`: what follows in the file stands in it. `function` is the function without a name of
    its own that the definition names, which is then no lambda in it. `reopens`: it adds to a type that is defined
    elsewhere (`impl Foo`, `extension Foo`, `void Foo::bar() {}`); where that is above in this file, what stands here
    are members of it, and it gets these `bases` too, otherwise the definition stands for it. `owner` is the type that a
    method belongs to though it stands outside of it: where that is above in this file, it is a member of it, elsewhere
    it gets the modifier `extension`, and its receiver, the first parameter, is shown. `divides`: blocks of text may
    begin and end with it; what is but a word in a larger statement does not. `is_test`: it and what stands in it
    are tests, though the names of its `attributes` do not say so (`#[cfg(test)]`).
    """

    name: str
    kind: str
    span: Node | Extent
    header: tuple[int, int]
    type: str = ""
    holds: str = ""
    value: Node | None = None
    parameters: tuple[Parameter, ...] = ()
    hidden: int = 0
    added: int = 0
    modifiers: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    bases: tuple[str, ...] = ()
    has_body: bool = True
    to_the_end: bool = False
    function: Node | None = None
    reopens: bool = False
    owner: str = ""
    divides: bool = True
    is_test: bool = False


def extension(definition: Definition) -> Definition:
    """A method of a type that this file does not define: its receiver is an object like any other."""
    receiver, *others = definition.parameters
    return definition._replace(
        parameters=(receiver._replace(holds=""), *others),
        hidden=0,
        modifiers=(*definition.modifiers, "extension"),
    )


class Bound(NamedTuple):
    """A name that is given something at byte `at`: an object of a written `type`, or what `value` is after `step`.

    `keeps` is the span of the variable or field it also makes, outside of functions or on `this`. A `narrow` one says
    more about a name within the branch it stands in, and nothing behind it. `of_this`: the name itself says that it is
    a field (`@x`). `lasts`: it is no local, wherever it stands (`X = 1` of Ruby in a block). With a `key` it is an
    element of what the name holds that is given something.
    """

    target: Node
    at: int
    type: str = ""
    value: Node | None = None
    step: str = ""
    holds: str = ""
    keeps: Node | None = None
    narrow: bool = False
    of_this: bool = False
    lasts: bool = False
    key: str = ""


class Imported(NamedTuple):
    """`local` is the name it gets here, `*` for everything; `member` what of the module it is, empty for all of it."""

    module: str
    local: str
    member: str = ""


class Assigned(NamedTuple):
    """A member that is given a value; `onto` is what makes the object it is a member of, where `target` names it
    alone: `new Job { Done = Finish }`."""

    target: Node
    value: Node
    onto: Node | None = None


class Mapped(NamedTuple):
    """A call that makes a sequence out of another, `receiver`: of each element, as `parameter`, comes what `body`
    gives, or a call of its method `member`. `many`: of each come several."""

    receiver: Node
    parameter: str = ""
    body: Node | None = None
    member: str = ""
    many: bool = False


def _no_parameters(_node: Node, _source: Source) -> tuple[Parameter, ...]:
    return ()


def _variable(_name: str, _around: Definition | None) -> str:
    return "variable"


def _as_is(expression: str) -> str:
    return expression


def _unchanged(data: bytes) -> bytes:
    return data


def _returned_as_is(_definition: Definition, expression: str) -> str:
    return expression


def _no_members(_node: Node, _source: Source) -> tuple[tuple[Definition, Node], ...]:
    return ()


@dataclass(frozen=True, slots=True)
class Language:
    """One programming language. The captures of `query` are explained in the package's docstring."""

    name: str
    suffixes: tuple[str, ...]
    grammar: str  # the module of its grammar, `:function` behind it if that is not called `language`
    query: str
    shapes: Mapping[str, Shape]
    define: Callable[[Node, Definition | None, Source], Iterable[Definition]]  # told what it stands in
    bind: Callable[[Node, Source], Iterable[Bound]]
    imports: Callable[[Node, Source], Iterable[Imported]]
    fillers: Mapping[str, str]  # what may stand in a file without defining anything, by type of node
    members: Callable[[Node, Source], Iterable[tuple[Definition, Node]]] = _no_members  # each with the node it is
    within: frozenset[str] = frozenset()  # nodes that may stand between a value with members and what holds it
    exports: frozenset[str] = frozenset()  # objects whose members are what the file defines: `module.exports`
    lambda_parameters: Callable[[Node, Source], Iterable[Parameter]] = _no_parameters
    held: Callable[[str], str] = instance  # what an object of a written type is, as an expression
    kept: Callable[[str, Definition | None], str] = _variable  # the kind of a name assigned outside functions
    rewritten: Callable[[str], str] = _as_is  # what an expression, its locals replaced, means here
    returned: Callable[[Definition, str], str] = _returned_as_is  # what a function gives, told what its body returns
    scripts: bool = False  # the file is a scope of its own, whose names others see all the same (`$x` of PHP)
    types_apart: bool = False  # a type and a value may have one name
    parsed: Callable[[bytes], bytes] = _unchanged  # what the parser reads instead: as long, with the same lines
    fields_by_assignment: bool = False  # `this.x = …` makes a field
    no_calls: frozenset[str] = frozenset()  # what looks like a function or a call: names and types of nodes
    arguments: Callable[[Node], int] | None = None  # how many a call has, where no field `arguments` or list tells
    invoked: str = ""  # the method that runs when an object is called
    mapped: Callable[[Node, Source], Mapped | None] | None = None
    sequence: str = UNKNOWN  # what such a call gives, where only that is known
    file_names: tuple[str, ...] = ()
    # The text without what its grammar stumbles over, byte by byte: read where the grammar finds mistakes.
    simplified: Callable[[bytes], bytes] | None = None
    names: re.Pattern[str] = NAMES  # a name, at the beginning of what may be longer
    follows: frozenset[str] | None = None  # types of nodes that may hold a function or an object
    # Whether a written type is one of functions: where types are written, nothing else needs to be followed.
    is_function_type: Callable[[str], bool] | None = None
    assigned: Callable[[Node, Source], Assigned | None] | None = None
