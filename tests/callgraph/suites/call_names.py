"""The definitions of a case, read without the engine: what the suite may speak of, and whether its programs parse."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import NamedTuple

import tree_sitter_c_sharp
import tree_sitter_go
import tree_sitter_java
import tree_sitter_rust
import tree_sitter_typescript
from call_cases import MODULE, Case
from tree_sitter import Language, Node, Parser

Definition = tuple[str, tuple[str, ...]]
"""Its qualified name and the types of its parameters."""

_WITH_PRIMARY = {"class_declaration", "struct_declaration", "record_declaration"}  # constructors in the header
_DEFINING = {
    f"{kind}_declaration" for kind in ("class", "interface", "struct", "record", "enum", "method", "constructor")
} | {"property_declaration", "local_function_statement", "event_field_declaration", "field_declaration"}


def names(case: Case) -> set[str]:
    """Every definition of the case as the suite writes it."""
    read = _READERS[case.language]
    found = {f"{path}:{MODULE}" for path in case.files}
    for path, source in case.files.items():
        found |= {f"{path}:{name}" for name in told_apart(read(source))}
    return found


def told_apart(definitions: list[Definition]) -> list[str]:
    """Their names in order; those that several with different parameters share are told apart by these."""
    forms: defaultdict[str, set[tuple[str, ...]]] = defaultdict(set)
    for name, parameters in definitions:
        forms[name].add(parameters)
    return [f"{name}({','.join(them)})" if len(forms[name]) > 1 else name for name, them in definitions]


def _python(source: str) -> list[Definition]:
    compile(source, "case", "exec", dont_inherit=True)
    return [(name, ()) for name in _python_names(ast.parse(source), "")]


def _python_names(node: ast.AST, inside: str) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield inside + child.name
            yield from _python_names(child, f"{inside}{child.name}.")
        else:
            yield from _python_names(child, inside)


def _csharp(source: str) -> list[Definition]:
    root = Parser(Language(tree_sitter_c_sharp.language())).parse(source.encode()).root_node
    if root.has_error:
        raise SyntaxError(f"no valid C#: {source}")
    return list(_csharp_names(root, ""))


def _csharp_names(node: Node, inside: str) -> Iterator[Definition]:
    for child in node.named_children:
        within = inside
        if child.type == "indexer_declaration":
            yield f"{inside}this[]", ()
        elif child.type in _DEFINING:
            for name in _declared(child):
                yield inside + name, _parameters(child)
                within = f"{inside}{name}."
                if child.type in _WITH_PRIMARY and any(it.type == "parameter_list" for it in child.named_children):
                    yield within + name, ()
        yield from _csharp_names(child, within)


def _declared(node: Node) -> list[str]:
    """A field may declare several."""
    if name := node.child_by_field_name("name"):
        return [_text(name)]
    variables = next(it for it in node.named_children if it.type == "variable_declaration")
    return [
        _text(it.child_by_field_name("name")) for it in variables.named_children if it.type == "variable_declarator"
    ]


def _parameters(node: Node) -> tuple[str, ...]:
    listed = node.child_by_field_name("parameters")
    if listed is None:
        return ()
    return tuple(_text(it.child_by_field_name("type")) for it in listed.named_children if it.type == "parameter")


# --- other languages, by tables ---


class _Grammar(NamedTuple):
    """The types of nodes that define something, and those of lists of parameters that tell definitions apart."""

    language: Language
    defining: frozenset[str]
    parameters: frozenset[str] = frozenset()


_TABLES = {
    "go": _Grammar(
        Language(tree_sitter_go.language()),
        frozenset({"function_declaration", "method_declaration", "type_spec", "method_elem"}),
    ),
    "typescript": _Grammar(
        Language(tree_sitter_typescript.language_typescript()),
        frozenset(
            [
                "function_declaration",
                "generator_function_declaration",
                "class_declaration",
                "abstract_class_declaration",
                "interface_declaration",
                "enum_declaration",
                "method_definition",
                "method_signature",
                "property_signature",
                "abstract_method_signature",
                "public_field_definition",
                "variable_declarator",
                "pair",
            ]
        ),
    ),
    "java": _Grammar(
        Language(tree_sitter_java.language()),
        frozenset(
            [
                "class_declaration",
                "interface_declaration",
                "enum_declaration",
                "record_declaration",
                "method_declaration",
                "constructor_declaration",
                "enum_constant",
            ]
        ),
        frozenset({"formal_parameters"}),
    ),
    "rust": _Grammar(
        Language(tree_sitter_rust.language()),
        frozenset(
            [
                "function_item",
                "function_signature_item",
                "struct_item",
                "enum_item",
                "trait_item",
                "impl_item",
                "macro_definition",
            ]
        ),
    ),
}


def _by_table(language: str) -> Callable[[str], list[Definition]]:
    def read(source: str) -> list[Definition]:
        grammar = _TABLES[language]
        root = Parser(grammar.language).parse(source.encode()).root_node
        if root.has_error:
            raise SyntaxError(f"no valid {language}: {source}")
        return list(_named_in(root, "", grammar))

    return read


def _named_in(node: Node, inside: str, grammar: _Grammar) -> Iterator[Definition]:
    for child in node.named_children:
        within = inside
        if child.type in grammar.defining:
            name = _text(child.child_by_field_name("name") or child.child_by_field_name("key")) or _implemented(child)
            receiver = child.child_by_field_name("receiver")
            around = f"{_receiver(receiver)}." if receiver else inside
            yield around + name, _passed(child, grammar)
            is_object = getattr(child.child_by_field_name("value"), "type", "") == "object"
            within = around if is_object else f"{around}{name}."  # an object has no name that holds
        yield from _named_in(child, within, grammar)


def _implemented(node: Node) -> str:
    """The type of an `impl`."""
    return _text(node.child_by_field_name("type")).partition("<")[0]


def _receiver(node: Node) -> str:
    return _text(node).strip("()").split()[-1].lstrip("*").partition("[")[0]


def _passed(node: Node, grammar: _Grammar) -> tuple[str, ...]:
    listed = node.child_by_field_name("parameters")
    if listed is None or listed.type not in grammar.parameters:
        return ()
    return tuple(_text(it.child_by_field_name("type")) for it in listed.named_children)


_READERS: dict[str, Callable[[str], list[Definition]]] = {
    "python": _python,
    "csharp": _csharp,
    **{language: _by_table(language) for language in _TABLES},
}


def _text(node: Node | None) -> str:
    return node.text.decode() if node and node.text else ""
