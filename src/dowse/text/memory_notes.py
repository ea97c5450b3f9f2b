"""Types, names and relations of notes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from dowse.model import Link, Record
from dowse.text.code_names import strongly_connected_components
from dowse.text.references import LinkedRecords, LinkTargets, index_link_targets
from dowse.text.times import parse_timestamp

MEMORY_TYPES: Final = ("plan", "journal", "fact", "observation", "reflection")
JOURNAL: Final = "journal"
ACTIVE: Final = "active"
ARCHIVED: Final = "archived"
MEMORY_STATUSES: Final = (ACTIVE, ARCHIVED)


class ValidityViolation(NamedTuple):
    """The limits of the validity period that are violated, as written; empty if they are not."""

    not_before: str = ""
    not_after: str = ""


def check_validity(facets: Mapping[str, str], now: float) -> ValidityViolation:
    """Return whether the record is not yet valid or has expired. Values that are not dates are ignored."""
    valid_from, valid_until = facets.get("valid_from", ""), facets.get("valid_until", "")
    begins, ends = parse_timestamp(valid_from), parse_timestamp(valid_until, last=True)
    return ValidityViolation(
        valid_from if begins is not None and now < begins else "",
        valid_until if ends is not None and now > ends else "",
    )


# --------------------------------------------------------------------------------------------------
# Resolution of memory names: `plan`, `plan.md` and `memory:plan#Steps` mean the same file.

MEMORY_PREFIX: Final = "memory:"
_MEMORY_SUFFIXES: Final = (".md", ".markdown")


def memory_name_in_link(target: str) -> str:
    """Return the name in a link to a memory; empty for any other link."""
    text = target.strip()
    if text[: len(MEMORY_PREFIX)].lower() != MEMORY_PREFIX:
        return ""
    return text[len(MEMORY_PREFIX) :].partition("#")[0].strip().removeprefix("./")


@dataclass(frozen=True, slots=True)
class MemoryNames:
    """Memories by name. Exact names take precedence over case-folded ones."""

    exact: dict[str, Record]
    folded: dict[str, Record]

    @classmethod
    def of(cls, records: Iterable[Record]) -> MemoryNames:
        # Of several memories with one name, the newest wins, independent of the order of the records.
        known = sorted(records, key=lambda it: (-it.timestamp_ns, it.collection, it.path))
        exact: dict[str, Record] = {}
        for record in known:
            exact.setdefault(record.path, record)
        for suffix in _MEMORY_SUFFIXES:
            for record in known:
                if record.path.lower().endswith(suffix):
                    exact.setdefault(record.path[: -len(suffix)], record)
        folded: dict[str, Record] = {}
        for name, record in exact.items():
            folded.setdefault(name.casefold(), record)
        return cls(exact, folded)

    def find(self, name: str) -> Record | None:
        return self.exact.get(name) or self.folded.get(name.casefold())


# --------------------------------------------------------------------------------------------------
# References between memories by one kind of link, in both directions.
#
# Ranking, versions and warnings all use this module, so that they resolve references alike. `memory:NAME` refers to a
# memory of the same collection, by file name or else by the rules of document links. If there is none, the reference
# has an end without a record. A link without `memory:` that resolves to no memory is not a reference, because it may
# point to code.

RecordKey = tuple[str, str]

SUPERSEDES: Final = "supersedes"
DEPENDS_ON: Final = "depends_on"
CONTRADICTS: Final = "contradicts"
# The inverse spelling of a reference.
_INVERSE_KINDS: Final = {SUPERSEDES: "superseded_by"}


class MemoryEnd(NamedTuple):
    """One end of a reference; `record` is None if no memory has that name."""

    collection: str
    name: str
    record: Record | None

    @property
    def key(self) -> RecordKey:
        return self.collection, self.name


@dataclass(frozen=True, slots=True)
class MemoryEdge:
    """A reference. `declared_by` is the memory that contains `link`; it may be either end."""

    source: MemoryEnd
    target: MemoryEnd
    declared_by: Record
    link: Link


@dataclass(frozen=True, slots=True)
class MemoryEdges:
    """References of one kind. `components` maps each end to the number of its strongly connected component."""

    outgoing: Mapping[RecordKey, Sequence[MemoryEdge]]
    incoming: Mapping[RecordKey, Sequence[MemoryEdge]]
    components: Mapping[RecordKey, int]

    def outgoing_from(self, end: RecordKey) -> Sequence[MemoryEdge]:
        return self.outgoing.get(end, ())

    def incoming_to(self, end: RecordKey) -> Sequence[MemoryEdge]:
        return self.incoming.get(end, ())

    def is_cyclic(self, edge: MemoryEdge) -> bool:
        """Return whether the edge lies on a cycle."""
        return self.components[edge.source.key] == self.components[edge.target.key]


def record_key(record: Record) -> RecordKey:
    return record.collection, record.path


def link_kinds_for(kind: str) -> tuple[str, ...]:
    """Return the link kinds that express this reference, from either end."""
    return (kind, _INVERSE_KINDS[kind]) if kind in _INVERSE_KINDS else (kind,)


def collect_edges(entries: LinkedRecords, kind: str) -> MemoryEdges:
    """Collect references without duplicates, in the order of the memories and their links; self-references are ignored.

    The entries must include all memories of their collections; others count as missing.
    """
    found: dict[tuple[RecordKey, RecordKey], MemoryEdge] = {}
    for edge in _iter_edges(entries, kind):
        if edge.source.key != edge.target.key:
            found.setdefault((edge.source.key, edge.target.key), edge)
    outgoing: dict[RecordKey, list[MemoryEdge]] = defaultdict(list)
    incoming: dict[RecordKey, list[MemoryEdge]] = defaultdict(list)
    for edge in found.values():
        outgoing[edge.source.key].append(edge)
        incoming[edge.target.key].append(edge)
    return build_edges(outgoing, incoming)


def build_edges(
    outgoing: Mapping[RecordKey, Sequence[MemoryEdge]], incoming: Mapping[RecordKey, Sequence[MemoryEdge]]
) -> MemoryEdges:
    found = strongly_connected_components(
        [*outgoing, *incoming], lambda end: [it.target.key for it in outgoing.get(end, ())]
    )
    return MemoryEdges(outgoing, incoming, {end: number for number, circle in enumerate(found) for end in circle})


class MemoryIndex(NamedTuple):
    """The memories of one collection, indexed by name."""

    names: MemoryNames
    targets: LinkTargets

    @classmethod
    def of(cls, records: Sequence[Record]) -> MemoryIndex:
        return cls(MemoryNames.of(records), index_link_targets(records))

    def find(self, target: str, source: str = "") -> Record | None:
        """Return the memory that a link target in the memory `source` refers to."""
        name = memory_name_in_link(target)
        path = self.targets.resolve(name or target, source)
        return (self.names.find(name) if name else None) or (self.names.exact[path] if path else None)

    def find_by_name(self, name: str) -> Record | None:
        """Return the memory with this name, with or without `memory:`."""
        bare = memory_name_in_link(name) or name.strip()
        return self.names.find(bare) or self.find(bare)

    def at_path(self, target: str, source: str) -> Record | None:
        """Return the memory at this path relative to `source`, ignoring names."""
        path = self.targets.find_path(target, source)
        return self.names.exact[path] if path else None

    def end(self, memory: Record, target: str) -> MemoryEnd | None:
        """Return the end that a link of this memory refers to, or None if the link is not to a memory."""
        record, name = self.find(target, memory.path), memory_name_in_link(target)
        if record is not None:
            return MemoryEnd(memory.collection, record.path, record)
        return MemoryEnd(memory.collection, name, None) if name else None


def _iter_edges(entries: LinkedRecords, kind: str) -> Iterator[MemoryEdge]:
    known = _index_by_collection(entries)
    for record, links in entries:
        source = MemoryEnd(record.collection, record.path, record)
        for link in links:
            target = known[record.collection].end(record, link.target)
            if target is not None:
                yield (
                    MemoryEdge(source, target, record, link)
                    if link.kind == kind
                    else MemoryEdge(target, source, record, link)
                )


def _index_by_collection(entries: LinkedRecords) -> dict[str, MemoryIndex]:
    by_collection: defaultdict[str, list[Record]] = defaultdict(list)
    for record, _ in entries:
        by_collection[record.collection].append(record)
    return {name: MemoryIndex.of(records) for name, records in by_collection.items()}
