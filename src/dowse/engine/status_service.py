"""The state of the index: status, completeness, coverage and notes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dowse.engine.core import EngineCore
from dowse.engine.history_index import OTHER_FORMAT, HistoryIndex
from dowse.engine.semantics import EncoderStatus
from dowse.errors import damage_message
from dowse.git.repositories import git_directory_of_history
from dowse.git.repository import current_branch
from dowse.git.worktree import work_tree_fingerprint
from dowse.ingest.sources.base import count_left_out
from dowse.model import (
    COMMITS,
    FILE_KINDS,
    FILES,
    FRESHNESS_UNKNOWN,
    LEFT_OUT_FACET,
    MASKED_FACET,
    MEMORIES,
    OMISSIONS_KEY_PREFIX,
    UNPARSED_FACET,
    Collection,
    Completeness,
    DiskFreshness,
    IndexCounts,
    Omissions,
    Scope,
    SkippedItem,
    SourceCoverage,
)
from dowse.store.sqlite.database import MIGRATIONS
from dowse.store.types import REVISION_KEY, SIDECARS_PART
from dowse.text.secrets import HELD_BACK_REASON


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """The state of an index; `counts` covers its files."""

    index: Path
    collections: tuple[Collection, ...]
    counts: IndexCounts
    encoder: str
    encoder_why: str
    reranker: str
    reranker_why: str
    schema: int
    skipped: tuple[SkippedItem, ...]
    quarantined: tuple[SkippedItem, ...]  # indexed as plain text because their parser failed
    sizes: Mapping[str, int]  # number of records per collection
    omissions: Mapping[str, Omissions]  # files that each collection leaves out by default rules
    held_back: Mapping[str, int]  # secret files, file changes left out of commits, masked values

    def collections_of(self, source: str) -> list[Collection]:
        return [it for it in self.collections if it.source == source]


class StatusService:
    def __init__(self, core: EngineCore, histories: HistoryIndex) -> None:
        self._core = core
        self._settings = core.settings
        self._sources = core.sources
        self._histories = histories

    @property
    def encoder_name(self) -> str:
        return self._core.encoders.name

    def encoder(self) -> EncoderStatus:
        return self._core.encoders.describe()

    def revision(self) -> str:
        """Return a token that is unique for each state of the records."""
        return self._core.store.catalog.metadata().get(REVISION_KEY, "")

    def lacks_vectors(self) -> bool:
        """Return whether any vectors are still missing."""
        return bool(self._core.encoders.notes())

    def lacking_vectors(self) -> int:
        """Return how many chunks have no vector of the configured encoder."""
        return self._core.encoders.count_missing()

    def is_unfinished(self) -> bool:
        """Return whether a run left vectors or commits to the next one."""
        return bool(self.lacking_vectors()) or any(not it.synced_at for it in self._core.histories())

    def is_semantic_ready(self) -> bool:
        """Return whether every chunk has a vector to compare queries with, from any encoder."""
        counts = self._core.view().counts()
        return counts.vectors == counts.encoded

    def fingerprint(self, places: Sequence[Path]) -> dict[str, object] | None:
        """Return the current commits of the work trees at these places; None outside git."""
        return work_tree_fingerprint(places)

    def branch(self, place: Path) -> str | None:
        """Return the branch checked out now; None outside git and for a detached HEAD."""
        return current_branch(str(place))

    def status(self) -> IndexStatus:
        choice, offer = self.encoder(), self._core.rerankers.describe()
        return IndexStatus(
            index=self._core.index_path,
            collections=tuple(map(_with_git_directory, self._core.view().collections())),
            counts=self._core.view().counts(Scope(kinds=FILE_KINDS)),
            encoder=choice.name,
            encoder_why=choice.why,
            reranker=offer.name,
            reranker_why=offer.why,
            schema=len(MIGRATIONS),
            skipped=(*self._core.view().skipped_items(), *self._histories.refused_histories()),
            quarantined=tuple(SkippedItem(*row) for row in self._core.view().records_with_facet(UNPARSED_FACET)),
            sizes=self._core.view().sizes(),
            omissions=self.omissions(),
            held_back={
                "files": sum(it.reason == HELD_BACK_REASON for it in self._core.view().skipped_items()),
                "changes": self._sum_facet(LEFT_OUT_FACET),
                "values": self._sum_facet(MASKED_FACET),
            },
        )

    def _sum_facet(self, facet: str) -> int:
        return sum(int(value) for _, _, value in self._core.view().records_with_facet(facet) if value.isdecimal())

    def completeness(self, seen: DiskFreshness = FRESHNESS_UNKNOWN) -> Completeness:
        with self._core.view().snapshot():
            return self._completeness(seen)

    def _completeness(self, seen: DiskFreshness) -> Completeness:
        collections, counts = self._core.view().collections(), self._core.view().counts()
        shares = self._count_by_source()
        return Completeness(
            indexed=shares[FILES].indexed,
            listed=shares[FILES].listed,
            skipped=shares[FILES].skipped,
            left_out=shares[FILES].left_out,
            chunks=counts.chunks,
            vectors=counts.vectors,
            synced_at=min((it.synced_at for it in collections), default=0.0),
            notes=tuple(self.index_notes()),
            disk_freshness=seen,
            by_source=tuple(shares[it] for it in (COMMITS, MEMORIES) if it in shares),
        )

    def _count_by_source(self) -> dict[str, SourceCoverage]:
        """Count indexed and offered items per kind of source. The indexed count never exceeds the offered count."""
        sizes, skipped, uncounted = self._core.view().sizes(), Counter[str](), Counter[str]()
        for row in self._core.view().skipped_items():
            skipped[row.collection] += count_left_out(row)
            uncounted[row.collection] += count_left_out(row) - 1  # the source lists the row as one item
        shares, omissions = {FILES: SourceCoverage(FILES, 0, 0)}, self.omissions()
        for collection in self._core.view().collections():
            indexed, missing = sizes.get(collection.name, 0), skipped[collection.name]
            offered = max(collection.listed + uncounted[collection.name], indexed + missing)
            left = (
                omissions[collection.name].count if collection.source == FILES and collection.name in omissions else 0
            )
            share = SourceCoverage(collection.source, indexed, offered + left, missing, left)
            shares[collection.source] = shares.get(collection.source, SourceCoverage(collection.source, 0, 0)).add(
                share
            )
        return shares

    def index_notes(self) -> Iterator[str]:
        """Yield notes about the whole index: missing parts and damage."""
        collections = self._core.view().collections()
        unfinished = [it.name for it in collections if not it.synced_at]
        if not collections:
            yield "nothing is indexed yet"
        if unfinished:
            yield f"{', '.join(unfinished)}: only partly indexed so far"
        yield from self._core.encoders.notes()
        yield from (
            damage_message(part, why)
            for part, why in self._core.store.maintenance.damaged_parts().items()
            if part != SIDECARS_PART
        )
        yield from (f"{it} is {OTHER_FORMAT}" for it in self._histories.histories_of_other_format())

    def omissions(self) -> dict[str, Omissions]:
        """Return the files each collection leaves out by default rules, as of its last full run."""
        notes = self._core.store.catalog.metadata()
        stored = {it.name: notes.get(OMISSIONS_KEY_PREFIX + it.name) for it in self._core.view().collections()}
        return {name: Omissions(**json.loads(text)) for name, text in stored.items() if text}


def _with_git_directory(collection: Collection) -> Collection:
    """Return the collection with the git directory as the root of a history. The stored root may be an internal
    path."""
    if collection.source != COMMITS:
        return collection
    return replace(collection, root=str(git_directory_of_history(collection.root)))
