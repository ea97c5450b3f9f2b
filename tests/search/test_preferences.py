"""Promoting and demoting through the engine: for one subject, in every recipe, until the engine is closed."""

from __future__ import annotations

from pathlib import Path

import pytest

from dowse.engine import Engine
from dowse.errors import BadInput
from dowse.model import Query
from dowse.search.recipes import RECIPES
from support import OpenEngine, write

# One word as often in each, in ever longer texts: a.md is the best hit, d.md the last.
FILES = {
    f"{name}.md": f"{name} retry " + f"filler{name} " * length
    for name, length in zip("abcd", (2, 4, 6, 9), strict=True)
}


@pytest.fixture
def engine(root: Path, open_engine: OpenEngine) -> Engine:
    write(root, FILES)
    opened = open_engine()
    opened.index([root])
    return opened


def paths(engine: Engine, recipe: str = "lexical", **rest: object) -> list[str]:
    answer = engine.search(Query("retry", recipe=recipe, min_score=0.0, **rest))  # type: ignore[arg-type]
    return [hit.stored.record.path for hit in answer.hits]


def test_a_subject_sees_more_of_what_it_prefers(engine: Engine) -> None:
    assert paths(engine) == ["a.md", "b.md", "c.md", "d.md"]
    preferred = engine.ranking.prefer("ann", "c.md", 3)
    assert (preferred.delta, preferred.multiplier) == (3, 4)
    engine.ranking.prefer("ann", "./a.md", -0.9)
    assert paths(engine, subject="ann") == ["c.md", "b.md", "d.md", "a.md"]
    assert paths(engine) == paths(engine, subject="bob") == ["a.md", "b.md", "c.md", "d.md"]
    assert engine.search(Query("retry", recipe="lexical", subject="ann")).hits[0].evidence["prior"] == 4


@pytest.mark.parametrize("recipe", RECIPES)
def test_what_is_promoted_comes_up_from_below_the_limit(engine: Engine, recipe: str) -> None:
    assert "d.md" not in paths(engine, recipe, limit=2)
    engine.ranking.prefer("ann", "d.md", 4)
    assert paths(engine, recipe, limit=2, subject="ann")[0] == "d.md"


def test_only_a_known_document_can_be_preferred(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"'x\.md' is not indexed"):
        engine.ranking.prefer("ann", "x.md", 1)
    write(tmp_path / "other", {"a.md": "another"})
    engine.index([tmp_path / "other"])
    with pytest.raises(BadInput, match=r"2 collections have 'a\.md'; choose one"):
        engine.ranking.prefer("ann", "a.md", 1)
    assert engine.ranking.prefer("ann", "a.md", 1, "other").multiplier == 2
    assert paths(engine, subject="ann")[0] == "a.md"
