"""How much meaning counts beside words: as much as the encoder's ranking is worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized

from dowse.model import Scored
from dowse.search.run import NOTHING, Run

_PAGE = 10


def encoder_worth(rankings: Mapping[str, Sequence[Scored]], run: Run) -> Sized:
    """A weak encoder at the weight of a good one ranks worse than words alone do; one that yields counts the less the
    more clearly words tell the best."""
    if run.vector is None or "semantic" not in run.shares or run.vector.traits.worth == 1:
        return NOTHING
    traits = run.vector.traits
    run.shares["semantic"] *= traits.worth
    if traits.yields:
        run.shares["semantic"] *= undecided(rankings.get("lexical", ()))
    return rankings["semantic"]


def undecided(ranking: Sequence[Scored]) -> float:
    """From 0, one stands out, to 1: the last of the first page is as good as the best, or there is no full page."""
    if len(ranking) < _PAGE or ranking[0].score <= 0:
        return 1.0
    share = max(0.0, ranking[_PAGE - 1].score) / ranking[0].score
    return min(1.0, share) ** 2
