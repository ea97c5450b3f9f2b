"""Markdown: headings become sections, links keep their meaning, code and tables stay whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Final

from dowse.ingest.extract.events import MAX_NAME_CHARS, Heading, outline
from dowse.ingest.extract.references import Relate, by_place, links, tags
from dowse.ingest.extract.sections import blocks, symbols, trails
from dowse.ingest.extract.spans import Lines
from dowse.model import DESCRIPTION, Extract, Item
from dowse.text.decode import decode
from dowse.text.frontmatter import FrontMatter, Value, front_matter, scalar, strings

MAX_FACETS: Final = 20
MAX_FACET_CHARS: Final = 200
MAX_DESCRIPTION_CHARS: Final = 1000

_OWN_FIELDS = frozenset({"title", "tags", "keywords", "aliases"})


def extract_markdown(item: Item, data: bytes) -> Extract:
    text = decode(data)
    return read_markdown(item, text, front_matter(text))


def read_markdown(item: Item, text: str, front: FrontMatter, relate: Relate | None = None) -> Extract:
    """The same of a text whose front matter is known; `relate` tells how it stands to what it links to."""
    found = outline(text, front.end)
    lines, below = Lines(text), trails(found.headings)
    written = (*strings(front.values, "tags"), *strings(front.values, "keywords"))
    return Extract(
        kind="doc",
        title=_title(front.values, found.headings, item.path),
        text=text,
        blocks=blocks(text, front.end, found.edges, below),
        symbols=symbols(found.headings, lines, len(text)),
        links=links(text, front.end, found, below, lines, relate or by_place(item.path, below)),
        tags=_normal_tags([*written, *tags(text, found.prose)]),
        aliases=strings(front.values, "aliases"),
        facets=_facets(front),
    )


def _title(values: Mapping[str, Value], headings: Sequence[Heading], path: str) -> str:
    named = [heading for heading in headings if heading.name]
    first = next((heading for heading in named if heading.level == 1), named[0] if named else None)
    written = scalar(values, "title")[:MAX_NAME_CHARS]
    return written or (first.name if first else PurePosixPath(path).stem)


def _normal_tags(names: Sequence[str]) -> tuple[str, ...]:
    normal = {name.strip().lstrip("#").lower() for name in names}
    return tuple(sorted(normal - {""}))


def _facets(front: FrontMatter) -> Mapping[str, str]:
    """Front matter that only filters and presenters read; what could not be read is said here too."""
    values = {key: scalar(front.values, key) for key in front.values if key not in _OWN_FIELDS}
    fitting = [(key, value) for key, value in values.items() if value and _fits(key) and _fits(value)]
    if description := values.get(DESCRIPTION, "")[:MAX_DESCRIPTION_CHARS]:
        # It is searched, so that it comes first, and is cut rather than left out.
        fitting = [(DESCRIPTION, description), *((key, value) for key, value in fitting if key != DESCRIPTION)]
    problem = [("front_matter_problem", front.problem)] if front.problem else []
    return MappingProxyType(dict([*problem, *fitting][:MAX_FACETS]))


def _fits(text: str) -> bool:
    return len(text) <= MAX_FACET_CHARS
