"""What a pass over a file finds: symbols in the making, and nodes to be read once all names are known."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.language import Definition
    from dowse.ingest.extract.code.scopes import Binding, Scope
    from dowse.ingest.extract.code.statistics import Tally


class Draft:
    """A symbol in the making: what it may be given, beside what it says about itself."""

    __slots__ = ("definition", "fields", "given", "number", "parent", "returned", "scope", "tally")

    def __init__(self, definition: Definition, number: int, parent: int | None, scope: Scope | None) -> None:
        self.definition = definition
        self.number = number
        self.parent = parent
        self.scope = scope
        self.given: list[tuple[Binding, Scope | None]] = []
        self.returned: list[Node] = []
        self.tally: Tally | None = None
        self.fields: dict[str, Draft] = {}


class Site(NamedTuple):
    """A node that calls, or names what may be called, with the scope and the definition it stands in."""

    node: Node
    scope: Scope | None
    draft: int | None
    kind: str = "call"


@dataclass(slots=True)
class Findings:
    drafts: list[Draft] = field(default_factory=list)
    sites: list[Site] = field(default_factory=list)
    errors: int = 0
