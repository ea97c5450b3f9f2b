"""The quality table: every labelled set, every recipe and encoder asked for, beside what others published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from dowse.evaluate import Scores, compare_scores
from labelled.model import LabelledSet
from left_out import LeftOut
from left_out import lines as left_out_lines
from measuring import Bench, Way, mean, recipe_for
from report import Section, table

SEED = 20261115
# Model-free recipes score the same whatever the encoder is.
WORDS_ONLY = "lexical"
BASELINE, CANDIDATE = "lexical", "hybrid"
CANDIDATES = (CANDIDATE, "auto")
DEFAULT, STATIC = "granite", "static"

Results = Mapping[tuple[str, str], Mapping[str, Scores]]
"""Scores by recipe, of each set and encoder."""


@dataclass(frozen=True, slots=True)
class Check:
    """Whether something that is aimed at holds; None where it was not measured."""

    what: str
    measured: str
    holds: bool | None


def measure(bench: Bench, sets: Sequence[LabelledSet], encoders: Sequence[str], names: Sequence[str]) -> Results:
    results: dict[tuple[str, str], dict[str, Scores]] = {}
    for labelled in sets:
        for encoder in encoders:
            ways = {name: Way(recipe_for(labelled, name)) for name in names}
            scores = bench.scores(labelled, encoder, list(ways.values()))
            results[labelled.name, encoder] = {name: scores[way.name] for name, way in ways.items()}
    return results


def section(
    sets: Sequence[LabelledSet],
    encoders: Sequence[str],
    names: Sequence[str],
    results: Results,
    left_out: Mapping[str, Sequence[LeftOut]] = MappingProxyType({}),
) -> Section:
    found = checks(sets, encoders, names, results)
    lines = [
        "Each set uses the measures of its authors; the first one decides. Sets with labelled files search for whole "
        "files, the others for passages. A set of several repositories is the mean of their means. "
        f"{', '.join(it.name for it in sets if it.kinds)} search code only, as the other systems in the table do. "
        "Ranking rules and constants were chosen on these sets (docs/decisions.md), so the figures flatter them.",
        "",
    ]
    for labelled in sets:
        lines += [*_set_table(labelled, encoders, names, results), ""]
    lines += ["### Hybrid compared with lexical, paired by question", "", *_paired(sets, encoders, names, results), ""]
    for encoder, found_without in left_out.items():
        lines += [f"### Constants chosen on the other sets, {encoder}", "", *left_out_lines(found_without, encoder), ""]
    lines += ["### Targets", "", *_check_table(found)]
    return Section("quality", "Quality on public labelled sets", lines)


def _set_table(labelled: LabelledSet, encoders: Sequence[str], names: Sequence[str], results: Results) -> list[str]:
    rows = [
        [it.label, *(f"{it.values[name]:.4f}" if name in it.values else "" for name in labelled.measures)]
        for it in labelled.published
    ]
    for encoder in encoders:
        for name in names:
            if name == WORDS_ONLY and encoder != encoders[0]:
                continue
            scores = results[labelled.name, encoder][name]
            label = f"**{name}**" if name == WORDS_ONLY else f"**{name}**, {encoder}"
            rows.append([label, *(f"{mean(scores, it):.4f}" for it in labelled.measures)])
    asked = len(next(iter(results[labelled.name, encoders[0]].values())).queries)
    title = f"### {labelled.name}: {asked} questions{', a smoke test' if labelled.smoke else ''}"
    return [title, "", *table(["published results, then Dowse (bold)", *labelled.measures], rows)]


def _paired(sets: Sequence[LabelledSet], encoders: Sequence[str], names: Sequence[str], results: Results) -> list[str]:
    if not {BASELINE, CANDIDATE} <= set(names):
        return [f"Not measured: needs the recipes {BASELINE} and {CANDIDATE}."]
    rows = []
    for labelled in sets:
        for encoder in encoders:
            scores, first = results[labelled.name, encoder], labelled.measures[0]
            it = compare_scores(scores[BASELINE], scores[CANDIDATE], first, seed=SEED)
            interval = f"{it.low:+.4f} to {it.high:+.4f}"
            counts = f"{it.wins}–{it.losses}–{it.ties}"
            cells = [labelled.name, encoder, first, f"{it.mean_difference:+.4f}", interval, counts]
            rows.append([*cells, f"{it.p_value:.4f}", it.verdict])
    header = ["set", "encoder", "measure", "difference", "95 %", "wins–losses–ties", "p", "verdict"]
    return table(header, rows)


# --- what is aimed at -------------------------------------------------------------------------


def checks(sets: Sequence[LabelledSet], encoders: Sequence[str], names: Sequence[str], results: Results) -> list[Check]:
    aims = [(it, DEFAULT, it.targets) for it in sets] + [(it, STATIC, it.static_targets) for it in sets]
    found = [_target(it, encoder, aim, names, results) for it, encoder, aim in aims if aim]
    candidates = [it for it in CANDIDATES if {BASELINE, it} <= set(names)]
    return found + [_never_below(sets, encoder, it, results) for encoder in encoders for it in candidates]


def _target(
    labelled: LabelledSet, encoder: str, aim: Mapping[str, float], names: Sequence[str], results: Results
) -> Check:
    aims = " / ".join(f"{name} ≥ {least:g}" for name, least in aim.items())
    what = f"{labelled.name}: {aims} ({CANDIDATE}, {encoder})"
    if (labelled.name, encoder) not in results or CANDIDATE not in names:
        return Check(what, "not measured", None)
    values = {name: mean(results[labelled.name, encoder][CANDIDATE], name) for name in aim}
    holds = all(values[name] >= least for name, least in aim.items())
    return Check(what, " / ".join(f"{value:.4f}" for value in values.values()), holds)


def _never_below(sets: Sequence[LabelledSet], encoder: str, candidate: str, results: Results) -> Check:
    """Of every set by its first measure."""
    below = []
    for labelled in sets:
        scores, first = results[labelled.name, encoder], labelled.measures[0]
        difference = mean(scores[candidate], first) - mean(scores[BASELINE], first)
        if difference < 0:
            below.append(f"{labelled.name} {difference:+.4f}")
    what = f"{candidate} not below {BASELINE} on any set, encoder {encoder}"
    return Check(what, ", ".join(below) or f"below on none of {len(sets)}", not below)


def _check_table(found: Sequence[Check]) -> list[str]:
    shown = {True: "yes", False: "**NO**", None: "–"}
    return table(["aim", "measured", "holds"], [[it.what, it.measured, shown[it.holds]] for it in found])
