"""The memories of a scope and what they may be called, kept from question to question until a record changes."""

from __future__ import annotations

from dowse.model import Record, Scope
from dowse.store.base import Store
from dowse.text.memory_edges import Known


def known(store: Store, scope: Scope) -> list[Record]:
    """Newest first."""
    return store.remembered(f"memories {scope}", lambda: store.select(scope))


def known_in(store: Store, folder: str) -> Known:
    """The memories of one collection, by all that links may call them."""
    scope = Scope(collections=(folder,), kinds=("memory",))
    return store.remembered(f"memories of {folder} by name", lambda: Known.of(known(store, scope)))
