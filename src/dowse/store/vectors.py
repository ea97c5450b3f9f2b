"""What a backend must offer of vectors: the nearest chunks, and the change from one encoder to the next."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from dowse.model import Scope, Scored

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]
    Matrix = NDArray[np.float32]

ANSWERING = "encoder"
NEXT = "next_encoder"
"""Under these keys the manifest has the fingerprints of the encoders that made the two vector indexes."""

ENCODER_SETTING = "encoder_setting"
"""The manifest's key for the encoder setting that the index is kept with: that of the run that first made vectors."""

UNENCODED = ("delta",)
"""The roles of chunks that are found by their own words only: they need no vector, and have none. What a record is
called stands for its other chunks; else a word of a title would find every piece of a long record."""


@dataclass(frozen=True, slots=True)
class Pending:
    """A chunk without a vector, and the digest of the text that is to be encoded for it."""

    key: int
    digest: bytes


class Vectors(Protocol):
    """At most two vector indexes: the one that answers, and the next one, filled to take its place.

    `made_by` is the fingerprint of an encoder; without it, whichever answers is meant.
    """

    def begin_vectors(self, fingerprint: str) -> None:
        """Make room for this encoder's vectors: in the next index, or in the one that answers while that holds none.

        The next index of any other encoder is dropped.
        """
        ...

    def switch_vectors(self, made_by: str | None = None) -> bool:
        """Let the next index answer and drop the other, in one transaction.

        False unless every chunk that needs a vector is in it, and it is of this encoder, if one is named.
        """
        ...

    def pending(self, made_by: str | None = None) -> list[Pending]:
        """The chunks that need a vector of this encoder and have none; nothing where it has no index."""
        ...

    def put_vectors(self, keys: Sequence[int], matrix: Matrix, made_by: str | None = None) -> None:
        """Kept for chunks that exist, in the index of this encoder if it has one."""
        ...

    def vectors(self, keys: Sequence[int]) -> dict[int, Vector]:
        """The vectors of these chunks in the index that answers, as far as they have one."""
        ...

    def near(
        self,
        vector: Vector,
        scope: Scope,
        limit: int,
        made_by: str | None = None,
        among: Collection[int] | None = None,
    ) -> list[Scored]:
        """The nearest chunks by cosine, only of those `among` if given; a zero vector is at 0.0 from everything.

        Raises OtherVectors when the index that answers is of another encoder than the vector.
        """
        ...
