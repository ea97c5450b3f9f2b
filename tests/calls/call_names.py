"""The definitions of a case, read without the engine: what the suite may speak of, and whether its programs parse."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

import tree_sitter_c_sharp
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
    read = _python if case.language == "python" else _csharp
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


def _text(node: Node | None) -> str:
    return node.text.decode() if node and node.text else ""
