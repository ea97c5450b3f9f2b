"""How much meaning counts beside words: by the encoder, by how long the passages are, and by their kind."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Sized
from math import sqrt

from dowse.model import Scored
from dowse.search.run import NOTHING, Run
from dowse.search.understand.classify import classify

# `benchmarks/left_out.py` chooses these numbers again without each set; docs/decisions.md has the figures.
_SHORT_CHARS = 300  # in a shorter passage, the name of a person decides what is near
_LONG_CHARS = 1800  # a longer passage says many things, and its vector is the mean of them
_KINDS: Mapping[str, float] = {"code": 2.8}  # code is asked for in words that it does not use itself
# A year or an amount is found by its digits: texts that differ in nothing else are alike in meaning. Of code nothing is
# known, because hardly a question about it names a number.
_NUMBER = re.compile(r"\b\d{2,}")
_OF_NUMBERS = 0.1
_LOOKED_AT = 20


def encoder_worth(rankings: Mapping[str, Sequence[Scored]], run: Run) -> Sized:
    """A weak encoder at the weight of a good one ranks worse than words alone do."""
    ranking = rankings.get("semantic", ())
    if run.vector is None or not ranking:
        return NOTHING
    nearest = run.asked_for(it.key for it in ranking)[:_LOOKED_AT]
    run.shares["semantic"] *= run.vector.traits.worth * _of_lengths(nearest, run)
    if classify(run.query.text) != "passage":  # a report has the words of the code: messages, names, traces
        run.shares["semantic"] *= _of_kinds(nearest, run)
    return ranking


def _of_lengths(keys: Sequence[int], run: Run) -> float:
    """1 for passages of the length of which a vector says most, less for shorter and longer ones."""
    lengths = run.store.text_lengths(keys).values()
    mean = sum(lengths) / len(lengths) if lengths else 0.0
    best = 1 + 2 * sqrt(_SHORT_CHARS / _LONG_CHARS)
    return best / (1 + _SHORT_CHARS / mean + mean / _LONG_CHARS) if mean else 0.0


def _of_kinds(keys: Sequence[int], run: Run) -> float:
    (only, *others) = run.findable() or {""}
    kinds = [run.kinds.get(key, "") for key in keys] if others else [only]
    other = _OF_NUMBERS if _NUMBER.search(run.query.text) else 1.0
    return sum(_KINDS.get(kind, other) for kind in kinds) / len(kinds)
