"""A store of either backend with one collection."""

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
