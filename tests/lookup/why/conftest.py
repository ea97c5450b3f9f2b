"""The small project in a store of either backend."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from why_ground import Project, whole_project

from dowse.store.base import Store
from dowse.store.sqlite import SqliteStore
from oracle.dict_store import DictStore


@pytest.fixture(params=["dicts", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """Without a collection: the project's own comes first."""
    made: Store = DictStore() if request.param == "dicts" else SqliteStore(tmp_path / "index.db", create=True)
    yield made
    made.close()


@pytest.fixture
def project(store: Store) -> Project:
    return whole_project(store)
