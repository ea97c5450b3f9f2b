"""The nouns every part of Dowse speaks: plain frozen data, no behaviour that needs I/O.

Record, Chunk, Symbol and Link hold everything that is indexed; Scope, Query, Hit, Step and
Answer hold everything that is asked. Kinds of content differ only in the values they put here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, NamedTuple

TRAIL_SEPARATOR = " > "
CHARS_PER_TOKEN = 4  # a rule of thumb, for budgets

Freshness = Literal["fresh", "changed", "gone", "unknown"]
NO_FACETS: Mapping[str, str] = MappingProxyType({})
FILES, COMMITS, MEMORIES = "files", "commits", "memories"
"""What a collection is read from: the files below a directory, the history of a repository, a folder of memories."""
IN_FILES = ("doc", "code")
"""The kinds that files of a project have; commits and memories are kinds of their own."""
UNPARSED = "unparsed"
"""The facet of a record that was indexed as plain text because its parser failed: why it did."""


# --- what goes in ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Item:
    """Something a source can read: its identity in the collection and the version seen when listed.

    `form` names the extractor that reads it; the path tells which one, where it is empty.
    """

    path: str
    size: int
    mtime_ns: int
    form: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """A span of characters that belongs together, below one trail of headings or definitions.

    `whole` blocks (fenced code, tables) are only split when they alone exceed the chunk maximum. `role` is that of its
    chunks.
    """

    start: int
    end: int
    trail: tuple[str, ...] = ()
    whole: bool = False
    role: str = "text"


class Stats(NamedTuple):
    """How involved a function is; `nesting` is the deepest level of blocks inside blocks."""

    cyclomatic: int = 1
    cognitive: int = 0
    nesting: int = 0
    parameters: int = 0
    returns: int = 0
    calls: int = 0
    lambdas: int = 0


class Symbol(NamedTuple):
    """A named span: a heading, a class, a function. `parent` indexes the same record's symbols.

    `holds` is what its value is, or what calling it gives, as an expression of `dowse.text.expressions`; `parameters`
    are the types of its parameters as written, empty ones where none is. `attributes` are the names of attributes or
    decorators, `bases` the types it extends or implements, both as written, without arguments. A tuple, as calls are.
    """

    name: str
    kind: str
    start_line: int
    end_line: int
    level: int = 0
    parent: int | None = None
    signature: str = ""
    holds: str = ""
    parameters: tuple[str, ...] = ()
    modifiers: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    bases: tuple[str, ...] = ()
    stats: Stats | None = None


class Call(NamedTuple):
    """A place that calls something: `name` is the callee's last name, by which calls are found, `callee` the whole as
    an expression of `dowse.text.expressions`, resolved when asked. `symbol` indexes the record's symbols: the
    innermost function, or class, it stands in. A tuple, because there are millions."""

    name: str
    callee: str
    line: int
    symbol: int | None = None
    arguments: int = 0
    kind: str = "call"  # or: new, decorate, refer (passed on as a value)


@dataclass(frozen=True, slots=True)
class Link:
    """A typed reference whose target is text, resolved when asked; an unresolved one is a ghost.

    The target of an `import` is the module or namespace as written; its context is `local=member`: the name it gets
    in this file (`*` for everything), and what of the module it is (empty: the module itself).
    """

    kind: str
    target: str
    line: int
    context: str = ""


@dataclass(frozen=True, slots=True)
class Extract:
    """What an extractor reads out of one item. Blocks are ordered, do not overlap and cover the body of `text`.

    `at_ns` is the moment it is about, where that is another than the one it was written at. `lined`: whether its lines
    are worth an index of their own; else the text is not kept, and its source gives it when asked.
    """

    kind: str
    title: str
    text: str
    blocks: tuple[Block, ...]
    symbols: tuple[Symbol, ...] = ()
    links: tuple[Link, ...] = ()
    calls: tuple[Call, ...] = ()
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    facets: Mapping[str, str] = field(default_factory=lambda: NO_FACETS)
    at_ns: int | None = None
    lined: bool = True


@dataclass(frozen=True, slots=True)
class Chunk:
    """The unit of ranking: a verbatim slice of a record's text, with its lines and its trail of names."""

    ordinal: int
    text: str
    start_line: int
    end_line: int
    trail: tuple[str, ...] = ()
    role: str = "text"


@dataclass(frozen=True, slots=True)
class Record:
    """One indexed thing: identity (collection, path), version, and what filters and presenters read."""

    collection: str
    path: str
    kind: str
    title: str
    size: int
    mtime_ns: int
    digest: str
    chunking: str
    settled: bool = True
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    facets: Mapping[str, str] = field(default_factory=lambda: NO_FACETS)
    at_ns: int | None = None

    @property
    def moment_ns(self) -> int:
        """When it was written, or what it tells of happened: what filters by time and recency go by."""
        return self.mtime_ns if self.at_ns is None else self.at_ns


class Version(NamedTuple):
    """What sync compares to decide whether an item must be read, and whether what it read is new.

    Not `settled` means it was read so soon after it was written that its timestamp proves nothing.
    """

    size: int
    mtime_ns: int
    digest: str
    chunking: str
    settled: bool = True


@dataclass(frozen=True, slots=True)
class Skipped:
    """An item that could not be indexed, and why; its version lets an unchanged one be left alone."""

    collection: str
    path: str
    reason: str
    size: int = 0
    mtime_ns: int = 0


