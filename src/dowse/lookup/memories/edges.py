"""The references of one kind among the memories of a scope, kept from question to question until a record changes."""

from __future__ import annotations

from dowse.model import Scope
from dowse.store.base import Store
from dowse.text.memory_edges import Edges, edges_among, saying


def edges(store: Store, scope: Scope, kind: str) -> Edges:
    return store.remembered(
        f"{kind} among memories {scope}", lambda: edges_among(store.linked(saying(kind), scope), kind)
    )
