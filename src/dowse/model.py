"""The nouns of the product: records, chunks, symbols, links, queries, hits, answers and reports."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal, NamedTuple, TypeAlias

# --------------------------------------------------------------------------------------------------
# Indexed content: items from a source, and the records, chunks, symbols, links and calls made from them.

BREADCRUMB_SEPARATOR = " > "
CHARS_PER_TOKEN = 4  # a rule of thumb, for budgets

Freshness = Literal["fresh", "changed", "gone", "unknown"]
NO_FACETS: Mapping[str, str] = MappingProxyType({})
FILES, COMMITS, MEMORIES = "files", "commits", "memories"
"""Where a collection comes from: files below a directory, the commits of a repository, or a folder of memories."""
FILE_KINDS = ("doc", "code")
"""The record kinds of project files, as opposed to commits and memories."""
DESCRIPTION_FACET = "description"
"""Facet: what a document is about; searchable."""
UNPARSED_FACET = "unparsed"
"""Facet: why the parser failed, if a record was indexed as plain text instead."""
TEXT_ROLE, TEST_ROLE = "text", "test"
"""Roles of blocks and chunks: plain text, or tests that stand among other code."""
MASKED_FACET, LEFT_OUT_FACET = "masked", "left_out"
"""Facets: the number of secrets masked in the text, and of files whose changes are missing from a commit."""


@dataclass(frozen=True, slots=True)
class Item:
    """Something a source can read: its identity in the collection, and its version when it was listed.

    `source_kind` names the extractor; if empty, the path decides. `masked` counts the secrets masked while reading.
    """

    path: str
    size: int
    mtime_ns: int
    source_kind: str = ""
    masked: int = 0

    @property
    def weight(self) -> int:
        """Return the approximate size in memory. Items without a size of their own may store an estimate as a negative
        `size`."""
        return abs(self.size)


@dataclass(frozen=True, slots=True)
class Block:
    """A span of characters that belongs together, below one breadcrumb of headings or definitions.

    `atomic` blocks (fenced code, tables) are split only if they alone exceed the chunk maximum. `role` is passed on to
    their chunks.
    """

    start: int
    end: int
    trail: tuple[str, ...] = ()
    atomic: bool = False
    role: str = TEXT_ROLE


class FunctionMetrics(NamedTuple):
    """Complexity metrics of a function; `nesting` is the deepest level of nested blocks."""

    cyclomatic: int = 1
    cognitive: int = 0
    nesting: int = 0
    parameters: int = 0
    returns: int = 0
    calls: int = 0
    lambdas: int = 0


class Symbol(NamedTuple):
    """A named span: a heading, a class, a function. `parent` indexes the symbols of the same record.

    - `value_expression`: its value, or what a call returns, as an expression of `dowse.text.receiver_expressions`.
    - `parameters`: the parameter types as written; empty strings where there is none.
    - `attributes`: names of attributes or decorators, as written, without arguments.
    - `bases`: the types it extends or implements, as written, without arguments.

    A tuple for the same reason as `Call`.
    """

    name: str
    kind: str
    start_line: int
    end_line: int
    level: int = 0
    parent: int | None = None
    signature: str = ""
    value_expression: str = ""
    parameters: tuple[str, ...] = ()
    modifiers: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    bases: tuple[str, ...] = ()
    stats: FunctionMetrics | None = None


class Call(NamedTuple):
    """A call site.

    - `name`: the last name of the callee, by which calls are looked up.
    - `callee`: the whole callee as an expression of `dowse.text.receiver_expressions`, resolved on demand.
    - `symbol`: index of the innermost enclosing function or class among the record's symbols.

    A tuple, because there are millions of them.
    """

    name: str
    callee: str
    line: int
    symbol: int | None = None
    arguments: int = 0
    kind: str = "call"  # or: new, decorate, refer (passed as a value), assign (a function assigned to a member)


@dataclass(frozen=True, slots=True)
class Link:
    """A typed reference whose target is text, resolved on demand; the target may not exist.

    The target of an `import` is the module or namespace as written. Its context is `local=member`: the local name (`*`
    for everything) and the imported member (empty: the module itself).
    """

    kind: str
    target: str
    line: int
    context: str = ""


Box: TypeAlias = tuple[float, float, float, float]
"""A rectangle on a page, in points from the top left: left, top, right, bottom."""


class Fragment(NamedTuple):
    """Lines of a document's text and one place where they stand. Slides and sheets count as pages."""

    start_line: int
    end_line: int
    page: int
    box: Box | None = None


class PageReport(NamedTuple):
    """How one page was read: the engine, and the share of the words of its raw layer that were extracted.

    `coverage` is None where there is no raw layer to compare with, as on a scanned page.
    """

    page: int
    engine: str
    coverage: float | None = None
    width: float = 0.0
    height: float = 0.0


