"""What is answered: hits, how they came about, how fresh and how complete they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from dowse.model.questions import Query
from dowse.model.records import FILES, Chunk, Freshness, Record, public_chunk_id


class Scored(NamedTuple):
    """A chunk's key in its store and how well one retriever liked it; higher is better."""

    key: int
    score: float


@dataclass(frozen=True, slots=True)
class Stored:
    """A chunk as it lies in a store: its key there, its public id and the record it belongs to."""

    key: int
    chunk: Chunk
    record: Record

    @property
    def chunk_id(self) -> str:
        return public_chunk_id(self.record.path, self.chunk.ordinal)


@dataclass(frozen=True, slots=True)
class Hit:
    """`notes` are sentences a reader should know before relying on it. `instead_of` is what was found where this one is
    shown, and tells whether that is about what was asked; this one's own words may be others. `root` is the name of the
    root it comes from, where several were asked. `place` is the path of a memory from the root around its folder, or in
    full; of all else it is empty, because the path of its record says it."""

    stored: Stored
    score: float
    evidence: Mapping[str, float]
    freshness: Freshness = "unknown"
    notes: tuple[str, ...] = ()
    instead_of: Hit | None = None
    root: str = ""
    place: str = ""

    @property
    def path(self) -> str:
        """By which it can be read, and a person can open it."""
        return self.place or self.stored.record.path

    @property
    def found(self) -> Hit:
        """What was found by what was asked."""
        return self.instead_of or self


@dataclass(frozen=True, slots=True)
class Step:
    """One stage of an answer: what went in, what came out, what it cost, and why it did less than usual. `root` is the
    root it was done in, where several were asked."""

    name: str
    before: int
    after: int
    ms: float
    note: str = ""
    root: str = ""

    @property
    def label(self) -> str:
        return f"{self.root}: {self.name}" if self.root else self.name


@dataclass(frozen=True, slots=True)
class Seen:
    """How an answer stands to the files on disk: it is true for the moment `as_of` (0: nobody knows), except for the
    `pending` files that are known to have changed since they were indexed; `examples` are the first of them.
    `complete`: every file was looked at for this answer, or somebody watches them all."""

    as_of: float = 0.0
    pending: int = 0
    examples: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    complete: bool = False

    def sentences(self) -> tuple[str, ...]:
        """What a reader must know: nothing, if the answer is true for the files as they are."""
        if not self.pending:
            return self.notes
        files = "1 changed file is" if self.pending == 1 else f"{self.pending:,} changed files are"
        more = ", …" if self.pending > len(self.examples) else ""
        return (f"{files} not in this answer yet: {', '.join(self.examples)}{more}", *self.notes)


NOT_LOOKED = Seen()


class Share(NamedTuple):
    """How much of what sources of one kind offer is indexed."""

    source: str
    indexed: int
    listed: int
    skipped: int = 0
    left_out: int = 0  # by the default rules of the source

    @property
    def complete(self) -> bool:
        return self.indexed + self.skipped + self.left_out >= self.listed

    def plus(self, other: Share) -> Share:
        counts = (mine + theirs for mine, theirs in zip(self[1:], other[1:], strict=True))
        return Share(self.source, *counts)


@dataclass(frozen=True, slots=True)
class Completeness:
    """How much of the collections the answer could see: of files, and of what else there is (`others`)."""

    indexed: int
    listed: int
    skipped: int
    chunks: int
    vectors: int
    synced_at: float
    notes: tuple[str, ...] = ()
    seen: Seen = NOT_LOOKED
    others: tuple[Share, ...] = ()
    left_out: int = 0

    @property
    def as_of(self) -> float:
        """The moment of the disk this is true for; 0 before the first sync."""
        return max(self.seen.as_of, self.synced_at)

    @property
    def complete(self) -> bool:
        return not self.notes and not self.seen.sentences() and all(it.complete for it in self.shares)

    @property
    def shares(self) -> tuple[Share, ...]:
        return Share(FILES, self.indexed, self.listed, self.skipped, self.left_out), *self.others

    def sentence(self, hits: int) -> str:
        told = ", ".join(f"{it.indexed:,} of {it.listed:,} {it.source}" for it in self.shares)
        parts = [f"{hits:,} hits" if hits != 1 else "1 hit", f"{told} indexed"]
        missing = {"skipped": sum(it.skipped for it in self.shares), "left out": self.left_out}
        if any(missing.values()):
            counted = ", ".join(f"{count:,} {name}" for name, count in missing.items() if count)
            parts.append(f"{counted} (see status)")
        return "; ".join([parts[0], ", ".join(parts[1:]), *self.notes, *self.seen.sentences()])


@dataclass(frozen=True, slots=True)
class Answer:
    """`at` is when it was given, by the clock of the engine: the age of what it tells is counted from there. `roots`
    says how complete each root is, by its name, where several were asked."""

    query: Query
    hits: tuple[Hit, ...]
    steps: tuple[Step, ...]
    completeness: Completeness
    at: float
    abstained: str = ""
    roots: Mapping[str, Completeness] = field(default_factory=dict)
