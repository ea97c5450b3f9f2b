"""What one search carries along: the question, where to look, and the log of its steps."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from dowse.encoders.base import UNMEASURED, Traits
from dowse.model import Query, Step, Stored
from dowse.search.kinds import leaning_of
from dowse.search.understand.classify import subject
from dowse.store.base import Store, Weights

if TYPE_CHECKING:
    from dowse.store.base import Vector

Result = TypeVar("Result", bound=Sized)


@dataclass(frozen=True, slots=True)
class QueryVector:
    """The query as the encoder sees it, or why there is no such vector."""

    vector: Vector | None
    why_not: str = ""
    traits: Traits = UNMEASURED
    made_by: str | None = None  # the fingerprint of the encoder: only its vectors can be compared
    note: str = ""  # what a reader should know of it


@dataclass(frozen=True, slots=True)
class Judged:
    """How well each text answers the query, higher is better; or why no reranker could say."""

    scores: tuple[float, ...] | None
    why_not: str = ""


def no_judge(reranker: str, query: str, texts: Sequence[str]) -> Judged:
    return Judged(None, f"skipped: there is no reranker {reranker!r} here")


@dataclass(frozen=True, slots=True)
class Models:
    """What a search may ask of models: a vector for a text, and a reranker's opinion of texts (by its name)."""

    encode: Callable[[str], QueryVector]
    judge: Callable[[str, str, Sequence[str]], Judged] = no_judge


@dataclass(slots=True)
class Run:
    query: Query
    store: Store
    models: Models
    pool: int
    weights: Weights
    rrf_k: int
    # How much each retriever counts in the fusion; what prepares or weighs a search may change it.
    shares: dict[str, float] = field(default_factory=dict)
    # What the query's subject prefers: factors by collection and path.
    priors: Mapping[tuple[str, str], float] = field(default_factory=dict)
    # The keys of the chunks that hold every phrase in quotes; None where no phrase is required.
    holders: frozenset[int] | None = None
    # The query as the encoder sees it, once somebody has asked for it.
    vector: QueryVector | None = None
    clock: Callable[[], float] = time.perf_counter
    now: Callable[[], float] = time.time
    steps: list[Step] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    # Whether what the question is about decides how much each kind counts: then each kind has its own candidates.
    leans: bool = False
    # The kind of each candidate, or one of its family, by its key, where several may be found.
    kinds: dict[int, str] = field(default_factory=dict)
    # Of each hit that is linked with a better one, by its key: the key of that one.
    linked_from: dict[int, int] = field(default_factory=dict)
    # The passage that stands for a record where whole records are ranked.
    faces: dict[tuple[str, str], Stored] = field(default_factory=dict)
    # The kinds of records that the index has and the query may be answered with, once somebody has asked.
    _findable: frozenset[str] | None = None
    # What scores of each kind count, by what the question is about, once somebody has asked.
    _leaning: Mapping[str, float] | None = None
    # The scores of each retriever before kinds were weighed, which its evidence tells.
    unweighed: dict[str, dict[int, float]] = field(default_factory=dict)
    # What the stages of single retrievers have to say of a chunk, by its key.
    evidence: defaultdict[int, dict[str, float]] = field(default_factory=lambda: defaultdict(dict))

    def findable(self) -> frozenset[str]:
        if self._findable is None:
            present, wanted = self.store.kinds(), self.query.scope.kinds
            self._findable = present.intersection(wanted) if wanted else present
        return self._findable

    def leaning(self) -> Mapping[str, float]:
        """What a score of each kind counts for what the question is about."""
        if self._leaning is None:
            self.lean(dict.fromkeys(self.findable(), 1.0))
        assert self._leaning is not None
        return self._leaning

    def lean(self, best: Mapping[str, float]) -> None:
        """Decide that by the best score of each kind, once words were looked up; before, all count the same."""
        self._leaning = leaning_of(subject(self.query.text), best)

    def asked_for(self, keys: Iterable[int]) -> list[int]:
        """Those of these candidates whose kind counts in full for what the question is about; all, if none does."""
        keys = list(keys)
        lesser = {kind for kind, factor in self.leaning().items() if factor < 1} if self.leans else ()
        kind_of = self.kinds.get
        return [key for key in keys if kind_of(key, "") not in lesser] or keys if lesser else keys

    def branch(self) -> Run:
        """The same run for what goes on at the same time, with a log of its own."""
        return replace(self, notes=[], steps=[])

    def join(self, branch: Run) -> None:
        """Whatever it has done comes next in the log."""
        self.steps += branch.steps
        self.vector = branch.vector or self.vector

    def step(self, name: str, before: Sized, work: Callable[[], Result]) -> Result:
        """Do the work and write down what went in, what came out, what it cost, and what was noted meanwhile."""
        self.notes.clear()
        began = self.clock()
        result = work()
        took_ms = (self.clock() - began) * 1000
        self.steps.append(Step(name, len(before), len(result), round(took_ms, 3), "; ".join(self.notes)))
        return result


NOTHING: Sequence[object] = ()
