"""What a backend must offer to those who read: records, what is in them, and how many there are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from dowse.model import EVERYTHING, Call, Counts, Glance, Record, Scope, Skipped, Stored, Symbol, Version


class Reading(Protocol):
    def versions(self, collection: str, under: Iterable[str] | None = None) -> dict[str, Version]:
        """What is known of each path; of those at or below one of `under` only, if given."""
        ...

    def kinds(self) -> frozenset[str]:
        """The kinds of the records that are there."""
        ...

    def skipped(self) -> list[Skipped]: ...

    def faceted(self, name: str) -> list[tuple[str, str, str]]:
        """Collection, path and value of each record that has this facet, ordered by collection and path."""
        ...

    def load(self, keys: Sequence[int]) -> list[Stored]:
        """The chunks that exist of these, in the order asked for."""
        ...

    def places(self, keys: Sequence[int]) -> dict[int, tuple[str, str, int]]:
        """Collection, path and ordinal of each of these chunks that exists."""
        ...

    def kinds_of(self, keys: Sequence[int]) -> dict[int, str]:
        """The kind of the record of each of these chunks that exists."""
        ...

    def text_lengths(self, keys: Sequence[int]) -> dict[int, int]:
        """How many characters the text of each of these chunks that exists has."""
        ...

    def by_chunk_id(self, chunk_id: str, collection: str | None = None) -> list[Stored]: ...

    def records(self, path: str, collection: str | None = None) -> list[Record]: ...

    def select(self, scope: Scope, limit: int | None = None) -> list[Record]:
        """The records within the scope, newest first; as many as are wanted."""
        ...

    def glances(self, scope: Scope, facets: Sequence[str]) -> list[Glance]:
        """The same with no more than is asked for, where there may be a hundred thousand."""
        ...

    def count(self, scope: Scope) -> int:
        """How many records are within the scope."""
        ...

    def chunks(self, record: Record) -> list[Stored]: ...

    def symbols(self, record: Record) -> list[Symbol]: ...

    def calls(self, record: Record) -> list[Call]: ...

    def text(self, record: Record) -> str:
        """The whole text as it was indexed; empty where none is kept."""
        ...

    def export(self) -> Iterator[Stored]:
        """Every chunk, ordered by collection, path and ordinal."""
        ...

    def counts(self, scope: Scope = EVERYTHING) -> Counts:
        """How much there is of the records of the scope."""
        ...
