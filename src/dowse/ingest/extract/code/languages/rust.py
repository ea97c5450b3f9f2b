"""Rust."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from string import ascii_letters, digits
from typing import TYPE_CHECKING, Final

from dowse.ingest.extract.code.calls import remove_nested, unwrap_type
from dowse.ingest.extract.code.language import (
    BoundName,
    ImportedName,
    Language,
    MappingCall,
    NodeRange,
    NodeShape,
    Parameter,
    SyntaxDefinition,
    child,
    first_child_of,
)
from dowse.text.receiver_expressions import UNKNOWN_ROOT, instance_root

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.language import SourceText

# --------------------------------------------------------------------------------------------------
# Rust types; references and smart pointers are transparent.

_UNINFORMATIVE = frozenset({"", "()", "_", "!"})
_REFERENCE = re.compile(r"&+\s*(?:'\w+\s*)?(?:mut\s+)?|\b(?:dyn|impl)\s+|'\w+\s*,\s*|\*(?:const|mut)\s+")
_POINTER = re.compile(r"(?:[\w:]+::)?(?:Box|Rc|Arc|Cow|Pin|Ref|RefMut|MutexGuard)<(.+)>")
_INNER_POINTER = re.compile(r"([<,(]\s*)(?:[\w:]+::)?(?:Box|Rc|Arc)<([^<>]*)>")
_MAX_NESTING = 4
_ANGLES = re.compile(r"(?:::)?<[^<>]*>")
_SLICE = re.compile(r"\[([^;\[\]]+)(?:;[^\]]*)?\]")


def instance_of(type_text: str) -> str:
    """Translate a type: `&mut dyn Foo` and `Arc<Foo>` are used like Foo, `[Foo; 3]` and `&[Foo]` are arrays."""
    bare = _REFERENCE.sub("", type_text.split("->")[0] if type_text.startswith("fn") else type_text).strip()
    bare = _remove_inner_pointers(bare)
    bare = _SLICE.sub(r"\1[]", unwrap_type(bare, _POINTER).partition(" + ")[0])
    return "" if bare in _UNINFORMATIVE else instance_root(bare)


def _remove_inner_pointers(type_text: str) -> str:
    """Remove inner smart pointers: `Vec<Box<Foo>>` holds Foo."""
    for _ in range(_MAX_NESTING if "<" in type_text else 0):
        shorter = _INNER_POINTER.sub(r"\1\2", type_text)
        if shorter == type_text:
            break
        type_text = shorter
    return type_text


def remove_generics(path: str) -> str:
    """Remove the type arguments from `Foo::<T>::new` and `Foo<Bar<T>>`."""
    return remove_nested(path, _ANGLES)


# --------------------------------------------------------------------------------------------------
# Definitions in Rust; the functions of an `impl` are methods of its type.

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
_MACRO_KEYWORDS: Final = {
    "fn": "function",
    "struct": "struct",
    "enum": "enum",
    "trait": "interface",
    "type": "typeAlias",
    "static": "variable",
    "const": "variable",
}
_MAX_TOKENS: Final = 500
_MEMBER_KINDS: Final = {"function": "method", "variable": "field"}
_HOLDERS: Final = frozenset({"struct", "enum", "interface"})
_MAX_ATTRIBUTES: Final = 50
_CFG_TEST: Final = re.compile(r"#\[cfg\((?:all\((?:[^()]*,)?)?test[,)]")  # after removing blanks


def define(node: Node, enclosing: SyntaxDefinition | None, source: SourceText) -> Iterable[SyntaxDefinition]:
    if node.type == "impl_item":
        return _define_impl(node, source)
    if node.type in _MACRO_KEYWORDS:
        return _define_macro_item(node, source) if enclosing is None or enclosing.kind == "namespace" else ()
    if (
        enclosing is not None
        and node.type in ("const_item", "static_item")
        and enclosing.kind in ("function", "method")
    ):
        return ()
    if node.type == "field_declaration" and (enclosing is None or enclosing.kind != "struct"):
        return ()  # in a variant of an enum
    kind = _KINDS[node.type]
    if enclosing is not None and enclosing.kind in _HOLDERS:
        kind = _MEMBER_KINDS.get(kind, kind)
    parameters = tuple(_parameters(child(node, "parameters"), source))
    attributes = _attributes(node, source)
    definition = SyntaxDefinition(
        source.text(child(node, "name")).removeprefix("r#"),
        kind,
        node,
        _header(node),
        type=source.text(child(node, "return_type") or child(node, "type")),
        parameters=parameters,
        leading_hidden=int(bool(parameters) and parameters[0].name == "self"),
        modifiers=tuple(_modifiers(node, source)),
        attributes=tuple(_attribute_name(each, source) for each in attributes),
        is_test=any(_CFG_TEST.match("".join(source.text(each).split())) for each in attributes),
        bases=tuple(_bounds(node, source)),
        has_body=node.type == "function_item",
    )
    return (definition, *_tuple_fields(node, source)) if node.type == "struct_item" else (definition,)


def _define_impl(node: Node, source: SourceText) -> Iterable[SyntaxDefinition]:
    """Reopen the type of `impl Foo`; a type from another file is partly defined here."""
    name = remove_generics(source.text(child(node, "type")).lstrip("&")).rpartition("::")[2].rpartition("dyn")[2]
    trait = "".join(source.text(child(node, "trait")).split())[:200]
    if not name.isidentifier():
        return ()
    return [
        SyntaxDefinition(
            name,
            "struct",
            node,
            _header(node),
            modifiers=("impl", "partial"),
            attributes=tuple(_attribute_name(each, source) for each in _attributes(node, source)),
            bases=(trait,) if trait else (),
            reopens=True,
        )
    ]


def _define_macro_item(word: Node, source: SourceText) -> Iterator[SyntaxDefinition]:
    """Define an item in the brackets of a macro, which the grammar does not parse: `s! { struct A {} }`."""
    enclosing, before, name = word.parent, word.prev_sibling, word.next_sibling
    if enclosing is not None and enclosing.parent is not None and enclosing.parent.type == "token_tree":
        enclosing = enclosing.parent
    if enclosing is None or enclosing.parent is None or enclosing.parent.type != "macro_invocation":
        return  # inside the definition of a macro
    if name is not None and (name.type == "mutable_specifier" or source.text(name) == "ref"):
        name = name.next_sibling
    if name is None or name.type != "identifier" or (before is not None and before.type == "*"):
        return  # `*const T`
    kind = _MACRO_KEYWORDS[word.type]
    end, parameter_list, body = name, None, None
    for _ in range(_MAX_TOKENS):
        following = end.next_sibling
        if following is None or following.type in ("}", ")", "]"):
            break
        end = following
        text = source.data[end.start_byte : end.start_byte + 1]
        if end.type == ";" or (end.type == "token_tree" and text == b"{" and kind != "variable"):
            body = end if end.type == "token_tree" else None
            break
        if end.type == "token_tree" and text == b"(" and kind == "function":
            parameter_list = parameter_list or end
    header = (word.start_byte, body.start_byte if body is not None else end.end_byte)
    span = NodeRange.spanning(word, end)
    # Its parameter list looks like the arguments of a call.
    yield SyntaxDefinition(source.text(name), kind, span, header, has_body=False, function=parameter_list)
    if body is not None and kind in ("struct", "enum"):
        yield from _macro_members(body, "field" if kind == "struct" else "enumMember", source)


def _macro_members(body: Node, kind: str, source: SourceText) -> Iterator[SyntaxDefinition]:
    """Yield the names at the start, after a comma or after a visibility; a colon follows those of fields."""
    before = "{"
    for each in body.children[:_MAX_TOKENS]:
        if each.is_extra:
            continue
        following = each.next_sibling
        is_named = kind == "enumMember" or (following is not None and following.type == ":")
        if each.type == "identifier" and before in ("{", ",", "pub", "token_tree") and is_named:
            yield SyntaxDefinition(source.text(each), kind, each, each.byte_range, has_body=False)
        before = each.type


def _header(node: Node) -> tuple[int, int]:
    body = child(node, "body")
    if body is None and node.type == "macro_definition":
        body = first_child_of(node, "macro_rule")
    cut = body is not None and node.type not in ("enum_variant",) and not body.type.startswith("ordered")
    return node.start_byte, body.start_byte if body is not None and cut else node.end_byte


def _parameters(node: Node | None, source: SourceText) -> Iterator[Parameter]:
    for each in node.named_children if node else ():
        if each.type == "self_parameter":
            yield Parameter("self", value_expression="this")
        elif each.type == "parameter":
            pattern = child(each, "pattern")
            is_self = pattern is not None and pattern.type == "self"
            yield Parameter(source.text(pattern), source.text(child(each, "type")), "this" if is_self else "")


def _tuple_fields(node: Node, source: SourceText) -> Iterator[SyntaxDefinition]:
    """Define the fields of `struct Foo(A, B)`: 0 and 1."""
    body = child(node, "body")
    if body is not None and body.type == "ordered_field_declaration_list":
        for number, each in enumerate(body.children_by_field_name("type")):
            yield SyntaxDefinition(str(number), "field", each, each.byte_range, source.text(each), has_body=False)


def _modifiers(node: Node, source: SourceText) -> Iterator[str]:
    for each in node.named_children:
        if each.type == "visibility_modifier":
            yield "".join(source.text(each).split())[:200]
        elif each.type == "function_modifiers":
            yield from (word for word in source.text(each).split() if word.isidentifier())
        elif each.type in ("identifier", "type_identifier", "field_identifier"):
            break
    if node.type in ("const_item", "static_item"):
        yield node.type.partition("_")[0]
    if node.type == "macro_definition":
        yield "macro"


def _bounds(node: Node, source: SourceText) -> Iterator[str]:
    bounds = child(node, "bounds") if node.type == "trait_item" else None
    for each in bounds.named_children if bounds else ():
        if each.type != "lifetime":
            yield "".join(source.text(each).split())[:200]


def _attributes(node: Node, source: SourceText) -> list[Node]:
    """Return the attributes directly above; siblings are fetched only after a closing bracket, because that is slow."""
    found: list[Node] = []
    start = node.start_byte
    for _ in range(_MAX_ATTRIBUTES):
        if not source.data[max(0, start - 200) : start].rstrip().endswith(b"]"):
            break
        before = node.prev_named_sibling
        if before is None or before.type != "attribute_item":
            break
        found.append(before)
        node, start = before, before.start_byte
    return found[::-1]


def _attribute_name(node: Node, source: SourceText) -> str:
    inner = child(node, "0")
    return "".join(source.text(child(inner, "0") if inner is not None else None).split())[:200]


# --------------------------------------------------------------------------------------------------
# Bindings in Rust: `let`, patterns, loops and closures.

_VARIANT_PATH: Final = re.compile(r"\w+(?:\.\w+)+")
_WRAPPER_VARIANTS: Final = frozenset({"Some", "Ok"})
_MAX_PATTERN_NODES: Final = 200
_ELEMENT_CALLBACK_METHODS: Final = frozenset(
    {
        "map", "filter", "for_each", "any", "all", "flat_map", "filter_map", "find", "position", "take_while",
        "skip_while", "inspect", "max_by_key", "min_by_key", "sort_by_key", "retain", "partition", "find_map",
        "and_then",
    }
)  # fmt: skip


def bind(node: Node, source: SourceText) -> Iterable[BoundName]:
    pattern, value = child(node, "pattern"), child(node, "value")
    if pattern is None:
        return ()
    if node.type == "match_arm":
        value = _matched_value(node)
        return _bind_pattern(pattern, value, "", node.start_byte, source, narrows=True)
    if node.type == "for_expression":
        return _bind_pattern(pattern, value, "[]", value.end_byte if value is not None else node.end_byte, source)
    type_text = source.text(child(node, "type"))
    if pattern.type == "identifier":
        return [BoundName(pattern, node.end_byte, "" if "_" in (type_text, type_text[-2:-1]) else type_text, value)]
    return _bind_pattern(pattern, value, "", node.end_byte, source, narrows=node.type == "let_condition")


def _matched_value(arm: Node) -> Node | None:
    block = arm.parent
    return child(block.parent, "value") if block is not None and block.parent is not None else None


def _bind_pattern(
    pattern: Node, value: Node | None, step: str, at: int, source: SourceText, *, narrows: bool = False
) -> Iterator[BoundName]:
    """Bind the names in a pattern, each to its path into the value; a path after `=` replaces the value."""
    pending: list[tuple[Node, str | None]] = [(pattern, step)]
    for _ in range(_MAX_PATTERN_NODES):
        if not pending:
            return
        part, path = pending.pop()
        if part.type in ("identifier", "shorthand_field_identifier"):
            if source.text(part)[:1].islower() or source.text(part)[:1] == "_":
                if path is not None and path.startswith("="):
                    yield BoundName(part, at, value_expression=path[1:], narrows=narrows)
                else:
                    yield BoundName(
                        part, at, value=value if path is not None else None, step=path or "", narrows=narrows
                    )
        else:
            pending += _pattern_parts(part, path, source)


def _pattern_parts(part: Node, path: str | None, source: SourceText) -> list[tuple[Node, str | None]]:
    if part.type == "field_pattern":
        name = child(part, "name")
        onward = f"{path}.{source.text(name)}" if path is not None else None
        inner = child(part, "pattern") or name
        return [(inner, onward)] if inner is not None else []
    kind = child(part, "type")
    condition = child(part, "condition")
    inner_parts = [each for each in part.named_children if each not in (kind, condition)]
    if part.type == "tuple_struct_pattern":
        if source.text(kind) in _WRAPPER_VARIANTS:
            return [(each, f"{path}[]" if path is not None else None) for each in inner_parts]
        variant = source.text(kind).replace("::", ".")
        variant = f"this{variant[4:]}" if variant.startswith("Self.") else variant
        is_path = _VARIANT_PATH.fullmatch(variant) is not None
        return [(each, f"={variant}.{number}" if is_path else None) for number, each in enumerate(inner_parts)]
    if part.type == "tuple_pattern":
        return [(each, f"{path}[{number}]" if path is not None else None) for number, each in enumerate(inner_parts)]
    return [(each, path) for each in inner_parts]


def lambda_parameters(node: Node, source: SourceText) -> Iterable[Parameter]:
    """Return the parameters of a closure; an iterator method passes an element of its receiver as the first."""
    parameters_node = child(node, "parameters")
    parameters = [_parameter(each, source) for each in (parameters_node.named_children if parameters_node else ())]
    elements = _element_source(node, source)
    if parameters and not parameters[0].type and elements is not None:
        parameters[0] = Parameter(parameters[0].name, value=elements, step="[]")
    return parameters


def _parameter(node: Node, source: SourceText) -> Parameter:
    if node.type == "parameter":
        return Parameter(source.text(child(node, "pattern")), source.text(child(node, "type")))
    return Parameter(source.text(node).lstrip("&").removeprefix("mut ").strip())


def _element_source(node: Node, source: SourceText) -> Node | None:
    call = node.parent.parent if node.parent is not None and node.parent.type == "arguments" else None
    callee = child(call, "function") if call is not None else None
    if (
        callee is None
        or callee.type != "field_expression"
        or source.text(child(callee, "field")) not in _ELEMENT_CALLBACK_METHODS
    ):
        return None
    return child(callee, "value")


def mapping_call(node: Node, source: SourceText) -> MappingCall | None:
    """Recognize `xs.iter().map(|x| x.y())` and `.map(X::y)`."""
    arguments, callee = child(node, "arguments"), child(node, "function")
    if arguments is None or callee is None or callee.type != "field_expression" or arguments.named_child_count != 1:
        return None
    function, name, receiver = arguments.named_children[0], source.text(child(callee, "field")), child(callee, "value")
    if name not in ("map", "flat_map", "filter_map") or receiver is None:
        return None
    if function.type == "scoped_identifier":
        return MappingCall(receiver, member=source.text(child(function, "name")), is_flat=name != "map")
    body, parameters = child(function, "body"), source.text(child(function, "parameters"))
    if function.type != "closure_expression" or body is None:
        return None
    return MappingCall(receiver, parameters.strip("| ").lstrip("&").removeprefix("mut "), body, is_flat=name != "map")


_QUERY = """
[(mod_item body: (_)) (struct_item) (union_item) (enum_item) (trait_item) (impl_item) (function_item)
 (function_signature_item) (const_item) (static_item) (type_item) (associated_type) (macro_definition)
 (field_declaration) (enum_variant)] @define
