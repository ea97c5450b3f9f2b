"""The nouns every part of Dowse speaks: plain frozen data, no behaviour that needs I/O.

Record, Chunk, Symbol and Link hold everything that is indexed; Scope, Query, Hit, Step and
Answer hold everything that is asked. Kinds of content differ only in the values they put here.
"""

from __future__ import annotations

from dowse.model.answers import (
    NOT_LOOKED,
    Answer,
    Completeness,
    Hit,
    Scored,
    Seen,
    Share,
    Step,
    Stored,
)
from dowse.model.questions import (
    EVERYTHING,
    Facet,
    Linked,
    Pace,
    Query,
    Scope,
)
from dowse.model.records import (
    CHARS_PER_TOKEN,
    COMMITS,
    FILES,
    IN_FILES,
    MEMORIES,
    NO_FACETS,
    TRAIL_SEPARATOR,
    UNPARSED,
    Block,
    Call,
    Chunk,
    Collection,
    Extract,
    Freshness,
    Item,
    Link,
    Record,
    Skipped,
    Stats,
    Symbol,
    Version,
    normal_path,
    public_chunk_id,
)
from dowse.model.reports import (
    Counts,
    SyncReport,
)

__all__ = [
    "CHARS_PER_TOKEN",
    "COMMITS",
    "EVERYTHING",
    "FILES",
    "IN_FILES",
    "MEMORIES",
    "NOT_LOOKED",
    "NO_FACETS",
    "TRAIL_SEPARATOR",
    "UNPARSED",
    "Answer",
    "Block",
    "Call",
    "Chunk",
    "Collection",
    "Completeness",
    "Counts",
    "Extract",
    "Facet",
    "Freshness",
    "Hit",
    "Item",
    "Link",
    "Linked",
    "Pace",
    "Query",
    "Record",
    "Scope",
    "Scored",
    "Seen",
    "Share",
    "Skipped",
    "Stats",
    "Step",
    "Stored",
    "Symbol",
    "SyncReport",
    "Version",
    "normal_path",
    "public_chunk_id",
]
