"""Whether questions that the files do not answer are held back: each set's corpus is asked its own questions and as
many of the other sets. Foreign are only questions about another subject, so sets about one library are not each
other's."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from dowse.model import Query, Scope
from labelled.model import LabelledSet
from measuring import Bench, recipe_for, say
from report import Section, table

QUESTIONS = 100
MOST_OWN, LEAST_FOREIGN = 0.02, 0.80
_SEED = 7
# Sets whose questions may be answered by each other's corpora.
_ALIKE = ({"semble_code", "semble_passages", "swebench_loc"}, {"anthropic_docs", "anthropic_codebase"})


@dataclass(frozen=True, slots=True)
class Held:
    """The shares that were held back of a set's own questions and of foreign ones."""

    name: str
    own: float
    foreign: float


def measure(bench: Bench, sets: Sequence[LabelledSet], encoders: Sequence[str]) -> tuple[Section, bool]:
    sets = [it for it in sets if not it.smoke and it.name != "semble_passages"]
    lines, good = [], True
    for encoder in encoders:
        found = [_asked(bench, it, sets, encoder) for it in sets]
        own, foreign = fmean(it.own for it in found), fmean(it.foreign for it in found)
        good &= own <= MOST_OWN and foreign >= LEAST_FOREIGN
        rows = [[it.name, f"{it.own:.1%}", f"{it.foreign:.1%}"] for it in (*found, Held("**mean**", own, foreign))]
        lines += [
            f"### {encoder}",
            "",
            *table(["set", "own rejected", "foreign rejected"], rows),
            "",
        ]
    told = (
        f"Each corpus gets {QUESTIONS} of its own questions and {QUESTIONS} of other sets, with `auto`. Targets: "
        f"reject at most {MOST_OWN:.0%} of its own questions and at least {LEAST_FOREIGN:.0%} of the foreign ones."
    )
    return Section("abstention", "Questions without an answer in the files", [told, "", *lines]), good


def _asked(bench: Bench, labelled: LabelledSet, sets: Sequence[LabelledSet], encoder: str) -> Held:
    say(f"abstention: {labelled.name}, {encoder}")
    chance = random.Random(_SEED)
    alike = next((it for it in _ALIKE if labelled.name in it), {labelled.name})
    others = [_texts(bench, it) for it in sets if it.name not in alike | {labelled.name}]
    recipe, scope = recipe_for(labelled, "auto"), Scope(kinds=labelled.kinds)
    own: list[bool] = []
    foreign: list[bool] = []
    with bench.opened(labelled, encoder) as parts:
        each = max(1, QUESTIONS // len(parts))
        for engine, part in parts:
            texts = [it.text for it in part.questions]
            mine = chance.sample(texts, min(each, len(texts)))
            theirs = [chance.choice(chance.choice(others)) for _ in range(each)]
            own += [bool(engine.search(Query(it, scope, limit=10, recipe=recipe)).abstained) for it in mine]
            foreign += [bool(engine.search(Query(it, scope, limit=10, recipe=recipe)).abstained) for it in theirs]
    return Held(labelled.name, sum(own) / len(own), sum(foreign) / len(foreign))


def _texts(bench: Bench, labelled: LabelledSet) -> list[str]:
    return [it.text for part in labelled.parts(bench.sets, bench.work / "corpora") for it in part.questions]
