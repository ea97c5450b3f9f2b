"""A run over a store for one query text, and where its candidates lie."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dowse.model import Query, Scope, Scored
from dowse.search.run import Models, QueryVector, Run
from dowse.store.base import Store, Weights


def run_for(store: Store, text: str, scope: Scope = Scope(), vector: Sequence[float] | None = None) -> Run:  # noqa: B008
    made = QueryVector(None, "no encoder here") if vector is None else QueryVector(np.array(vector, dtype=np.float32))
    return Run(Query(text, scope), store, Models(lambda _: made), 100, Weights(), 60)


def paths(store: Store, ranking: Sequence[Scored]) -> list[str]:
    return [it.record.path for it in store.load([it.key for it in ranking])]
