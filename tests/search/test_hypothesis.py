"""A hypothesis: words come from the question, meaning from what an answer might say."""

from __future__ import annotations

from pathlib import Path

import pytest

from dowse.engine import Engine
from dowse.model import Query
from support import OpenEngine, write

FILES = {
    "asked.md": "zebra crossing rules for the town",
    "meant.md": "register handlers within the dispatch table",
}


@pytest.fixture
def engine(root: Path, open_engine: OpenEngine) -> Engine:
    write(root, FILES)
    opened = open_engine(min_chunk_chars=5)
    opened.index([root])
    return opened


def ranks(engine: Engine, query: Query) -> dict[str, dict[str, float]]:
    """By path, the place each retriever gave it."""
    return {
        hit.stored.record.path: {name: value for name, value in hit.evidence.items() if name.endswith("_rank")}
        for hit in engine.search(query).hits
    }


def test_words_of_the_question_meaning_of_the_hypothesis(engine: Engine) -> None:
    found = ranks(engine, Query("zebra", hypothesis="register handlers in a dispatch table"))
    assert found == {"asked.md": {"lexical_rank": 1, "semantic_rank": 2}, "meant.md": {"semantic_rank": 1}}


def test_without_one_the_question_is_both(engine: Engine) -> None:
    found = ranks(engine, Query("zebra crossing"))
    assert found == {"asked.md": {"lexical_rank": 1, "semantic_rank": 1}, "meant.md": {"semantic_rank": 2}}


def test_a_hypothesis_alone_is_both(engine: Engine) -> None:
    text = "register handlers in a dispatch table"
    assert ranks(engine, Query(text, hypothesis=text)) == ranks(engine, Query(text))
    assert ranks(engine, Query(text))["meant.md"] == {"lexical_rank": 1, "semantic_rank": 1}


@pytest.mark.parametrize("hypothesis", ["\0", "?!", '"' * 9, "é" * 20_000])
@pytest.mark.parametrize("recipe", ["hybrid", "semantic", "ragdocs"])
def test_any_hypothesis(engine: Engine, recipe: str, hypothesis: str) -> None:
    answer = engine.search(Query("zebra", hypothesis=hypothesis, recipe=recipe))
    assert [step.name for step in answer.steps][-1] == "within_budget"


def test_the_ragdocs_recipe_understands_its_query(engine: Engine) -> None:
    steps = {step.name: step.note for step in engine.search(Query("zebra crossing", recipe="ragdocs")).steps}
    assert steps["adaptive_weights"] == "exploratory semantic ×1.3"
    assert steps["variance_weights"].startswith("lexical ×1.00 semantic ×")
    assert steps["tagged"] == "no word of the query is a tag"
    assert steps["expanded"] == "the nearest passages have no distinctive words"


def test_code_is_asked_for_by_name(engine: Engine, root: Path) -> None:
    write(root, {"code.md": "# Use\n\n```\nzebra(3)\n```\n"})
    engine.index([root])
    hits = engine.search(Query("zebra", recipe="ragdocs-code", min_score=0.0)).hits
    assert [hit.stored.record.path for hit in hits if "code_bm25" in hit.evidence] == ["code.md"]
