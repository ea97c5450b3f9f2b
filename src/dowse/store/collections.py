"""What a backend must offer of collections: the roots whose records it holds."""

from __future__ import annotations

from typing import Protocol

from dowse.model import FILES, Collection

KEPT = "kept "
"""With the name of a collection behind it, the manifest's key for whether what is gone of it is kept on purpose."""


class Collections(Protocol):
    def collections(self) -> list[Collection]: ...

    def add_collection(self, root: str, *, source: str = FILES, name: str = "") -> Collection:
        """The collection of this root, made if there is none: called `name`, or like its last part, or nearly so."""
        ...

    def move_collection(self, name: str, root: str) -> None:
        """The same files lie at another root now; the collection keeps its name, which everything knows it by."""
        ...

    def remove_collection(self, name: str) -> None:
        """One whose records were all dropped, with what was said of those it skipped."""
        ...

    def mark(self, collection: str, *, listed: int, at: float | None) -> None:
        """How many items its source offers, and when a sync of all of them ended (None: it has begun)."""
        ...

    def sizes(self) -> dict[str, int]:
        """How many records each collection has."""
        ...
