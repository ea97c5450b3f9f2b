"""A run over a store for one query text, and where its candidates lie."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dowse.model import Query, Scope, ScoredChunk
from dowse.search.run import QueryVector, SearchModels, SearchRun
from dowse.store.base import Store
from dowse.store.types import ColumnWeights


def run_for(store: Store, text: str, scope: Scope = Scope(), vector: Sequence[float] | None = None) -> SearchRun:  # noqa: B008
    made = QueryVector(None, "no encoder here") if vector is None else QueryVector(np.array(vector, dtype=np.float32))
    return SearchRun(Query(text, scope), store.view(), SearchModels(lambda _: made), 100, ColumnWeights(), 60)


def paths(store: Store, ranking: Sequence[ScoredChunk]) -> list[str]:
    return [it.record.path for it in store.catalog.load([it.key for it in ranking])]
