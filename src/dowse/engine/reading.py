"""Reading back what is indexed, and telling the state of the index."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dowse.engine.memories import MEMORY_SCOPE, Memories
from dowse.ingest.sources.git.repositories import git_directory_at
from dowse.ingest.sources.git.repository import branch_at
from dowse.ingest.sources.git.work_tree.fingerprint import fingerprint
from dowse.lookup.read import Passage, read_lines
from dowse.model import (
    COMMITS,
    IN_FILES,
    LEFT_OUT,
    MASKED,
    UNPARSED,
    Collection,
    Counts,
    Freshness,
    Item,
    Omissions,
    Record,
    Scope,
    Skipped,
    Stored,
)
from dowse.semantics import Description
from dowse.store.base import REVISION
from dowse.store.sqlite.database import MIGRATIONS
from dowse.text.secrets import HELD_BACK


@dataclass(frozen=True, slots=True)
class Status:
    """The state of an index, for people and programs; `counts` are of its files."""

    index: Path
    collections: tuple[Collection, ...]
    counts: Counts
    encoder: str
    encoder_why: str
    reranker: str
    reranker_why: str
    schema: int
    skipped: tuple[Skipped, ...]
    quarantined: tuple[Skipped, ...]  # indexed, but as plain text, because their parser failed
    sizes: Mapping[str, int]  # how many records each collection has
    omissions: Mapping[str, Omissions]  # what each collection leaves out by its default rules
    held_back: Mapping[str, int]  # files of secrets, changes of files that commits do not tell, values that are masked

    def of(self, source: str) -> list[Collection]:
        """The collections of one source."""
        return [it for it in self.collections if it.source == source]


class Reading(Memories):
    # --- passages ---

    def chunk(self, chunk_id: str, collection: str | None = None) -> list[Stored]:
        """Every chunk with this id: where several roots are indexed, more than one may have it."""
        return self._store.by_chunk_id(chunk_id, collection)

    def passage(self, stored: Stored) -> Passage:
        """The chunk's lines; of a file that has changed since, where lines may have moved, as they were indexed."""
        record, chunk = stored.record, stored.chunk
        freshness = self._freshness(record)
        if freshness == "fresh":
            return self.lines(record, chunk.start_line, chunk.end_line)
        passage = replace(self.lines(record), text=chunk.text, freshness=freshness)
        return replace(passage, start_line=chunk.start_line, end_line=chunk.end_line)

    def chunks(self, record: Record) -> list[Stored]:
        return self._store.chunks(record)

    def lines(self, record: Record, start_line: int = 1, end_line: int | None = None) -> Passage:
        """Its lines as they are now; what a memory says is judged as it is now, too."""
        passage = read_lines(self._store, record, self._current_text(record), "unknown", start_line, end_line)
        record = self._looked_at(record)  # after its lines were read: of what is deleted, the index has none then
        return replace(passage, record=record, freshness=self._freshness(record), notes=self.doubts(record))

    def _looked_at(self, record: Record) -> Record:
        """A memory as it is indexed after a look: it and what it is about may have been saved just now."""
        if record.kind not in MEMORY_SCOPE.kinds:
            return record
        self._seen()
        return next(iter(self._store.records(record.path, record.collection)), record)

    def _freshness(self, record: Record) -> Freshness:
        return self._source(record.collection).freshness(Item(record.path, record.size, record.mtime_ns))

    def export(self) -> Iterator[Stored]:
        return self._store.export()

    # --- knowing ---

    @property
    def encoder_name(self) -> str:
        return self._semantics.name

    def encoder(self) -> Description:
        return self._semantics.describe()

    def revision(self) -> str:
        """A text that no two states of the records share."""
        return self._store.manifest().get(REVISION, "")

    def lacks_vectors(self) -> bool:
        """Whether vectors are wanted that were not made yet."""
        return bool(self._semantics.notes())

    def lacking_vectors(self) -> int:
        """How many chunks have no vector of the encoder that is wanted."""
        return self._semantics.lacking()

    def is_unfinished(self) -> bool:
        """Whether vectors or commits are wanted that a run has left to the next one."""
        return bool(self.lacking_vectors()) or any(not it.synced_at for it in self.histories())

    def answers_by_meaning(self) -> bool:
        """Whether every chunk has a vector that questions are compared with, whichever encoder made it."""
        counts = self._store.counts()
        return counts.vectors == counts.encoded

    def fingerprint(self, places: Sequence[Path]) -> dict[str, object] | None:
        """Which commits of which work trees the places are at; None outside of git."""
        return fingerprint(places)

    def branch(self, place: Path) -> str | None:
        """The branch checked out there, as it is now; None outside of git and at a commit without a branch."""
        return branch_at(str(place))

    def status(self) -> Status:
        choice, offer = self.encoder(), self._reranking.describe()
        return Status(
            index=self.index_path,
            collections=tuple(map(_as_told, self._store.collections())),
            counts=self._store.counts(Scope(kinds=IN_FILES)),
            encoder=choice.name,
            encoder_why=choice.why,
            reranker=offer.name,
            reranker_why=offer.why,
            schema=len(MIGRATIONS),
            skipped=(*self._store.skipped(), *self.refused_histories()),
            quarantined=tuple(Skipped(*row) for row in self._store.faceted(UNPARSED)),
            sizes=self._store.sizes(),
            omissions=self.omissions(),
            held_back={
                "files": sum(it.reason == HELD_BACK for it in self._store.skipped()),
                "changes": self._counted(LEFT_OUT),
                "values": self._counted(MASKED),
            },
        )

    def _counted(self, facet: str) -> int:
        return sum(int(value) for _, _, value in self._store.faceted(facet) if value.isdecimal())


def _as_told(collection: Collection) -> Collection:
    """A history's root may lie inside its repository, which is nobody's business."""
    if collection.source != COMMITS:
        return collection
    return replace(collection, root=str(git_directory_at(collection.root)))
