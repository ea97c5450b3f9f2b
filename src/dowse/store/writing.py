"""What a backend must offer to those who write: records come in whole, and go."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from dowse.model import Call, Chunk, Link, Record, Skipped, Symbol


@dataclass(frozen=True, slots=True)
class Piece:
    """A chunk on its way in, with the digest of its text as the encoder will see it.

    `names` are its parts of words (`dowse.text.names`) with those of its title and trail; None leaves it to the store
    to work them out.
    """

    chunk: Chunk
    digest: bytes
    names: str | None = None


class Writing(Protocol):
    """Each method is one transaction: after a crash it happened, or it did not."""

    def batch(self, text_bytes: int = 0) -> AbstractContextManager[object]:
        """What is written inside is one transaction: quicker than many, but a crash before its end loses all of it.

        A call in it that raises leaves nothing behind, and the others can go on.
        """
        ...

    def put(
        self,
        record: Record,
        pieces: Sequence[Piece],
        symbols: Sequence[Symbol] = (),
        links: Sequence[Link] = (),
        calls: Sequence[Call] = (),
        text: str | None = "",
    ) -> None:
        """Replace everything known of the record; chunks whose text and role are unchanged keep key and vector.

        Without a text its lines are not indexed.
        """
        ...

    def touch(self, collection: str, path: str, *, size: int, mtime_ns: int, settled: bool) -> None: ...

    def drop(self, collection: str, paths: Iterable[str]) -> int: ...

    def skip(self, skipped: Skipped, *, drop: bool = True) -> None:
        """Remember why an item is not indexed; what was indexed of it is dropped, or kept as its last known state."""
        ...

    def unskip(self, collection: str, paths: Iterable[str]) -> None: ...
