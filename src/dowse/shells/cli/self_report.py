"""What `dowse eval --self` found, for people and as JSON."""

from __future__ import annotations

import json

from dowse.evaluate import (
    ORIGINS,
    comparison_dict,
    comparison_line,
    format_table,
    scores_dict,
)
from dowse.evaluate.tune import DEFAULT, part
from dowse.shells.cli.self_eval import FUSED, Outcome

_BIAS = (
    "Nobody asked these. Headings, docstrings and first sentences stand in the text they ask for, so that words look\n"
    "better here than they are; the files a commit touched are only some of those it is about.\n"
    "Trust differences, not the figures."
)


def as_text(outcome: Outcome, measure: str) -> str:
    sample, advice = outcome.sample, outcome.advice
    baseline = f"{FUSED} {DEFAULT}"
    return "\n".join(
        [
            f"{len(sample.questions):,} questions made from what is indexed here, of {sample.possible:,} possible ones"
            f" ({sample.ambiguous:,} more have several answers and were left out):",
            *(_origin_line(origin, *of) for origin, of in sample.origins().items()),
            _BIAS,
            "",
            format_table({trial.name: it for trial, it in outcome.scores.items()}),
            "",
            *_by_origin_lines(outcome, measure),
            "",
            *(comparison_line(trial.name, baseline, it, measure) for trial, it in outcome.comparisons.items()),
            *outcome.notes,
            f"Recommended weights of words and meaning: {advice.weights}; {advice.reason}.",
        ]
    )


def _by_origin(outcome: Outcome, measure: str) -> dict[str, dict[str, float]]:
    """The means of each trial for the questions of each origin alone."""
    origins = [origin for origin, (count, _) in outcome.sample.origins().items() if count]
    return {
        trial.name: {origin: part(scores, outcome.sample.ids(origin)).mean(measure) for origin in origins}
        for trial, scores in outcome.scores.items()
    }


def _by_origin_lines(outcome: Outcome, measure: str) -> list[str]:
    found = _by_origin(outcome, measure)
    shown = (
        f"  {name}: {', '.join(f'{origin} {mean:.3f}' for origin, mean in means.items())}"
        for name, means in found.items()
    )
    return [f"{measure} by origin:", *shown]


def _origin_line(origin: str, count: int, overlap: float) -> str:
    words = f"; {overlap:.0%} of its words stand there besides" if count else ""
    return f"  {count:>5,} {origin}: {ORIGINS[origin]}{words}"


def as_json(outcome: Outcome, measure: str, per_query: bool, written: str) -> str:
    sample, advice = outcome.sample, outcome.advice
    origins = {
        name: {"questions": count, "overlap": round(share, 4)} for name, (count, share) in sample.origins().items()
    }
    report = {
        "gold": {
            "questions": len(sample.questions),
            "possible": sample.possible,
            "ambiguous": sample.ambiguous,
            "origins": origins,
            "bias": " ".join(_BIAS.split()),
        },
        "recipes": {trial.name: scores_dict(it, per_query=per_query) for trial, it in outcome.scores.items()},
        "by_origin": {
            name: {origin: round(mean, 6) for origin, mean in means.items()}
            for name, means in _by_origin(outcome, measure).items()
        },
        "comparisons": {trial.name: comparison_dict(it) for trial, it in outcome.comparisons.items()},
        "recommendation": {
            "lexical_weight": advice.weights.lexical,
            "semantic_weight": advice.weights.semantic,
            "default": advice.weights == DEFAULT,
            "reason": advice.reason,
            "confirmed": comparison_dict(advice.confirmed) if advice.confirmed else None,
        },
        "notes": list(outcome.notes),
        "written": written,
    }
    return json.dumps(report, ensure_ascii=False)
