"""What differs from kind to kind in a search: data only, read by retrievers and stages that know no kind."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from dowse.model import IN_FILES, Pace


class Family(NamedTuple):
    """Kinds that are found together, and the most of the places they may take while others have something to show.

    Each family has its own candidates, so that however many records another one has, its own are found. Where the path
    of a record is not that of a file, those it is about are the targets of its links of the kind `about`.
    """

    name: str
    kinds: tuple[str, ...]
    share: float = 1.0
    about: str = ""


FAMILIES = (
    Family("files", IN_FILES),
    Family("commits", ("commit",), 0.25, about="touches"),
    Family("memories", ("memory",), 0.25),
)
PACES = (
    Pace("memory", "journal", 0.90, 0.1),
    Pace("memory", "plan", 0.85, 0.1),
    Pace("memory", "fact", 0.98, 0.2),
    Pace("memory", "observation", 0.92, 0.15),
    Pace("memory", "reflection", 0.95, 0.2),
    Pace("memory", "", 0.90, 0.1),
    Pace("commit", "", 0.5 ** (1 / 365), 0.3),
)
# What a score of each kind counts where a question is about changes or decisions, asks for documents, names a task (for
# whoever uses the code, or changes it), is answered by documents although it asks for code, or by code.
LEANINGS: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        "change": {"commit": 1.0, "memory": 0.3, "doc": 0.2, "code": 0.1},
        "decision": {"memory": 1.0, "doc": 0.4, "commit": 0.3, "code": 0.1},
        "documents": {"doc": 1.0, "code": 0.25, "commit": 0.25, "memory": 0.7},
        "task": {"doc": 1.0, "code": 0.45, "commit": 0.25, "memory": 0.7},
        "documented": {"doc": 1.0, "code": 0.9, "commit": 0.25, "memory": 0.7},
        "code": {"code": 1.0, "doc": 0.4, "commit": 0.25, "memory": 0.7},
    }
)
# What a change or a decision is found in, unless the best of it has less than so much of the BM25 score of the best.
KEPT_IN: Mapping[str, str] = MappingProxyType({"change": "commit", "decision": "memory"})
ABOUT_IT = 0.5
# Any other question is answered by documents where the best of them has so many times the BM25 score of the best code.
DOCUMENTS_FROM: Mapping[str, float] = MappingProxyType(
    {"change": 0.7, "decision": 0.7, "usage": 0.7, "explanation": 1.15, "workings": 1.5, "report": 2.0}
)


def leaning_of(about: str, best: Mapping[str, float]) -> Mapping[str, float]:
    """What a score of each kind counts for a question about this, by the best BM25 score of each kind."""
    if about == "task":
        return LEANINGS["task"]
    kept_in = KEPT_IN.get(about, "")
    if kept_in and best.get(kept_in, 0.0) >= ABOUT_IT * max(best.values(), default=0.0):
        return LEANINGS[about]
    if best.get("doc", 0.0) < DOCUMENTS_FROM[about] * best.get("code", 0.0):
        return LEANINGS["code"]
    return LEANINGS["documents" if DOCUMENTS_FROM[about] < 1.5 else "documented"]


LIMITED = tuple(kind for family in FAMILIES if family.share < 1 for kind in family.kinds)
PASSING = tuple({pace.kind: None for pace in PACES})
SUCCEEDING = ("memory",)
"""The kinds of which one record may supersede another, or hold for some time only."""
