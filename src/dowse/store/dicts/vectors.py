"""Vectors of the store of dicts: lists of numbers, each compared with each."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dowse.errors import IndexBusy, OtherVectors
from dowse.model import (
    Scope,
    Scored,
)
from dowse.store.base import ANSWERING, NEXT, UNENCODED, Pending
from dowse.store.dicts.state import State, VectorIndex

if TYPE_CHECKING:
    from dowse.store.base import Matrix, Vector


class DictVectors(State):
    def begin_vectors(self, fingerprint: str) -> None:
        if fingerprint == self._next.made_by:
            return
        fresh = VectorIndex(fingerprint)
        if fingerprint == self._answering.made_by:
            self._hold(self._answering, VectorIndex())
        elif self._answering.made_by is None or not self._answering.rows:
            self._hold(fresh, VectorIndex())
        else:
            self._hold(self._answering, fresh)

    def switch_vectors(self, made_by: str | None = None) -> bool:
        following = self._next.made_by
        if following is None or made_by not in (None, following) or self.pending(following):
            return False
        self._hold(self._next, VectorIndex())
        return True

    def _hold(self, answering: VectorIndex, following: VectorIndex) -> None:
        self._answering, self._next = answering, following
        fingerprints = {ANSWERING: answering.made_by, NEXT: following.made_by}
        others = {key: value for key, value in self._manifest.items() if key not in fingerprints}
        self._manifest = others | {key: value for key, value in fingerprints.items() if value is not None}

    def _index_of(self, made_by: str | None) -> VectorIndex | None:
        if made_by is None or made_by == self._answering.made_by:
            return self._answering
        return self._next if made_by == self._next.made_by else None

    def _vectors_of(self, key: int) -> list[tuple[VectorIndex, list[float]]]:
        return [(index, index.rows[key]) for index in (self._answering, self._next) if key in index.rows]

    def pending(self, made_by: str | None = None) -> list[Pending]:
        index = self._index_of(made_by)
        if index is None:
            return []
        lacking = sorted(self._rows.keys() - index.rows)
        return [Pending(key, self._rows[key].digest) for key in lacking if self._is_encoded(key)]

    def _is_encoded(self, key: int) -> bool:
        """Whether there is such a chunk, and it is to have a vector."""
        return key in self._rows and self._rows[key].stored.chunk.role not in UNENCODED

    def put_vectors(self, keys: Sequence[int], matrix: Matrix, made_by: str | None = None) -> None:
        index = self._index_of(made_by)
        for key, vector in zip(keys, matrix, strict=True):
            if index is not None and self._is_encoded(key):
                index.rows[key] = [float(value) for value in vector]

    def vectors(self, keys: Sequence[int]) -> dict[int, Vector]:
        import numpy as np

        held = self._answering.rows
        return {key: np.array(held[key], dtype=np.float32) for key in keys if key in held}

    def near(
        self,
        vector: Vector,
        scope: Scope,
        limit: int,
        made_by: str | None = None,
        among: Collection[int] | None = None,
    ) -> list[Scored]:
        index = self._answering
        if made_by is not None and made_by != index.made_by:
            raise OtherVectors(f"the vectors are of {index.made_by} now, not of {made_by}; ask again")
        query = [float(value) for value in vector]
        wanted = self._within(scope)
        scored = [
            Scored(key, _cosine(row, query))
            for key, row in index.rows.items()
            if wanted(self._rows[key].stored.record) and (among is None or key in among)
        ]
        return sorted(scored, key=lambda it: (-it.score, it.key))[: max(limit, 0)]

    @contextmanager
    def encoding(self, timeout_s: float) -> Iterator[None]:
        if not self._encoding.acquire(timeout=timeout_s):
            raise IndexBusy("another job makes the vectors now")
        try:
            yield
        finally:
            self._encoding.release()


def _cosine(left: Sequence[float], right: Sequence[float]) -> float:
    length = math.sqrt(sum(it * it for it in left)) * math.sqrt(sum(it * it for it in right))
    return sum(a * b for a, b in zip(left, right, strict=True)) / length if length else 0.0
