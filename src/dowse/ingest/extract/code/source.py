"""The bytes a tree was parsed from, read by node."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node


class Source:
    """Text by node; trees count in UTF-8 bytes."""

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        self.data = data

    def of(self, node: Node | None) -> str:
        """What is written there; nothing where no node is."""
        return "" if node is None else self.data[node.start_byte : node.end_byte].decode(errors="replace")

    def line(self, start: int, end: int, most_bytes: int) -> str:
        """What stands there on one line, blanks collapsed."""
        return " ".join(self.data[start : min(end, start + most_bytes)].decode(errors="ignore").split())


def child(node: Node, name: str) -> Node | None:
    """The child in that field; a number counts the named ones, comments left out."""
    if not name.isdigit():
        return node.child_by_field_name(name)
    parts = [each for each in node.named_children if not each.is_extra]
    return parts[int(name)] if int(name) < len(parts) else None


def first_of(node: Node, *types: str) -> Node | None:
    """The first child of one of these types."""
    return next((each for each in node.named_children if each.type in types), None)
