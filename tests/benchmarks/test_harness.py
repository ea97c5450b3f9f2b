"""The harness on a tiny labelled set: scores are kept, variants follow from recipes, sections are replaced."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import ablation
import left_out
import quality
from dowse.evaluate import QueryScore, Scores
from dowse.model import Hit
from dowse.search.recipes import RECIPES, Recipe, get_recipe
from dowse.search.run import SearchRun
from dowse.search.stages.base import stage_name
from labelled.measures import documents
from labelled.model import LabelledSet, Part, Question
from measuring import Bench, Way, mean
from report import Section, table, write_section
from variants import greater, lesser, unused_stages, worth_ablating

RUN = Path(ablation.__file__).with_name("run.py")


@pytest.fixture
def tiny(tmp_path: Path) -> LabelledSet:
    folder = tmp_path / "sets" / "tiny"
    folder.mkdir(parents=True)
    texts = {"cats": "Cats sleep all day.", "dogs": "Dogs bark at night.", "fish": "Fish swim in water."}
    lines = [json.dumps({"_id": id, "title": "", "text": text}) for id, text in texts.items()]
    (folder / "corpus.jsonl").write_text("\n".join(lines))
    asked = {"1": ("sleeping cats", "cats"), "2": ("swim in the water", "fish")}
    questions = tuple(Question(id, text, documents({right: 1.0})) for id, (text, right) in asked.items())
    part = Part("tiny", folder / "corpus.jsonl", questions)
    return LabelledSet("tiny", lambda *_: (part,), ("ndcg@10", "mrr"), files=True, depth=10, targets={"ndcg@10": 0.9})


@pytest.fixture
def bench(tiny: LabelledSet, tmp_path: Path) -> Bench:
    return Bench(tmp_path / "sets", tmp_path / "work")


def test_what_was_measured_is_kept_until_the_labels_change(
    bench: Bench, tiny: LabelledSet, capsys: pytest.CaptureFixture[str]
) -> None:
    first = bench.scores(tiny, "hashing", [Way("lexical-files")])
    assert mean(first["lexical-files"], "ndcg@10") == 1.0
    assert "tiny, hashing, lexical-files" in capsys.readouterr().err
    again = bench.scores(tiny, "hashing", [Way("lexical-files")])
    assert capsys.readouterr().err == ""
    assert again["lexical-files"].queries[1].values == first["lexical-files"].queries[1].values
    (bench.sets / "tiny" / "queries.jsonl").write_text("another label")
    bench.scores(tiny, "hashing", [Way("lexical-files")])
    assert "tiny, hashing, lexical-files" in capsys.readouterr().err


def test_an_index_is_made_anew_only_when_other_code_made_it(bench: Bench, tiny: LabelledSet) -> None:
    with bench.opened(tiny, "hashing") as [(engine, _)]:
        index = engine.index_path
    marked = index.with_name(f"{index.name}-mark")
    marked.touch()
    with bench.opened(tiny, "hashing"):
        assert marked.exists()
    index.write_bytes(b"of another format")
    index.with_suffix(".made-by").write_text("other code")
    with bench.opened(tiny, "hashing") as [(engine, _)]:
        assert engine.status().counts.records == 3
        assert not marked.exists()


def test_a_recipe_that_cannot_work_is_not_measured(bench: Bench, tiny: LabelledSet) -> None:
    with pytest.raises(SystemExit, match="semantic skipped: semantic search is off"):
        bench.scores(tiny, "none", [Way("hybrid-files")])
    assert not list((bench.work / "scores").rglob("*.json"))


def test_a_recipe_of_the_occasion_is_asked_and_forgotten(bench: Bench, tiny: LabelledSet) -> None:
    def backwards(hits: list[Hit], run: SearchRun) -> list[Hit]:
        return hits[1:]

    worse = replace(get_recipe("lexical-files"), name="worse", stages=(backwards,))
    scores = bench.scores(tiny, "hashing", [Way("worse", worse)])
    assert mean(scores["worse"], "ndcg@10") == 0.0
    assert "worse" not in RECIPES


def test_parts_count_the_same_however_many_questions_they_have() -> None:
    values = [("a/1", 1.0), ("b/1", 0.0), ("b/2", 0.0), ("b/3", 0.0)]
    scores = Scores(tuple(QueryScore(id, {"ndcg@10": value}, 1.0) for id, value in values))
    assert mean(scores, "ndcg@10") == 0.5


# --- tables -----------------------------------------------------------------------------------


def test_quality_says_what_holds(bench: Bench, tiny: LabelledSet) -> None:
    names = ["lexical", "hybrid"]
    results = quality.measure(bench, [tiny], ["hashing"], names)
    text = quality.section([tiny], ["hashing"], names, results).text("command")
    assert "| **lexical** | 1.0000 | 1.0000 |" in text
    assert "| tiny: ndcg@10 ≥ 0.9 (hybrid, granite) | not measured | – |" in text
    assert "| hybrid not below lexical on any set, encoder hashing | below on none of 1 | yes |" in text


def test_a_hybrid_below_its_lexical_mode_is_named(tiny: LabelledSet) -> None:
    good, bad = (Scores((QueryScore("tiny/1", {"ndcg@10": value, "mrr": value}, 1.0),)) for value in (0.9, 0.8))
    results = {("tiny", "granite"): {"lexical": good, "hybrid": bad}}
    target, below = quality.checks([tiny], ["granite"], ["lexical", "hybrid"], results)
    assert (target.measured, target.holds) == ("0.8000", False)
    assert (below.measured, below.holds) == ("tiny -0.1000", False)


def test_constants_are_chosen_by_the_other_sets(bench: Bench, tiny: LabelledSet) -> None:
    found = left_out.measure(bench, [tiny, replace(tiny, name="other", folder="tiny")], "hashing")
    assert [(it.name, it.measure, it.shipped, it.left_out) for it in found] == [
        ("tiny", "ndcg@10", 1.0, 1.0),
        ("other", "ndcg@10", 1.0, 1.0),
    ]
    assert all(not it.chosen for it in found)  # nothing gains where all is right
    assert "| other | ndcg@10 | 1.0000 | 1.0000 | +0.0000 | none |" in left_out.lines(found, "hashing")


def test_the_constant_that_gains_on_the_mean_is_chosen() -> None:
    decay = next(it for it in left_out.CONSTANTS if it.name == "decay")
    level = {("decay", value): 0.0 for value in decay.values}
    assert left_out._best(decay, [level, level]) == decay.shipped
    assert left_out._best(decay, [level | {("decay", 0.4): 0.02}, level | {("decay", 0.4): -0.01}]) == 0.4
    assert left_out._best(decay, [level | {("decay", 0.4): 0.01}, level | {("decay", 0.4): -0.02}]) == decay.shipped


def test_shipped_constants_are_those_of_the_recipes() -> None:
    """A value that is called the shipped one and is not would be measured as if it were."""
    for constant in left_out.CONSTANTS:
        recipe = get_recipe("hybrid-files")
        assert constant.shipped in constant.values
        if constant.option is not None:
            assert constant.option(recipe, constant.shipped) == recipe, constant.name
        if constant.number is not None:
            module, name, value = constant.number(constant.shipped)
            assert getattr(module, name) == value, constant.name


def test_ablation_has_a_row_for_every_stage(bench: Bench, tiny: LabelledSet) -> None:
    rows = ablation.measure(bench, [tiny], "hashing", ["hybrid"])
    labels = {label for _, change, label in rows if change == "without"}
    assert labels == {it.label for it in lesser(get_recipe("hybrid-files"))}
    assert "| hybrid: lexical.code_priors | 0 | changes nothing |" in ablation.section([tiny], rows).lines


def worths(*differences: float) -> dict[str, ablation.Worth]:
    return {str(number): ablation.Worth(it, sure=False) for number, it in enumerate(differences)}


VERDICTS = [
    ((), "–"),
    ((0.0, 0.0001), "changes nothing"),
    ((-0.01, -0.02, 0.01), "**hurts on most sets**"),
    ((0.01, 0.02, -0.01), "helps on most sets"),
    ((0.01, -0.01), "helps on 1, hurts on 1 of 2"),
]


@pytest.mark.parametrize(("differences", "expected"), VERDICTS)
def test_verdicts(differences: tuple[float, ...], expected: str) -> None:
    worth = worths(*differences)
    assert ablation.verdict(worth, list(worth)) == expected


def test_sections_are_replaced_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "RESULTS.md"
    for section in (Section("a", "A", ["one"]), Section("b", "B", ["two"]), Section("a", "A", ["three \\1"])):
        write_section(section, "python benchmarks/run.py", path)
    text = path.read_text()
    assert "one" not in text
    assert text.index("three \\1") < text.index("two")
    assert text.count("<!-- a -->") == text.count("<!-- /b -->") == 1


def test_cells_may_hold_bars() -> None:
    assert table(["a"], [["x|y"]]) == ["| a |", "| --- |", "| x\\|y |"]


# --- variants ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Twice:
    n: int = 1

    def __call__(self, hits: list[Hit], run: SearchRun) -> list[Hit]:
        return hits


def prepared(run: SearchRun) -> list[str]:
    return []


def test_everything_a_recipe_has_is_left_out_once() -> None:
    recipe: Recipe = replace(get_recipe("hybrid"), stages=(Twice(1), Twice(2)), prepare=(prepared,))
    variants = {it.label: it.recipe for it in lesser(recipe)}
    assert variants["prepared"].prepare == ()
    assert list(variants["semantic"].retrievers) == ["lexical", "headline"]
    assert variants["lexical.code_priors"].retrievers["lexical"].stages == ()
    assert variants["lexical.code_priors"].retrievers["semantic"] == recipe.retrievers["semantic"]
    assert variants["twice"].stages == (Twice(2),)
    assert variants["twice (2)"].stages == (Twice(1),)
    assert len({it.name for it in variants.values()} | {recipe.name}) == len(variants) + 1


def test_stages_that_no_recipe_has_are_put_in() -> None:
    names = [stage_name(it) for it in unused_stages()]
    assert "mmr" in names
    assert "best_first" not in names
    for variant in greater(get_recipe("hybrid")):
        assert variant.recipe.stages[1:] == get_recipe("hybrid").stages


def test_recipes_that_fuse_are_taken_apart() -> None:
    assert {"hybrid", "ragdocs"} <= set(worth_ablating())
    assert not {"lexical", "hybrid-files", "rifflux-hybrid"} & set(worth_ablating())


# --- the command ------------------------------------------------------------------------------


def command(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(RUN), *words], capture_output=True, text=True, check=False)


def test_the_command_measures_a_set_and_writes_no_half_section(bench: Bench, tiny: LabelledSet) -> None:
    folder = bench.sets / "qmd_eval"
    (bench.sets / "tiny").rename(folder)
    (folder / "queries.jsonl").write_text('{"_id": "1", "text": "sleeping cats"}\n')
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n1\tcats\t1\n")
    results = bench.work / "RESULTS.md"
    places = ["--bench", str(bench.sets), "--work", str(bench.work), "--results", str(results)]
    done = command("quality", *places, "--sets", "qmd_eval", "--encoders", "hashing", "--recipes", "lexical")
    assert done.returncode == 0, done.stderr
    assert "| **lexical** | 1.0000 | 1.0000 |" in done.stdout
    assert "`python benchmarks/run.py quality --sets qmd_eval --encoders hashing --recipes lexical`" in done.stdout
    assert not results.exists()


@pytest.mark.parametrize("words", [["qualty"], ["--bench", "nowhere"], ["--sets", "nothing"]])
def test_mistakes_are_told_at_once(words: list[str]) -> None:
    done = command(*words)
    assert done.returncode == 2
    assert words[-1] in done.stderr
