"""What the definitions of a record are called, worked out once for each state of the index."""

from __future__ import annotations

from typing import Final

from dowse.model import Record
from dowse.store.base import Store
from dowse.text.chains import Chains

_REMEMBERED: Final = "chains of names"
_MOST_RECORDS: Final = 100


def chains_of(store: Store, record: Record) -> Chains:
    known: dict[tuple[str, str], Chains] = store.remembered(_REMEMBERED, dict)
    key = record.collection, record.path
    found = known.get(key)
    if found is None:
        if len(known) >= _MOST_RECORDS:
            known.clear()
        found = known[key] = Chains.of(store.symbols(record))
    return found
