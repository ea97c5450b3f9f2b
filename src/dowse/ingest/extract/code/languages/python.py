"""Python."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from dowse.ingest.extract.code.language import (
    BoundName,
    ImportedName,
    Language,
    NodeShape,
    Parameter,
    SyntaxDefinition,
    child,
    first_child_of,
)
from dowse.text.receiver_expressions import ANY_KEY, SPREAD, instance_root

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.language import SourceText

# --------------------------------------------------------------------------------------------------
# Python annotations as expressions.

_MAX_NESTING: Final = 8
_QUOTES = re.compile(r"""^(["'])(.*)\1$""", re.DOTALL)
_SUBSCRIPT = re.compile(r"^([\w.]+)\s*\[(.*)\]$", re.DOTALL)
_WRAPPERS = frozenset({"Optional", "Annotated", "Final", "ClassVar", "Required", "NotRequired", "ReadOnly", "InitVar"})
_ITERATORS = frozenset({"Iterator", "Iterable", "Generator", "AsyncIterator", "AsyncIterable", "AsyncGenerator"})
_UNINFORMATIVE = frozenset({"", "None", "Any", "object", "Literal", "NoReturn", "Never", "..."})


@lru_cache(maxsize=20_000)
def instance_of(annotation: str) -> str:
    """Translate an annotation: `Optional[X]` holds an X, a union any of its members, `type[X]` the class itself."""
    return "|".join(dict.fromkeys(_alternatives(annotation, 0)))


def yielded_type(annotation: str) -> str:
    """Return the annotation of the value that a context manager function yields."""
    iterator = _SUBSCRIPT.match(annotation.strip())
    if iterator is None or _last_part(iterator[1]) not in _ITERATORS:
        return annotation
    return _split_top_level(iterator[2], ",")[0]


def _alternatives(annotation: str, depth: int) -> list[str]:
    text = annotation.strip()
    quoted = _QUOTES.match(text)
    text = quoted[2].strip() if quoted else text
    alternatives = _split_top_level(text, "|")
    if depth > _MAX_NESTING:
        return []
    if len(alternatives) > 1:
        return [alternative for each in alternatives for alternative in _alternatives(each, depth + 1)]
    subscript = _SUBSCRIPT.match(text)
    return _subscript_type(subscript[1], subscript[2], text, depth) if subscript else _plain_type(text)


def _plain_type(name: str) -> list[str]:
    if _last_part(name) in _UNINFORMATIVE:
        return []
    return ["this"] if _last_part(name) == "Self" else [instance_root(name)]


def _subscript_type(name: str, inside: str, text: str, depth: int) -> list[str]:
    last = _last_part(name)
    if last in _UNINFORMATIVE:
        return []
    if last == "Union":
        return [alternative for each in _split_top_level(inside, ",") for alternative in _alternatives(each, depth + 1)]
    if last in _WRAPPERS:
        return _alternatives(_split_top_level(inside, ",")[0], depth + 1)
    if last in ("type", "Type"):
        return [re.split(r"[\[|,]", inside.strip("\"' "), maxsplit=1)[0].strip()]
    return [instance_root(text.replace('"', "").replace("'", ""))]


def _last_part(name: str) -> str:
    return name.rpartition(".")[2]


def _split_top_level(text: str, separator: str) -> list[str]:
    """Split at separators outside of brackets."""
    parts, depth, start = [], 0, 0
    for at, sign in enumerate(text):
        if sign in "[(":
            depth += 1
        elif sign in "])":
            depth -= 1
        elif sign == separator and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]]


# --------------------------------------------------------------------------------------------------
# Definitions in Python: functions, classes and their parameters.

_CLASSES = frozenset({"class", "enum"})
_PROPERTIES = frozenset({"property", "cached_property", "abstractproperty", "setter", "getter", "deleter"})
_METHOD_MODIFIERS = ("staticmethod", "classmethod")
_NAMED_BY_TEXT = frozenset({"identifier", "list_splat_pattern", "dictionary_splat_pattern"})
_CALLABLE = ("Callable", "typing.Callable", "collections.abc.Callable", "abc.Callable", "t.Callable")
_ENUM_BASE = re.compile(r"(?:^|\.)(?:\w*Enum|\w*Flag|\w*Choices)$")