@dataclass(frozen=True, slots=True)
class Collection:
    """A root that is indexed: `listed` and `synced_at` are of its last completed sync (0 before it).

    The root of a history is the directory git keeps it in.
    """

    name: str
    root: str
    listed: int = 0
    synced_at: float = 0.0
    source: str = FILES


# --- what is asked --------------------------------------------------------------------------


class Facet(NamedTuple):
    """A condition: the record's facet of this name is the value or, unless `whole`, holds it; in whatever case."""

    name: str
    value: str
    whole: bool = True


class Linked(NamedTuple):
    """A condition: the record has a link of this kind (any, if empty) whose target matches the glob."""

    kind: str
    glob: str


@dataclass(frozen=True, slots=True)
class Scope:
    """The one filter type. Empty fields do not filter; it is applied before ranking, never after.

    `paths` and `excluded` are globs; what the second match is left out, whatever else would let it in. Every field
    must hold, and every facet that is named; of the values of one facet, of tags, paths and links, one.
    """

    collections: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    since: float | None = None
    until: float | None = None
    facets: tuple[Facet, ...] = ()
    links: tuple[Linked, ...] = ()


EVERYTHING = Scope()


class Pace(NamedTuple):
    """How records of a kind, with this value of their facet `type` (any, if empty), fade: `rate` of their score is
    left with each day, and never less than `floor`."""

    kind: str
    type: str
    rate: float
    floor: float


@dataclass(frozen=True, slots=True)
class Query:
    text: str
    scope: Scope = EVERYTHING
    limit: int = 10
    recipe: str = "hybrid"
    budget_tokens: int | None = None
    # What an answer might say, written by the client: compared by meaning in place of the question.
    hypothesis: str = ""
    # Thresholds of the stages that have them, where the caller wants others than the recipe's.
    min_score: float | None = None
    same_above: float | None = None
    # How fast records fade, where the caller wants other paces than those of their kind.
    paces: tuple[Pace, ...] = ()
    # On whose behalf it is asked: what this subject prefers counts.
    subject: str = ""


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
    """`notes` are sentences a reader should know before relying on it."""

    stored: Stored
    score: float
    evidence: Mapping[str, float]
    freshness: Freshness = "unknown"
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """One stage of an answer: what went in, what came out, what it cost, and why it did less than usual."""

    name: str
    before: int
    after: int
    ms: float
    note: str = ""


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

    @property
    def complete(self) -> bool:
        return self.indexed + self.skipped >= self.listed

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

    @property
    def as_of(self) -> float:
        """The moment of the disk this is true for; 0 before the first sync."""
        return max(self.seen.as_of, self.synced_at)

    @property
    def complete(self) -> bool:
        return not self.notes and not self.seen.sentences() and all(it.complete for it in self.shares)

    @property
    def shares(self) -> tuple[Share, ...]:
        return Share(FILES, self.indexed, self.listed, self.skipped), *self.others

    def sentence(self, hits: int) -> str:
        told = ", ".join(f"{it.indexed:,} of {it.listed:,} {it.source}" for it in self.shares)
        parts = [f"{hits:,} hits" if hits != 1 else "1 hit", f"{told} indexed"]
        if skipped := sum(it.skipped for it in self.shares):
            parts.append(f"{skipped:,} skipped (see status)")
        return "; ".join([parts[0], ", ".join(parts[1:]), *self.notes, *self.seen.sentences()])


@dataclass(frozen=True, slots=True)
class Answer:
    query: Query
    hits: tuple[Hit, ...]
    steps: tuple[Step, ...]
    completeness: Completeness
    abstained: str = ""


@dataclass(frozen=True, slots=True)
class Counts:
    records: int = 0
    chunks: int = 0
    symbols: int = 0
    links: int = 0
    calls: int = 0
    vectors: int = 0
    next_vectors: int = 0  # of another encoder, which take the place of the others when every chunk has one
    unencoded: int = 0  # chunks that are found by their words only

    @property
    def encoded(self) -> int:
        """The chunks that are to have a vector."""
        return self.chunks - self.unencoded


@dataclass(slots=True)
class SyncReport:
    """What one sync did, file by file counts; `notes` are sentences a person should read."""

    listed: int = 0
    indexed: int = 0
    unchanged: int = 0
    touched: int = 0
    deleted: int = 0
    skipped: int = 0
    embedded: int = 0
    reused: int = 0
    notes: list[str] = field(default_factory=list)

    def add(self, other: SyncReport) -> None:
        for name in ("listed", "indexed", "unchanged", "touched", "deleted", "skipped", "embedded", "reused"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.notes.extend(other.notes)

    def go_on(self, other: SyncReport) -> None:
        """The other is of another run over the same, which went on where this one stopped."""
        earlier = self.indexed + self.touched
        self.listed = self.unchanged = self.skipped = 0
        self.add(other)
        self.unchanged = max(0, self.unchanged - earlier)


# --- identities -----------------------------------------------------------------------------


def normal_path(path: str) -> str:
    """A collection-relative path with `/`, the form identities are made from."""
    return path.replace("\\", "/").lstrip("/")


def public_chunk_id(path: str, ordinal: int) -> str:
    """The id clients see: stable as long as the path and the chunk's place in it are."""
    return hashlib.sha256(f"{normal_path(path)}::{ordinal}".encode()).hexdigest()[:16]
