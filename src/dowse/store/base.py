"""What a backend must offer: a catalog that is the truth, and indexes that are caches of it.

Every backend passes the same conformance tests; the dict store is their oracle.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from dowse.store.call_facts import CallFacts
from dowse.store.collections import KEPT, Collections
from dowse.store.definitions import Definitions
from dowse.store.health import Health, Progress
from dowse.store.links import Links
from dowse.store.manifest import REVISION, Manifest
from dowse.store.reading import Reading
from dowse.store.texts import Texts
from dowse.store.vectors import ANSWERING, ENCODER_SETTING, NEXT, UNENCODED, Pending, Vectors
from dowse.store.words import Weights, Words, inverse_frequency
from dowse.store.writing import Piece, Writing

if TYPE_CHECKING:
    from dowse.store.vectors import Matrix, Vector

__all__ = (
    "ANSWERING",
    "ENCODER_SETTING",
    "KEPT",
    "NEXT",
    "REVISION",
    "UNENCODED",
    "Catalog",
    "Matrix",
    "Pending",
    "Piece",
    "Store",
    "Vector",
    "Vectors",
    "Weights",
    "inverse_frequency",
)


class Catalog(Collections, Writing, Reading, Links, Manifest, Protocol):
    """The truth. Each writing method is one transaction: after a crash it happened, or it did not."""


class Store(Catalog, Words, Vectors, Texts, Definitions, CallFacts, Health, Protocol):
    def writing(self, timeout_s: float, what: str = "indexing") -> AbstractContextManager[None]:
        """Hold the one write lock of this store, or raise IndexBusy after the timeout; `what` tells others what for."""
        ...

    def waited_for(self) -> bool:
        """Whether anybody waits for the write lock; who holds it for long may want to let go of it."""
        ...

    def encoding(self, timeout_s: float) -> AbstractContextManager[None]:
        """Be the one that makes vectors, or raise IndexBusy after the timeout; others may write meanwhile."""
        ...

    def tidy(self, progress: Progress) -> None:
        """After much was written, and inside `writing`: put in order what then makes questions quicker, until somebody
        waits to write. Nothing that comes in its way is a failure of what was written."""
        ...

    def settle(self) -> None:
        """Leave nothing in logs beside the store, so that it can be moved as it is."""
        ...

    def close(self) -> None: ...
