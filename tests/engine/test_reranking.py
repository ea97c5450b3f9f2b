"""Which reranker an engine has: by setting, by recipe, missing, failing; and what a search says of it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from dowse.config import Settings, load_settings
from dowse.engine.reranking import IndexRerankers
from dowse.errors import BadInput, EncoderMissing
from dowse.model import Query, Step
from dowse.paths import DataPaths
from dowse.search.recipes import RECIPES
from dowse.search.run import RerankResult
from support import OpenEngine, write

FILES = {
    "bread.md": "# Bread\n\nHow bread is baked: flour, water, salt, an oven and patience.\n",
    "bake.md": "# Baking\n\nBaking in an oven; bread is baked at 230 degrees for an hour.\n",
    "git.md": "# Git\n\nHow to undo the last commit, and an oven of branches.\n",
    "oven.py": "def oven():\n    return 'bread is baked here'\n",
}


@pytest.fixture
def no_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # Libraries already imported stay found; the weights' packages are not.
    import onnxruntime  # noqa: F401
    import tokenizers  # noqa: F401

    monkeypatch.setattr(sys, "path", [str(tmp_path)])


def reranking(tmp_path: Path, setting: str = "auto", model_dir: Path | None = None) -> IndexRerankers:
    return IndexRerankers(setting, DataPaths.of(Settings(data_dir=tmp_path)), model_dir=model_dir)


def test_auto_lets_the_recipe_choose_and_loads_nothing_for_saying_so(tmp_path: Path) -> None:
    offer = reranking(tmp_path).describe()
    assert (offer.name, offer.why) == ("cross, late", "chosen by the recipe")
    assert list(tmp_path.iterdir()) == []


def test_what_is_missing_is_told_with_what_to_install(no_package: None, tmp_path: Path) -> None:
    made = reranking(tmp_path)
    offer = made.describe()
    assert offer.name == "none"
    assert "install dowse[rerank]" in offer.why and "granite" in offer.why
    assert made.judge("cross", "q", ["t"]) == RerankResult(
        None, "skipped: the cross-encoder is not installed: install dowse[rerank]"
    )
    assert made.judge("late", "q", ["t"]).skip_reason.startswith("skipped: the granite")
    assert reranking(tmp_path, "cross").describe().name == "none"


def test_none_switches_off(tmp_path: Path) -> None:
    made = reranking(tmp_path, "none")
    assert made.describe().name == "none"
    assert made.judge("late", "q", ["t"]) == RerankResult(None, "skipped: reranking is off (reranker = none)")


def test_a_directory_without_a_model_is_told(tmp_path: Path) -> None:
    made = reranking(tmp_path, "cross", model_dir=tmp_path / "nowhere")
    assert (
        made.judge("cross", "q", ["t"]).skip_reason
        == f"skipped: the reranker's directory {tmp_path}/nowhere has no model.onnx"
    )
    assert "nowhere has no model.onnx" in made.describe().why


def test_a_server_judges_for_all_recipes_and_is_not_asked_to_be_described(tmp_path: Path) -> None:
    made = reranking(tmp_path, "tei:http://127.0.0.1:1")
    assert made.describe().name == "tei:http://127.0.0.1:1"
    for asked in ("cross", "late"):
        assert "the reranker server 127.0.0.1:1 cannot be reached" in made.judge(asked, "q", ["t"]).skip_reason


class Fake:
    name = "fake"

    def __init__(self, *scores: float) -> None:
        self.scores = list(scores)

    def judge(self, query: str, texts: Sequence[str]) -> list[float]:
        if not self.scores:
            raise EncoderMissing("it is gone")
        return self.scores


@pytest.mark.parametrize(
    ("fake", "expected"),
    [
        (Fake(1.0, -2.5), RerankResult((1.0, -2.5))),
        (Fake(), RerankResult(None, "skipped: it is gone")),
        (Fake(1.0), RerankResult(None, "skipped: the reranker fake did not return one finite number per text")),
        (
            Fake(1.0, 2.0, 3.0),
            RerankResult(None, "skipped: the reranker fake did not return one finite number per text"),
        ),
        (
            Fake(1.0, float("nan")),
            RerankResult(None, "skipped: the reranker fake did not return one finite number per text"),
        ),
        (
            Fake(float("inf"), 1.0),
            RerankResult(None, "skipped: the reranker fake did not return one finite number per text"),
        ),
    ],
)
def test_only_one_finite_number_per_text_counts(
    tmp_path: Path, fake: Fake, expected: RerankResult, monkeypatch
) -> None:
    made = reranking(tmp_path)
    monkeypatch.setattr(made, "_create", lambda name: fake)
    assert made.judge("cross", "q", ["t", "u"]) == expected


@pytest.mark.parametrize("name", ["", "Cross", "bge", "http://host", "tei", "tei:host", "cohere:http://u:pa55word@h"])
def test_unknown_names_are_refused_at_once_and_not_repeated(tmp_path: Path, open_engine: OpenEngine, name: str) -> None:
    with pytest.raises(BadInput, match="reranker") as caught:
        open_engine(reranker=name)
    assert "pa55word" not in str(caught.value)


@pytest.mark.parametrize(
    "line",
    ['reranker = "tei:http://evil"', 'reranker = "cohere:m@http://evil"', 'reranker_model = "m"', 'reranker_key = "k"'],
)
def test_a_file_may_name_no_server_model_or_key(tmp_path: Path, line: str) -> None:
    (tmp_path / "dowse.toml").write_text(line)
    with pytest.raises(BadInput, match=r"must not (be|contain)"):
        load_settings(flags={}, environment={}, folder=tmp_path)


@pytest.mark.parametrize("name", ["none", "late", "cross", "auto"])
def test_a_file_may_choose_among_the_local_ones(tmp_path: Path, name: str) -> None:
    (tmp_path / "dowse.toml").write_text(f'reranker = "{name}"')
    assert load_settings(flags={}, environment={}, folder=tmp_path).reranker == name


def test_variables_may_name_a_server_and_a_model(tmp_path: Path) -> None:
    given = {"DOWSE_RERANKER": "tei:http://h", "DOWSE_RERANKER_MODEL": str(tmp_path), "DOWSE_RERANKER_KEY": "k"}
    settings = load_settings(flags={}, environment=given, folder=tmp_path)
    assert (settings.reranker, settings.reranker_model, settings.reranker_key) == ("tei:http://h", tmp_path, "k")


# --- in a search ------------------------------------------------------------------------------


def rerank_step(steps: Sequence[Step]) -> Step:
    (step,) = (step for step in steps if step.name == "rerank")
    return step


@pytest.mark.parametrize("recipe", ["rerank", "rerank-files", "late", "late-files"])
def test_documents_are_judged_and_code_is_not(root: Path, open_engine: OpenEngine, recipe: str) -> None:
    write(root, FILES)
    engine = open_engine()
    engine.index([root])
    answer = engine.search(Query("how is bread baked in an oven?", recipe=recipe))
    judged = {hit.stored.record.path: "rerank" in hit.evidence for hit in answer.hits}
    assert judged == {"bread.md": True, "bake.md": True, "git.md": True, "oven.py": False}
    assert rerank_step(answer.steps).note == ""
    best = max((hit for hit in answer.hits if "rerank" in hit.evidence), key=lambda hit: hit.evidence["rerank"])
    assert best.stored.record.path in ("bread.md", "bake.md")


def test_without_a_reranker_the_answer_is_hybrid_and_the_step_says_why(root: Path, open_engine: OpenEngine) -> None:
    write(root, FILES)
    engine = open_engine(reranker="tei:http://127.0.0.1:1")
    engine.index([root])
    query = Query("how is bread baked in an oven?")
    plain, reranked = engine.search(query), engine.search(Query(query.text, recipe="rerank"))
    assert reranked.hits == plain.hits
    assert "cannot be reached" in rerank_step(reranked.steps).note
    assert engine.status().reranker == "tei:http://127.0.0.1:1"


def test_few_hits_are_chosen_from_all_that_are_judged(root: Path, open_engine: OpenEngine, monkeypatch) -> None:
    write(root, {f"{number:02}.md": f"# Bread {number}\n\nbread number {number}\n" for number in range(30)})
    engine = open_engine()
    engine.index([root])
    seen: list[int] = []

    def judge(reranker: str, query: str, texts: Sequence[str]) -> RerankResult:
        seen.append(len(texts))
        return RerankResult(tuple(range(len(texts))))

    monkeypatch.setattr(engine._core.rerankers, "judge", judge)
    for recipe in ("rerank", "rerank-files"):
        assert len(engine.search(Query("bread", recipe=recipe, limit=1)).hits) == 1
    assert seen == [20, 20]


def test_every_reranking_recipe_has_its_files() -> None:
    assert {"rerank", "rerank-files", "late", "late-files"} <= RECIPES.keys()