class DocumentTable(NamedTuple):
    """A table of a document. Row `i` is line `start_line + i` of the text; `pages[i]` is its page, 0 if unknown."""

    title: str
    headers: tuple[str, ...]
    units: tuple[str, ...]
    start_line: int
    rows: tuple[tuple[str, ...], ...]
    pages: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class DocumentLayout:
    """Where the text of a document stands on its pages, its tables, and how well each page was read."""

    pages: tuple[PageReport, ...] = ()
    fragments: tuple[Fragment, ...] = ()
    tables: tuple[DocumentTable, ...] = ()

    def fragments_of(self, chunk: Chunk) -> tuple[Fragment, ...]:
        """Return the places of the lines of a chunk."""
        return tuple(it for it in self.fragments if it.start_line <= chunk.end_line and it.end_line >= chunk.start_line)

    def lines_of_page(self, page: int) -> tuple[int, int] | None:
        """Return the first and the last line of a page; None if nothing of the text is on it."""
        lines = [it for it in self.fragments if it.page == page]
        return (min(it.start_line for it in lines), max(it.end_line for it in lines)) if lines else None


@dataclass(frozen=True, slots=True)
class Extraction:
    """The output of an extractor for one item. Blocks are ordered, do not overlap and cover the body of `text`.

    `at_ns` is the time the content is about, if that differs from the time it was written. Without `has_line_index` the
    text is not stored; its source provides it on demand.
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
    has_line_index: bool = True
    layout: DocumentLayout | None = None


@dataclass(frozen=True, slots=True)
class Chunk:
    """The unit of ranking: a verbatim slice of a record's text, with its lines and its breadcrumb."""

    ordinal: int
    text: str
    start_line: int
    end_line: int
    trail: tuple[str, ...] = ()
    role: str = TEXT_ROLE


@dataclass(frozen=True, slots=True)
class Record:
    """One indexed document: identity (collection, path), version, and the data that filters and renderers read."""

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
    def timestamp_ns(self) -> int:
        """Return the time of the event, or else of the last write; time filters and recency use it."""
        return self.mtime_ns if self.at_ns is None else self.at_ns

    @property
    def labels(self) -> str:
        """Return the searchable words besides title and text: tags, aliases and description."""
        return " ".join(filter(None, (*self.tags, *self.aliases, self.facets.get(DESCRIPTION_FACET, ""))))


class RecordSummary(NamedTuple):
    """The requested part of a record: facets in the requested order, empty where missing."""

    path: str
    title: str
    timestamp_ns: int
    facets: tuple[str, ...]


class ItemVersion(NamedTuple):
    """The data sync compares to decide whether to read an item, and whether its content is new.

    If not `settled`, the item was read so soon after it was written that its timestamp proves nothing.
    """

    size: int
    mtime_ns: int
    digest: str
    chunking: str
    settled: bool = True


@dataclass(frozen=True, slots=True)
class SkippedItem:
    """An item that could not be indexed, and why. Its version lets sync leave it alone while it is unchanged."""

    collection: str
    path: str
    reason: str
    size: int = 0
    mtime_ns: int = 0


@dataclass(frozen=True, slots=True)
class Collection:
    """An indexed root. `listed` and `synced_at` belong to its last completed sync (0 before that).

    For commits, the root is the git directory.
    """

    name: str
    root: str
    listed: int = 0
    synced_at: float = 0.0
    source: str = FILES


def normalize_path(path: str) -> str:
    """Return a collection-relative path with `/` separators, the form that identities are built from."""
    return path.replace("\\", "/").lstrip("/")


def public_chunk_id(path: str, ordinal: int) -> str:
    """Return the id clients see: stable as long as the path and the position of the chunk in it are."""
    return hashlib.sha256(f"{normalize_path(path)}::{ordinal}".encode()).hexdigest()[:16]


# --------------------------------------------------------------------------------------------------
# A query and the scope that limits it.


class FacetFilter(NamedTuple):
    """A condition on one facet of a record: equal to the value if `exact`, else containing it. Case is ignored."""

    name: str
    value: str
    exact: bool = True


class LinkFilter(NamedTuple):
    """A condition: the record has a link of this kind (any, if empty) whose target matches the glob."""

    kind: str
    glob: str


class NestedCollection(NamedTuple):
    """A collection inside a root, with its path relative to that root."""

    collection: str
    prefix: str


