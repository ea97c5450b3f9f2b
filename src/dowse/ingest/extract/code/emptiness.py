"""Why a file of a known language defines nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.language import Language

_MOST_LOOKED_AT: Final = 2_000  # pieces at the top of a file: so many of a kind will do


def why_empty(root: Node, language: Language) -> str:
    """What stands there instead, in a few words."""
    if root.type == "ERROR" or not root.named_child_count:
        return "nothing the parser could read" if root.type == "ERROR" else "nothing but blanks"
    found = dict.fromkeys(_word(node, language) for node in root.named_children[:_MOST_LOOKED_AT])
    # Comments stand in most files: they are only told where there is nothing else.
    words = [word for word in found if word != "comments"] or list(found)
    return f"only {' and '.join([', '.join(words[:-1]), words[-1]] if len(words) > 1 else words)}"


def _word(node: Node, language: Language) -> str:
    if node.type == "ERROR":
        return "text the parser could not read"
    while node.type not in language.fillers and node.named_child_count == 1:
        node = node.named_children[0]
    return language.fillers.get(node.type, "statements")
