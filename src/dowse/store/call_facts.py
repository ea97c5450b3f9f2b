"""What a backend must offer for the call graph: definitions, imports and calls by name."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from dowse.model import Link, Record, Symbol


class Place(NamedTuple):
    """A symbol: the key of its record, and its ordinal among the record's symbols."""

    record: int
    ordinal: int


class Named(NamedTuple):
    """A definition found by its name: where it is, and the names around it, the outermost first."""

    place: Place
    name: str
    kind: str
    trail: tuple[str, ...]
    collection: str
    path: str


class Site(NamedTuple):
    """A call of a store: `record` is a key, the rest is as in `Call`, whose callee has `passed` behind a tab."""

    record: int
    ordinal: int
    name: str
    callee: str
    line: int
    symbol: int | None
    arguments: int
    kind: str
    passed: str = ""


class Facts(NamedTuple):
    """What is known of one file of code."""

    key: int
    record: Record
    symbols: tuple[Symbol, ...]
    imports: tuple[Link, ...]


class FileName(NamedTuple):
    key: int
    collection: str
    root: str  # of the collection
    path: str


class CallFacts(Protocol):
    """Definitions, imports and calls by name. Keys of records hold within one `moment`."""

    def moment(self) -> AbstractContextManager[None]:
        """Whatever this thread reads inside is of one moment; it must write nothing meanwhile."""
        ...

    def stamps(self, keys: Sequence[int]) -> dict[int, str]:
        """Of each of these records that exists, a text that differs whenever its facts may."""
        ...

    def facts(self, keys: Sequence[int]) -> list[Facts]: ...

    def files_named(self, name: str) -> list[FileName]:
        """The records whose path ends with this name, ordered by collection and path."""
        ...

    def named(
        self,
        names: Sequence[str],
        *,
        kinds: Sequence[str] = (),
        within: Sequence[int] | None = None,
        modifier: str = "",
        limit: int = 0,
    ) -> list[Named]:
        """The definitions with these names, whatever their case, ordered by collection, path and ordinal.

        Of these kinds, in these records, with this modifier, as far as given; 0 is no limit.
        """
        ...

    def extending(self, names: Sequence[str]) -> list[Named]:
        """The definitions with a base of one of these last names, whatever their case, ordered likewise."""
        ...

    def imported_as(self, targets: Sequence[str], member: str) -> list[str]:
        """Every name under which an import with one of these targets brings this member of it, in order."""
        ...

    def sites(self, names: Sequence[str], limit: int) -> list[Site]:
        """The first calls of these names, ordered by collection, path, line and ordinal."""
        ...

    def sites_in(self, key: int, *, kind: str = "", having: str = "") -> list[Site]:
        """The calls of one record, ordered by line and ordinal.

        Of this kind, and with this text in the callee or in what is passed, as far as given.
        """
        ...
