"""What a retriever that found nothing would have counted goes to the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized

from dowse.model import Scored
from dowse.search.run import NOTHING, Run


def shared_out(rankings: Mapping[str, Sequence[Scored]], run: Run) -> Sized:
    """A fused score then means the same whether one retriever could answer or all: where it is compared with a fixed
    value, an index without vectors must not seem to hold nothing."""
    answering = [name for name, ranking in rankings.items() if ranking]
    having, total = sum(run.shares[name] for name in answering), sum(run.shares.values())
    if not having or having == total:
        return NOTHING
    for name in run.shares:
        run.shares[name] *= total / having if name in answering else 0.0
    return answering
