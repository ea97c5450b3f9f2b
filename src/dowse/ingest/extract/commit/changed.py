"""Which definitions a hunk changed: told by its heading, the lines that begin a definition, and their indentation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from dowse.ingest.extract.commit.delta import FileDelta, Hunk
from dowse.text.beginnings import beginnings, begins, defined_name

_CLOSING: Final = (")", "]", "}", "{")
_REMARKS: Final = ("#", "//", "/*", "*", "--")
_ATTRIBUTES: Final = ("@", "#[", "[")
_DEEPEST_MEMBER: Final = 8  # how far a member is indented at most: what begins like an attribute behind that is code
_BEGINNING_CHARS: Final = 80  # as git cuts its headings


class Changed(NamedTuple):
    """A definition by its name, those around it in front; the line in the new file at which it was changed first, and
    the words that begin it."""

    name: str
    line: int
    beginning: str


class _Open(NamedTuple):
    indent: int
    name: str
    beginning: str


def changed_definitions(delta: FileDelta) -> list[Changed]:
    """Each once, innermost ones only, in the order of the file."""
    pattern = beginnings(delta.path)
    if pattern is None:
        return []
    found: dict[str, Changed] = {}
    for hunk in delta.hunks:
        for it in _changed(hunk, pattern):
            found.setdefault(it.name, it)
    return list(found.values())


def _changed(hunk: Hunk, pattern: re.Pattern[str]) -> Iterator[Changed]:
    place = _Place(pattern)
    place.see(hunk.heading)
    line, attribute = hunk.line, 0
    # Most hunks begin no definition: then only the one in the heading can be changed, which one line is enough for.
    begins_any = any(begins(pattern, text) for text in hunk.lines)
    for text in hunk.lines:
        if not (begins_any or place.is_known):
            return
        mark = text[:1]
        if mark == "\\":  # a remark of git
            continue
        owner = place.see(text[1:])
        if mark in ("+", "-"):
            if owner:
                yield Changed(owner, max(line, 1), place.beginning)
                if not begins_any:
                    return
            elif place.before_definition:
                attribute = attribute or line
        if place.begins and attribute:
            yield Changed(owner, attribute, place.beginning)
        if not place.before_definition:
            attribute = 0
        line += mark != "-"


class _Place:
    """Where a line stands, as far as the lines before it tell: in which definitions, or in front of one, among the
    decorators or attributes that belong to it."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._pattern = pattern
        self._open: list[_Open] = []
        self._attributes: int | None = None
        self.begins = False

    @property
    def is_known(self) -> bool:
        return bool(self._open)

    @property
    def beginning(self) -> str:
        """Of the innermost definition."""
        return self._open[-1].beginning

    @property
    def before_definition(self) -> bool:
        return self._attributes is not None

    def see(self, line: str) -> str:
        """The definition this line belongs to; empty if that is not known, or only with what follows."""
        stripped = line.lstrip()
        self.begins = False
        if not stripped:
            return ""
        indent = len(line) - len(stripped)
        if name := defined_name(self._pattern, line):
            return self._begin(indent, name, stripped[:_BEGINNING_CHARS].rstrip())
        if self._attributes is not None and (indent > self._attributes or stripped.startswith(_CLOSING)):
            return ""
        self._attributes = None
        if stripped.startswith(_ATTRIBUTES) and not (self._open and indent > self._open[-1].indent + _DEEPEST_MEMBER):
            self._close(indent)
            self._attributes = indent
            return ""
        return self._within(indent, stripped)

    def _begin(self, indent: int, name: str, beginning: str) -> str:
        self._close(indent)
        self._attributes, self.begins = None, True
        self._open.append(_Open(indent, f"{self._around}.{name}" if self._open else name, beginning))
        return self._around

    @property
    def _around(self) -> str:
        return self._open[-1].name if self._open else ""

    def _within(self, indent: int, stripped: str) -> str:
        around = self._around
        if not self._open or indent > self._open[-1].indent:
            return around
        if stripped.startswith(_CLOSING):
            return around
        if stripped.startswith(_REMARKS):
            return ""
        self._close(indent)
        return self._around

    def _close(self, indent: int) -> None:
        while self._open and self._open[-1].indent >= indent:
            self._open.pop()
