"""Resolve what a user names: a path, a line, a symbol, a chunk."""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from dowse.errors import BadInput
from dowse.lookup.memories import memories_by_link_name
from dowse.model import (
    COMMITS,
    FILES,
    MEMORIES,
    Collection,
    Freshness,
    Link,
    NestedCollection,
    Record,
    Scope,
    normalize_path,
)
from dowse.store.view import StoreView
from dowse.text import memory_notes as memory_names
from dowse.text import references as anchors
from dowse.text.references import DOCUMENT_LINKS, LinkResolver, build_link_resolver

# --------------------------------------------------------------------------------------------------
# Collections nested in the directory of another: their files also have a path from the outer root.


def with_outer_paths(scope: Scope, collections: Iterable[Collection]) -> Scope:
    """Return the scope with globs applied from outer roots, too: `.memories/**` matches the memories there."""
    return replace(scope, nested=nested_collections(collections)) if scope.paths or scope.excluded else scope


def nested_collections(collections: Iterable[Collection]) -> tuple[NestedCollection, ...]:
    """Return every nested collection with its path from each enclosing root; git histories have no place on disk."""
    roots = [it for it in collections if it.source != COMMITS]
    return tuple(
        NestedCollection(inner.name, inner.root.removeprefix(f"{it.root}/"))
        for inner in roots
        for it in roots
        if inner.root.startswith(f"{it.root}/")
    )


_PathReading = tuple[str | None, str]


def records_at(view: StoreView, path: str, collection: str | None = None) -> list[Record]:
    """Return the records of the first interpretation that matches, from every collection that has the path."""
    for interpret in (_as_absolute, _as_relative, _as_nested):
        found = [record for name, inside in interpret(view, path, collection) for record in view.records(inside, name)]
        if found:
            return found
    return []


def _as_absolute(view: StoreView, path: str, collection: str | None) -> Iterator[_PathReading]:
    for entry in view.collections():
        if path.startswith(f"{entry.root}/") and collection in (None, entry.name):
            yield entry.name, posixpath.normpath(path.removeprefix(f"{entry.root}/"))


def _as_relative(view: StoreView, path: str, collection: str | None) -> Iterator[_PathReading]:
    inside = posixpath.normpath(normalize_path(path))
    if ".." not in path.replace("\\", "/").split("/"):
        yield collection, inside
        return
    for indexed in view.collections():  # a path with `..` counts from a root
        if indexed.source == FILES and collection in (None, indexed.name):
            yield indexed.name, inside


def _as_nested(view: StoreView, path: str, collection: str | None) -> Iterator[_PathReading]:
    """Resolve the path of a nested collection, such as a memory folder, from an outer root."""
    inside = posixpath.normpath(normalize_path(path))
    for name, prefix in nested_collections(view.collections()):
        if collection in (None, name) and inside.startswith(f"{prefix}/"):
            yield name, inside.removeprefix(f"{prefix}/")


# --------------------------------------------------------------------------------------------------
# Targets other than paths: `commit:HASH` and `memory:NAME`, the same for every command.

COMMIT_TARGET_PREFIX, MEMORY_TARGET_PREFIX = anchors.COMMIT_PREFIX, memory_names.MEMORY_PREFIX
_HASH_PREFIX = re.compile(r"[0-9a-f]{4,64}")
_MAX_PREFIX_MATCHES = 20


def resolve_records(view: StoreView, target: str, collection: str | None = None) -> list[Record]:
    """Return the records that a prefixed target or a path refers to."""
    return resolve_prefixed(view, target, collection) or records_at(view, target, collection)


def resolve_prefixed(view: StoreView, target: str, collection: str | None = None) -> list[Record]:
    """Return the records that a target with a `commit:` or `memory:` prefix refers to."""
    text = target.strip()
    if text.lower().startswith(COMMIT_TARGET_PREFIX):
        return commits_by_prefix(view, text[len(COMMIT_TARGET_PREFIX) :], collection)
    return memories_by_name(view, text, collection) if text.lower().startswith(MEMORY_TARGET_PREFIX) else []


def commits_by_prefix(view: StoreView, beginning: str, collection: str | None = None) -> list[Record]:
    """Return the commits whose hashes begin with a prefix, newest first."""
    wanted = beginning.strip().lower()
    names = collections_of_source(view, COMMITS, collection)
    if not names or not _HASH_PREFIX.fullmatch(wanted):
        return []
    exact = [record for name in names for record in view.records(wanted, name)]
    return exact or view.select(Scope(collections=names, paths=(f"{wanted}*",)), _MAX_PREFIX_MATCHES)


