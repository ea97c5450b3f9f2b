"""What Rust defines; the functions of an `impl` are methods of its type."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from dowse.ingest.extract.code.language import Definition, Parameter
from dowse.ingest.extract.code.languages.rust.types import without_generics
from dowse.ingest.extract.code.source import Extent, child, first_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.source import Source

_KINDS: Final = {
    "mod_item": "namespace",
    "struct_item": "struct",
    "union_item": "struct",
    "enum_item": "enum",
    "trait_item": "interface",
    "function_item": "function",
    "function_signature_item": "function",
    "const_item": "variable",
    "static_item": "variable",
    "type_item": "typeAlias",
    "associated_type": "typeAlias",
    "macro_definition": "function",
    "field_declaration": "field",
    "enum_variant": "enumMember",
}
_WORDS: Final = {
    "fn": "function",
    "struct": "struct",
    "enum": "enum",
    "trait": "interface",
    "type": "typeAlias",
    "static": "variable",
    "const": "variable",
}
_MOST_TOKENS: Final = 500
_MEMBER_KINDS: Final = {"function": "method", "variable": "field"}
_HOLDERS: Final = frozenset({"struct", "enum", "interface"})
_MOST_ATTRIBUTES: Final = 50
_ONLY_IN_TESTS: Final = re.compile(r"#\[cfg\((?:all\((?:[^()]*,)?)?test[,)]")  # without blanks


def define(node: Node, around: Definition | None, source: Source) -> Iterable[Definition]:
    if node.type == "impl_item":
        return _opened(node, source)
    if node.type in _WORDS:
        return _in_a_macro(node, source) if around is None or around.kind == "namespace" else ()
    if around is not None and node.type in ("const_item", "static_item") and around.kind in ("function", "method"):
        return ()
    if node.type == "field_declaration" and (around is None or around.kind != "struct"):
        return ()  # of a variant of an enum
    kind = _KINDS[node.type]
    if around is not None and around.kind in _HOLDERS:
        kind = _MEMBER_KINDS.get(kind, kind)
    parameters = tuple(_parameters(child(node, "parameters"), source))
    attributes = _attributes(node, source)
    found = Definition(
        source.of(child(node, "name")).removeprefix("r#"),
        kind,
        node,
        _header(node),
        type=source.of(child(node, "return_type") or child(node, "type")),
        parameters=parameters,
        hidden=int(bool(parameters) and parameters[0].name == "self"),
        modifiers=tuple(_modifiers(node, source)),
        attributes=tuple(_name_of_attribute(each, source) for each in attributes),
        is_test=any(_ONLY_IN_TESTS.match("".join(source.of(each).split())) for each in attributes),
        bases=tuple(_bounds(node, source)),
        has_body=node.type == "function_item",
    )
    return (found, *_numbered(node, source)) if node.type == "struct_item" else (found,)


def _opened(node: Node, source: Source) -> Iterable[Definition]:
    """`impl Foo`: if the type is defined in another file, a part of it stands here."""
    name = without_generics(source.of(child(node, "type")).lstrip("&")).rpartition("::")[2].rpartition("dyn")[2]
    trait = "".join(source.of(child(node, "trait")).split())[:200]
    if not name.isidentifier():
        return ()
    return [
        Definition(
            name,
            "struct",
            node,
            _header(node),
            modifiers=("impl", "partial"),
            attributes=tuple(_name_of_attribute(each, source) for each in _attributes(node, source)),
            bases=(trait,) if trait else (),
            reopens=True,
        )
    ]


def _in_a_macro(word: Node, source: Source) -> Iterator[Definition]:
    """An item in the brackets of a macro, which are only words to the grammar: `s! { struct A {} }`."""
    around, before, name = word.parent, word.prev_sibling, word.next_sibling
    if around is not None and around.parent is not None and around.parent.type == "token_tree":
        around = around.parent
    if around is None or around.parent is None or around.parent.type != "macro_invocation":
        return  # what a macro is made of
    if name is not None and (name.type == "mutable_specifier" or source.of(name) == "ref"):
        name = name.next_sibling
    if name is None or name.type != "identifier" or (before is not None and before.type == "*"):
        return  # `*const T`
    kind = _WORDS[word.type]
    end, passed, body = name, None, None
    for _ in range(_MOST_TOKENS):
        following = end.next_sibling
        if following is None or following.type in ("}", ")", "]"):
            break
        end = following
        text = source.data[end.start_byte : end.start_byte + 1]
        if end.type == ";" or (end.type == "token_tree" and text == b"{" and kind != "variable"):
            body = end if end.type == "token_tree" else None
            break
        if end.type == "token_tree" and text == b"(" and kind == "function":
            passed = passed or end
    header = (word.start_byte, body.start_byte if body is not None else end.end_byte)
    span = Extent.over(word, end)
    # What it is passed looks like the arguments of a call.
    yield Definition(source.of(name), kind, span, header, has_body=False, function=passed)
    if body is not None and kind in ("struct", "enum"):
        yield from _members(body, "field" if kind == "struct" else "enumMember", source)


def _members(body: Node, kind: str, source: Source) -> Iterator[Definition]:
    """Names at the beginning, behind a comma or a visibility; those of fields have a colon behind them."""
    before = "{"
    for each in body.children[:_MOST_TOKENS]:
        if each.is_extra:
            continue
        following = each.next_sibling
        is_named = kind == "enumMember" or (following is not None and following.type == ":")
        if each.type == "identifier" and before in ("{", ",", "pub", "token_tree") and is_named:
            yield Definition(source.of(each), kind, each, each.byte_range, has_body=False)
        before = each.type


def _header(node: Node) -> tuple[int, int]:
    body = child(node, "body")
    if body is None and node.type == "macro_definition":
        body = first_of(node, "macro_rule")
    cut = body is not None and node.type not in ("enum_variant",) and not body.type.startswith("ordered")
    return node.start_byte, body.start_byte if body is not None and cut else node.end_byte


def _parameters(node: Node | None, source: Source) -> Iterator[Parameter]:
    for each in node.named_children if node else ():
        if each.type == "self_parameter":
            yield Parameter("self", holds="this")
        elif each.type == "parameter":
            pattern = child(each, "pattern")
            is_self = pattern is not None and pattern.type == "self"
            yield Parameter(source.of(pattern), source.of(child(each, "type")), "this" if is_self else "")


def _numbered(node: Node, source: Source) -> Iterator[Definition]:
    """`struct Foo(A, B)` has the fields 0 and 1."""
    body = child(node, "body")
    if body is not None and body.type == "ordered_field_declaration_list":
        for number, each in enumerate(body.children_by_field_name("type")):
            yield Definition(str(number), "field", each, each.byte_range, source.of(each), has_body=False)


def _modifiers(node: Node, source: Source) -> Iterator[str]:
    for each in node.named_children:
        if each.type == "visibility_modifier":
            yield "".join(source.of(each).split())[:200]
        elif each.type == "function_modifiers":
            yield from (word for word in source.of(each).split() if word.isidentifier())
        elif each.type in ("identifier", "type_identifier", "field_identifier"):
            break
    if node.type in ("const_item", "static_item"):
        yield node.type.partition("_")[0]
    if node.type == "macro_definition":
        yield "macro"


def _bounds(node: Node, source: Source) -> Iterator[str]:
    bounds = child(node, "bounds") if node.type == "trait_item" else None
    for each in bounds.named_children if bounds else ():
        if each.type != "lifetime":
            yield "".join(source.of(each).split())[:200]


def _attributes(node: Node, source: Source) -> list[Node]:
    """Those directly above; what precedes is only looked for where a bracket ends it, because that takes long."""
    found: list[Node] = []
    start = node.start_byte
    for _ in range(_MOST_ATTRIBUTES):
        if not source.data[max(0, start - 200) : start].rstrip().endswith(b"]"):
            break
        before = node.prev_named_sibling
        if before is None or before.type != "attribute_item":
            break
        found.append(before)
        node, start = before, before.start_byte
    return found[::-1]


def _name_of_attribute(node: Node, source: Source) -> str:
    inner = child(node, "0")
    return "".join(source.of(child(inner, "0") if inner is not None else None).split())[:200]