def define(node: Node, enclosing: SyntaxDefinition | None, source: SourceText) -> Iterable[SyntaxDefinition]:
    if node.type == "type_alias_statement":
        return [SyntaxDefinition(source.text(child(node, "left")), "typeAlias", node, node.byte_range)]
    name, body = source.text(child(node, "name")), child(node, "body")
    parent = node.parent
    decorated = parent is not None and parent.type == "decorated_definition"
    span = parent if decorated and parent is not None else node
    header = (node.start_byte, body.start_byte if body else node.end_byte)
    names = tuple(_decorators(span, source)) if decorated else ()
    if node.type == "class_definition":
        return [_class(node, name, span, header, names, source)]
    return [_function(node, enclosing, name, span, header, names, source)]


def _decorators(span: Node, source: SourceText) -> Iterator[str]:
    for decorator in span.named_children:
        if decorator.type == "decorator":
            yield source.text(child(decorator, "0")).partition("(")[0].strip()[:200]


def _class(
    node: Node, name: str, span: Node, header: tuple[int, int], names: tuple[str, ...], source: SourceText
) -> SyntaxDefinition:
    bases = tuple(_bases(node, source))
    is_enum = any(_ENUM_BASE.search(base) for base in bases)
    abstract = ("abstract",) if any(base.rpartition(".")[2] == "ABC" for base in bases) else ()
    return SyntaxDefinition(
        name, "enum" if is_enum else "class", span, header, attributes=names, bases=bases, modifiers=abstract
    )


def _bases(node: Node, source: SourceText) -> Iterator[str]:
    superclasses = child(node, "superclasses")
    for base in superclasses.named_children if superclasses else ():
        if base.type in ("identifier", "attribute", "subscript", "call"):
            yield "".join(source.text(base).partition("(")[0].split())[:200]


def _function(
    node: Node,
    enclosing: SyntaxDefinition | None,
    name: str,
    span: Node,
    header: tuple[int, int],
    names: tuple[str, ...],
    source: SourceText,
) -> SyntaxDefinition:
    last = [each.rpartition(".")[2] for each in names]
    in_class = enclosing is not None and enclosing.kind in _CLASSES
    has_receiver = in_class and "staticmethod" not in last
    type_text = source.text(child(node, "return_type"))
    return SyntaxDefinition(
        name,
        _kind(name, last) if in_class else "function",
        span,
        header,
        type=yielded_type(type_text) if "contextmanager" in last or "asynccontextmanager" in last else type_text,
        parameters=tuple(_parameters(child(node, "parameters"), has_receiver, source)),
        leading_hidden=int(has_receiver),
        modifiers=tuple(_modifiers(node, last)),
        attributes=names,
    )


def _kind(name: str, decorators: list[str]) -> str:
    if name == "__init__":
        return "constructor"
    return "method" if _PROPERTIES.isdisjoint(decorators) else "property"


def _modifiers(node: Node, decorators: list[str]) -> Iterator[str]:
    first = node.child(0)
    if first is not None and first.type == "async":
        yield "async"
    yield from (each for each in _METHOD_MODIFIERS if each in decorators)
    if "abstractmethod" in decorators or "abstractproperty" in decorators:
        yield "abstract"


def _parameters(node: Node | None, has_receiver: bool, source: SourceText) -> Iterator[Parameter]:
    for each in node.named_children if node else ():
        plain = each.type in _NAMED_BY_TEXT
        target = each if plain else child(each, "name") or child(each, "0")
        if target is None:
            continue
        parameter = _parameter(source.text(target), "" if plain else source.text(child(each, "type")))
        yield Parameter(parameter.name, value_expression="this") if has_receiver else parameter
        has_receiver = False


def _parameter(name: str, type_text: str) -> Parameter:
    """Keep `*` and `**` in the type: several arguments may be passed."""
    if name.startswith("**"):
        bare = name[2:].strip()
        return Parameter(bare, f"**{type_text}", f":dict[str,{type_text}];" if type_text else f"${bare}")
    if name.startswith("*"):
        bare = name[1:].strip()
        return Parameter(bare, f"*{type_text}", f":tuple[{type_text}];" if type_text else f"${bare}")
    if not type_text:
        return Parameter(name, value_expression=f"${name}")
    is_callable = type_text.startswith(_CALLABLE)
    return Parameter(name, type_text, f"{instance_of(type_text)}|${name}" if is_callable else "")


def lambda_parameters(node: Node, source: SourceText) -> Iterator[Parameter]:
    return _parameters(child(node, "parameters"), False, source)


def assigned_kind(name: str, enclosing: SyntaxDefinition | None) -> str:
    if enclosing is None:
        return "variable"
    return "enumMember" if enclosing.kind == "enum" and not name.startswith("_") else "field"


