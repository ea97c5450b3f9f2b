"""Records that join the hits although no retriever gave them: by a passage of theirs, if the scope holds them."""

from __future__ import annotations

from collections.abc import Callable

from dowse.model import Record, Scope, Stored
from dowse.store.base import Catalog
from dowse.text.scopes import inside

Within = Callable[[Record], bool]


def within(scope: Scope, catalog: Catalog) -> Within:
    holds = inside(scope)
    return lambda record: holds(record, catalog.links(record) if scope.links else ())


def first_passage(record: Record, is_wanted: Within, catalog: Catalog) -> Stored | None:
    """Its first passage if it is wanted: as it was when it was met, which spares reading, and as it is now."""
    passages = catalog.chunks(record) if is_wanted(record) else []
    return passages[0] if passages and is_wanted(passages[0].record) else None