(token_tree ["fn" "struct" "enum" "trait" "type" "static" "const"] @define)
[(use_declaration) (extern_crate_declaration) (mod_item !body)] @import
[(call_expression) (token_tree)] @call
(struct_expression) @construct
[(let_declaration) (let_condition) (for_expression)] @bind
(match_arm) @bind @case
(closure_expression) @lambda
(arguments) @refer
[(if_expression) (for_expression) (while_expression) (loop_expression)] @branch
(else_clause (if_expression) @else_if)
(else_clause (block) @else)
(match_expression) @switch
[(unsafe_block) (async_block)] @block
(binary_expression operator: ["&&" "||"]) @operator
(return_expression) @return
"""

_RELATIVE_PREFIX = re.compile(r"^(?:(?:crate|super|self)\.)+")
_SELF = re.compile(r"^Self(?=\W|$)")
_PATH = re.compile(r"\w+(?:\.\w+)*")
_LOCAL_MEMBER = re.compile(r"(?!self\b)[a-z_]\w*(?:\.[a-z_]\w*)+")
_PATH_CHARACTERS = f"{ascii_letters}{digits}_.:"
_UNKNOWN_RECEIVER = ":?;"  # an unknown receiver whose member is known
_MAX_CALLEE_BYTES = 120  # bytes of a name in the arguments of a macro
_MAX_USE_NAMES = 2_000  # names in one `use`


def _path(node: Node, source: SourceText) -> str:
    """Turn `crate::a::Foo::<T>::new` into `a.Foo.new`: the start of a path says little about its target."""
    if node.end_byte - node.start_byte > 300:
        return ""
    dotted = _RELATIVE_PREFIX.sub(
        "", remove_generics(source.text(node)).replace("r#", "").replace("::", ".").strip(".")
    )
    return _SELF.sub("this", dotted) if _PATH.fullmatch(dotted) else ""


def _macro_callee(node: Node, source: SourceText) -> str:
    """Return the name before brackets in a macro: to the grammar, macro arguments are only tokens and brackets."""
    start = node.start_byte
    before = source.data[max(0, start - _MAX_CALLEE_BYTES) : start].decode(errors="ignore").rstrip()
    text = before.removesuffix("!")
    path = text[len(text.rstrip(_PATH_CHARACTERS)) :]
    dotted = path.replace("::", ".")
    if not _PATH.fullmatch(dotted.lstrip(".")) or (text == before and source.data[start : start + 1] != b"("):
        return ""
    if _LOCAL_MEMBER.fullmatch(path):
        return f"@{path}"
    if "." in path and not path.startswith("self."):
        return f"{_UNKNOWN_RECEIVER}.{dotted.rpartition('.')[2]}"  # of a local, or of the result of a call
    return f"this.{dotted[5:]}" if path.startswith("self.") else _RELATIVE_PREFIX.sub("", dotted.lstrip("."))


def _normalize(expression: str) -> str:
    """Replace `Self` by the enclosing type."""
    if expression.startswith(_UNKNOWN_RECEIVER):
        return UNKNOWN_ROOT + expression.removeprefix(_UNKNOWN_RECEIVER)
    return _SELF.sub("this", expression) if expression.startswith("Self") else expression


_SHAPES = {
    "identifier": NodeShape(is_name=True),
    "self": NodeShape(is_name=True),
    "scoped_identifier": NodeShape(translate=_path),
    "generic_function": NodeShape(base="function", type_arguments="type_arguments"),
    "field_expression": NodeShape(base="value", member="field"),
    "call_expression": NodeShape(base="function", step="()"),
    "token_tree": NodeShape(translate=_macro_callee),
    "macro_invocation": NodeShape(base="macro", step="()"),
    "index_expression": NodeShape(base="0", step="[]"),
    "await_expression": NodeShape(base="0", step="!"),
    "try_expression": NodeShape(base="0", step="[]"),
    "reference_expression": NodeShape(base="value"),
    "unary_expression": NodeShape(base="0"),
    "parenthesized_expression": NodeShape(base="0"),
    "expression_statement": NodeShape(base="0"),
    "struct_expression": NodeShape(type="name"),
    "type_cast_expression": NodeShape(type="type"),
    "array_expression": NodeShape(root=":{}[];", element="0"),
    "string_literal": NodeShape(root=":str;"),
    "integer_literal": NodeShape(root=":i32;"),
    "float_literal": NodeShape(root=":f64;"),
    "boolean_literal": NodeShape(root=":bool;"),
    "char_literal": NodeShape(root=":char;"),
}
_FILLERS = {
    "line_comment": "comments",
    "block_comment": "comments",
    "use_declaration": "imports",
    "extern_crate_declaration": "imports",
    "mod_item": "names of modules",
    "attribute_item": "attributes",
    "inner_attribute_item": "attributes",
    "macro_invocation": "macros",
    "expression_statement": "",
}


def _imports(node: Node, source: SourceText) -> Iterator[ImportedName]:
    if node.type == "use_declaration":
        yield from _use_tree_imports(child(node, "argument"), source)
        return
    name, alias = source.text(child(node, "name")), source.text(child(node, "alias"))
    yield ImportedName(name, alias or name)


def _use_tree_imports(node: Node | None, source: SourceText) -> Iterator[ImportedName]:
    """Yield every name of a use tree, without recursion because trees nest."""
    pending = [("", node)]
    for _ in range(_MAX_USE_NAMES):
        if not pending:
            return
        prefix, part = pending.pop()
        if part is None:
            continue
        if part.type in ("scoped_use_list", "use_list"):
            inner = _join_path(prefix, source.text(child(part, "path"))) if part.type == "scoped_use_list" else prefix
            use_list = child(part, "list") if part.type == "scoped_use_list" else part
            pending += [(inner, each) for each in reversed(use_list.named_children if use_list else ())]
        else:
            yield _use_import(prefix, part, source)


def _use_import(prefix: str, node: Node, source: SourceText) -> ImportedName:
    if node.type == "use_wildcard":
        return ImportedName(_join_path(prefix, source.text(child(node, "0"))), "*")
    named, alias = (child(node, "path"), child(node, "alias")) if node.type == "use_as_clause" else (node, None)
    path = _join_path(prefix, source.text(named).removesuffix("::self"))
    if named is not None and named.type == "self" and prefix:
        path = prefix
        return ImportedName(path, source.text(alias) or path.rpartition("::")[2])
    module, _, member = path.rpartition("::")
    return ImportedName(module or member, source.text(alias) or member, member if module else "")


def _join_path(prefix: str, path: str) -> str:
    return "::".join(part for part in (prefix, "".join(path.split())) if part)


LANGUAGES = (
    Language(
        name="rust",
        suffixes=(".rs",),
        grammar="tree_sitter_rust",
        query=_QUERY,
        shapes=_SHAPES,
        define=define,
        bind=bind,
        imports=_imports,
        fillers=_FILLERS,
        lambda_parameters=lambda_parameters,
        instance_of=instance_of,
        normalize=_normalize,
        pseudo_calls=frozenset({"Some", "Ok", "Err", UNKNOWN_ROOT}),
        mapping_call=mapping_call,
        sequence_type=":Iterator<?>;",
    ),
)