# --------------------------------------------------------------------------------------------------
# Bindings in Python: assignments, loops, `with`, `except` and `isinstance`.

_PATTERNS = frozenset({"pattern_list", "tuple_pattern", "list_pattern", "tuple", "list"})
_KEY = re.compile(r"[\w./ -]{1,40}")
_SEQUENCES = frozenset({"expression_list", "tuple", "list"})


def bind(node: Node, source: SourceText) -> Iterable[BoundName]:
    return _BINDERS[node.type](node, source)


def _bind_assignment(node: Node, source: SourceText) -> Iterable[BoundName]:
    target, value = child(node, "left"), child(node, "right")
    type_text = source.text(child(node, "type"))
    if target is None:
        return ()
    if target.type not in _PATTERNS:
        return _bind_target(target, BoundName(target, node.end_byte, type_text, value, defines=node))
    return _bind_pattern(target, BoundName(target, node.end_byte, value=value, defines=node))


def _bind_pattern(pattern: Node, bound: BoundName) -> list[BoundName]:
    """Bind each target of a pattern to the element at its position, a starred one to the rest."""
    targets = pattern.named_children
    value = bound.value
    values = value.named_children if value is not None and value.type in _SEQUENCES and not bound.step else []
    star = next((at for at, each in enumerate(targets) if each.type == "list_splat_pattern"), len(targets))
    if len(values) == len(targets) and star == len(targets):
        pairs = zip(targets, values, strict=True)
        return [it for each, part in pairs for it in _bind_target(each, bound._replace(target=each, value=part))]
    found: list[BoundName] = []
    for at, each in enumerate(targets):
        if at == star:
            rest = each.named_child(0) or each
            found += _bind_target(rest, bound._replace(target=rest, step=f"{bound.step}[{at}:]"))
        elif at > star:
            place = len(values) - len(targets) + at
            step = f"[{place}]" if len(values) >= len(targets) - 1 and values else "[?]"
            found += _bind_target(each, bound._replace(target=each, step=bound.step + step))
        else:
            found += _bind_target(each, bound._replace(target=each, step=f"{bound.step}[{at}]"))
    return found


def _bind_target(target: Node, bound: BoundName) -> Iterable[BoundName]:
    """Bind one target; an assignment to an element adds to the container."""
    if target.type in ("identifier", "attribute"):
        return [bound]
    if target.type in _PATTERNS:
        return _bind_pattern(target, bound)
    container, key = child(target, "value"), child(target, "subscript")
    if target.type == "subscript" and container is not None and key is not None:
        return _bind_element(container, key, bound) if container.type in ("identifier", "attribute") else []
    return [BoundName(each, bound.at, defines=bound.defines) for each in _pattern_names(target)]


def _bind_element(container: Node, key: Node, bound: BoundName) -> Iterable[BoundName]:
    text = key.text.decode(errors="ignore").strip("\"'") if key.text and key.type in ("string", "integer") else ""
    if bound.step or bound.value is None:
        return []
    return [bound._replace(target=container, key=f"'{text if _KEY.fullmatch(text) else '*'}")]


def _pattern_names(pattern: Node) -> Iterator[Node]:
    """Yield the names in a pattern, however nested."""
    pending = [pattern]
    while pending:
        node = pending.pop()
        if node.type == "identifier":
            yield node
        elif node.type in _PATTERNS or node.type in ("list_splat_pattern", "as_pattern_target"):
            pending.extend(reversed(node.named_children))


def _bind_walrus(node: Node, _source: SourceText) -> Iterable[BoundName]:
    target = child(node, "name")
    return [BoundName(target, node.end_byte, value=child(node, "value"))] if target else []


def _bind_loop(node: Node, source: SourceText) -> Iterable[BoundName]:
    target, value = child(node, "left"), child(node, "right")
    if target is None or value is None:
        return []
    if target.type not in _PATTERNS:
        return _bind_target(target, BoundName(target, value.end_byte, value=value, step="[]"))
    sources = _loop_iterables(value, source)
    if not sources:
        return _bind_pattern(target, BoundName(target, value.end_byte, value=value, step="[]"))
    return [
        bound
        for number, each in enumerate(target.named_children)
        for bound in _bind_target(each, BoundName(each, value.end_byte, value=sources.get(number), step="[]"))
    ]


