"""Rust."""

from __future__ import annotations

import re
from collections.abc import Iterator
from string import ascii_letters, digits
from typing import TYPE_CHECKING

from dowse.ingest.extract.code.language import Imported, Language, Shape
from dowse.ingest.extract.code.languages.rust.bindings import bind, lambda_parameters, mapped
from dowse.ingest.extract.code.languages.rust.definitions import define
from dowse.ingest.extract.code.languages.rust.types import held, without_generics
from dowse.ingest.extract.code.source import child
from dowse.text.expressions import UNKNOWN

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.source import Source

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
(else_clause (if_expression) @further)
(else_clause (block) @otherwise)
(match_expression) @switch
[(unsafe_block) (async_block)] @block
(binary_expression operator: ["&&" "||"]) @operator
(return_expression) @return
"""

_HERE = re.compile(r"^(?:(?:crate|super|self)\.)+")
_SELF = re.compile(r"^Self(?=\W|$)")
_PATH = re.compile(r"\w+(?:\.\w+)*")
_OF_LOCAL = re.compile(r"(?!self\b)[a-z_]\w*(?:\.[a-z_]\w*)+")
_OF_PATHS = f"{ascii_letters}{digits}_.:"
_SOMETHING = ":?;"  # of which only a member is known
_MOST_CALLED = 120  # bytes of a name in the arguments of a macro
_MOST_USED = 2_000  # names in one `use`


def _path(node: Node, source: Source) -> str:
    """`crate::a::Foo::<T>::new` is `a.Foo.new`: where a path begins says little about what it names."""
    if node.end_byte - node.start_byte > 300:
        return ""
    dotted = _HERE.sub("", without_generics(source.of(node)).replace("r#", "").replace("::", ".").strip("."))
    return _SELF.sub("this", dotted) if _PATH.fullmatch(dotted) else ""


def _in_macro(node: Node, source: Source) -> str:
    """What brackets are behind: the arguments of a macro are no expressions to the grammar, only words and brackets."""
    start = node.start_byte
    before = source.data[max(0, start - _MOST_CALLED) : start].decode(errors="ignore").rstrip()
    text = before.removesuffix("!")
    path = text[len(text.rstrip(_OF_PATHS)) :]
    dotted = path.replace("::", ".")
    if not _PATH.fullmatch(dotted.lstrip(".")) or (text == before and source.data[start : start + 1] != b"("):
        return ""
    if _OF_LOCAL.fullmatch(path):
        return f"@{path}"
    if "." in path and not path.startswith("self."):
        return f"{_SOMETHING}.{dotted.rpartition('.')[2]}"  # of a local, or of what a call gives
    return f"this.{dotted[5:]}" if path.startswith("self.") else _HERE.sub("", dotted.lstrip("."))


def _meant(expression: str) -> str:
    """`Self` is the type around."""
    if expression.startswith(_SOMETHING):
        return UNKNOWN + expression.removeprefix(_SOMETHING)
    return _SELF.sub("this", expression) if expression.startswith("Self") else expression


_SHAPES = {
    "identifier": Shape(name=True),
    "self": Shape(name=True),
    "scoped_identifier": Shape(read=_path),
    "generic_function": Shape(onto="function", types="type_arguments"),
    "field_expression": Shape(onto="value", member="field"),
    "call_expression": Shape(onto="function", step="()"),
    "token_tree": Shape(read=_in_macro),
    "macro_invocation": Shape(onto="macro", step="()"),
    "index_expression": Shape(onto="0", step="[]"),
    "await_expression": Shape(onto="0", step="!"),
    "try_expression": Shape(onto="0", step="[]"),
    "reference_expression": Shape(onto="value"),
    "unary_expression": Shape(onto="0"),
    "parenthesized_expression": Shape(onto="0"),
    "expression_statement": Shape(onto="0"),
    "struct_expression": Shape(type="name"),
    "type_cast_expression": Shape(type="type"),
    "array_expression": Shape(root=":{}[];", element="0"),
    "string_literal": Shape(root=":str;"),
    "integer_literal": Shape(root=":i32;"),
    "float_literal": Shape(root=":f64;"),
    "boolean_literal": Shape(root=":bool;"),
    "char_literal": Shape(root=":char;"),
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


def _imports(node: Node, source: Source) -> Iterator[Imported]:
    if node.type == "use_declaration":
        yield from _used(child(node, "argument"), source)
        return
    name, alias = source.of(child(node, "name")), source.of(child(node, "alias"))
    yield Imported(name, alias or name)


def _used(node: Node | None, source: Source) -> Iterator[Imported]:
    """Every name of a tree of uses, without recursion: they nest."""
    waiting = [("", node)]
    for _ in range(_MOST_USED):
        if not waiting:
            return
        prefix, part = waiting.pop()
        if part is None:
            continue
        if part.type in ("scoped_use_list", "use_list"):
            inner = _under(prefix, source.of(child(part, "path"))) if part.type == "scoped_use_list" else prefix
            listed = child(part, "list") if part.type == "scoped_use_list" else part
            waiting += [(inner, each) for each in reversed(listed.named_children if listed else ())]
        else:
            yield _one_used(prefix, part, source)


def _one_used(prefix: str, node: Node, source: Source) -> Imported:
    if node.type == "use_wildcard":
        return Imported(_under(prefix, source.of(child(node, "0"))), "*")
    named, alias = (child(node, "path"), child(node, "alias")) if node.type == "use_as_clause" else (node, None)
    path = _under(prefix, source.of(named).removesuffix("::self"))
    if named is not None and named.type == "self" and prefix:
        path = prefix
        return Imported(path, source.of(alias) or path.rpartition("::")[2])
    module, _, member = path.rpartition("::")
    return Imported(module or member, source.of(alias) or member, member if module else "")


def _under(prefix: str, path: str) -> str:
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
        held=held,
        rewritten=_meant,
        no_calls=frozenset({"Some", "Ok", "Err", UNKNOWN}),
        mapped=mapped,
        sequence=":Iterator<?>;",
    ),
)
