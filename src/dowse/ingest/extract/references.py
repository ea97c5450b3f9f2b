"""References in prose: links with their kind and surroundings, bare addresses, and inline tags."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias
from urllib.parse import unquote

from dowse.ingest.extract.events import Outline, Prose, Reference
from dowse.ingest.extract.spans import Lines
from dowse.model import Link

Relate: TypeAlias = Callable[[Sequence[Reference]], Sequence[str]]

CONTEXT_CHARS: Final = 100
MAX_TARGET_CHARS: Final = 2000
MAX_TAG_CHARS: Final = 100

# What a heading says about the links below it; the first that matches counts.
_RELATIONS = (
    ("implements", re.compile(r"\bimplement(?:s|ed|ing|ations?)?\b", re.IGNORECASE)),
    ("tests", re.compile(r"\btest(?:s|ed|ing)?\b", re.IGNORECASE)),
    ("related", re.compile(r"\brelated\b|\bsee also\b", re.IGNORECASE)),
)
_TEST_FILE = re.compile(r"(^|/)(tests?|__tests__)/|(^|/)test[_-][^/]*$|[._-]tests?\.\w+$", re.IGNORECASE)
_ADDRESS = re.compile(r"(?:[a-z][a-z0-9+.-]*:)?//|(?:mailto|tel):", re.IGNORECASE)
_BARE_ADDRESS = re.compile(r"https?://[^\s<>\[\]\"`|]+", re.IGNORECASE)
_TAG = re.compile(r"(?<![^\s(\[\"',;])#(\w[\w/-]*)")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\ufffd]")


def links(
    text: str,
    start: int,
    found: Outline,
    below: Sequence[tuple[str, ...]],
    lines: Lines,
    relate: Relate,
) -> tuple[Link, ...]:
    """Every usable reference of a document, whose body begins at `start`, in order of appearance; what relates them is
    told by `relate`."""
    addresses = (each for prose in found.prose for each in _bare_addresses(text, prose))
    references = sorted([*found.references, *addresses], key=lambda each: each.start)
    described = ((each, _target(each), relation) for each, relation in zip(references, relate(references), strict=True))
    return tuple(
        Link(_kind(each, target, relation), target, lines.at(each.start), _context(text, start, each))
        for each, target, relation in described
        if target
    )


def by_place(path: str, below: Sequence[tuple[str, ...]]) -> Relate:
    """Links are related by the nearest heading that says something about them, else by the sort of file they are in."""
    otherwise = "tests" if _TEST_FILE.search(path) else "links_to"
    named = [_relation(trail, otherwise) for trail in below]
    return lambda references: [named[each.section] for each in references]


def tags(text: str, prose: Sequence[Prose]) -> Iterator[str]:
    """Inline `#tags`; one without any letter is a number, such as that of a ticket."""
    for each in prose:
        for match in _TAG.finditer(text, each.start, each.end):
            tag = match[1].rstrip("/-")
            if len(tag) <= MAX_TAG_CHARS and any(map(str.isalpha, tag)):
                yield tag


def _bare_addresses(text: str, prose: Prose) -> Iterator[Reference]:
    for match in _BARE_ADDRESS.finditer(text, prose.start, prose.end):
        target = match[0].rstrip(".,:;!?*_~'")
        if target.endswith(")") and "(" not in target:
            target = target.rstrip(").,")
        end = match.start() + len(target)
        yield Reference(match.start(), end, prose.section, target)


def _target(reference: Reference) -> str:
    """The target as written, decoded when it is a path; empty when nothing could ever resolve it."""
    # In a table the bar before an alias is escaped, and the backslash left at the target's end.
    written = reference.target.strip().rstrip("\\")
    if len(written) > MAX_TARGET_CHARS or written[:5].lower() == "data:":
        return ""
    if reference.wiki or _ADDRESS.match(written):
        return written
    decoded = unquote(written)
    return written if _CONTROL.search(decoded) else decoded


def _kind(reference: Reference, target: str, relation: str) -> str:
    if reference.image:
        return "transcludes" if reference.wiki else "image"
    return "url" if _ADDRESS.match(target) else relation


def _relation(trail: tuple[str, ...], otherwise: str) -> str:
    for name in reversed(trail):
        for relation, words in _RELATIONS:
            if words.search(name):
                return relation
    return otherwise


def _context(text: str, body: int, reference: Reference) -> str:
    """The link and what surrounds it in its paragraph, on one line."""
    start, end = reference.start, min(reference.end, reference.start + CONTEXT_CHARS)
    before = text[max(body, start - CONTEXT_CHARS // 2) : start].rpartition("\n\n")[2]
    after = text[end : end + CONTEXT_CHARS // 2].partition("\n\n")[0]
    return " ".join(f"{before}{text[start:end]}{after}".split())
