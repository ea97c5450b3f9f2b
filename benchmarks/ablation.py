"""The ablation table: what every stage is worth on every labelled set, by leaving it out or putting it in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dowse.evaluate import Scores, compare_scores
from dowse.search.recipes import get_recipe
from labelled.model import LabelledSet
from measuring import Bench, Way, mean, recipe_for
from report import Section, table
from variants import Change, Variant, greater, lesser

SEED = 20261115
ROUNDS = 2_000  # hundreds of comparisons are made
ENOUGH = 0.0005  # less than this shows as zero
SHOWN: Mapping[Change, str] = {"without": ": ", "with": " + "}
EXTENDED = "hybrid"  # the recipe that stages it does not have are put into


@dataclass(frozen=True, slots=True)
class Worth:
    """What a stage adds to the first measure of a set: with it, minus without it."""

    difference: float
    sure: bool

    def __str__(self) -> str:
        return f"{self.difference:+.4f}{'*' if self.sure else ''}" if abs(self.difference) >= ENOUGH else "0"


Rows = dict[tuple[str, Change, str], dict[str, Worth]]
"""By recipe, what was done and the stage's label: what it is worth on each set."""


def measure(bench: Bench, sets: Sequence[LabelledSet], encoder: str, bases: Sequence[str]) -> Rows:
    rows: Rows = {}
    for labelled in sets:
        seen: list[object] = []
        for base in bases:
            whole = recipe_for(labelled, base)
            # What one recipe showed of a stage is not asked of the next.
            variants = [it for it in _variants(base, whole) if it.thing not in seen]
            seen += [it.thing for it in variants]
            ways = [Way(whole), *(Way(it.recipe.name, it.recipe) for it in variants)]
            scores = bench.scores(labelled, encoder, ways)
            for it in variants:
                worth = _worth(labelled, scores, whole, it)
                rows.setdefault((base, it.change, it.label), {})[labelled.name] = worth
    return rows


def _variants(base: str, whole: str) -> Iterator[Variant]:
    yield from lesser(get_recipe(whole))
    if base == EXTENDED:
        yield from greater(get_recipe(whole))


def _worth(labelled: LabelledSet, scores: Mapping[str, Scores], whole: str, variant: Variant) -> Worth:
    names = (variant.recipe.name, whole) if variant.change == "without" else (whole, variant.recipe.name)
    without, having = (scores[name] for name in names)
    first = labelled.measures[0]
    paired = compare_scores(without, having, first, seed=SEED, rounds=ROUNDS)
    return Worth(mean(having, first) - mean(without, first), paired.verdict != "no difference")


def _asked(sets: Sequence[LabelledSet]) -> str:
    most = max((it.sample for it in sets), default=0)
    return f"The test used at most {most} questions of each set, spread evenly. " if most else ""


def section(sets: Sequence[LabelledSet], rows: Rows) -> Section:
    """Smoke tests are shown, and not counted."""
    counted = [it.name for it in sets if not it.smoke]
    lines = [
        "The gain of each stage: the first measure of each set with the stage, minus the same without it. "
        "`recipe: stage` is part of the recipe and was removed; `recipe + stage` is not part of it and was added. "
        "* marks a significant difference in the paired test (p < 0.05); one in twenty is due to chance. "
        "A stage that several recipes share is shown once. "
        f"{_asked(sets)}– means that the recipe for that set does not have the stage.",
        "",
    ]
    body = [
        [f"{base}{SHOWN[change]}{label}", *(str(worth.get(it.name, "–")) for it in sets), verdict(worth, counted)]
        for (base, change, label), worth in rows.items()
    ]
    return Section(
        "ablation", "Ablation", [*lines, *table(["recipe and stage", *(it.name for it in sets), "the stage"], body)]
    )


def verdict(worth: Mapping[str, Worth], counted: Sequence[str]) -> str:
    differences = [worth[name].difference for name in counted if name in worth]
    helps = sum(it >= ENOUGH for it in differences)
    hurts = sum(it <= -ENOUGH for it in differences)
    if not differences:
        return "–"
    if not helps and not hurts:
        return "changes nothing"
    if hurts > len(differences) / 2:
        return "**hurts on most sets**"
    if helps > len(differences) / 2:
        return "helps on most sets"
    return f"helps on {helps}, hurts on {hurts} of {len(differences)}"