def _loop_iterables(value: Node, source: SourceText) -> dict[int, Node]:
    """Return the iterables of the targets in `for a, b in …` with enumerate or zip, by position."""
    function, arguments = child(value, "function"), child(value, "arguments")
    if value.type != "call" or function is None or arguments is None:
        return {}
    name = source.text(child(function, "attribute") if function.type == "attribute" else function)
    if name == "zip":
        return dict(enumerate(arguments.named_children))
    if name == "enumerate" and arguments.named_child_count:
        return {1: arguments.named_children[0]}
    return {}


def _bind_as(node: Node, source: SourceText) -> Iterable[BoundName]:
    """Bind the target of `with x as y` and `except E as e`."""
    target, value, parent = child(node, "alias"), child(node, "0"), node.parent
    target = child(target, "0") if target else None
    if target is None or value is None or parent is None:
        return []
    if parent.type == "with_item":
        return _bind_target(target, BoundName(target, node.end_byte, value=value, step=".__enter__()"))
    return _bind_target(target, BoundName(target, node.end_byte, _join_types(value, source)))


def _join_types(node: Node, source: SourceText) -> str:
    """Join the types of `(A, B)` after `except` and in `isinstance`."""
    return "|".join(source.text(each) for each in (node.named_children if node.type == "tuple" else [node]))


def _bind_global(node: Node, source: SourceText) -> Iterable[BoundName]:
    return [BoundName(each, node.end_byte, value_expression=source.text(each)) for each in node.named_children]


def _bind_call(node: Node, source: SourceText) -> Iterable[BoundName]:
    function = child(node, "function")
    return (
        _bind_isinstance(node, source)
        if function is None or function.type == "identifier"
        else _bind_added_element(node, function, source)
    )


def _bind_added_element(node: Node, function: Node, source: SourceText) -> Iterable[BoundName]:
    """Bind `x.append(y)` and similar calls as an element added to x; `update` adds those of a dict."""
    container, arguments = child(function, "object"), child(node, "arguments")
    if container is None or arguments is None or not arguments.named_child_count:
        return []
    value = arguments.named_children[-1]
    key = SPREAD if source.text(child(function, "attribute")) == "update" else ANY_KEY
    return [BoundName(container, node.end_byte, value=value, defines=node, key=key)]


def _bind_isinstance(node: Node, source: SourceText) -> Iterable[BoundName]:
    arguments, parent = child(node, "arguments"), node.parent
    if arguments is None or parent is None or parent.type == "not_operator":
        return []
    name, types = arguments.named_children[:2]
    return [BoundName(name, node.end_byte, _join_types(types, source), narrows=True)]


_BINDERS = {
    "assignment": _bind_assignment,
    "named_expression": _bind_walrus,
    "for_statement": _bind_loop,
    "for_in_clause": _bind_loop,
    "as_pattern": _bind_as,
    "global_statement": _bind_global,
    "call": _bind_call,
}


_QUERY = """
[(function_definition) (class_definition) (type_alias_statement)] @define
(call) @call
(decorator [(call) (identifier) (attribute)] @decorate)
[(import_statement) (import_from_statement) (future_import_statement)] @import
[(assignment) (named_expression) (for_statement) (for_in_clause) (as_pattern) (global_statement)] @bind
((call function: (identifier) @_function arguments: (argument_list . (identifier) . (_) .)) @bind
  (#eq? @_function "isinstance"))
((call function: (attribute object: [(identifier) (attribute)] attribute: (identifier) @_method)) @bind
  (#any-of? @_method "append" "add" "insert" "update" "setdefault" "appendleft"))
(lambda) @lambda
[(list_comprehension) (dictionary_comprehension) (set_comprehension) (generator_expression)] @scope
[(if_statement) (for_statement) (while_statement) (except_clause) (conditional_expression)] @branch
(elif_clause) @else_if
(else_clause) @else
(match_statement) @switch
[(case_clause) (if_clause)] @case
[(try_statement) (with_statement)] @block
(boolean_operator) @operator
(return_statement) @return
(yield) @result
(for_statement right: (_) @iterate)
(for_in_clause right: (_) @iterate)
(with_item value: (_) @enter)
(raise_statement . [(identifier) (attribute)] @raise)
[(argument_list) (list) (tuple)] @refer
(assignment right: [(identifier) (attribute)] @refer)
(pair value: [(identifier) (attribute)] @refer)
(return_statement [(identifier) (attribute)] @refer)
[(expression_list) (yield)] @refer
(lambda body: [(identifier) (attribute)] @refer)
(default_parameter value: [(identifier) (attribute)] @refer)
(typed_default_parameter value: [(identifier) (attribute)] @refer)
"""

