"""The queries and results that stores and their readers exchange."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from dowse.model import (
    EVERYTHING,
    NO_FACETS,
    Chunk,
    Link,
    Record,
    Scope,
    Symbol,
)
from dowse.text.regex import WordClause
from dowse.text.tokenize import WordTest

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]
    Matrix = NDArray[np.float32]


# --------------------------------------------------------------------------------------------------
# Metadata keys.

KEEP_DELETED_KEY_PREFIX = "kept "
"""Metadata key prefix, followed by a collection name: whether records of deleted files are kept on purpose."""

REVISION_KEY = "revision"
"""Metadata key of a token that is unique to each state of the records; a store may have none."""


# --------------------------------------------------------------------------------------------------
# Writing.


@dataclass(frozen=True, slots=True)
class ChunkInput:
    """A chunk to store, with the digest of the text the encoder will see.

    `names` are its subtokens (`dowse.text.tokenize`) with those of title and breadcrumb; None: the store computes them.
    """

    chunk: Chunk
    digest: bytes
    names: str | None = None


# --------------------------------------------------------------------------------------------------
# Full-text search.


class ColumnWeights(NamedTuple):
    """The weight of a match in each column of the text index."""

    title: float = 1.0
    trail: float = 1.0
    text: float = 1.0
    names: float = 1.0
    tags: float = 1.0
    path: float = 1.0


def inverse_frequency(chunks: int, containing: int) -> float:
    """Return the weight of a word that occurs in `containing` of all chunks: rare words count more."""
    return math.log(1 + (chunks - containing + 0.5) / (containing + 0.5))


# --------------------------------------------------------------------------------------------------
# Vectors.

ACTIVE_ENCODER_KEY = "encoder"

NEXT_ENCODER_KEY = "next_encoder"
"""Metadata keys of the encoder fingerprints of the active and the next vector index."""

ENCODER_SETTING_KEY = "encoder_setting"
"""Metadata key of the encoder setting of the index, set by the run that first made vectors."""

UNENCODED_ROLES = ("delta",)
"""Roles of chunks that are found by their own words only and have no vector.

