"""Ages that answers tell are counted by the clock of the engine that gave them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from dowse.config import Settings
from dowse.engine import Engine
from dowse.engine.core import Clock
from dowse.model import Query
from dowse.tools.core_query import make_scope
from dowse.tools.core_render import search_reply
from support import write

NOW = datetime(2040, 3, 11, tzinfo=UTC).timestamp()
NOTE = "---\ntype: fact\ncreated_at: 2040-03-01\n---\n\nwombat\n"


@pytest.fixture
def engine(root: Path, tmp_path: Path) -> Iterator[Engine]:
    write(root, {"a.md": "wombat", ".memories/note.md": NOTE})
    settings = Settings(encoder="none", data_dir=tmp_path / "data", freshness_timeout_ms=30_000)
    with Engine(settings, tmp_path / "index.db", create=True, clock=Clock(now=lambda: NOW)) as engine:
        engine.index([root])
        yield engine


def test_a_memory_is_as_old_as_the_clock_says(engine: Engine) -> None:
    answer = engine.search(Query("wombat", recipe="lexical"))
    assert answer.at == NOW
    assert "note.md:6-6 (fact, 10 d ago)" in (search_reply(answer, 2_000, False, "").text or "")


def test_lengths_of_time_count_back_from_the_clock(engine: Engine) -> None:
    def found(since: str) -> list[str]:
        scope = make_scope(("memory",), since=since, now=engine.clock.now)
        return [it.stored.record.path for it in engine.search(Query("wombat", scope, recipe="lexical")).hits]

    assert (found("11d"), found("9d")) == (["note.md"], [])