def memories_by_name(view: StoreView, name: str, collection: str | None = None) -> list[Record]:
    """Return the memory of this name from each memory folder, matched as links in that folder match it."""
    found = (
        memories_by_link_name(view, it).find_by_name(name) for it in collections_of_source(view, MEMORIES, collection)
    )
    return [it for it in found if it is not None]


def collections_of_source(view: StoreView, source: str, collection: str | None) -> tuple[str, ...]:
    return tuple(it.name for it in view.collections() if it.source == source and collection in (None, it.name))


# --------------------------------------------------------------------------------------------------
# Resolved links between documents, cached per index revision.

MARKDOWN_LINKS = (*DOCUMENT_LINKS, "image")


class IncomingLink(NamedTuple):
    """A link and the record that contains it."""

    record: Record
    link: Link


@dataclass(frozen=True, slots=True)
class DocumentLinks:
    """Links of files, resolved within their own collection."""

    resolver: LinkResolver
    incoming: Mapping[tuple[str, str], Sequence[IncomingLink]]

    def links_to(self, record: Record) -> Sequence[IncomingLink]:
        """Return the links of other records to this one."""
        return self.incoming.get((record.collection, record.path), ())

    def path_meant(self, record: Record, link: Link) -> str | None:
        """Return the path that a link refers to, or None for a broken link."""
        return self.resolver.path_meant(record, link) if link.kind in MARKDOWN_LINKS else None


def document_links(view: StoreView) -> DocumentLinks:
    return view.cached_by_revision("references", lambda: _resolve_document_links(view))


def _resolve_document_links(view: StoreView) -> DocumentLinks:
    files = tuple(it.name for it in view.collections() if it.source == FILES)
    entries = view.records_with_links(MARKDOWN_LINKS, Scope(collections=files)) if files else []
    meant = build_link_resolver(entries)
    incoming: dict[tuple[str, str], list[IncomingLink]] = defaultdict(list)
    for record, link, path in meant.resolve_all(entries):
        incoming[record.collection, path].append(IncomingLink(record, link))
    return DocumentLinks(meant, dict(incoming))


# --------------------------------------------------------------------------------------------------
# Files by name without suffix, cached per index revision.


class FileSpot(NamedTuple):
    collection: str
    path: str


def files_by_stem(view: StoreView) -> Mapping[str, Sequence[FileSpot]]:
    """Map stems to files with a suffix, both by path without suffix and by base name without suffix."""
    return view.cached_by_revision("files by stem", lambda: _group_by_stem(view))


def _group_by_stem(view: StoreView) -> dict[str, list[FileSpot]]:
    found: defaultdict[str, list[FileSpot]] = defaultdict(list)
    for file in view.files():
        stem, suffix = posixpath.splitext(file.path)
        if suffix:
            for name in {stem, posixpath.basename(stem)}:
                found[name].append(FileSpot(file.collection, file.path))
    return dict(found)


# --------------------------------------------------------------------------------------------------
# Reading of exact lines of a record.


@dataclass(frozen=True, slots=True)
class Passage:
    """Lines of a record.

    `freshness` says whether they come from disk or from the index; `notes` are caveats.
    """

    record: Record
    text: str
    start_line: int
    end_line: int
    total_lines: int
    freshness: Freshness
    next_line: int | None = None
    cut: bool = False
    notes: tuple[str, ...] = ()


def read_lines(
    view: StoreView,
    record: Record,
    current: str | None,
    freshness: Freshness,
    start_line: int,
    end_line: int | None,
) -> Passage:
    """Return lines of the current text, or of the indexed text if the file is unreadable."""
    lines = _reassemble_lines(view, record) if current is None else current.removesuffix("\n").split("\n")
    if start_line > max(len(lines), 1):
        raise BadInput(f"{record.path} has {len(lines):,} lines; line {start_line:,} is beyond its end")
    last = len(lines) if end_line is None else min(max(end_line, start_line), len(lines))
    return Passage(record, "\n".join(lines[start_line - 1 : last]), start_line, last, len(lines), freshness)


def _reassemble_lines(view: StoreView, record: Record) -> list[str]:
    """Reassemble the text from chunks; only blank lines and front matter between them are lost."""
    lines: list[str] = []
    joint = ""
    for stored in view.chunks(record):
        first, *rest = stored.chunk.text.split("\n")
        lines += [""] * (stored.chunk.start_line - 1 - len(lines))
        if stored.chunk.start_line == len(lines):
            lines[-1] += joint + first
        else:
            lines.append(first)
        lines += rest
        # A line too long for one chunk was cut at a space; a part without spaces was probably cut inside a word.
        joint = " " if len((rest or [first])[-1].split()) > 1 else ""
    return lines
