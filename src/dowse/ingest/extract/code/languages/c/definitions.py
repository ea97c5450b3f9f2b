"""What C and C++ define; a function named `Foo::bar` is a method of Foo."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from dowse.ingest.extract.code.language import Definition, Parameter
from dowse.ingest.extract.code.languages.c.declarators import Declared, declared, parameters
from dowse.ingest.extract.code.languages.c.types import without_arguments
from dowse.ingest.extract.code.source import Extent, child, first_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.source import Source

_TYPES: Final = {
    "class_specifier": "class",
    "struct_specifier": "struct",
    "union_specifier": "struct",
    "enum_specifier": "enum",
}
_SIMPLE: Final = {
    "enumerator": "enumMember",
    "alias_declaration": "typeAlias",
    "concept_definition": "interface",
    "preproc_def": "variable",
    "preproc_function_def": "function",
}
_MOST_PARAMETERS: Final = 50
_TYPE_WORDS: Final = frozenset({"int", "char", "short", "long", "float", "double", "unsigned", "signed", "void"})
_CLASSES: Final = frozenset({"class", "struct"})
_FUNCTIONS: Final = frozenset({"function", "method", "constructor"})
_MODIFIERS: Final = frozenset(
    {
        "storage_class_specifier", "type_qualifier", "virtual", "explicit_function_specifier", "virtual_specifier",
        "noexcept",
    }
)  # fmt: skip
_WORD = re.compile(r"\w+")
_NAMED = re.compile(r"~?\w+$|operator\W.*$", re.DOTALL)
_CONVERSION = re.compile(r"(operator\s+[^(]+)\(.*", re.DOTALL)


def define(node: Node, around: Definition | None, source: Source) -> Iterable[Definition]:
    if node.type in _TYPES:
        return _type(node, source)
    if node.type in _SIMPLE:
        return _simple(node, source)
    if node.type == "namespace_definition":
        return _namespaces(node, source)
    if node.type == "type_definition":
        return _aliases(node, source)
    if around is not None and around.kind in _FUNCTIONS and node.type in ("declaration", "identifier"):
        return ()  # of locals
    if node.type == "identifier":
        return [Definition(source.of(node), "variable", node, node.byte_range, has_body=False)]
    if node.type == "compound_statement":
        return _untyped(node, source)
    return _declared(node, around, source)


def _type(node: Node, source: Source) -> Iterator[Definition]:
    """Named by itself, or by the typedef it stands in; parts of `struct { … } x;` count as parts of what is around."""
    name = without_arguments(source.of(child(node, "name"))).rpartition("::")[2]
    above = node.parent
    if not name and above is not None and above.type == "type_definition":
        found = declared(child(above, "declarator"))
        name = source.of(found.name) if found is not None else ""
    if name:
        start = _whole(node)
        yield Definition(
            name,
            _TYPES[node.type],
            start,
            _header(start, node),
            modifiers=("union",) if node.type == "union_specifier" else tuple(_modifiers(node, source)),
            attributes=tuple(_attributes(node, source)),
            bases=tuple(_bases(node, source)),
        )


def _simple(node: Node, source: Source) -> Iterable[Definition]:
    is_macro = node.type.startswith("preproc")
    listed = child(node, "parameters") if is_macro else None
    value = child(node, "value") if is_macro else None
    name = source.of(child(node, "name"))
    found = Definition(
        name,
        _SIMPLE[node.type],
        node,
        (node.start_byte, value.start_byte if value is not None and listed is not None else node.end_byte),
        type=source.of(child(node, "type")),
        parameters=tuple(Parameter(source.of(each)) for each in (listed.named_children if listed else ())),
        modifiers=_macro_modifiers(node, value) if is_macro else (),
        has_body=False,
    )
    return [found] if name else []


def _macro_modifiers(node: Node, value: Node | None) -> tuple[str, ...]:
    """One that stands for nothing, such as the guard of a header, is only asked about."""
    return ("macro", "empty") if value is None and node.type == "preproc_def" else ("macro",)


def _namespaces(node: Node, source: Source) -> Iterator[Definition]:
    """`namespace a::b` is one in the other; one without a name is none."""
    for name in _WORD.findall(source.of(child(node, "name"))):
        yield Definition(name, "namespace", node, _header(node, node))


def _aliases(node: Node, source: Source) -> Iterator[Definition]:
    """Other names of a type; `typedef struct foo {…} foo` only names what stands in it."""
    written = child(node, "type")
    own = child(written, "name") if written is not None else None
    has_body = written is not None and child(written, "body") is not None
    text = source.of(own if has_body else written)
    for number, each in enumerate(node.children_by_field_name("declarator")):
        found = declared(each)
        name = source.of(found.name) if found is not None else ""
        names_it = has_body and (name == text or (number == 0 and not text))
        if name and not names_it:
            span = node if not has_body else each
            is_function = each.type == "function_declarator"
            yield Definition(name, "typeAlias", span, span.byte_range, "" if is_function else text, has_body=False)


def _declared(node: Node, around: Definition | None, source: Source) -> Iterator[Definition]:
    for each in node.children_by_field_name("declarator"):
        found = declared(each)
        if found is None:
            continue
        path, name = _split(source.of(found.name))
        if not name or name in _TYPE_WORDS:
            continue
        outside = around
        for outside in _outside(node, found.name, path):
            yield outside
        yield _member(node, each, found, name, outside, source)


def _untyped(body: Node, source: Source) -> Iterable[Definition]:
    """`main(argc, argv) int argc; {}`: the grammar takes the head of a function without a type for something else."""
    before, head = body.prev_named_sibling, None
    for _ in range(_MOST_PARAMETERS):
        if before is None or before.type not in ("declaration", "comment"):
            break
        written = child(before, "type")
        if written is not None and written.type == "macro_type_specifier":  # `main(argc) int argc;`
            head = written
            break
        before = before.prev_named_sibling
    if before is not None and before.type in ("expression_statement", "ERROR"):
        head = child(before, "0")
    name = child(head, "function") or child(head, "name") if head is not None else None
    if before is None or head is None or name is None or name.type != "identifier":
        return ()
    listed = child(head, "arguments")
    return [
        Definition(
            source.of(name),
            "function",
            Extent.over(before, body),
            (before.start_byte, body.start_byte),
            parameters=tuple(Parameter(source.of(each)) for each in (listed.named_children if listed else ())),
        )
    ]


def _outside(node: Node, name: Node, path: list[str]) -> Iterator[Definition]:
    """What a name is qualified with: a class, perhaps in namespaces."""
    scope = child(name, "scope") or name
    for number, part in enumerate(path):
        kind = "class" if number == len(path) - 1 else "namespace"
        yield Definition(part, kind, node, scope.byte_range, modifiers=("partial",), reopens=True)


def _split(written: str) -> tuple[list[str], str]:
    """`ns::Foo<T>::bar` as `ns`, `Foo` and `bar`; so is `ns::Foo<T>::bar<int>`, a special case of it."""
    if written.endswith(">") and "operator" not in written:
        written = without_arguments(written)
    name = _NAMED.search(written)
    if name is None or len(written) > 300:
        return [], ""
    return _WORD.findall(without_arguments(written[: name.start()])), " ".join(_CONVERSION.sub(r"\1", name[0]).split())


def _member(
    node: Node, declarator: Node, found: Declared, name: str, around: Definition | None, source: Source
) -> Definition:
    body, function = child(node, "body"), found.function
    inside = around is not None and around.kind in _CLASSES
    written = source.of(child(node, "type"))
    start = _whole(node)
    modifiers = list(_modifiers(node, source, function))
    if function is not None and node.type == "declaration" and not inside:
        modifiers.append("declaration")
    return Definition(
        name,
        _kind(name, around, is_function=function is not None, inside=inside),
        start,
        _header(start, node) if body is not None else (start.start_byte, min(declarator.end_byte, node.end_byte)),
        type=written + ("[]" if found.is_array else ""),
        parameters=tuple(parameters(_list_of(function), source)),
        modifiers=tuple(modifiers),
        attributes=tuple(_attributes(node, source)),
        has_body=function is not None and body is not None,
    )


def _list_of(function: Node | None) -> Node | None:
    if function is not None and function.type == "operator_cast":
        function = child(function, "declarator")
    return child(function, "parameters") if function is not None else None


def _kind(name: str, around: Definition | None, *, is_function: bool, inside: bool) -> str:
    if not is_function:
        return "field" if inside else "variable"
    if inside and around is not None and around.name == name:
        return "constructor"
    return "method" if inside else "function"


def _whole(node: Node) -> Node:
    """With the `template <…>` in front of it."""
    above = node.parent
    return above if above is not None and above.type == "template_declaration" else node


def _header(start: Node, node: Node) -> tuple[int, int]:
    body = child(node, "body")
    before = first_of(node, "field_initializer_list") if node.type == "function_definition" else None
    end = before or body
    return start.start_byte, end.start_byte if end is not None else node.end_byte


def _modifiers(node: Node, source: Source, function: Node | None = None) -> Iterator[str]:
    for each in (*node.children, *(function.children if function is not None else ())):
        if each.type in _MODIFIERS:
            yield source.of(each).partition("(")[0].strip()


def _attributes(node: Node, source: Source) -> Iterator[str]:
    """`[[nodiscard("why")]]` is nodiscard."""
    for each in node.named_children[:10]:
        if each.type == "attribute_declaration":
            for attribute in each.named_children:
                yield source.of(child(attribute, "name") or attribute).partition("(")[0][:200]


def _bases(node: Node, source: Source) -> Iterator[str]:
    clause = first_of(node, "base_class_clause")
    for each in clause.named_children if clause else ():
        if each.type in ("type_identifier", "qualified_identifier", "template_type"):
            yield "".join(source.of(each).split())[:200]
