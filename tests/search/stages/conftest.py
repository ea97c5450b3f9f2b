"""The dict store, for stages that read little of a store; `store` is of either backend."""

from __future__ import annotations

import pytest

from oracle.dict_store import DictStore


@pytest.fixture
def memory() -> DictStore:
    opened = DictStore()
    opened.writer.add_collection("/work/notes")
    return opened
