"""Why a file of a known language defines nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.language import Language

WRAPS: Final = ""  # among the fillers of a language: look at what is in it
_MOST_LOOKED_AT: Final = 2_000  # pieces at the top of a file: so many of a kind will do


def why_empty(root: Node, language: Language) -> str:
    """What stands there instead, in a few words."""
    if root.type == "ERROR" or not root.named_child_count:
        return "nothing the parser could read" if root.type == "ERROR" else "nothing but blanks"
    found = dict.fromkeys(_words(root, language))
    # Comments stand in most files: they are only told where there is nothing else.
    words = [word for word in found if word != "comments"] or list(found)
    return f"only {' and '.join([', '.join(words[:-1]), words[-1]] if len(words) > 1 else words)}"


def _words(root: Node, language: Language) -> Iterator[str]:
    """What each piece at the top of the file is; of one that only wraps others, what these are."""
    waiting = root.named_children[:_MOST_LOOKED_AT][::-1]
    for _ in range(_MOST_LOOKED_AT):
        if not waiting:
            return
        node = waiting.pop()
        word = "text the parser could not read" if node.type == "ERROR" else language.fillers.get(node.type)
        if word == WRAPS or (word is None and node.named_child_count == 1):
            condition = node.child_by_field_name("condition")
            waiting.extend(each for each in reversed(node.named_children) if each != condition)
        else:
            yield word or "statements"
