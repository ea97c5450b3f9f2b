"""Ranking parameters that differ by record kind. This is data only: retrievers and stages contain no kind-specific
code."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from dowse.model import FILE_KINDS, DecayRate


class ResultGroup(NamedTuple):
    """Record kinds that share a quota: at most `share` of the results while other groups have candidates.

    Each group gets its own candidates, so a large group cannot crowd out a small one. Records without a file path are
    scoped by the targets of their links of kind `scope_link`.
    """

    name: str
    kinds: tuple[str, ...]
    share: float = 1.0
    scope_link: str = ""


RESULT_GROUPS = (
    ResultGroup("files", FILE_KINDS),
    ResultGroup("commits", ("commit",), 0.25, scope_link="touches"),
    ResultGroup("memories", ("memory",), 0.25),
)
DECAY_RATES = (
    DecayRate("memory", "journal", 0.90, 0.1),
    DecayRate("memory", "plan", 0.85, 0.1),
    DecayRate("memory", "fact", 0.98, 0.2),
    DecayRate("memory", "observation", 0.92, 0.15),
    DecayRate("memory", "reflection", 0.95, 0.2),
    DecayRate("memory", "", 0.90, 0.1),
    DecayRate("commit", "", 0.5 ** (1 / 365), 0.3),
)
# Score factors by kind for each type of question: about changes, about decisions, asking for documents, naming a task,
# asking for code that documents answer better, and asking for code.
KIND_WEIGHTS: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        "change": {"commit": 1.0, "memory": 0.3, "doc": 0.2, "code": 0.1},
        "decision": {"memory": 1.0, "doc": 0.4, "commit": 0.3, "code": 0.1},
        "documents": {"doc": 1.0, "code": 0.25, "commit": 0.25, "memory": 0.7},
        "task": {"doc": 1.0, "code": 0.45, "commit": 0.25, "memory": 0.7},
        "documented": {"doc": 1.0, "code": 0.9, "commit": 0.25, "memory": 0.7},
        "code": {"code": 1.0, "doc": 0.4, "commit": 0.25, "memory": 0.7},
    }
)
# The kind that answers questions about changes and decisions. It is preferred only if its best BM25 score reaches this
# share of the best score of any kind.
SUBJECT_KIND: Mapping[str, str] = MappingProxyType({"change": "commit", "decision": "memory"})
MIN_SUBJECT_SCORE_SHARE = 0.5
# For other questions, documents are preferred if their best BM25 score is at least this multiple of the best score of
# code.
MIN_DOCUMENT_SCORE_RATIO: Mapping[str, float] = MappingProxyType(
    {"change": 0.7, "decision": 0.7, "usage": 0.7, "explanation": 1.15, "workings": 1.5, "report": 2.0}
)


def choose_kind_weights(about: str, best: Mapping[str, float]) -> Mapping[str, float]:
    """Choose the score factors by kind from the subject of the question and the best BM25 score of each kind."""
    if about == "task":
        return KIND_WEIGHTS["task"]
    kept_in = SUBJECT_KIND.get(about, "")
    if kept_in and best.get(kept_in, 0.0) >= MIN_SUBJECT_SCORE_SHARE * max(best.values(), default=0.0):
        return KIND_WEIGHTS[about]
    if best.get("doc", 0.0) < MIN_DOCUMENT_SCORE_RATIO[about] * best.get("code", 0.0):
        return KIND_WEIGHTS["code"]
    return KIND_WEIGHTS["documents" if MIN_DOCUMENT_SCORE_RATIO[about] < 1.5 else "documented"]


LIMITED_KINDS = tuple(kind for family in RESULT_GROUPS if family.share < 1 for kind in family.kinds)
DECAYING_KINDS = tuple({decay_rate.kind: None for decay_rate in DECAY_RATES})
SUPERSEDABLE_KINDS = ("memory",)
"""Kinds whose records may supersede each other or have a validity period."""
