"""Tags of memories: how often each is used, which go together, and which memories they lead to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from dowse.model import Record

MOST_PAIRED: Final = 100  # tags of one memory: their pairs grow with the square


@dataclass(frozen=True, slots=True)
class Related:
    """A tag that goes with another: on how many memories, and what share that is of those that have either."""

    tag: str
    together: int
    share: float


@dataclass(frozen=True, slots=True)
class TagGraph:
    """`pairs` are in alphabetical order; `unpaired` counts the memories with so many tags that not all were paired."""

    used: Mapping[str, int]
    pairs: Mapping[tuple[str, str], int]
    memories: int = 0
    unpaired: int = 0

    def related(self, tag: str) -> list[Related]:
        """The tags that stand on the same memories as this one, those that do most often first."""
        counts = {_other(pair, tag): count for pair, count in self.pairs.items() if tag in pair}
        found = [
            Related(other, count, count / (self.used[tag] + self.used[other] - count))
            for other, count in counts.items()
        ]
        return sorted(found, key=lambda it: (-it.together, -it.share, it.tag))

    def by_use(self) -> list[tuple[str, int]]:
        return sorted(self.used.items(), key=lambda it: (-it[1], it[0]))

    def by_pairing(self) -> list[tuple[tuple[str, str], int]]:
        return sorted(self.pairs.items(), key=lambda it: (-it[1], it[0]))


@dataclass(frozen=True, slots=True)
class Clustered:
    """A memory, how many steps from tag to tag it is away, and which of its tags led there."""

    record: Record
    distance: int
    tags: tuple[str, ...]


def normal_tag(tag: str) -> str:
    """As tags are indexed, however one was written."""
    return tag.strip().lstrip("#").strip().lower()


def tag_graph(records: Iterable[Record]) -> TagGraph:
    used: Counter[str] = Counter()
    pairs: Counter[tuple[str, str]] = Counter()
    memories = unpaired = 0
    for record in records:
        tags = _tags(record)
        memories += 1
        unpaired += len(tags) > MOST_PAIRED
        used.update(tags)
        pairs.update(combinations(sorted(tags[:MOST_PAIRED]), 2))
    return TagGraph(used, pairs, memories, unpaired)


def tag_cluster(records: Sequence[Record], tag: str, depth: int) -> list[Clustered]:
    """The memories that have the tag (1), those that share a tag with one of them (2), and so on; the nearest first,
    then those that share most tags, then in the order given."""
    found: list[Clustered] = []
    left, known = list(records), {normal_tag(tag)}
    for distance in range(1, depth + 1):
        level = [(record, tuple(it for it in _tags(record) if it in known)) for record in left]
        near = [Clustered(record, distance, tags) for record, tags in level if tags]
        found += sorted(near, key=lambda it: -len(it.tags))
        left = [record for record, tags in level if not tags]
        known = known.union(*(_tags(it.record) for it in near))
    return found


def _tags(record: Record) -> list[str]:
    return list(dict.fromkeys(map(normal_tag, record.tags)))


def _other(pair: tuple[str, str], tag: str) -> str:
    return pair[1] if pair[0] == tag else pair[0]
