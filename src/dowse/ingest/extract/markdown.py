"""Markdown: sections, code blocks, links and spans."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias
from urllib.parse import unquote

from dowse.model import DESCRIPTION_FACET, Block, Extraction, Item, Link, Symbol
from dowse.text.frontmatter import FrontMatter, FrontMatterValue, list_value, parse_front_matter, text_value
from dowse.text.unicode import decode

if TYPE_CHECKING:
    from pyromark.event import Event, Range, _LinkData, _Tag

# --------------------------------------------------------------------------------------------------
# Positions in a text: line numbers, byte offsets, and where the comment above a definition begins.

_LINE_FEED = re.compile("\n")
# Marks and words that only close a block. Possessive, so that the match never backtracks.
_CLOSING = re.compile(r"(?:[\W_]|(?:end|fi|done|esac)(?!\w))*+")
_COMMENT_MARKS = ("#", "//", "--", ";")
_OPENINGS = {"*/": "/*", "-->": "<!--", "*)": "(*", "-}": "{-", "]]": "--[[", "=end": "=begin"}
_CLOSINGS = tuple(_OPENINGS)
# Preprocessor lines and shebangs are not comments, and inner attributes (`#![…]`) belong to the enclosing item.
_DIRECTIVE = re.compile(
    r"#(?:!|\s*(?:include|import|if|ifdef|ifndef|else|elif|endif|define|undef|pragma|(?:end)?region)\b)"
)
_BLANKS = re.compile(r"[ \t]*")
_CLOSERS = ")]}"
_MAX_BLANK_LINES = 2  # between a comment and its definition
_MAX_ATTRIBUTE_LINES = 50
_MAX_COMMENT_LINES = 500
_PAGE_BYTES = 128
_CONTINUATION_BYTES = bytes(range(0x80, 0xC0))


class LineNumbers:
    """Map character offsets to line numbers, counted from 1; only a line feed ends a line."""

    def __init__(self, text: str) -> None:
        self._ends = [match.start() for match in _LINE_FEED.finditer(text)]

    def at(self, offset: int) -> int:
        return bisect_left(self._ends, offset) + 1


class CharacterOffsets:
    """Convert UTF-8 byte offsets of a text to character offsets, in any order, in constant time.

    A character counts at its first byte. Dropping the continuation bytes counts characters without decoding.
    """

    def __init__(self, text: str) -> None:
        self._data = b"" if text.isascii() else text.encode()
        pages = range(0, len(self._data), _PAGE_BYTES)
        self._before = [0, *accumulate(self._count(page, page + _PAGE_BYTES) for page in pages)]

    def at(self, byte: int) -> int:
        if not self._data:
            return byte
        page = byte // _PAGE_BYTES
        return self._before[page] + self._count(page * _PAGE_BYTES, byte)

    def _count(self, start: int, end: int) -> int:
        return len(self._data[start:end].translate(None, _CONTINUATION_BYTES))


def line_start(text: str, offset: int) -> int:
    """Return where the line containing `offset` begins."""
    return text.rfind("\n", 0, offset) + 1


def line_end(text: str, offset: int) -> int:
    """Return where the line ends that contains `offset`; `offset` itself if a line begins there."""
    if offset == 0 or text[offset - 1] == "\n":
        return offset
    return text.find("\n", offset) + 1 or len(text)


def has_only_closers(text: str, start: int, end: int) -> bool:
    """Check that a span contains only blanks, punctuation and closing words like `end`."""
    return _CLOSING.fullmatch(text, start, end) is not None


def leading_comment_start(text: str, at: int, floor: int = 0) -> int:
    """Return where the comments, decorators and attributes above the line at `at` begin; never before `floor`.

    Blank lines may separate a comment from the line. The first comment of a text describes the whole file if a blank
    line follows.
    """
    indent = _indent(text, at)
    start, has_comment = _attached_start(text, at, floor, indent)
    if has_comment:
        return start
    blank = start
    for _ in range(_MAX_BLANK_LINES):
        above = _line_above(text, blank, floor)
        if above == blank or text[above:blank].strip():
            break
        blank = above
    last = _line_above(text, blank, floor)
    if blank == start or _indent(text, last) < indent or _DIRECTIVE.match(text[last:blank].lstrip()):
        return start
    comment, has_comment = _attached_start(text, blank, floor, indent)
    return comment if has_comment and comment > 0 and _indent(text, comment) == indent else start


def _attached_start(text: str, at: int, floor: int, indent: int) -> tuple[int, bool]:
    """Return where the lines attached directly above `at` begin, and whether a comment is among them."""
    start, has_comment = at, False
    while (above := _line_above(text, start, floor)) < start:
        line = text[above:start].strip()
        if line.endswith(_CLOSINGS) and (opening := _comment_opening(text, start, floor)) < start:
            above, has_comment = opening, True
        elif line.startswith(_COMMENT_MARKS):
            if line.startswith("#!"):
                break
            has_comment = has_comment or not (line.startswith("#[") or _DIRECTIVE.match(line))
        elif not line.startswith(("@", "[")):
            above = _attribute_opening(text, start, floor, indent) if line.endswith((")", "]")) else start
        if above == start:
            break
        start = above
    return start, has_comment


def _comment_opening(text: str, end: int, floor: int) -> int:
    """Return where the block comment that ends at `end` begins, or `end` if it follows code on its first line."""
    start, closing = end, ""
    for _ in range(_MAX_COMMENT_LINES):
        above = _line_above(text, start, floor)
        line = text[above:start].strip()
        if above == start:
            break
        closing = closing or next(mark for mark in _CLOSINGS if line.endswith(mark))
        if line.startswith(_OPENINGS[closing]):
            closed = line.find(closing, len(closing))
            return above if closed == (len(line) - len(closing) if start == end else -1) else end
        if start < end and closing in line:
            break  # another comment, which began after code
        start = above
    return end


def _attribute_opening(text: str, end: int, floor: int, indent: int) -> int:
    """Return where the multi-line decorator or attribute that ends at `end` begins, or `end` if there is none."""
    start = end
    for _ in range(_MAX_ATTRIBUTE_LINES):
        above = _line_above(text, start, floor)
        line = text[above:start].strip()
        if above == start or not line:
            break
        if _indent(text, above) <= indent and line.strip(_CLOSERS):
            return above if line.startswith(("@", "#[", "[")) else end
        start = above
    return end


def _line_above(text: str, at: int, floor: int) -> int:
    """Return where the line above the one at `at` begins; never before `floor`."""
    return max(text.rfind("\n", floor, at - 1) + 1, floor) if at > floor else at


def _indent(text: str, at: int) -> int:
    match = _BLANKS.match(text, at)
    return match.end() - at if match else 0


# --------------------------------------------------------------------------------------------------
# Collect block edges, headings, links and prose in one pass over a Markdown parser's events.

MAX_CONTAINERS: Final = 100
MAX_HEADING_CHARS: Final = 200

_MARKER = r"[ \t]*+(?:>|[-+*][ \t]|\d{1,9}[.)][ \t])"
_TOO_DEEP = re.compile(rf"^((?:{_MARKER}){{{MAX_CONTAINERS}}})((?:{_MARKER})++)", re.MULTILINE)
# The lines above a list item indented this far may nest just as deep.
_TOO_FAR = re.compile(rf"^([ \t]{{{4 * MAX_CONTAINERS},}}+)[-+*\d]", re.MULTILINE)
_INDIVISIBLE = frozenset({"CodeBlock", "HtmlBlock", "Table"})
_LINKS = frozenset({"Link", "Image"})


# Named tuples, because a large file has hundreds of thousands of these.


class BlockEdge(NamedTuple):
    """The start of a block, or the end of an indivisible one; `section` counts the headings before it."""

    offset: int
    section: int
    opens: bool
    atomic: bool


class MarkdownHeading(NamedTuple):
    offset: int
    level: int
    name: str


class MarkdownReference(NamedTuple):
    """A link as reported by the parser."""

    start: int
    end: int
    section: int
    target: str
    image: bool = False
    wiki: bool = False


class ProseSpan(NamedTuple):
    """Running text that may contain tags and bare URLs, which the parser does not report."""

    start: int
    end: int
    section: int


@dataclass(slots=True)
class MarkdownOutline:
    edges: list[BlockEdge] = field(default_factory=list)
    headings: list[MarkdownHeading] = field(default_factory=list)
    references: list[MarkdownReference] = field(default_factory=list)
    prose: list[ProseSpan] = field(default_factory=list)


def parse_markdown_outline(text: str, start: int) -> MarkdownOutline:
    """Parse the Markdown in `text[start:]`; offsets are characters of `text`."""
    # The front matter is blanked, not cut off, so that offsets need no shift.
    source = "\n" * start + _flatten_deep_nesting(text[start:])
    walker = _EventWalker(CharacterOffsets(source))
    for event, span in _parse_events(source):
        walker.handle(event, span)
    return walker.outline


def _flatten_deep_nesting(body: str) -> str:
    """Replace container markers nested beyond the limit by letters.

    The parser compares every later line with all open containers, which would take quadratic time.
    """
    return _TOO_FAR.sub(r"\1x", _TOO_DEEP.sub(lambda match: match[1] + "x" * len(match[2]), body))


def _parse_events(source: str) -> Iterator[tuple[Event, Range]]:
    from pyromark import Options, events_with_range

    options = (
        Options.ENABLE_TABLES
        | Options.ENABLE_FOOTNOTES
        | Options.ENABLE_STRIKETHROUGH
        | Options.ENABLE_TASKLISTS
        | Options.ENABLE_HEADING_ATTRIBUTES
        | Options.ENABLE_WIKILINKS
    )
    # Merged text turns ten million stray brackets into one event.
    return events_with_range(source, options=options, merge_text=True)


class _EventWalker:
    """The state of the pass and its results so far."""

    def __init__(self, characters: CharacterOffsets) -> None:
        self.outline = MarkdownOutline()
        self._offset = characters.at
        self._open: list[str] = []
        self._links = 0
        self._section = 0
        self._words: list[str] | None = None  # of the open heading

    def handle(self, event: Event, span: Range) -> None:
        if isinstance(event, str):
            self._handle_marker(event, span)
        elif "Text" in event:
            self._handle_text(event["Text"], span)
        elif "Start" in event:
            self._handle_start(event["Start"], span)
        elif "End" in event:
            self._handle_end(span)
        elif "Code" in event and self._words is not None:
            self._words.append(event["Code"])

    def _handle_marker(self, event: str, span: Range) -> None:
        if event == "Rule" and not self._open:
            self._add_edge(span["start"], opens=True)
        elif self._words is not None:
            self._words.append(" ")

    def _handle_text(self, text: str, span: Range) -> None:
        if self._open[-1] == "CodeBlock":
            return
        if self._words is not None:
            self._words.append(text)
        if not self._links and ("#" in text or "://" in text):
            self.outline.prose.append(ProseSpan(self._offset(span["start"]), self._offset(span["end"]), self._section))

    def _handle_start(self, tag: _Tag, span: Range) -> None:
        if isinstance(tag, str):
            name: str = tag
        else:
            name = next(iter(tag))
            if "Link" in tag:
                self._add_reference(tag["Link"], span, image=False)
            elif "Image" in tag:
                self._add_reference(tag["Image"], span, image=True)
            elif "Heading" in tag and not self._open:
                self._start_section(tag["Heading"]["level"], span)
        if name in _INDIVISIBLE or (len(self._open) < 2 and self._is_block(name)):
            self._add_edge(span["start"], opens=True, whole=name in _INDIVISIBLE)
        self._open.append(name)

    def _is_block(self, name: str) -> bool:
        """Check for a top-level block; in a top-level list, each item is a block."""
        if not self._open:
            return name != "List"
        return name == "Item"

    def _handle_end(self, span: Range) -> None:
        name = self._open.pop()
        if name in _INDIVISIBLE:
            self._add_edge(span["end"], opens=False)
        elif name in _LINKS:
            self._links -= 1
        elif self._words is not None and not self._open:
            self._end_section(self._words)

    def _start_section(self, level: str, span: Range) -> None:
        self.outline.headings.append(MarkdownHeading(self._offset(span["start"]), int(level[1]), ""))
        self._section += 1
        self._words = []

    def _end_section(self, words: list[str]) -> None:
        # Truncated, because every chunk below the heading carries the name.
        name = " ".join("".join(words).split())[:MAX_HEADING_CHARS].rstrip()
        self.outline.headings[-1] = self.outline.headings[-1]._replace(name=name)
        self._words = None

    def _add_edge(self, byte: int, *, opens: bool, whole: bool = False) -> None:
        self.outline.edges.append(BlockEdge(self._offset(byte), self._section, opens, whole))

    def _add_reference(self, data: _LinkData, span: Range, *, image: bool) -> None:
        self._links += 1
        start, end = self._offset(span["start"]), self._offset(span["end"])
        wiki, target = isinstance(data["link_type"], dict), data["dest_url"]
        if data["link_type"] == "Email":
            target = f"mailto:{target}"
        self.outline.references.append(MarkdownReference(start, end, self._section, target, image, wiki))


# --------------------------------------------------------------------------------------------------
# Turn headings into sections: breadcrumbs, symbols and blocks.

Breadcrumb = tuple[str, ...]


def heading_breadcrumbs(headings: Sequence[MarkdownHeading]) -> list[Breadcrumb]:
    """Return the breadcrumb of each heading, preceded by an empty one for the text before the first heading.

    A heading without words still ends the sections before it, but adds no name.
    """
    breadcrumbs: list[Breadcrumb] = [()]
    ancestors: list[MarkdownHeading] = []
    for heading in headings:
        while ancestors and ancestors[-1].level >= heading.level:
            ancestors.pop()
        ancestors.append(heading)
        breadcrumbs.append(tuple(each.name for each in ancestors if each.name))
    return breadcrumbs


def heading_symbols(headings: Sequence[MarkdownHeading], lines: LineNumbers, length: int) -> tuple[Symbol, ...]:
    """Return one symbol per named heading; each ends where the next heading of its level or above begins."""
    ends = _section_ends(headings, lines, lines.at(max(length - 1, 0)))
    ancestors: list[tuple[int, int]] = []  # level, and index into the symbols
    result: list[Symbol] = []
    for heading, end in zip(headings, ends, strict=True):
        while ancestors and ancestors[-1][0] >= heading.level:
            ancestors.pop()
        if heading.name:
            parent = ancestors[-1][1] if ancestors else None
            start = lines.at(heading.offset)
            ancestors.append((heading.level, len(result)))
            result.append(Symbol(heading.name, "heading", start, end, heading.level, parent))
    return tuple(result)


def _section_ends(headings: Sequence[MarkdownHeading], lines: LineNumbers, last_line: int) -> list[int]:
    ends = [last_line] * len(headings)
    unfinished: list[int] = []
    for index, heading in enumerate(headings):
        while unfinished and headings[unfinished[-1]].level >= heading.level:
            ends[unfinished.pop()] = lines.at(heading.offset) - 1
        unfinished.append(index)
    return ends


def section_blocks(
    text: str, start: int, edges: Sequence[BlockEdge], breadcrumbs: Sequence[Breadcrumb]
) -> tuple[Block, ...]:
    """Return contiguous blocks from `start` to the end of `text`, cut at the edges; `below` has the breadcrumbs."""
    if start == len(text):
        return ()
    starts = _block_starts(text, start, edges)
    ends = [*(offset for offset, _ in starts[1:]), len(text)]
    return tuple(
        Block(offset, end, breadcrumbs[edge.section], edge.atomic)
        for (offset, edge), end in zip(starts, ends, strict=True)
    )


def _block_starts(text: str, start: int, edges: Sequence[BlockEdge]) -> list[tuple[int, BlockEdge]]:
    """Return the edges that begin a block, each moved to the start of a line.

    Blank text belongs to the block before it, so an edge followed only by blanks begins no block.
    """
    starts: list[tuple[int, BlockEdge]] = []
    offset, edge = start, BlockEdge(start, 0, opens=False, atomic=False)
    for following in edges:
        until = max(offset, _snap_to_line(text, following))
        if until > offset and (edge.opens or text[offset:until].strip()):
            starts.append((offset, edge))
        offset, edge = until if starts else start, following
    if edge.opens or not starts or text[offset:].strip():
        starts.append((offset, edge))
    return starts


def _snap_to_line(text: str, edge: BlockEdge) -> int:
    return line_start(text, edge.offset) if edge.opens else line_end(text, edge.offset)


# --------------------------------------------------------------------------------------------------
# Collect the references in prose: links with relation and context, bare URLs, and inline tags.

LinkClassifier: TypeAlias = Callable[[Sequence[MarkdownReference]], Sequence[str]]

CONTEXT_CHARS: Final = 100
MAX_TARGET_CHARS: Final = 2000
MAX_TAG_CHARS: Final = 100

# How a heading relates the links below it; the first match wins.
_RELATIONS = (
    ("implements", re.compile(r"\bimplement(?:s|ed|ing|ations?)?\b", re.IGNORECASE)),
    ("tests", re.compile(r"\btest(?:s|ed|ing)?\b", re.IGNORECASE)),
    ("related", re.compile(r"\brelated\b|\bsee also\b", re.IGNORECASE)),
)
_TEST_FILE = re.compile(r"(^|/)(tests?|__tests__)/|(^|/)test[_-][^/]*$|[._-]tests?\.\w+$", re.IGNORECASE)
_URL = re.compile(r"(?:[a-z][a-z0-9+.-]*:)?//|(?:mailto|tel):", re.IGNORECASE)
_BARE_URL = re.compile(r"https?://[^\s<>\[\]\"`|]+", re.IGNORECASE)
_TAG = re.compile(r"(?<![^\s(\[\"',;])#(\w[\w/-]*)")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\ufffd]")


def collect_links(
    text: str,
    start: int,
    outline: MarkdownOutline,
    breadcrumbs: Sequence[tuple[str, ...]],
    lines: LineNumbers,
    relate: LinkClassifier,
) -> tuple[Link, ...]:
    """Return every usable reference of a document in order; `start` is where its body begins, `relate` classifies the
    links."""
    urls = (each for prose in outline.prose for each in _bare_urls(text, prose))
    references = sorted([*outline.references, *urls], key=lambda each: each.start)
    described = ((each, _target(each), relation) for each, relation in zip(references, relate(references), strict=True))
    return tuple(
        Link(_link_kind(each, target, relation), target, lines.at(each.start), _context(text, start, each))
        for each, target, relation in described
        if target
    )


def classify_by_heading(path: str, breadcrumbs: Sequence[tuple[str, ...]]) -> LinkClassifier:
    """Relate links by the nearest heading that states a relation, otherwise by the type of the file."""
    default = "tests" if _TEST_FILE.search(path) else "links_to"
    relations = [_relation(trail, default) for trail in breadcrumbs]
    return lambda references: [relations[each.section] for each in references]


def collect_tags(text: str, prose: Sequence[ProseSpan]) -> Iterator[str]:
    """Yield inline `#tags`; a tag without letters is a number, like that of an issue."""
    for each in prose:
        for match in _TAG.finditer(text, each.start, each.end):
            tag = match[1].rstrip("/-")
            if len(tag) <= MAX_TAG_CHARS and any(map(str.isalpha, tag)):
                yield tag


def _bare_urls(text: str, prose: ProseSpan) -> Iterator[MarkdownReference]:
    for match in _BARE_URL.finditer(text, prose.start, prose.end):
        target = match[0].rstrip(".,:;!?*_~'")
        if target.endswith(")") and "(" not in target:
            target = target.rstrip(").,")
        end = match.start() + len(target)
        yield MarkdownReference(match.start(), end, prose.section, target)


def _target(reference: MarkdownReference) -> str:
    """Return the target, percent-decoded if it is a path; empty if it can never be resolved."""
    # In a table the bar before an alias is escaped, which leaves a backslash at the end of the target.
    target = reference.target.strip().rstrip("\\")
    if len(target) > MAX_TARGET_CHARS or target[:5].lower() == "data:":
        return ""
    if reference.wiki or _URL.match(target):
        return target
    decoded = unquote(target)
    return target if _CONTROL.search(decoded) else decoded


def _link_kind(reference: MarkdownReference, target: str, relation: str) -> str:
    if reference.image:
        return "transcludes" if reference.wiki else "image"
    return "url" if _URL.match(target) else relation


def _relation(trail: tuple[str, ...], default: str) -> str:
    for name in reversed(trail):
        for relation, words in _RELATIONS:
            if words.search(name):
                return relation
    return default


def _context(text: str, body: int, reference: MarkdownReference) -> str:
    """Return the link and its surroundings within the paragraph, on one line."""
    start, end = reference.start, min(reference.end, reference.start + CONTEXT_CHARS)
    before = text[max(body, start - CONTEXT_CHARS // 2) : start].rpartition("\n\n")[2]
    after = text[end : end + CONTEXT_CHARS // 2].partition("\n\n")[0]
    return " ".join(f"{before}{text[start:end]}{after}".split())


MAX_FACETS: Final = 20
MAX_FACET_CHARS: Final = 200
MAX_DESCRIPTION_CHARS: Final = 1000

_INDEXED_FIELDS = frozenset({"title", "tags", "keywords", "aliases"})


def extract_markdown(item: Item, data: bytes) -> Extraction:
    text = decode(data)
    return extract_parsed_markdown(item, text, parse_front_matter(text))


def extract_parsed_markdown(
    item: Item, text: str, front: FrontMatter, relate: LinkClassifier | None = None
) -> Extraction:
    """Extract a text whose front matter is already parsed; `relate` classifies its links."""
    outlined = parse_markdown_outline(text, front.end)
    lines, breadcrumbs = LineNumbers(text), heading_breadcrumbs(outlined.headings)
    front_matter_tags = (*list_value(front.values, "tags"), *list_value(front.values, "keywords"))
    return Extraction(
        kind="doc",
        title=_document_title(front.values, outlined.headings, item.path),
        text=text,
        blocks=section_blocks(text, front.end, outlined.edges, breadcrumbs),
        symbols=heading_symbols(outlined.headings, lines, len(text)),
        links=collect_links(
            text, front.end, outlined, breadcrumbs, lines, relate or classify_by_heading(item.path, breadcrumbs)
        ),
        tags=_normalize_tags([*front_matter_tags, *collect_tags(text, outlined.prose)]),
        aliases=list_value(front.values, "aliases"),
        facets=_facets(front),
    )


def _document_title(values: Mapping[str, FrontMatterValue], headings: Sequence[MarkdownHeading], path: str) -> str:
    named = [heading for heading in headings if heading.name]
    first = next((heading for heading in named if heading.level == 1), named[0] if named else None)
    title = text_value(values, "title")[:MAX_HEADING_CHARS]
    return title or (first.name if first else PurePosixPath(path).stem)


def _normalize_tags(names: Sequence[str]) -> tuple[str, ...]:
    normal = {name.strip().lstrip("#").lower() for name in names}
    return tuple(sorted(normal - {""}))


def _facets(front: FrontMatter) -> Mapping[str, str]:
    """Return the front matter fields used only for filters and display, and the front matter problem, if any."""
    values = {key: text_value(front.values, key) for key in front.values if key not in _INDEXED_FIELDS}
    fitting = [(key, value) for key, value in values.items() if value and _fits(key) and _fits(value)]
    if description := values.get(DESCRIPTION_FACET, "")[:MAX_DESCRIPTION_CHARS]:
        # The description is searchable, so it comes first and is truncated instead of dropped.
        fitting = [
            (DESCRIPTION_FACET, description),
            *((key, value) for key, value in fitting if key != DESCRIPTION_FACET),
        ]
    problem = [("front_matter_problem", front.problem)] if front.problem else []
    return MappingProxyType(dict([*problem, *fitting][:MAX_FACETS]))


def _fits(text: str) -> bool:
    return len(text) <= MAX_FACET_CHARS
