"""The dict store, for stages that read little of a store; `store` is of either backend."""

from __future__ import annotations

import pytest

from dowse.store.dicts import DictStore


@pytest.fixture
def memory() -> DictStore:
    opened = DictStore()
    opened.add_collection("/work/notes")
    return opened
