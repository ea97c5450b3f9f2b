"""Rankings of our own corpus, recipe by recipe: a change of any rank is seen and reviewed as a diff."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

import golden
from dowse.engine import Engine

HERE = Path(__file__).parent
RANKINGS = HERE / "rankings"
HOW = "If the change is meant, run `pytest tests/golden --update`, read the diff, and commit it with the reason."
# What machines may differ by. A real encoder's deep ranks lie closer together than its arithmetic is exact, so that
# its rankings are not committed at all.
A_HAIR = {"hashing": 0.002, "granite": 0.01}
# A lexical ranking is the same with any encoder.
MEASURED = {"hashing": golden.RECIPES, "granite": tuple(it for it in golden.RECIPES if not it.startswith("lexical"))}

Ask = Callable[[str, str], golden.Answers]


@pytest.fixture(scope="session")
def ask(engine_with: Callable[[str], Engine]) -> Ask:
    """The answers of a recipe with an encoder, asked for once."""
    known: dict[tuple[str, str], golden.Answers] = {}

    def answers(encoder: str, recipe: str) -> golden.Answers:
        if (encoder, recipe) not in known:
            known[encoder, recipe] = golden.answers(engine_with(encoder), recipe)
        return known[encoder, recipe]

    return answers


@pytest.mark.parametrize("recipe", golden.RECIPES)
def test_ranking(ask: Ask, recipe: str, update: bool) -> None:
    path, now = RANKINGS / f"{recipe}.txt", golden.ranking_text(ask("hashing", recipe))
    if update:
        path.write_text(now, encoding="utf-8")
    changed = golden.difference(path.read_text(encoding="utf-8") if path.exists() else "", now)
    if changed:
        pytest.fail(f"{path.relative_to(HERE)} differs.\n{changed}\n{HOW}", pytrace=False)


@pytest.mark.parametrize("encoder", A_HAIR)
def test_no_figure_falls(ask: Ask, encoder: str, update: bool) -> None:
    path = HERE / f"metrics-{encoder}.toml"
    now = {recipe: golden.measured(recipe, ask(encoder, recipe)) for recipe in MEASURED[encoder]}
    if update:
        path.write_text(golden.metrics_text(encoder, now), encoding="utf-8")
    before = tomllib.loads(path.read_text(encoding="utf-8"))
    assert set(before) == set(now), HOW
    lower = golden.fallen(before, now, A_HAIR[encoder])
    if lower:
        pytest.fail("\n".join([f"{path.name} has fallen figures:", *lower, HOW]), pytrace=False)


def test_there_is_no_ranking_of_a_recipe_that_is_not_watched(update: bool) -> None:
    for path in RANKINGS.iterdir():
        if path.stem not in golden.RECIPES and update:
            path.unlink()
    assert {path.stem for path in RANKINGS.iterdir()} == set(golden.RECIPES)


def test_every_label_names_something_that_is_indexed(engine_with: Callable[[str], Engine]) -> None:
    places = {" > ".join([it.record.path, *it.chunk.trail]) for it in engine_with("hashing").export()}
    labels = {label for query in golden.queries() for label, _ in query.relevant}
    assert [label for label in sorted(labels) if not any(label in place for place in places)] == []


def test_queries_of_every_kind_each_once() -> None:
    asked = golden.queries()
    assert len({it.text for it in asked}) == len(asked) >= 40
    assert {it.kind for it in asked} == {
        "identifier", "keywords", "question", "long text", "path", "phrase", "misspelt", "nothing matches",
        "other script",
    }  # fmt: skip


SAME = [
    ("a.md:1-2  0.1230  bm25 4.0000", "a.md:1-2  0.1231  bm25 3.9999", True),
    ("a.md:1-2  0.1230  bm25 4.0000", "a.md:1-2  0.1232  bm25 4.0000", False),
    ("a.md:1-2  0.1230  rank 4", "a.md:1-2  0.1230  rank 5", False),
    ("a.md:1-2  -0.0000", "a.md:1-2  0.0000", True),
    ("a.md:1-2  0.1230", "b.md:1-2  0.1230", False),
    ("one\ntwo", "one", False),
    ("", "one", False),
]


@pytest.mark.parametrize(("before", "after", "same"), SAME)
def test_what_counts_as_a_difference(before: str, after: str, same: bool) -> None:
    assert (golden.difference(before, after) == "") is same


def test_what_counts_as_fallen() -> None:
    before = {"hybrid": {"mrr": 0.5, "ndcg@10": 0.5, "recall@10": 0.5}}
    now = {"hybrid": {"mrr": 0.49, "ndcg@10": 0.499, "recall@10": 0.6}}
    assert golden.fallen(before, now, 0.002) == ["hybrid mrr: 0.5000 → 0.4900"]
