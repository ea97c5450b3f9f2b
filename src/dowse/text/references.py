"""References in text: paths, lines, symbols and links, and how they resolve."""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from dowse.model import Link, Record

DOCUMENT_LINKS = ("links_to", "implements", "tests", "related", "transcludes")
"""Kinds of links between documents. URLs and images point outside the collection."""

_NOTE_SUFFIXES = (".md", ".markdown")
# A link may omit the suffix of a note or name a folder; the first match wins.
_OPTIONAL_SUFFIXES = ("", *_NOTE_SUFFIXES, "/README.md", "/index.md")

_KIND_PREFIX = re.compile(r"[a-z]+:(?!/)")  # a link may have a kind prefix, as in `note:plan`

_NameGetter = Callable[[Record], Iterable[str]]


@dataclass(frozen=True, slots=True)
class LinkTargets:
    """The targets of a collection by path and by name; an ambiguous name maps to None."""

    by_path: Mapping[str, str]
    by_name: Mapping[str, str | None]

    def resolve(self, target: str, source: str) -> str | None:
        """Return the path that a link in `source` refers to, with or without a kind prefix.

        Return None for a broken link: the name is unknown or ambiguous.
        """
        text = target.partition("#")[0].strip()
        if not text:
            return None
        bare = _KIND_PREFIX.sub("", text)
        return self._resolve_text(text, source) or (
            self._resolve_text(bare, source) if bare not in ("", text) else None
        )

    def find_path(self, target: str, source: str) -> str | None:
        """Return the path that a link in `source` refers to by path, ignoring names."""
        text = target.partition("#")[0].strip()
        return self._resolve_relative(text, source) if text else None

    def _resolve_text(self, text: str, source: str) -> str | None:
        explicit = text.startswith(("./", "../", "/"))
        return self._resolve_relative(text, source) or (None if explicit else self.by_name.get(text.casefold()))

    def _resolve_relative(self, text: str, source: str) -> str | None:
        """Resolve relative to the linking file's folder first, then to the root."""
        source_folder = "" if text.startswith("/") else posixpath.dirname(source)
        bases = (source_folder,) if text.startswith(("./", "../")) else (source_folder, "")
        for base in bases:
            found = self.by_path.get(posixpath.normpath(f"{base or '.'}/{text.strip('/')}"))
            if found is not None:
                return found
        return None


def index_link_targets(records: Iterable[Record]) -> LinkTargets:
    """Index the link targets of one collection."""
    known = list(records)
    return LinkTargets(_paths_by_target([it.path for it in known]), _paths_by_name(known))


