"""An encoder turns texts into unit vectors. One method is required; the rest is identity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]


class Encoder(Protocol):
    """`fingerprint` names model, weights and dimension: vectors of two fingerprints are never mixed."""

    @property
    def name(self) -> str: ...

    @property
    def fingerprint(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    def encode(self, texts: Sequence[str]) -> Matrix:
        """One L2-normalised float32 row per text, in order; a text without content gives a zero row."""
        ...


@runtime_checkable
class Forgiving(Protocol):
    """An encoder that gives a zero row for a text it fails on, instead of failing on all of them."""

    def take_problem(self) -> str:
        """What was skipped since this was last asked, in a sentence; empty if nothing."""
        ...


def problem_of(encoder: Encoder) -> str:
    return encoder.take_problem() if isinstance(encoder, Forgiving) else ""
