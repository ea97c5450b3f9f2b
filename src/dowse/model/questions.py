"""What is asked: a query and the scope it keeps to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Facet(NamedTuple):
    """A condition: the record's facet of this name is the value or, unless `whole`, holds it; in whatever case."""

    name: str
    value: str
    whole: bool = True


class Linked(NamedTuple):
    """A condition: the record has a link of this kind (any, if empty) whose target matches the glob."""

    kind: str
    glob: str


class Below(NamedTuple):
    """A collection that lies below a root, by its path from there."""

    collection: str
    way: str


@dataclass(frozen=True, slots=True)
class Scope:
    """The one filter type. Empty fields do not filter; it is applied before ranking, never after.

    `paths` and `excluded` are globs; what the second match is left out, whatever else would let it in. Every field
    must hold, and every facet that is named; of the values of one facet, of tags, paths and links, one. `below` is no
    condition: paths of these collections are compared with globs as they are there, and as they are from a root around.
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
    below: tuple[Below, ...] = ()

    def spellings(self, collection: str, path: str) -> tuple[str, ...]:
        """What globs are compared with."""
        return (path, *(f"{it.way}/{path}" for it in self.below if it.collection == collection))


EVERYTHING = Scope()


class Pace(NamedTuple):
    """How records of a kind, with this value of their facet `type` (any, if empty), fade: `rate` of their score is
    left with each day, and never less than `floor`."""

    kind: str
    type: str
    rate: float
    floor: float


@dataclass(frozen=True, slots=True)
class Tuning:
    """What a user of the ragdocs contract may change of its recipes, by the names it has there; these are its defaults.

    `None` stands for what the recipe has, unless a query asks for another value.
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


AS_USUAL = Tuning()


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
    # What of the recipe is changed, where it is one of the ragdocs contract.
    tuning: Tuning = AS_USUAL
    # On whose behalf it is asked: what this subject prefers counts.
    subject: str = ""