@dataclass(frozen=True, slots=True)
class Scope:
    """The only filter type, applied before ranking and never after.

    Empty fields do not filter; all others must hold. Every named facet must hold, but one of several values for the
    same facet is enough; so is one of several tags, paths or links. `paths` and `excluded` are globs, and `excluded`
    wins. `nested` is not a condition: globs also match the paths of these collections relative to the root around them.
    A record must also be inside every scope of `within`.
    """

    collections: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    since: float | None = None
    until: float | None = None
    facets: tuple[FacetFilter, ...] = ()
    links: tuple[LinkFilter, ...] = ()
    nested: tuple[NestedCollection, ...] = ()
    within: tuple[Scope, ...] = ()

    def path_spellings(self, collection: str, path: str) -> tuple[str, ...]:
        """Return every form of the path that globs are compared with."""
        return (path, *(f"{it.prefix}/{path}" for it in self.nested if it.collection == collection))


EVERYTHING = Scope()


class DecayRate(NamedTuple):
    """How scores of one kind of record decay with age.

    Each day leaves `rate` of the score, but never less than `floor`. An empty `type` applies to every value of the
    `type` facet.
    """

    kind: str
    type: str
    rate: float
    floor: float


@dataclass(frozen=True, slots=True)
class RagdocsTuning:
    """Settings of the ragdocs contract that change its recipes, with its names and defaults.

    `None` means the recipe's value, unless the query sets another one.
    """

    recency_bias: float = 0.5
    min_confidence: float | None = None
    max_chunks_per_doc: int = 2
    dedup_enabled: bool = True
    dedup_similarity_threshold: float | None = None
    ngram_dedup_enabled: bool = True
    ngram_dedup_threshold: float = 0.7
    mmr_enabled: bool = False
    mmr_lambda: float = 0.7
    rerank_enabled: bool = False
    rerank_top_n: int = 10
    adaptive_weights_enabled: bool = True
    code_search_enabled: bool = False
    code_search_weight: float = 1.0
    query_expansion_enabled: bool = True
    query_expansion_min_frequency: int = 3
    community_detection_enabled: bool = True
    community_boost_factor: float = 1.1
    dynamic_weights_enabled: bool = True
    variance_threshold: float = 0.1
    min_weight_factor: float = 0.5
    hyde_enabled: bool = True
    tag_expansion_enabled: bool = True
    tag_expansion_max_tags: int = 5
    tag_expansion_depth: int = 2
    parent_retrieval_enabled: bool = True
    parent_chunk_max_chars: int = 4000


DEFAULT_TUNING = RagdocsTuning()


@dataclass(frozen=True, slots=True)
class Query:
    text: str
    scope: Scope = EVERYTHING
    limit: int = 10
    recipe: str = "hybrid"
    budget_tokens: int | None = None
    # A hypothetical answer written by the client; semantic search compares it instead of the question.
    hypothesis: str = ""
    # Thresholds that override those of the recipe.
    min_score: float | None = None
    dedup_threshold: float | None = None
    # Decay rates that override those of each kind.
    decay_rates: tuple[DecayRate, ...] = ()
    # Changes to the recipe, if it is one of the ragdocs contract.
    tuning: RagdocsTuning = DEFAULT_TUNING
    # The user the query is made for; their preferences affect the ranking.
    subject: str = ""


# --------------------------------------------------------------------------------------------------
# Search results: hits, the steps that produced them, and how fresh and complete they are.


