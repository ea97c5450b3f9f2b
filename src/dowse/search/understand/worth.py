"""How much meaning counts beside words: as much as the encoder's ranking is worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized

from dowse.model import Scored
from dowse.search.run import NOTHING, Run


def encoder_worth(rankings: Mapping[str, Sequence[Scored]], run: Run) -> Sized:
    """A weak encoder at the weight of a good one ranks worse than words alone do."""
    if run.vector is None or "semantic" not in run.shares or run.vector.traits.worth == 1:
        return NOTHING
    run.shares["semantic"] *= run.vector.traits.worth
    return rankings["semantic"]
