"""The syntax that globs and ignore files share, turned into regexes that cannot run away.

A star takes the earliest place where what follows it fits (an atomic group), so a path of n
characters costs about n steps per star instead of n to the power of the stars.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

STAR, TREE, SLASH = "*", "**", "/"

_NAMED_CLASS = re.compile(r"\[:([^\]]*):\]")
_NAMED_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": " \\t",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-\\/:-@\\[-`{-~",
    "space": " \\t\\n\\r\\f\\v",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}

Segment = tuple[str, ...]


class WildcardError(ValueError):
    """The pattern's syntax is broken; the text says how."""


def segments(pattern: str) -> list[Segment]:
    """The pattern cut at its slashes; a segment is made of stars and regexes of one character each."""
    found: list[Segment] = []
    current: list[str] = []
    for token in _tokens(pattern):
        if token == SLASH:
            found.append(tuple(current))
            current = []
        else:
            current.append(token)
    return [*found, tuple(current)]


def path_regex(parts: Sequence[Segment]) -> str:
    """A regex for whole path components; where it may end is up to the caller."""
    regex, group, open_tree = "", "", False
    for index, part in enumerate(parts):
        is_last = index == len(parts) - 1
        if part == (TREE,):
            regex += _tree_group(group) if open_tree else group
            group, open_tree = (".+", False) if is_last else ("", True)
        else:
            group += segment_regex(part) + ("" if is_last else SLASH)
    return regex + ("(?:[^/]+/)*?" if open_tree else "") + group


def segment_regex(part: Segment) -> str:
    """A regex for one path component, which is never empty."""
    head, *runs = _split_at_stars(part)
    if not runs:
        return head
    if not head and not any(runs):
        return "[^/]+"
    *middle, last = runs
    return head + "".join(f"(?>[^/]*?{run})" for run in middle if run) + f"[^/]*{last}"


def _tree_group(group: str) -> str:
    return f"(?>(?:[^/]+/)*?{group})"


def _split_at_stars(part: Segment) -> list[str]:
    runs = [""]
    for token in part:
        if token in (STAR, TREE):
            runs.append("")
        else:
            runs[-1] += token
    return runs


def _tokens(pattern: str) -> Iterator[str]:
    at = 0
    while at < len(pattern):
        character = pattern[at]
        if character == "*":
            start = at
            while pattern[at : at + 1] == "*":
                at += 1
            yield STAR if at - start == 1 else TREE
        elif character == "[":
            regex, at = _character_class(pattern, at + 1)
            yield regex
        elif character.isalnum():
            at += 1
            yield character
        else:
            literal, at = _literal(pattern, at)
            yield "[^/]" if character == "?" else re.escape(literal)


def _literal(pattern: str, at: int) -> tuple[str, int]:
    if pattern[at] == "\\":
        at += 1
    if at == len(pattern):
        raise WildcardError("it ends in a backslash that escapes nothing")
    return pattern[at], at + 1


def _character_class(pattern: str, at: int) -> tuple[str, int]:
    """The regex of the class that opens just before `at`, and where it ends; it never matches a slash."""
    negated = pattern[at : at + 1] in ("!", "^")
    at += negated
    content, first = "", at
    while at == first or pattern[at : at + 1] != "]":
        if at >= len(pattern):
            raise WildcardError("its [ is not closed")
        named = _NAMED_CLASS.match(pattern, at)
        if named:
            content += _named_class(named[1])
            at = named.end()
        else:
            piece, at = _range(pattern, at)
            content += piece
    return f"(?!/)[{'^' if negated else ''}{content}]", at + 1


def _named_class(name: str) -> str:
    if name not in _NAMED_CLASSES:
        raise WildcardError(f"[:{name}:] is not a class of characters")
    return _NAMED_CLASSES[name]


def _range(pattern: str, at: int) -> tuple[str, int]:
    low, at = _literal(pattern, at)
    if pattern[at : at + 1] != "-" or pattern[at + 1 : at + 2] in ("", "]"):
        return _in_class(low), at
    high, at = _literal(pattern, at + 1)
    # A range that runs backwards is empty, apart from the first character, which stands for itself.
    return (f"{_in_class(low)}-{_in_class(high)}" if low <= high else _in_class(low)), at


def _in_class(character: str) -> str:
    return "\\" + character if character in "\\]^-[&~|" else character
