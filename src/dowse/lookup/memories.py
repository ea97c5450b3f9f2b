"""Notes in the index: tags, links, targets and validity."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from dowse.model import Link, Record, Scope
from dowse.store.view import StoreView
from dowse.text.memory_notes import (
    ARCHIVED,
    MEMORY_PREFIX,
    MemoryEdge,
    MemoryEdges,
    MemoryIndex,
    RecordKey,
    check_validity,
    collect_edges,
    link_kinds_for,
    record_key,
)
from dowse.text.references import COMMIT_PREFIX
from dowse.text.tokenize import parse_query, split_words

# --------------------------------------------------------------------------------------------------
# Tags of memories: use counts, co-occurrence, and clusters.

MAX_PAIRED_TAGS: Final = 100  # per memory: the number of pairs grows quadratically


@dataclass(frozen=True, slots=True)
class RelatedTag:
    """A tag that co-occurs with another: number of shared memories, and their share of all that have either."""

    tag: str
    shared_memories: int
    share: float


@dataclass(frozen=True, slots=True)
class TagGraph:
    """Tag counts and co-occurrence; pairs are in alphabetical order, `unpaired` counts memories over the pairing
    limit."""

    counts: Mapping[str, int]
    pairs: Mapping[tuple[str, str], int]
    memories: int = 0
    unpaired: int = 0

    def related(self, tag: str) -> list[RelatedTag]:
        """Return the tags that share memories with this one, most frequent first."""
        counts = {_other_tag(pair, tag): count for pair, count in self.pairs.items() if tag in pair}
        found = [
            RelatedTag(other, count, count / (self.counts[tag] + self.counts[other] - count))
            for other, count in counts.items()
        ]
        return sorted(found, key=lambda it: (-it.shared_memories, -it.share, it.tag))

    def by_use(self) -> list[tuple[str, int]]:
        return sorted(self.counts.items(), key=lambda it: (-it[1], it[0]))

    def by_pairing(self) -> list[tuple[tuple[str, str], int]]:
        return sorted(self.pairs.items(), key=lambda it: (-it[1], it[0]))


@dataclass(frozen=True, slots=True)
class ClusteredMemory:
    """A memory, its distance in tag steps, and the tags that led there."""

    record: Record
    distance: int
    tags: tuple[str, ...]


def normalize_tag(tag: str) -> str:
    """Normalize a tag to its indexed form."""
    return tag.strip().lstrip("#").strip().lower()


def build_tag_graph(records: Iterable[Record]) -> TagGraph:
    used: Counter[str] = Counter()
    pairs: Counter[tuple[str, str]] = Counter()
    memories = unpaired = 0
    for record in records:
        tags = _normalized_tags(record)
        memories += 1
        unpaired += len(tags) > MAX_PAIRED_TAGS
        used.update(tags)
        pairs.update(combinations(sorted(tags[:MAX_PAIRED_TAGS]), 2))
    return TagGraph(used, pairs, memories, unpaired)


def cluster_by_tag(records: Sequence[Record], tag: str, depth: int) -> list[ClusteredMemory]:
    """Return memories with the tag (distance 1), memories that share a tag with those (2), and so on.

    The nearest come first, then those that share most tags, then in input order.
    """
    found: list[ClusteredMemory] = []
    left, known = list(records), {normalize_tag(tag)}
    for distance in range(1, depth + 1):
        level = [(record, tuple(it for it in _normalized_tags(record) if it in known)) for record in left]
        near = [ClusteredMemory(record, distance, tags) for record, tags in level if tags]
        found += sorted(near, key=lambda it: -len(it.tags))
        left = [record for record, tags in level if not tags]
        known = known.union(*(_normalized_tags(it.record) for it in near))
    return found


def _normalized_tags(record: Record) -> list[str]:
    return list(dict.fromkeys(map(normalize_tag, record.tags)))


def _other_tag(pair: tuple[str, str], tag: str) -> str:
    return pair[1] if pair[0] == tag else pair[0]


# --------------------------------------------------------------------------------------------------
# Statistics on memories: counts by type and status, total size, and tags.

_NS_PER_SECOND = 1_000_000_000


@dataclass(frozen=True, slots=True)
class MemoryCounts:
    """`tags` are sorted by use; `oldest` and `newest` are None if there is no memory."""

    memories: int
    size_bytes: int
    types: Mapping[str, int]
    statuses: Mapping[str, int]
    tags: Sequence[tuple[str, int]]
    oldest: float | None
    newest: float | None


def memory_counts(records: Sequence[Record]) -> MemoryCounts:
    moments = [it.timestamp_ns / _NS_PER_SECOND for it in records]
    return MemoryCounts(
        memories=len(records),
        size_bytes=sum(it.size for it in records),
        types=Counter(it.facets.get("type", "") for it in records),
        statuses=Counter(it.facets.get("status", "") for it in records),
        tags=build_tag_graph(records).by_use(),
        oldest=min(moments, default=None),
        newest=max(moments, default=None),
    )


# --------------------------------------------------------------------------------------------------
# Links of one kind between the memories of a scope, cached per index revision.


def load_memory_edges(view: StoreView, scope: Scope, kind: str) -> MemoryEdges:
    return view.cached_by_revision(
        f"{kind} among memories {scope}",
        lambda: collect_edges(view.records_with_links(link_kinds_for(kind), scope), kind),
    )


# --------------------------------------------------------------------------------------------------
# The memories of a scope and their names, cached per index revision.


def load_memories(view: StoreView, scope: Scope) -> list[Record]:
    """Return the memories, newest first."""
    return view.cached_by_revision(f"memories {scope}", lambda: view.select(scope))


def memories_by_link_name(view: StoreView, folder: str) -> MemoryIndex:
    """Return the memories of one collection, indexed by every name that a link may use."""
    scope = Scope(collections=(folder,), kinds=("memory",))
    return view.cached_by_revision(f"memories of {folder} by name", lambda: MemoryIndex.of(load_memories(view, scope)))


# --------------------------------------------------------------------------------------------------
# Comparison of link targets with the path of a file.

_TargetTest = Callable[[str, str], bool]

_TRAILING_LINE = re.compile(r":\d{1,9}(?:[:-]\d{0,9})?\Z")
_LINE_FRAGMENT = re.compile(r"L\d{1,9}(?:-L?\d{1,9})?\Z")


@dataclass(frozen=True, slots=True)
class LinkTarget:
    """A normalized link target. Without a suffix it matches any; a bare name matches in any folder.

    `root` is the root it was written with, if any; `part` the name after `#`. Line numbers are dropped because they
    shift.
    """

    path: str
    root: str = ""
    part: str = ""

    @property
    def suffix(self) -> str:
        return posixpath.splitext(self.path)[1]

    @property
    def stem(self) -> str:
        return posixpath.splitext(self.path)[0]

    @property
    def is_bare(self) -> bool:
        return "/" not in self.path

    def matches(self, other: LinkTarget) -> bool:
        """Return whether two targets are equal, ignoring a suffix that only one of them has."""
        if self.root and other.root and self.root != other.root:
            return False
        if self.suffix and other.suffix:
            return self.path == other.path
        return self.stem == other.stem

    def last(self) -> LinkTarget:
        return LinkTarget(posixpath.basename(self.path))

    def is_meant_by(self, written: LinkTarget) -> bool:
        """Return whether a link written this way means the target: a wiki name is bare and without suffix."""
        is_name = written.is_bare and not written.suffix
        return self.matches(written) or (is_name and self.last().matches(written.last()))


def parse_link_target(target: str, roots: Sequence[str], base_directory: str = "") -> LinkTarget:
    """Normalize a target: strip the root before it and the `#symbol` or `:LINE` after it.

    `base_directory` is the directory that `../` is relative to. The file system is not consulted.
    """
    path, _, part = target.strip().replace("\\", "/").partition("#")
    text = (
        path.strip()
        if path.lower().startswith((COMMIT_PREFIX, MEMORY_PREFIX))
        else _TRAILING_LINE.sub("", path.strip())
    )
    text = posixpath.normpath(text or ".")
    if base_directory and text.startswith("../"):
        text = posixpath.normpath(f"{base_directory}/{text}")
    part = "" if _LINE_FRAGMENT.match(part.strip()) else part.strip()
    for root in sorted(roots, key=len, reverse=True):  # with nested roots, a file belongs to the innermost
        base = root.replace("\\", "/").rstrip("/")
        if text.startswith(f"{base}/"):
            return LinkTarget(text[len(base) + 1 :], root, part)
    return LinkTarget(text, "", part)


def link_matcher(asked: str, roots: Sequence[str]) -> _TargetTest:
    """Return a predicate for link targets that mean the given file; it also takes the directory of the link."""
    wanted = parse_link_target(asked, roots)
    name = wanted.last().stem

    def is_meant(target: str, base_directory: str = "") -> bool:
        if name not in target:  # cheap test that rejects most targets without parsing
            return False
        written = parse_link_target(target, roots, base_directory)
        # A query for a bare name matches in any folder.
        return wanted.is_meant_by(written) or (wanted.is_bare and wanted.last().matches(written.last()))

    return is_meant


def memory_directory(root: str, path: str) -> str:
    """Return the directory that relative links of a memory count from."""
    base = root.replace("\\", "/").rstrip("/")
    return posixpath.dirname(f"{base}/{path}")


# --------------------------------------------------------------------------------------------------
# Memories that link to a file, indexed or not, ranked by relevance to a question.

_TEXT_WEIGHT: Final = 0.6  # weight of the text score; the rest is the share of query terms next to the link


@dataclass(frozen=True, slots=True)
class LinkingMemory:
    """A memory and its links to the target."""

    record: Record
    links: tuple[Link, ...]
    score: float = 0.0


def find_linking_memories(
    view: StoreView, scope: Scope, target: str, roots: Sequence[str], resolved: Container[tuple[RecordKey, Link]] = ()
) -> list[LinkingMemory]:
    """Return the memories with links to the target, newest first.

    A link counts if it is written like the target, or if `resolved` contains it.
    """
    is_meant = link_matcher(target, roots)
    folders = {it.name: it.root for it in view.collections()}
    found: list[LinkingMemory] = []
    for record, every in load_memory_links(view, scope):
        base_directory = memory_directory(folders[record.collection], record.path)
        if links := tuple(
            it for it in every if is_meant(it.target, base_directory) or (record_key(record), it) in resolved
        ):
            found.append(LinkingMemory(record, links))
    return found


def load_memory_links(view: StoreView, scope: Scope) -> list[tuple[Record, list[Link]]]:
    """Return the memories with their links, newest first, cached per index revision."""
    return view.cached_by_revision(
        f"links of memories {scope}", lambda: [(record, view.links(record)) for record in load_memories(view, scope)]
    )


def rank_by_relevance(
    found: Iterable[LinkingMemory], question: str, scores: Mapping[RecordKey, float]
) -> list[LinkingMemory]:
    """Rank by text score (`scores`, per memory, 0 to 1) and by the share of query terms next to the link."""
    terms = parse_query(question)
    wanted = [f" {' '.join(it.words).casefold()} " for it in (*terms.required, *terms.optional)]
    rated = [
        LinkingMemory(
            it.record,
            it.links,
            _TEXT_WEIGHT * scores.get(record_key(it.record), 0.0) + (1 - _TEXT_WEIGHT) * _context_score(wanted, it),
        )
        for it in found
    ]
    return sorted(rated, key=lambda it: -it.score)


def _context_score(wanted: Sequence[str], linking: LinkingMemory) -> float:
    context = f" {' '.join(word for it in linking.links for word in split_words(it.context))} ".casefold()
    return sum(it in context for it in wanted) / len(wanted) if wanted else 0.0


# --------------------------------------------------------------------------------------------------
# Validity of a memory: superseded, archived or outside its validity period.


@dataclass(frozen=True, slots=True)
class MemoryValidity:
    """Why a memory may be invalid.

    `superseded_by` are names. `not_before` and `not_after` are as written, and empty if they do not apply.
    """

    superseded_by: tuple[str, ...] = ()
    archived: bool = False
    not_before: str = ""
    not_after: str = ""

    @property
    def counts(self) -> bool:
        return not (self.superseded_by or self.archived or self.not_before or self.not_after)

    def sentences(self) -> Iterator[str]:
        """Yield the reasons against the memory."""
        if self.superseded_by:
            yield f"superseded by {', '.join(self.superseded_by)}"
        if self.archived:
            yield ARCHIVED
        if self.not_before:
            yield f"not valid before {self.not_before}"
        if self.not_after:
            yield f"not valid since {self.not_after}"


def memory_validity(record: Record, supersedes: MemoryEdges, now: float) -> MemoryValidity:
    not_before, not_after = check_validity(record.facets, now)
    return MemoryValidity(
        superseded_by=tuple(superseding_memories(record, supersedes)),
        archived=record.facets.get("status", "").lower() == ARCHIVED,
        not_before=not_before,
        not_after=not_after,
    )


def superseding_memories(record: Record, supersedes: MemoryEdges) -> Iterator[str]:
    """Yield the memories that supersede this one; cycles do not count."""
    for edge in supersedes.incoming_to(record_key(record)):
        if not supersedes.is_cyclic(edge):
            yield edge.source.name


# --------------------------------------------------------------------------------------------------
# Breadth-first traversal of links between memories; cycles are cut.

MAX_WALK_STEPS: Final = 500


@dataclass(frozen=True, slots=True)
class MemoryStep:
    """A memory reached by a traversal, its distance, and the link that led there; `record` is None for a broken
    link."""

    name: str
    record: Record | None
    distance: int
    edge: MemoryEdge


@dataclass(frozen=True, slots=True)
class MemoryWalk:
    """The result of a traversal. `circular`: a link leads back to the start. `has_more`: the limit was hit."""

    steps: tuple[MemoryStep, ...] = ()
    circular: bool = False
    has_more: bool = False


def follow_links(edges: MemoryEdges, start: Record, *, back: bool = False, far: int | None = None) -> MemoryWalk:
    """Return the memories that one links to, or with `back` those that link to it, nearest first."""
    reached: dict[RecordKey, MemoryStep | None] = {record_key(start): None}
    circular, level, distance = False, [record_key(start)], 0
    while level and (far is None or distance < far):
        distance += 1
        following: list[RecordKey] = []
        for place, step in _next_steps(edges, level, distance, back):
            circular = circular or place == record_key(start)
            if place not in reached:
                reached[place] = step
                following.append(place)
        level = following
    steps = tuple(filter(None, reached.values()))
    return MemoryWalk(steps[:MAX_WALK_STEPS], circular, has_more=len(steps) > MAX_WALK_STEPS)


def _next_steps(
    edges: MemoryEdges, level: list[RecordKey], distance: int, back: bool
) -> Iterator[tuple[RecordKey, MemoryStep]]:
    for place in level:
        for edge in edges.incoming_to(place) if back else edges.outgoing_from(place):
            end = edge.source if back else edge.target
            yield end.key, MemoryStep(end.name, end.record, distance, edge)
