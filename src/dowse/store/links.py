"""What a backend must offer of links: those of a record, and the records that have them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from dowse.model import EVERYTHING, Link, Record, Scope


class Links(Protocol):
    def links(self, record: Record) -> list[Link]: ...

    def linking(self, targets: Sequence[str], kinds: Sequence[str] = ()) -> list[tuple[Record, Link]]:
        """The links to exactly these targets, as they are written, of these kinds (any, if none is named), each with
        the record it is in; newest records first."""
        ...

    def parts_named(self, name: str, kinds: Sequence[str]) -> list[str]:
        """The targets of links of these kinds that end with `#` and this name, each once, in order: what is called so
        somewhere. Every link is looked at."""
        ...

    def linked(self, kinds: Sequence[str], scope: Scope = EVERYTHING) -> list[tuple[Record, list[Link]]]:
        """The records of the scope with their links of these kinds, ordered by collection and path; all of one moment.

        Of a collection where none of them has such a link, none is given.
        """
        ...

    def targets(self, kinds: Sequence[str], scope: Scope) -> list[tuple[str, str]]:
        """The path of a record within the scope and the target of its links of these kinds, each once."""
        ...
