"""The bytes a tree was parsed from, read by node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from tree_sitter import Node, Point


class Extent(NamedTuple):
    """Where several nodes in a row begin and end, as a node says it of itself."""

    start_byte: int
    end_byte: int
    start_point: Point
    end_point: Point

    @classmethod
    def over(cls, first: Node, last: Node) -> Extent:
        return cls(first.start_byte, last.end_byte, first.start_point, last.end_point)


class Source:
    """Text by node; trees count in UTF-8 bytes."""

    __slots__ = ("_same", "data")

    def __init__(self, text: str) -> None:
        self.data = text.encode(errors="replace")
        self._same = text if text.isascii() else ""  # where bytes are characters, nothing needs to be decoded

    def of(self, node: Node | None) -> str:
        """What is written there; nothing where no node is."""
        if node is None:
            return ""
        if self._same:
            return self._same[node.start_byte : node.end_byte]
        return self.data[node.start_byte : node.end_byte].decode(errors="replace")

    def line(self, start: int, end: int, most_bytes: int) -> str:
        """What stands there on one line, blanks collapsed."""
        return " ".join(self.data[start : min(end, start + most_bytes)].decode(errors="ignore").split())


_BLANKS: Final = bytes(10 if each == 10 else 32 for each in range(256))


def blank(data: bytearray, start: int, end: int) -> None:
    """Take it out of what a parser reads; every other byte stays where it is, on its line."""
    data[start:end] = data[start:end].translate(_BLANKS)


def child(node: Node, name: str) -> Node | None:
    """The child in that field; a number counts the named ones, comments left out."""
    if not name.isdigit():
        return node.child_by_field_name(name)
    number = int(name)
    if number >= node.named_child_count:
        return None
    found = node.named_child(number)
    if found is None or not found.is_extra:
        return found
    parts = [each for each in node.named_children if not each.is_extra]
    return parts[number] if number < len(parts) else None


def first_of(node: Node, *types: str) -> Node | None:
    """The first child of one of these types."""
    return next((each for each in node.named_children if each.type in types), None)


def argument(node: Node) -> Node:
    """The value of a node that wraps one argument, as in C#; any other node is a value itself."""
    return node.named_children[-1] if node.type == "argument" and node.named_child_count else node
