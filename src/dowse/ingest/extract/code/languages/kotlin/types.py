"""Types as Kotlin writes them, and where they stand: the grammar gives them no field."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dowse.text.expressions import instance

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.source import Source

_TYPES = frozenset({"user_type", "nullable_type", "function_type", "parenthesized_type", "non_nullable_type"})
_SAY_NOTHING = frozenset({"", "Unit", "Nothing"})


def held(written: str) -> str:
    """`Foo?` holds a Foo; what is a function says nothing."""
    name = written.strip().rstrip("?")
    if name.startswith("(") and name.endswith(")"):
        name = name[1:-1].rstrip("?")
    return "" if name in _SAY_NOTHING or "->" in name.partition("<")[0] or name.startswith("(") else instance(name)


def type_in(node: Node | None, source: Source) -> str:
    """The type among the children."""
    return next((source.of(each) for each in node.named_children if each.type in _TYPES), "") if node else ""


def types_around(node: Node, divider: str, source: Source) -> tuple[str, str]:
    """The type before and the one behind the child of this type: a receiver, and what a function gives."""
    before, behind, passed = "", "", False
    for each in node.named_children:
        passed = passed or each.type == divider
        if each.type in _TYPES:
            before, behind = (before, behind or source.of(each)) if passed else (source.of(each), behind)
    return before, behind
