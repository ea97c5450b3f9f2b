"""One pass over a Markdown parser's events: where blocks begin and end, headings, references and prose."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from dowse.ingest.extract.spans import Characters

if TYPE_CHECKING:
    from pyromark.event import Event, Range, _LinkData, _Tag

MAX_CONTAINERS: Final = 100
MAX_NAME_CHARS: Final = 200

_MARKER = r"[ \t]*+(?:>|[-+*][ \t]|\d{1,9}[.)][ \t])"
_TOO_DEEP = re.compile(rf"^((?:{_MARKER}){{{MAX_CONTAINERS}}})((?:{_MARKER})++)", re.MULTILINE)
# A list item this far to the right is nested as deep by the lines above it.
_TOO_FAR = re.compile(rf"^([ \t]{{{4 * MAX_CONTAINERS},}}+)[-+*\d]", re.MULTILINE)
_WHOLE = frozenset({"CodeBlock", "HtmlBlock", "Table"})
_LINKS = frozenset({"Link", "Image"})


# Tuples, because a large file has hundreds of thousands of them.


class Edge(NamedTuple):
    """Where a block opens, or where a whole one is over; `section` counts the headings up to here."""

    offset: int
    section: int
    opens: bool
    whole: bool


class Heading(NamedTuple):
    offset: int
    level: int
    name: str


class Reference(NamedTuple):
    """A link as the parser reports it."""

    start: int
    end: int
    section: int
    target: str
    image: bool = False
    wiki: bool = False


class Prose(NamedTuple):
    """Running text that may hold what the parser does not look for: tags and bare addresses."""

    start: int
    end: int
    section: int


@dataclass(slots=True)
class Outline:
    edges: list[Edge] = field(default_factory=list)
    headings: list[Heading] = field(default_factory=list)
    references: list[Reference] = field(default_factory=list)
    prose: list[Prose] = field(default_factory=list)


def outline(text: str, start: int) -> Outline:
    """What Markdown means in `text[start:]`, at character offsets of `text`."""
    # What stands before the body is blanked, not cut off, so that no offset needs to be shifted.
    source = "\n" * start + _shallow(text[start:])
    walk = _Walk(Characters(source))
    for event, span in _events(source):
        walk.take(event, span)
    return walk.found


def _shallow(body: str) -> str:
    """The body with letters in place of container markers that nest absurdly deep.

    Every later line is compared with all open containers, which would take the parser quadratic time.
    """
    return _TOO_FAR.sub(r"\1x", _TOO_DEEP.sub(lambda match: match[1] + "x" * len(match[2]), body))


def _events(source: str) -> Iterator[tuple[Event, Range]]:
    from pyromark import Options, events_with_range

    options = (
        Options.ENABLE_TABLES
        | Options.ENABLE_FOOTNOTES
        | Options.ENABLE_STRIKETHROUGH
        | Options.ENABLE_TASKLISTS
        | Options.ENABLE_HEADING_ATTRIBUTES
        | Options.ENABLE_WIKILINKS
    )
    # Merged, ten million stray brackets are one event instead of ten million.
    return events_with_range(source, options=options, merge_text=True)


class _Walk:
    """Where in the tree the pass stands, and what it has found so far."""

    def __init__(self, characters: Characters) -> None:
        self.found = Outline()
        self._at = characters.at
        self._open: list[str] = []
        self._links = 0
        self._section = 0
        self._words: list[str] | None = None  # of the heading that is open

    def take(self, event: Event, span: Range) -> None:
        if isinstance(event, str):
            self._mark(event, span)
        elif "Text" in event:
            self._text(event["Text"], span)
        elif "Start" in event:
            self._start(event["Start"], span)
        elif "End" in event:
            self._end(span)
        elif "Code" in event and self._words is not None:
            self._words.append(event["Code"])

    def _mark(self, event: str, span: Range) -> None:
        if event == "Rule" and not self._open:
            self._edge(span["start"], opens=True)
        elif self._words is not None:
            self._words.append(" ")

    def _text(self, text: str, span: Range) -> None:
        if self._open[-1] == "CodeBlock":
            return
        if self._words is not None:
            self._words.append(text)
        if not self._links and ("#" in text or "://" in text):
            self.found.prose.append(Prose(self._at(span["start"]), self._at(span["end"]), self._section))

    def _start(self, tag: _Tag, span: Range) -> None:
        if isinstance(tag, str):
            name: str = tag
        else:
            name = next(iter(tag))
            if "Link" in tag:
                self._reference(tag["Link"], span, image=False)
            elif "Image" in tag:
                self._reference(tag["Image"], span, image=True)
            elif "Heading" in tag and not self._open:
                self._start_section(tag["Heading"]["level"], span)
        if name in _WHOLE or (len(self._open) < 2 and self._is_block(name)):
            self._edge(span["start"], opens=True, whole=name in _WHOLE)
        self._open.append(name)

    def _is_block(self, name: str) -> bool:
        """What stands at the top is a block, but of a list there each item is one."""
        if not self._open:
            return name != "List"
        return name == "Item"

    def _end(self, span: Range) -> None:
        name = self._open.pop()
        if name in _WHOLE:
            self._edge(span["end"], opens=False)
        elif name in _LINKS:
            self._links -= 1
        elif self._words is not None and not self._open:
            self._end_section(self._words)

    def _start_section(self, level: str, span: Range) -> None:
        self.found.headings.append(Heading(self._at(span["start"]), int(level[1]), ""))
        self._section += 1
        self._words = []

    def _end_section(self, words: list[str]) -> None:
        # Cut, because every chunk below the heading carries its name.
        name = " ".join("".join(words).split())[:MAX_NAME_CHARS].rstrip()
        self.found.headings[-1] = self.found.headings[-1]._replace(name=name)
        self._words = None

    def _edge(self, byte: int, *, opens: bool, whole: bool = False) -> None:
        self.found.edges.append(Edge(self._at(byte), self._section, opens, whole))

    def _reference(self, data: _LinkData, span: Range, *, image: bool) -> None:
        self._links += 1
        start, end = self._at(span["start"]), self._at(span["end"])
        wiki, target = isinstance(data["link_type"], dict), data["dest_url"]
        if data["link_type"] == "Email":
            target = f"mailto:{target}"
        self.found.references.append(Reference(start, end, self._section, target, image, wiki))
