"""`dowse eval`"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from dowse.engine import Engine
from dowse.errors import BadInput
from dowse.evaluate import (
    MEASURES,
    Comparison,
    Gold,
    Scores,
    compare_scores,
    comparison_dict,
    comparison_line,
    evaluate,
    format_table,
    read_gold,
    scores_dict,
)
from dowse.model import Query
from dowse.places import Places
from dowse.search.plan import AUTO, check_recipe
from dowse.search.recipes import RECIPES
from dowse.shells.cli import self_eval, self_report
from dowse.shells.cli.options import json_option, root_option, settings_options, workspace_of
from dowse.shells.cli.progress import progress_bar
from dowse.shells.cli.search import ready
from dowse.shells.workspace import Workspace

_DEPTH = 100
_SEED = 20261115
_QUERIES = 200


@click.command("eval")
@click.argument("gold", required=False, type=click.Path(path_type=Path))
@click.option("--self", "own", is_flag=True, help="Make the questions from what is indexed, and advise on weights.")
@click.option("--queries", type=click.IntRange(1, 10_000), help="With --self: how many questions.  [default: 200]")
@click.option("--write", is_flag=True, help="With --self: write the advised weights into dowse.toml.")
@click.option(
    "--recipe",
    "recipes",
    multiple=True,
    help="A recipe to measure; may be repeated.  [default: lexical, semantic, hybrid]",
)
@click.option("--measure", default="ndcg@10", show_default=True, help="What recipes are compared by.")
@click.option("--per-query", is_flag=True, help="With --json: the values of each query too.")
@root_option
@json_option
@settings_options()
def command(
    gold: Path | None,
    own: bool,
    queries: int | None,
    write: bool,
    recipes: tuple[str, ...],
    measure: str,
    per_query: bool,
    root: Path | None,
    as_json: bool,
    **flags: Any,  # noqa: ANN401
) -> int:
    """Measure how well recipes find what GOLD says is right, and compare each with the first one, paired by query.

    GOLD is a directory in the BEIR layout (corpus.jsonl, queries.jsonl, qrels.tsv), whose corpus gets an index
    of its own, or a file of JSON lines {"query", "relevance": [{"path_contains", "gain"}]} about the current root.

    With --self there is no GOLD: headings ask for their sections, docstrings for their code and commits for the files
    they touched. The fused recipe is tried with several weights; others than the default are advised only when they
    are chosen on one half of the questions and are significantly better on the other.
    """
    if own == (gold is not None):
        raise BadInput("give either GOLD, a gold set to measure by, or --self to make one from what is indexed")
    workspace = workspace_of(root, flags)
    if gold is None:
        click.echo(_of_itself(workspace, recipes, queries or _QUERIES, measure, as_json, per_query, write))
        return 0
    if queries or write:
        raise BadInput("--queries and --write belong to --self; a gold set is measured whole and changes nothing")
    if measure not in MEASURES:
        raise BadInput(f"unknown measure {measure!r}; choose one of {', '.join(MEASURES)}")
    names = recipes or ("lexical", "semantic", "hybrid")
    for name in names:
        check_recipe(name)
    with _opened(gold, workspace) as (engine, labelled):
        scores = {name: evaluate(labelled, _runner(engine, name)) for name in names}
    comparisons = {name: compare_scores(scores[names[0]], scores[name], measure, seed=_SEED) for name in names[1:]}
    click.echo(_as_json(scores, comparisons, per_query) if as_json else _as_text(scores, comparisons, measure))
    return 0


def _of_itself(
    workspace: Workspace, recipes: tuple[str, ...], size: int, measure: str, as_json: bool, per_query: bool, write: bool
) -> str:
    if write:
        self_eval.check(workspace)
    outcome = self_eval.run(workspace, recipes, size, measure)
    written = self_eval.keep(workspace, outcome.advice.weights) if write else ""
    if as_json:
        return self_report.as_json(outcome, measure, per_query, written)
    return "\n".join(filter(None, [self_report.as_text(outcome, measure), written]))


@contextmanager
def _opened(gold: Path, workspace: Workspace) -> Iterator[tuple[Engine, Gold]]:
    """The engine to ask and the gold to judge by; a labelled corpus is indexed first."""
    from dowse.ingest.sources.corpus import CorpusSource

    if not (gold / "corpus.jsonl").exists():
        labelled = read_gold(gold)
        with ready(workspace) as engine:
            yield engine, labelled
        return
    source = CorpusSource(gold / "corpus.jsonl")
    labelled = read_gold(gold, {item.path for item in source.listing().items})
    with _corpus_workspace(gold, workspace).open(create=True) as engine:
        with progress_bar() as progress:
            engine.index_source(str(gold.resolve() / "corpus.jsonl"), source, progress=progress)
        yield engine, labelled


def _corpus_workspace(gold: Path, workspace: Workspace) -> Workspace:
    key = hashlib.sha256(str(gold.resolve()).encode()).hexdigest()[:12]
    own = Places.of(workspace.settings).data_dir / "eval" / f"{gold.resolve().name}-{key}" / "index.db"
    return replace(workspace, index=workspace.settings.index or own)


def _runner(engine: Engine, recipe: str) -> Callable[[str], list[str]]:
    """Asks for whole files; of a recipe that ranks passages alone, each file counts where its first one stands."""
    whole = f"{recipe}-files"
    name = whole if whole in RECIPES or recipe == AUTO else recipe

    def run(text: str) -> list[str]:
        hits = engine.search(Query(text, limit=_DEPTH, recipe=name)).hits
        return list(dict.fromkeys(hit.stored.record.path for hit in hits))

    return run


def _as_json(scores: dict[str, Scores], comparisons: dict[str, Comparison], per_query: bool) -> str:
    return json.dumps(
        {
            "recipes": {name: scores_dict(it, per_query=per_query) for name, it in scores.items()},
            "comparisons": {name: comparison_dict(it) for name, it in comparisons.items()},
        }
    )


def _as_text(scores: dict[str, Scores], comparisons: dict[str, Comparison], measure: str) -> str:
    first = next(iter(scores))
    lines = [format_table(scores), ""]
    lines += [comparison_line(name, first, it, measure) for name, it in comparisons.items()]
    return "\n".join(lines).rstrip()