class ScoredChunk(NamedTuple):
    """A chunk key and the score one retriever gave it; higher is better."""

    key: int
    score: float


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk in a store: its key, its content and the record it belongs to."""

    key: int
    chunk: Chunk
    record: Record

    @property
    def chunk_id(self) -> str:
        return public_chunk_id(self.record.path, self.chunk.ordinal)


@dataclass(frozen=True, slots=True)
class Hit:
    """One search result.

    - `notes`: sentences a reader should know before relying on the hit.
    - `replaces`: the hit that matched the query, if this one is shown in its place (a memory that supersedes another).
      Relevance is judged by that hit.
    - `root`: the name of the root, if the query covered several.
    - `fragments`: where the passage of a document stands on its pages.
    - `display_path`: the path of a memory, relative to the root around its folder or absolute; empty for other kinds.
    """

    stored: StoredChunk
    score: float
    evidence: Mapping[str, float]
    freshness: Freshness = "unknown"
    notes: tuple[str, ...] = ()
    replaces: Hit | None = None
    root: str = ""
    display_path: str = ""
    fragments: tuple[Fragment, ...] = ()

    @property
    def pages(self) -> tuple[int, ...]:
        """Return the pages of the document that the passage is on, in order; empty for other files."""
        return tuple(sorted({it.page for it in self.fragments if it.page}))

    @property
    def path(self) -> str:
        """Return the path to read or open the file by."""
        return self.display_path or self.stored.record.path

    @property
    def matched_hit(self) -> Hit:
        """Return the hit that matched the query."""
        return self.replaces or self


@dataclass(frozen=True, slots=True)
class Step:
    """One stage of an answer: input and output counts, cost, and why it did less than usual.

    `root` is set if the query covered several roots.
    """

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
class DiskFreshness:
    """How an answer relates to the files on disk.

    The answer is current as of `as_of` (0: unknown), except for `pending` files that changed after they were indexed.
    `examples` names the first of them. `complete` means that every file was checked for this answer, or that all are
    watched.
    """

    as_of: float = 0.0
    pending: int = 0
    examples: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    complete: bool = False

    def sentences(self) -> tuple[str, ...]:
        """Return what a reader must know; empty if the answer matches the files on disk."""
        if not self.pending:
            return self.notes
        files = "1 changed file is" if self.pending == 1 else f"{self.pending:,} changed files are"
        more = ", …" if self.pending > len(self.examples) else ""
        return (f"{files} not in this answer yet: {', '.join(self.examples)}{more}", *self.notes)


FRESHNESS_UNKNOWN = DiskFreshness()


class SourceCoverage(NamedTuple):
    """How much of the content of one kind of source is indexed."""

    source: str
    indexed: int
    listed: int
    skipped: int = 0
    left_out: int = 0  # excluded by the default rules of the source

    @property
    def complete(self) -> bool:
        return self.indexed + self.skipped + self.left_out >= self.listed

    def add(self, other: SourceCoverage) -> SourceCoverage:
        counts = (mine + theirs for mine, theirs in zip(self[1:], other[1:], strict=True))
        return SourceCoverage(self.source, *counts)


@dataclass(frozen=True, slots=True)
class Completeness:
    """How much of the collections the answer could see: files, and every other kind of source (`by_source`)."""

    indexed: int
    listed: int
    skipped: int
    chunks: int
    vectors: int
    synced_at: float
    notes: tuple[str, ...] = ()
    disk_freshness: DiskFreshness = FRESHNESS_UNKNOWN
    by_source: tuple[SourceCoverage, ...] = ()
    left_out: int = 0

    @property
    def as_of(self) -> float:
        """Return the time for which the answer reflects the disk; 0 before the first sync."""
        return max(self.disk_freshness.as_of, self.synced_at)

    @property
    def complete(self) -> bool:
        return not self.notes and not self.disk_freshness.sentences() and all(it.complete for it in self.shares)

    @property
    def shares(self) -> tuple[SourceCoverage, ...]:
        return SourceCoverage(FILES, self.indexed, self.listed, self.skipped, self.left_out), *self.by_source

    def sentence(self, hits: int) -> str:
        coverage = ", ".join(f"{it.indexed:,} of {it.listed:,} {it.source}" for it in self.shares)
        parts = [f"{hits:,} hits" if hits != 1 else "1 hit", f"{coverage} indexed"]
        missing = {"skipped": sum(it.skipped for it in self.shares), "left out": self.left_out}
        if any(missing.values()):
            counted = ", ".join(f"{count:,} {name}" for name, count in missing.items() if count)
            parts.append(f"{counted} (see status)")
        return "; ".join([parts[0], ", ".join(parts[1:]), *self.notes, *self.disk_freshness.sentences()])


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a query.

    `at` is the engine's clock when it answered; ages are relative to it. `roots` maps each root to its completeness, if
    the query covered several.
    """

    query: Query
    hits: tuple[Hit, ...]
    steps: tuple[Step, ...]
    completeness: Completeness
    at: float
    abstained: str = ""
    roots: Mapping[str, Completeness] = field(default_factory=dict)


# --------------------------------------------------------------------------------------------------
# Index statistics and the result of a sync.

OMISSIONS_KEY_PREFIX: Final = "omissions "
"""Metadata key prefix, followed by a collection name: what the collection leaves out."""


@dataclass(frozen=True, slots=True)
class IndexCounts:
    records: int = 0
    chunks: int = 0
    symbols: int = 0
    links: int = 0
    calls: int = 0
    vectors: int = 0
    next_vectors: int = 0  # of the next encoder; they replace `vectors` once every chunk has one
    unencoded: int = 0  # chunks found by their words only

    @property
    def encoded(self) -> int:
        """Return the number of chunks that need a vector."""
        return self.chunks - self.unencoded


@dataclass(frozen=True, slots=True)
class Omissions:
    """Content excluded by the default rules of a source: files counted by reason and suffix, directories by name."""

    files: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    directories: Mapping[str, int] = field(default_factory=dict)

    @property
    def count(self) -> int:
        return sum(sum(it.values()) for it in self.files.values())


@dataclass(slots=True)
class SyncReport:
    """The file counts of one sync; `notes` are sentences a person should read."""

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
        """Add the report of a later run that resumed this one over the same files."""
        earlier = self.indexed + self.touched
        self.listed = self.unchanged = self.skipped = 0
        self.add(other)
        self.unchanged = max(0, self.unchanged - earlier)