_SHAPES = {
    "identifier": NodeShape(is_name=True),
    "attribute": NodeShape(base="0", member="attribute"),
    "call": NodeShape(base="0", step="()"),
    "subscript": NodeShape(base="value", step="[]", key="subscript"),
    "await": NodeShape(base="0", step="!"),
    "parenthesized_expression": NodeShape(base="0"),
    "named_expression": NodeShape(base="value"),
    "assignment": NodeShape(base="right"),
    "conditional_expression": NodeShape(alternatives=("0", "2")),
    "boolean_operator": NodeShape(alternatives=("left", "right")),
    "string": NodeShape(root=":str;"),
    "concatenated_string": NodeShape(root=":str;"),
    "integer": NodeShape(root=":int;"),
    "float": NodeShape(root=":float;"),
    "true": NodeShape(root=":bool;"),
    "false": NodeShape(root=":bool;"),
    "list": NodeShape(root=":list[{}];", element="0", is_literal=True),
    "set": NodeShape(root=":set[{}];", element="0", is_literal=True),
    "tuple": NodeShape(root=":tuple[{}];", element="0", is_literal=True),
    "list_comprehension": NodeShape(root=":list[{}];", element="body", is_literal=True),
    "set_comprehension": NodeShape(root=":set[{}];", element="body", is_literal=True),
    "generator_expression": NodeShape(root=":Iterator[{}];", element="body", is_literal=True),
    "dictionary": NodeShape(root=":dict[?,{}];", element="0", is_literal=True),
    "dictionary_comprehension": NodeShape(root=":dict[?,{}];", element="body"),
    "pair": NodeShape(base="value"),
    "expression_list": NodeShape(root=":tuple[{}];", element="0", is_literal=True),
    "lambda": NodeShape(root="{{()=?}}", step="()", element="body", is_literal=True),
    "yield": NodeShape(root=":Iterator[{}];", element="0", is_literal=True),
}

_FILLERS = {
    "comment": "comments",
    "string": "comments",
    "import_statement": "imports",
    "import_from_statement": "imports",
    "future_import_statement": "imports",
    "list": "data",
    "dictionary": "data",
    "tuple": "data",
    "integer": "data",
}

_SUPER = re.compile(r"(^|\|)super\(\)")
_YIELDED = re.compile(r":Iterator\[(.*)\];")


_FOLLOWED_NODES = frozenset(
    {
        "identifier", "attribute", "call", "lambda", "list", "tuple", "dictionary", "conditional_expression",
        "subscript", "parenthesized_expression", "boolean_operator", "list_comprehension", "generator_expression",
    }
)  # fmt: skip


def _imports(node: Node, source: SourceText) -> Iterator[ImportedName]:
    is_from = node.type != "import_statement"
    module = "__future__" if node.type == "future_import_statement" else source.text(child(node, "module_name"))
    if first_child_of(node, "wildcard_import"):
        yield ImportedName("".join(module.split()), "*")
    for each in node.children_by_field_name("name"):
        name = source.text(child(each, "name") if each.type == "aliased_import" else each)
        local = source.text(child(each, "alias")) or name
        yield ImportedName("".join(module.split()), local, name) if is_from else ImportedName(name, local)


def _normalize(expression: str) -> str:
    """Make `super().x` a member of the base class, and treat `self.__class__` as `self`."""
    if "__class__" in expression:
        expression = expression.replace("this.__class__", "this")
    return _SUPER.sub(r"\1super", expression) if "super()" in expression else expression


def _call_result(definition: SyntaxDefinition, expression: str) -> str:
    """Return the yielded value of a context manager function."""
    if any(name.endswith("contextmanager") for name in definition.attributes):
        return _YIELDED.sub(r":\1;", expression)
    return expression


LANGUAGES = (
    Language(
        name="python",
        suffixes=(".py", ".pyi", ".pyw"),
        grammar="tree_sitter_python",
        query=_QUERY,
        shapes=_SHAPES,
        define=define,
        bind=bind,
        imports=_imports,
        fillers=_FILLERS,
        lambda_parameters=lambda_parameters,
        instance_of=instance_of,
        assigned_kind=assigned_kind,
        normalize=_normalize,
        call_result=_call_result,
        fields_by_assignment=True,
        pseudo_calls=frozenset({"super", "class_definition"}),
        call_method="__call__",
        file_names=("sconstruct", "sconscript"),
        followed_nodes=_FOLLOWED_NODES,
    ),
)