def _paths_by_target(paths: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for ending in _OPTIONAL_SUFFIXES:
        for path in paths:
            if f"/{path}".endswith(ending):
                # Without its suffix, the root's README leaves an empty path: the root itself, written `.`.
                found.setdefault(f"/{path}".removesuffix(ending)[1:] or ".", path)
    return found


def _paths_by_name(records: Sequence[Record]) -> dict[str, str | None]:
    """Map names to paths. More specific kinds of names take precedence; ambiguous names map to None."""
    found: dict[str, str | None] = {}
    kinds: tuple[_NameGetter, ...] = (
        _record_file_name,
        _record_note_name,
        _record_aliases,
        _record_title,
        _record_stem,
    )
    for kind in kinds:
        for name, paths in _group_by_name(records, kind).items():
            found.setdefault(name, paths[0] if len(paths) == 1 else None)
    return found


def _group_by_name(records: Iterable[Record], names: _NameGetter) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for record in records:
        for name in {name.casefold() for name in names(record)}:
            found[name].append(record.path)
    return found


def _record_file_name(record: Record) -> Iterable[str]:
    return (posixpath.basename(record.path),)


def _record_note_name(record: Record) -> Iterable[str]:
    return _record_stem(record) if record.path.endswith(_NOTE_SUFFIXES) else ()


def _record_aliases(record: Record) -> Iterable[str]:
    return record.aliases


def _record_title(record: Record) -> Iterable[str]:
    return (record.title,)


def _record_stem(record: Record) -> Iterable[str]:
    return (posixpath.splitext(posixpath.basename(record.path))[0],)


# --------------------------------------------------------------------------------------------------
# Link resolution: the record of the same collection that a link refers to.
#
# All features that follow document links use this module, so that they resolve links alike. They differ in what they
# keep:
#
# - the link graph of a search (`search/stages/graph.py`) covers every collection, has each pair of records once a kind
#   of link, in both directions, and omits images, because a page that shows a picture is not about what it depicts;
# - references (`lookup/targets.py`) keep every link with its line, images included, but only of files, because links
#   of memories and commits may leave their collection and follow other rules.

LinkedRecords = Sequence[tuple[Record, Sequence[Link]]]


class ResolvedLink(NamedTuple):
    """A link, the record that contains it, and the path it resolves to."""

    record: Record
    link: Link
    path: str


@dataclass(frozen=True, slots=True)
class LinkResolver:
    """The link targets of each collection."""

    targets: Mapping[str, LinkTargets]

    def path_meant(self, record: Record, link: Link) -> str | None:
        """Return the path that a link of this record refers to, or None if the link is broken."""
        known = self.targets.get(record.collection)
        return known.resolve(link.target, record.path) if known else None

    def resolve_all(self, entries: LinkedRecords) -> Iterator[ResolvedLink]:
        """Yield resolved links in order; broken links and links to the same record are left out."""
        for record, links in entries:
            for link in links:
                path = self.path_meant(record, link)
                if path is not None and path != record.path:
                    yield ResolvedLink(record, link, path)


def build_link_resolver(entries: LinkedRecords) -> LinkResolver:
    """Index these records; links to any other record are broken."""
    by_collection: dict[str, list[Record]] = defaultdict(list)
    for record, _ in entries:
        by_collection[record.collection].append(record)
    return LinkResolver({name: index_link_targets(records) for name, records in by_collection.items()})


# --------------------------------------------------------------------------------------------------
# Files mentioned in a text, by path (as in a traceback or URL) or by dotted module name.

_MENTIONED_PATH = re.compile(r"[\w@+-][\w.@+-]*(?:[/\\][\w.@+-]+)*\.[A-Za-z]\w{0,7}\b")
_MODULE_MENTION = re.compile(r"\b[A-Za-z_]\w*(?:\.\w+)+")
_MAX_MENTION_CHARS = 10_000
_MAX_MENTIONS = 100
_MAX_PATH_PARTS = 12
_AMBIGUOUS_FROM = 3  # a name that matches this many files is ambiguous
_ENTRY_STEMS = frozenset(("__init__", "index", "mod"))  # named by their directory


def mentioned_paths(text: str, paths: Iterable[str]) -> frozenset[str]:
    """Return the paths that the text mentions. Each name matches by its longest suffix that any path has."""
    named, dotted = (it.findall(text[:_MAX_MENTION_CHARS])[:_MAX_MENTIONS] for it in (_MENTIONED_PATH, _MODULE_MENTION))
    if not named and not dotted:
        return frozenset()  # the common case
    known = list(paths)
    files = _index_by_suffix((path, _path_parts(path)) for path in known)
    modules = _index_by_suffix((path, _module_parts(path)) for path in known)
    found: set[str] = set()
    for name in named:
        parts = _path_parts(name.replace("\\", "/"))
        found |= _longest_suffix_match(files, ["/".join(parts[start:]) for start in range(len(parts))])
    for name in dotted:
        parts = tuple(name.split(".")[:_MAX_PATH_PARTS])
        found |= _longest_suffix_match(modules, ["/".join(parts[:end]) for end in range(len(parts), 1, -1)])
    return frozenset(found)


def _path_parts(path: str) -> tuple[str, ...]:
    return PurePosixPath(path).parts[-_MAX_PATH_PARTS:]


def _module_parts(path: str) -> tuple[str, ...]:
    whole = PurePosixPath(path)
    return _path_parts(str(whole.parent if whole.stem in _ENTRY_STEMS else whole.parent / whole.stem))


def _index_by_suffix(paths: Iterable[tuple[str, tuple[str, ...]]]) -> Mapping[str, set[str]]:
    by_ending: defaultdict[str, set[str]] = defaultdict(set)
    for path, parts in paths:
        for start in range(len(parts)):
            by_ending["/".join(parts[start:])].add(path)
    return by_ending


def _longest_suffix_match(by_ending: Mapping[str, set[str]], endings: Iterable[str]) -> set[str]:
    found = next((by_ending[it] for it in endings if it in by_ending), set())
    return found if len(found) < _AMBIGUOUS_FROM else set()


# --------------------------------------------------------------------------------------------------
# Anchors of memories: `path`, `path#Symbol`, `path:LINE` or `commit:HASH`.
#
# A path may be followed by the digest of its content at the time of writing: `src/app.py#Server@0123456789abcdef`.

ANCHORED_LINK: Final = "anchored"
"""The kind of links from a memory to its anchors. The context of a link is the digest."""
ANCHORS_KEY: Final = "anchors"
"""The front matter key. As a facet, it holds the number of anchors."""
COMMIT_PREFIX: Final = "commit:"
_DIGEST_CHARS: Final = 16
_DIGEST_SUFFIX = re.compile(rf"@([0-9a-f]{{{_DIGEST_CHARS}}})\Z")
_LINE_SUFFIX = re.compile(r":(\d{1,9})\Z")
_COMMIT_HASH = re.compile(r"[0-9a-f]{4,64}\Z")


class Anchor(NamedTuple):
    """A parsed anchor. `symbol` may be qualified with dots; `line` is 0 if none was given."""

    path: str
    symbol: str = ""
    line: int = 0
    commit: str = ""
    digest: str = ""

    @property
    def target(self) -> str:
        """Return the link target. It omits line numbers, because lines move."""
        if self.commit:
            return COMMIT_PREFIX + self.commit
        return f"{self.path}#{self.symbol}" if self.symbol else self.path

    @property
    def text(self) -> str:
        return f"{self.target}@{self.digest}" if self.digest else self.target


def parse_anchor(text: str) -> Anchor | None:
    """Parse an anchor, or return None if the text is not one."""
    text = text.strip()
    if text[: len(COMMIT_PREFIX)].lower() == COMMIT_PREFIX:
        commit = text[len(COMMIT_PREFIX) :].strip().lower()
        return Anchor("", commit=commit) if _COMMIT_HASH.match(commit) else None
    digest = _DIGEST_SUFFIX.search(text)
    place = text[: digest.start()] if digest else text
    path, _, symbol = place.partition("#")
    line = _LINE_SUFFIX.search(path)
    path = (path[: line.start()] if line else path).replace("\\", "/").removeprefix("./")
    if not path or not place.isprintable() or path.startswith("/") or ".." in path.split("/"):
        return None
    return Anchor(path, symbol, int(line[1]) if line else 0, digest=digest[1] if digest else "")


def content_digest(text: str) -> str:
    """Return the digest of anchored text. Surrounding whitespace, trailing blanks and line endings do not count."""
    plain = "\n".join(line.rstrip() for line in text.strip().splitlines())
    return hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_CHARS]
