"""A stage takes the ranked hits and gives them back reordered, rescored, fewer or cut.

Without options it is a function; with options a frozen dataclass with `__call__`. It notes in `run.notes` what it
could not do, and adds to a hit's evidence what it did to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from dowse.model import Hit
from dowse.search.run import Run

Stage = Callable[[list[Hit], Run], list[Hit]]


@dataclass(frozen=True, slots=True)
class Concerning:
    """A stage of a recipe that is left out where nothing of these kinds can be found."""

    kinds: tuple[str, ...]
    stage: Stage


def stage_name(stage: Callable[..., object]) -> str:
    """The name a step is listed under: a function's own, or a class's in the same style."""
    name = getattr(stage, "__name__", type(stage).__name__)
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def rescored(hit: Hit, score: float, **evidence: float) -> Hit:
    """The hit with another score, and why."""
    return replace(hit, score=score, evidence={**hit.evidence, **evidence})


UNSCALED = "unscaled"


def relevance(hit: Hit) -> float:
    """What the hit is ranked by: its score, or what that was before it became a confidence, which many may share."""
    return hit.evidence.get(UNSCALED, hit.score)


def by_score(hits: list[Hit]) -> list[Hit]:
    """Best first; equal scores stay in the order they came in."""
    return sorted(hits, key=lambda hit: -hit.score)
