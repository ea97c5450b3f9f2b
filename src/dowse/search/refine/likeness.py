"""How alike hits are by the vectors the index holds of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dowse.model import Hit
from dowse.search.run import Run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dowse.store.base import Matrix, Vector

_DIGITS = 6  # vectors are stored with less, so a difference beyond is noise


def cosines(hits: Sequence[Hit], run: Run) -> Matrix | None:
    """Each hit with each other; one without a vector is like nothing. None, and a note, when no hit has one."""
    if not hits:
        return None
    held = run.store.vectors([hit.stored.key for hit in hits])
    if not held:
        run.notes.append("skipped: the hits have no vectors")
        return None
    without = sum(hit.stored.key not in held for hit in hits)
    if without:
        run.notes.append(f"{without} of {len(hits)} hits have no vector and are taken to be like no other")
    return _cosines([held.get(hit.stored.key) for hit in hits])


def _cosines(vectors: Sequence[Vector | None]) -> Matrix:
    import numpy as np

    width = next(len(vector) for vector in vectors if vector is not None)
    nothing = np.zeros(width, dtype=np.float32)
    rows = np.stack([nothing if vector is None else vector for vector in vectors])
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    result: Matrix = np.round(unit @ unit.T, _DIGITS)
    return result
