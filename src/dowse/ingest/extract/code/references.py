"""Names that are passed on as values: which of them may be something to call."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.language import Language
    from dowse.ingest.extract.code.source import Source


def worth_following(
    captures: dict[str, list[Node]], imported: Collection[str], language: Language, source: Source
) -> dict[str, list[Node]]:
    """The captures without names that neither a definition nor an import of this file shows to be callable.

    Most arguments are plain values (five in six in Django): they are left out before anything else is done with them.
    """
    defined = {source.of(node.child_by_field_name("name")) for node in captures.get("define", ())}
    defined.update(source.of(node) for node in captures.get("named", ()))
    defined.discard("")
    names = frozenset(kind for kind, it in language.shapes.items() if it.name or (it.member and not it.step))
    names |= {"scoped_identifier"}  # a path of Rust, which is read off its text
    by_type = language.is_function_type is not None
    kept = []
    for node in captures.get("refer", ()):
        for each in _named(node, names):
            root, _, rest = dotted(source.of(each)).partition(".")
            if root in defined or root in imported or rest in defined or (by_type and _is_of_type(each, root, rest)):
                kept.append(each)
    return {**captures, "refer": kept}


def _is_of_type(node: Node, root: str, rest: str) -> bool:
    """`Texts.Trim` as an argument, which may be defined in another file."""
    is_argument = node.parent is not None and node.parent.type == "argument"
    return is_argument and root[:1].isupper() and rest[:1].isupper() and "." not in rest


def dotted(text: str) -> str:
    """`Type::member` is what others write with a dot."""
    return text.replace("::", ".") if "::" in text else text


def _named(node: Node, names: frozenset[str]) -> Iterator[Node]:
    """The node, or those of its children that are names; `key=name` counts as one.

    Queries do not ask for them: a pattern for any child of a list takes time by the square of how deep lists nest.
    """
    if node.type in names:
        yield node
        return
    for each in node.named_children:
        if each.type in names:
            yield each
        elif each.type == "keyword_argument":
            value = each.child_by_field_name("value")
            if value is not None and value.type in names:
                yield value
