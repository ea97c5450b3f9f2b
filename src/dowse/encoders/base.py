"""An encoder turns texts into unit vectors. One method is required; the rest is identity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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


SAME = 0.85
"""The cosine above which two passages say the same, for the encoder that thresholds of the contracts were made for."""


@dataclass(frozen=True, slots=True)
class Traits:
    """What measurement tells of an encoder: how much its ranking is worth beside words (1 is as much), the cosine
    below which two texts have nothing to do with each other (0 if that is not known), the cosine above which two
    passages say the same, and how sure the best hit has to be for a question not to be foreign to the files."""

    worth: float = 1.0
    unrelated: float = 0.0
    same: float = SAME
    least_sure: float = 0.0911


UNMEASURED = Traits()


@runtime_checkable
class Measured(Protocol):
    """An encoder whose traits are known."""

    @property
    def traits(self) -> Traits: ...


def traits_of(encoder: Encoder) -> Traits:
    return encoder.traits if isinstance(encoder, Measured) else UNMEASURED


@runtime_checkable
class Forgiving(Protocol):
    """An encoder that gives a zero row for a text it fails on, instead of failing on all of them."""

    def take_problem(self) -> str:
        """What was skipped since this was last asked, in a sentence; empty if nothing."""
        ...


def problem_of(encoder: Encoder) -> str:
    return encoder.take_problem() if isinstance(encoder, Forgiving) else ""