The record's title is indexed with its other chunks only. Otherwise a word of the title would match every piece of a
long record.
"""


@dataclass(frozen=True, slots=True)
class PendingChunk:
    """A chunk without a vector, and the digest of the text to encode for it."""

    key: int
    digest: bytes


# --------------------------------------------------------------------------------------------------
# Line search.


@dataclass(frozen=True, slots=True)
class WordTerm:
    """Lines with a word that passes the test.

    Each such word scores by itself: its lines / words of the file × ln(files / files with it).
    """

    test: WordTest


@dataclass(frozen=True, slots=True)
class PatternTerm:
    """Lines that match a regex. An index of words can skip lines that fail one of the `clauses`."""

    pattern: str
    case_sensitive: bool = False
    clauses: tuple[WordClause, ...] = ()


@dataclass(frozen=True, slots=True)
class PhraseTerm:
    """Consecutive words, separated only by blanks and line ends; the match is in the line of the first word.

    The words are case-folded, unless the search is case-sensitive.
    """

    words: tuple[str, ...]
    case_sensitive: bool = False


@dataclass(frozen=True, slots=True)
class LineQuery:
    """A line search.

    - `match_all`: only files that contain all terms.
    - `rank_by_count`: score files by matching lines instead of by term rarity.
    - `path_filter`: filters by path.
    - `limit`: 0 is none.
    - `deadline_s`: then return what was found so far.
    """

    terms: tuple[WordTerm | PatternTerm | PhraseTerm, ...]
    match_all: bool = False
    rank_by_count: bool = False
    scope: Scope = EVERYTHING
    path_filter: Callable[[str], bool] | None = None
    limit: int = 50
    deadline_s: float = 5.0


class FileLines(NamedTuple):
    """A file with its matching lines, counted from 1.

    `score` is TF-IDF: the sum over matches of occurrences / words of the file × ln(files / files with it). A line
    counts once per word. Phrases and regexes score by their number of lines.
    """

    collection: str
    path: str
    score: float
    lines: tuple[int, ...]
    occurrences: int
    terms_matched: int


@dataclass(frozen=True, slots=True)
class LineMatches:
    """The best files, by score and path; totals count all matches.

    `words` lists up to a thousand words that passed a test other than `is`. `cut` says why the search is incomplete, if
    so.
    """

    files: tuple[FileLines, ...] = ()
    total_files: int = 0
    total_occurrences: int = 0
    words: tuple[str, ...] = ()
    index_files: int = 0
    index_words: int = 0
    cut: str = ""


MAX_LISTED_WORDS = 1_000

SCORE_DIGITS = 9  # further digits depend on the order of summation and would break ties


# --------------------------------------------------------------------------------------------------
# Definitions and files.

HEADING_KIND = "heading"  # the only kind of symbol that is not a definition

TYPE_SYMBOL_KINDS = ("class", "interface", "enum", "struct", "record")
"""Ranked before other kinds with equally good names."""

NameMatching = Literal["part", "regex", "exact"]


@dataclass(frozen=True, slots=True)
class SymbolQuery:
    """A query for definitions. Empty fields do not filter; all others must hold.

    - `names`: any of them must match, ignoring case: as a part of the name, as a regex in it, or exactly.
    - `min_metrics`: lower bounds of complexity metrics, and of `lines`.
    - `attribute`, `base`: compared by last name, so `Repo` finds `data.Repo<Item>`.
    """

    names: tuple[str, ...] = ()
    matching: NameMatching = "part"
    kinds: tuple[str, ...] = ()
    attribute: str = ""
    base: str = ""
    parent: str = ""  # part of the name of the enclosing definition
    modifiers: tuple[str, ...] = ()
    scope: Scope = EVERYTHING
    path_filter: Callable[[str], bool] | None = None  # filters by path, after the scope
    min_metrics: Mapping[str, int] = field(default_factory=dict)
    order: str = ""  # a metric or `lines`, largest first; empty: best name match first
    limit: int = 100  # 0: no limit


@dataclass(frozen=True, slots=True)
class Definition:
    """A symbol with its context: its ordinal among the record's symbols, and the names that enclose it.

    `note` says why it is in an answer, if the query alone does not.
    """

    record: Record
    ordinal: int
    symbol: Symbol
    trail: tuple[str, ...] = ()
    note: str = ""

    @property
    def parent(self) -> str:
        return self.trail[-1] if self.trail else ""


class DefinedName(NamedTuple):
    """Name and kind of a definition."""

    name: str
    kind: str


class SymbolMatches(NamedTuple):
    """The best definitions in order; `total` counts all matches, `before_stats` also those below metric bounds."""

    definitions: list[Definition]
    total: int
    before_stats: int


class IndexedFile(NamedTuple):
    """An indexed file without its content."""

    collection: str
    path: str
    size: int
    facets: Mapping[str, str] = NO_FACETS


# --------------------------------------------------------------------------------------------------
# Call graph.


class SymbolRef(NamedTuple):
    """A symbol: the key of its record, and its ordinal among the record's symbols."""

    record: int
    ordinal: int


class NamedDefinition(NamedTuple):
    """A definition found by name, with the names that enclose it, outermost first."""

    ref: SymbolRef
    name: str
    kind: str
    trail: tuple[str, ...]
    collection: str
    path: str


class StoredCall(NamedTuple):
    """A stored call: `record` is a key, the rest is as in `Call`. `passed` is the part of the stored callee after a
    tab."""

    record: int
    ordinal: int
    name: str
    callee: str
    line: int
    symbol: int | None
    arguments: int
    kind: str
    passed: str = ""


class CodeFacts(NamedTuple):
    """The symbols and imports of one code file."""

    key: int
    record: Record
    symbols: tuple[Symbol, ...]
    imports: tuple[Link, ...]


class NamedFile(NamedTuple):
    key: int
    collection: str
    root: str  # of the collection
    path: str


# --------------------------------------------------------------------------------------------------
# Health.

SIDECARS_PART = "sidecars"  # damage here does not make answers incomplete

STORE_PARTS = ("words", "names", "vectors", SIDECARS_PART, "records", "catalog")
"""The parts of a store that can be damaged.

- `names`: the trigrams of symbol names.
- `sidecars`: derived files beside the index.
- `records`: single records that do not match their checksums.
- `catalog`: damage that only a complete rebuild from the files repairs.
"""

FindingState = Literal["ok", "warning", "problem"]

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check. `fix` is the next step, empty if none is needed."""

    part: str
    state: FindingState
    text: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class DroppedRecord:
    """A damaged record that was dropped; its file must be read again."""

    collection: str
    path: str
