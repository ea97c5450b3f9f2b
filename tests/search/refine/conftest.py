"""Stores that stages are tested on: the dict store, and SQLite where vectors, links or chunks are read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dowse.store.base import Store
from dowse.store.dicts import DictStore
from dowse.store.sqlite import SqliteStore


@pytest.fixture(params=["dicts", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    opened: Store = SqliteStore(tmp_path / "index.db") if request.param == "sqlite" else DictStore()
    opened.add_collection("/work/notes")
    yield opened
    opened.close()


@pytest.fixture
def memory() -> DictStore:
    opened = DictStore()
    opened.add_collection("/work/notes")
    return opened
