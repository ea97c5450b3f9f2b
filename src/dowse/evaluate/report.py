"""Scores as a table for people, plain or Markdown, and as dictionaries for JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dowse.errors import BadInput
from dowse.evaluate.compare import Comparison
from dowse.evaluate.scores import Scores

USUAL_MEASURES = ("ndcg@10", "recall@5", "recall@10", "recall@100", "mrr")
LATENCIES = (50, 95)


def format_table(
    recipes: Mapping[str, Scores], measures: Sequence[str] | None = None, *, markdown: bool = False
) -> str:
    """One row of means per recipe; without `measures`, the usual ones that were scored."""
    if not recipes:
        raise BadInput("there are no scores to show; evaluate at least one recipe")
    shown = _shown(recipes, measures)
    header = ["recipe", *shown, *(f"p{percent} ms" for percent in LATENCIES)]
    rows = [header, *([name, *_cells(scores, shown)] for name, scores in recipes.items())]
    return _markdown(rows) if markdown else _plain(rows)


def scores_dict(scores: Scores, *, per_query: bool = False) -> dict[str, object]:
    """Keys are stable: they are added to, never renamed."""
    result: dict[str, object] = {
        "queries": len(scores.queries),
        "unjudged": scores.unjudged,
        "means": {measure: round(scores.mean(measure), 6) for measure in scores.measures},
        "latency_ms": {f"p{percent}": round(scores.latency_ms(percent), 3) for percent in LATENCIES},
    }
    if per_query:
        result["per_query"] = [
            {"id": query.id, "ms": round(query.ms, 3), "values": dict(query.values)} for query in scores.queries
        ]
    return result


def comparison_dict(comparison: Comparison) -> dict[str, object]:
    """Keys are stable: they are added to, never renamed."""
    return {
        "queries": comparison.queries,
        "mean_difference": round(comparison.mean_difference, 6),
        "wins": comparison.wins,
        "losses": comparison.losses,
        "ties": comparison.ties,
        "low": round(comparison.low, 6),
        "high": round(comparison.high, 6),
        "p_value": round(comparison.p_value, 6),
        "verdict": comparison.verdict,
    }


def comparison_line(name: str, baseline: str, found: Comparison, measure: str) -> str:
    interval = f"{found.mean_difference:+.4f}, 95 % {found.low:+.4f} to {found.high:+.4f}, p {found.p_value:.4f}"
    counts = f"{found.wins} wins, {found.losses} losses, {found.ties} ties"
    return f"{name} against {baseline}: {found.verdict} by {measure} ({interval}; {counts})"


def _shown(recipes: Mapping[str, Scores], wanted: Sequence[str] | None) -> list[str]:
    scored = [set(scores.measures) for scores in recipes.values()]
    common = set.intersection(*scored)
    if wanted is None:
        return [measure for measure in USUAL_MEASURES if measure in common]
    for measure in wanted:
        if measure not in common:
            raise BadInput(f"measure {measure!r} was not scored; choose from {', '.join(sorted(common))}")
    return list(wanted)


def _cells(scores: Scores, measures: list[str]) -> list[str]:
    means = [f"{scores.mean(measure):.3f}" for measure in measures]
    return means + [f"{scores.latency_ms(percent):.1f}" for percent in LATENCIES]


def _plain(rows: list[list[str]]) -> str:
    """Names to the left, numbers to the right, columns two spaces apart."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join([row[0].ljust(widths[0]), *(map(str.rjust, row[1:], widths[1:]))]) for row in rows)


def _markdown(rows: list[list[str]]) -> str:
    rule = ["---", *["---:"] * (len(rows[0]) - 1)]
    escaped = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in [escaped[0], rule, *escaped[1:]])
