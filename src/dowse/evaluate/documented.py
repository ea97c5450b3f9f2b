"""What definitions in source code say of themselves: docstrings below them, comments above them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dowse.text.defined import defined_names

_DOCSTRING = re.compile(r":[ \t]*\n[ \t]+[rR]?(\"\"\"|''')(.{1,2000}?)\1", re.DOTALL)
_COMMENT = re.compile(r"[ \t]*(?:///?!?|#+(?![!\[])|/\*+|\*+(?!/)|--)")
_COMMENT_END = re.compile(r"[ \t]*\*+/")
_BETWEEN = re.compile(r"[ \t]*(?:@|#\[)")  # decorators and attributes
_METHOD = re.compile(r"func \([^)]*\)\s*(\w+)")
_SENTENCE_END = re.compile(r"(?<=[.!?。])(?:\s|$)|\n[ \t]*\n")


def documented(text: str) -> Iterator[tuple[str, str]]:
    """The first sentence about each definition in a text, and the text without what was said."""
    yield from _docstrings(text)
    yield from _comments(text)


def _docstrings(text: str) -> Iterator[tuple[str, str]]:
    for match in _DOCSTRING.finditer(text):
        names = defined_names(text[: match.start()])
        if names:
            yield _sentence(match[2], names[-1]), text[: match.start()] + text[match.end() :]


def _comments(text: str) -> Iterator[tuple[str, str]]:
    lines = text.split("\n")
    said: list[str] = []
    began = 0
    for at, line in enumerate(lines):
        if _COMMENT_END.match(line) or _BETWEEN.match(line):
            continue
        comment = _COMMENT.match(line)
        if comment:
            began = began if said else at
            said.append(line[comment.end() :].strip().removesuffix("*/").rstrip("* "))
            continue
        names = _defined_by(line)
        if names and any(said):
            yield _sentence("\n".join(said), names[0]), "\n".join([*lines[:began], *lines[at:]])
        said = []


def _defined_by(line: str) -> list[str]:
    return [*defined_names(line)] or _METHOD.findall(line)


def _sentence(text: str, name: str) -> str:
    """In one line; some languages begin it with the name, which would give the answer away."""
    first = " ".join(_SENTENCE_END.split(text.strip(), maxsplit=1)[0].split())
    return first.removeprefix(f"{name} ").rstrip(".")
