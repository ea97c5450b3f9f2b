"""The command `eval`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from dowse.cli.options import json_option, root_option, settings_options, workspace_of
from dowse.cli.progress import progress_bar
from dowse.cli.search import open_ready_engine
from dowse.config import load_settings
from dowse.engine import Engine
from dowse.errors import BadInput
from dowse.evaluate import (
    EVALUATION_MEASURES,
    QUESTION_ORIGINS,
    Advice,
    Comparison,
    FusionWeights,
    GoldSet,
    Sample,
    Scores,
    advise,
    compare_scores,
    comparison_dict,
    comparison_line,
    draw_sample,
    evaluate,
    format_table,
    gold_queries,
    read_gold,
    scores_dict,
)
from dowse.evaluate.self_eval import (
    DEFAULT_FUSION_WEIGHTS,
    QUESTION_MAKERS,
    TUNING_ROUNDS,
    WEIGHT_RATIOS,
    file_id,
    generate_questions,
    passage_id,
    select_scores,
)
from dowse.git.blame import recent_commits
from dowse.ingest.embed import ProgressCallback
from dowse.model import FILES, Query, Scope
from dowse.paths import DataPaths
from dowse.search.plan import AUTO_RECIPE, check_recipe
from dowse.search.recipes import RECIPES
from dowse.server.contract_settings import check_settings_file, write_settings
from dowse.server.workspace import Workspace

# --------------------------------------------------------------------------------------------------
# `dowse eval --self`: generate questions from the user's files, try several weights, and keep the best.

_SELF_EVAL_SEED = 20261115
_MAX_COMMITS = 300
_HITS_PER_QUESTION = 10  # hits per question, as many as a person reads
_MEASURES = (*(f"{name}@{_HITS_PER_QUESTION}" for name in ("ndcg", "recall", "precision", "hit")), "mrr")
FUSED_RECIPE = "hybrid"
_QUESTION_SCOPE = Scope(kinds=tuple(QUESTION_MAKERS))


@dataclass(frozen=True, slots=True)
class WeightTrial:
    """One row of the table: a recipe and, if it fuses words and meaning, its weights."""

    name: str
    recipe: str
    weights: FusionWeights


@dataclass(frozen=True, slots=True)
class SelfEvalResult:
    sample: Sample
    scores: Mapping[WeightTrial, Scores]
    comparisons: Mapping[WeightTrial, Comparison]
    advice: Advice
    notes: tuple[str, ...]


def run_self_eval(workspace: Workspace, recipes: Sequence[str], size: int, measure: str) -> SelfEvalResult:
    """Draw the questions, ask them in every trial, and compare each trial with the default weights."""
    if measure not in _MEASURES:
        raise BadInput(f"unknown measure {measure!r}; choose one of {', '.join(_MEASURES)}")
    for name in recipes:
        check_recipe(name)
    with open_ready_engine(workspace) as engine:
        fused = _has_vectors(engine)
        sample = draw_sample(generate_questions(engine.export(), _recent_history(engine)), size, _SELF_EVAL_SEED)
    if not sample.questions:
        raise BadInput(
            "cannot generate questions: the index has no headings, no documented code and no commits that touched an"
            " indexed file; use `dowse eval GOLD` with your own questions"
        )
    trials = _make_trials(recipes, workspace, fused)
    notes: dict[str, None] = {}
    with progress_bar() as progress:
        tick = _make_ticker(progress, len(trials) * len(sample.questions))
        scores = {trial: _score_trial(workspace, trial, sample, tick, notes) for trial in trials}
    return _compare_trials(sample, scores, measure, fused, tuple(notes))


def _has_vectors(engine: Engine) -> bool:
    """Return whether the index has vectors; raise if it is incomplete, because missing vectors would distort the
    measurement."""
    completeness = engine.completeness()
    if completeness.notes:
        raise BadInput(f"the index is incomplete: {'; '.join(completeness.notes)}; run `dowse index` first")
    return completeness.vectors > 0


def _recent_history(engine: Engine) -> dict[str, list[tuple[str, tuple[str, ...]]]]:
    # Memories and histories share repositories with files: each commit would be asked twice and count as ambiguous.
    roots = {it.name: it.root for it in engine.collections() if it.source == FILES and Path(it.root).is_dir()}
    return {name: [(it.subject, it.paths) for it in recent_commits(root, _MAX_COMMITS)] for name, root in roots.items()}


def _make_trials(recipes: Sequence[str], workspace: Workspace, fused: bool) -> list[WeightTrial]:
    """Return the given recipes, then the fused recipe with each ratio and with the current weights."""
    settings = workspace.settings
    now = FusionWeights(settings.lexical_weight, settings.semantic_weight)
    names = recipes or (("lexical", "semantic") if fused else ("lexical",))
    weighed = [FusionWeights(1.0, ratio) for ratio in WEIGHT_RATIOS]
    if now.semantic * DEFAULT_FUSION_WEIGHTS.lexical not in [now.lexical * it.semantic for it in weighed]:
        weighed.append(now)
    single = [WeightTrial(name, name, now) for name in names if name != FUSED_RECIPE]
    return single + ([WeightTrial(f"{FUSED_RECIPE} {it}", FUSED_RECIPE, it) for it in weighed] if fused else [])


# --- asking ---------------------------------------------------------------------------------


def _make_ticker(progress: ProgressCallback, total: int) -> Callable[[], None]:
    done = iter(range(1, total + 1))
    return lambda: progress("Asking", next(done), total)


def _score_trial(
    workspace: Workspace, trial: WeightTrial, sample: Sample, tick: Callable[[], None], notes: dict[str, None]
) -> Scores:
    found: tuple[Scores, ...] = ()
    with _open_trial_engine(workspace, trial, sample) as engine:
        for whole in (False, True):
            asked = tuple(gold_queries(it for it in sample.questions if it.for_files is whole))
            ask = _make_asker(engine, _recipe_for(trial.recipe, whole), whole, tick, notes)
            found += (evaluate(GoldSet("self", asked), ask, ks=(_HITS_PER_QUESTION,)),) if asked else ()
    return Scores(tuple(query for part in found for query in part.queries))


@contextmanager
def _open_trial_engine(workspace: Workspace, trial: WeightTrial, sample: Sample) -> Iterator[Engine]:
    """Open an engine with the weights of the trial, and warm it up: loading a model does not count as query time."""
    settings = replace(workspace.settings, lexical_weight=trial.weights.lexical, semantic_weight=trial.weights.semantic)
    with replace(workspace, settings=settings).open(create=False) as engine:
        engine.search(Query(sample.questions[0].text, _QUESTION_SCOPE, _HITS_PER_QUESTION, trial.recipe))
        yield engine


def _recipe_for(name: str, whole: bool) -> str:
    return f"{name}-files" if whole and f"{name}-files" in RECIPES else name


def _make_asker(
    engine: Engine, recipe: str, whole: bool, tick: Callable[[], None], notes: dict[str, None]
) -> Callable[[str], list[str]]:
    def ask(text: str) -> list[str]:
        answer = engine.search(Query(text, _QUESTION_SCOPE, _HITS_PER_QUESTION, recipe))
        tick()
        notes.update(dict.fromkeys(f"{step.name}: {step.note}" for step in answer.steps if step.note))
        found = [it.stored for it in answer.hits]
        ids = [file_id(it.record.collection, it.record.path) if whole else passage_id(it) for it in found]
        return list(dict.fromkeys(ids))

    return ask


# --- judging --------------------------------------------------------------------------------


def _compare_trials(
    sample: Sample, scores: Mapping[WeightTrial, Scores], measure: str, fused: bool, notes: tuple[str, ...]
) -> SelfEvalResult:
    if not fused:
        advice = Advice(DEFAULT_FUSION_WEIGHTS, "the index has no vectors, so there are no weights to tune")
        return SelfEvalResult(sample, scores, {}, advice, notes)
    weighed = {trial.weights: it for trial, it in scores.items() if trial.recipe == FUSED_RECIPE}
    baseline = weighed[DEFAULT_FUSION_WEIGHTS]
    comparisons = {
        trial: compare_scores(baseline, it, measure, seed=_SELF_EVAL_SEED, rounds=TUNING_ROUNDS)
        for trial, it in scores.items()
        if it is not baseline
    }
    return SelfEvalResult(sample, scores, comparisons, advise(weighed, sample, measure, seed=_SELF_EVAL_SEED), notes)


def check_weights_writable(workspace: Workspace) -> None:
    """Fail early, before anything is measured, if the settings file could not be written."""
    check_settings_file(_settings_folder(workspace))


def write_weights(workspace: Workspace, weights: FusionWeights) -> str:
    """Write the weights to the settings file of the root, and return a message about it."""
    folder = _settings_folder(workspace)
    current = load_settings(flags={}, environment={}, folder=folder)
    if FusionWeights(current.lexical_weight, current.semantic_weight) == weights:
        return f"Nothing to write: {folder} already has these weights."
    path = write_settings(folder, {"lexical_weight": weights.lexical, "semantic_weight": weights.semantic})
    return f"Wrote lexical_weight = {weights.lexical} and semantic_weight = {weights.semantic} to {path}."


def _settings_folder(workspace: Workspace) -> Path:
    return workspace.root if workspace.root.is_dir() else workspace.root.parent


# --------------------------------------------------------------------------------------------------
# Format the results of `dowse eval --self` as text and as JSON.

_BIAS_NOTE = (
    "These questions are synthetic. Headings, docstrings and first sentences share words with the text they ask for,\n"
    "which favours lexical search. The files that a commit touched are only some of those it is about.\n"
    "Trust differences, not absolute figures."
)


def self_eval_text(outcome: SelfEvalResult, measure: str) -> str:
    sample, advice = outcome.sample, outcome.advice
    baseline = f"{FUSED_RECIPE} {DEFAULT_FUSION_WEIGHTS}"
    return "\n".join(
        [
            f"{len(sample.questions):,} questions generated from the index, of {sample.possible:,} possible ones"
            f" ({sample.ambiguous:,} more are ambiguous and were left out):",
            *(_origin_line(origin, *of) for origin, of in sample.origins().items()),
            _BIAS_NOTE,
            "",
            format_table({trial.name: it for trial, it in outcome.scores.items()}),
            "",
            *_by_origin_lines(outcome, measure),
            "",
            *(comparison_line(trial.name, baseline, it, measure) for trial, it in outcome.comparisons.items()),
            *outcome.notes,
            f"Recommended weights for words and meaning: {advice.weights}; {advice.reason}.",
        ]
    )


def _means_by_origin(outcome: SelfEvalResult, measure: str) -> dict[str, dict[str, float]]:
    """Return the mean score of each trial for each origin of questions."""
    origins = [origin for origin, (count, _) in outcome.sample.origins().items() if count]
    return {
        trial.name: {origin: select_scores(scores, outcome.sample.ids(origin)).mean(measure) for origin in origins}
        for trial, scores in outcome.scores.items()
    }


def _by_origin_lines(outcome: SelfEvalResult, measure: str) -> list[str]:
    found = _means_by_origin(outcome, measure)
    shown = (
        f"  {name}: {', '.join(f'{origin} {mean:.3f}' for origin, mean in means.items())}"
        for name, means in found.items()
    )
    return [f"{measure} by origin:", *shown]


def _origin_line(origin: str, count: int, overlap: float) -> str:
    words = f"; {overlap:.0%} of its words also occur elsewhere in the answer" if count else ""
    return f"  {count:>5,} {origin}: {QUESTION_ORIGINS[origin]}{words}"


def self_eval_json(outcome: SelfEvalResult, measure: str, per_query: bool, written: str) -> str:
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
            "bias": " ".join(_BIAS_NOTE.split()),
        },
        "recipes": {trial.name: scores_dict(it, per_query=per_query) for trial, it in outcome.scores.items()},
        "by_origin": {
            name: {origin: round(mean, 6) for origin, mean in means.items()}
            for name, means in _means_by_origin(outcome, measure).items()
        },
        "comparisons": {trial.name: comparison_dict(it) for trial, it in outcome.comparisons.items()},
        "recommendation": {
            "lexical_weight": advice.weights.lexical,
            "semantic_weight": advice.weights.semantic,
            "default": advice.weights == DEFAULT_FUSION_WEIGHTS,
            "reason": advice.reason,
            "confirmed": comparison_dict(advice.confirmed) if advice.confirmed else None,
        },
        "notes": list(outcome.notes),
        "written": written,
    }
    return json.dumps(report, ensure_ascii=False)


_RANKING_DEPTH = 100
_GOLD_SEED = 20261115
_DEFAULT_QUESTIONS = 200


@click.command("eval")
@click.argument("gold", required=False, type=click.Path(path_type=Path))
@click.option("--self", "own", is_flag=True, help="Generate questions from the index, and recommend weights.")
@click.option("--queries", type=click.IntRange(1, 10_000), help="With --self: number of questions.  [default: 200]")
@click.option("--write", is_flag=True, help="With --self: write the recommended weights to dowse.toml.")
@click.option(
    "--recipe",
    "recipes",
    multiple=True,
    help="Recipe to measure (repeatable).  [default: lexical, semantic, hybrid]",
)
@click.option("--measure", default="ndcg@10", show_default=True, help="Measure to compare recipes by.")
@click.option("--per-query", is_flag=True, help="With --json: include the values of each query.")
@root_option
@json_option
@settings_options()
def eval_command(
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
    """Measure how well recipes find the answers in GOLD, and compare each with the first recipe, paired by query.

    GOLD is a directory in the BEIR layout (corpus.jsonl, queries.jsonl, qrels.tsv), whose corpus gets its own
    index, or a file of JSON lines {"query", "relevance": [{"path_contains", "gain"}]} about the current root.

    With --self, questions are generated instead: headings ask for their sections, docstrings for their code, and
    commits for the files they touched. The fused recipe is tried with several weights. New weights are recommended
    only if they are the best on one half of the questions and significantly better on the other.
    """
    if own == (gold is not None):
        raise BadInput("pass either GOLD, a gold set, or --self to generate one from the index")
    workspace = workspace_of(root, flags)
    if gold is None:
        click.echo(
            _run_self_eval(workspace, recipes, queries or _DEFAULT_QUESTIONS, measure, as_json, per_query, write)
        )
        return 0
    if queries or write:
        raise BadInput("--queries and --write work only with --self; leave them out to measure a gold set")
    if measure not in EVALUATION_MEASURES:
        raise BadInput(f"unknown measure {measure!r}; choose one of {', '.join(EVALUATION_MEASURES)}")
    names = recipes or ("lexical", "semantic", "hybrid")
    for name in names:
        check_recipe(name)
    with _open_gold(gold, workspace) as (engine, labelled):
        scores = {name: evaluate(labelled, _make_file_ranker(engine, name)) for name in names}
    comparisons = {name: compare_scores(scores[names[0]], scores[name], measure, seed=_GOLD_SEED) for name in names[1:]}
    click.echo(_scores_json(scores, comparisons, per_query) if as_json else _scores_text(scores, comparisons, measure))
    return 0


def _run_self_eval(
    workspace: Workspace, recipes: tuple[str, ...], size: int, measure: str, as_json: bool, per_query: bool, write: bool
) -> str:
    if write:
        check_weights_writable(workspace)
    outcome = run_self_eval(workspace, recipes, size, measure)
    written = write_weights(workspace, outcome.advice.weights) if write else ""
    if as_json:
        return self_eval_json(outcome, measure, per_query, written)
    return "\n".join(filter(None, [self_eval_text(outcome, measure), written]))


@contextmanager
def _open_gold(gold: Path, workspace: Workspace) -> Iterator[tuple[Engine, GoldSet]]:
    """Open the engine to query and load the gold set; a labelled corpus is indexed first."""
    from dowse.ingest.sources.corpus import CorpusSource

    if not (gold / "corpus.jsonl").exists():
        labelled = read_gold(gold)
        with open_ready_engine(workspace) as engine:
            yield engine, labelled
        return
    source = CorpusSource(gold / "corpus.jsonl")
    labelled = read_gold(gold, {item.path for item in source.listing().items})
    with _corpus_workspace(gold, workspace).open(create=True) as engine:
        with progress_bar() as progress:
            engine.indexing.index_source(str(gold.resolve() / "corpus.jsonl"), source, progress=progress)
        yield engine, labelled


def _corpus_workspace(gold: Path, workspace: Workspace) -> Workspace:
    key = hashlib.sha256(str(gold.resolve()).encode()).hexdigest()[:12]
    own = DataPaths.of(workspace.settings).data_dir / "eval" / f"{gold.resolve().name}-{key}" / "index.db"
    return replace(workspace, index=workspace.settings.index or own)


def _make_file_ranker(engine: Engine, recipe: str) -> Callable[[str], list[str]]:
    """Return a function that ranks whole files; a recipe that ranks only passages ranks each file by its first
    passage."""
    whole = f"{recipe}-files"
    name = whole if whole in RECIPES or recipe == AUTO_RECIPE else recipe

    def run(text: str) -> list[str]:
        hits = engine.search(Query(text, limit=_RANKING_DEPTH, recipe=name)).hits
        return list(dict.fromkeys(hit.stored.record.path for hit in hits))

    return run


def _scores_json(scores: dict[str, Scores], comparisons: dict[str, Comparison], per_query: bool) -> str:
    return json.dumps(
        {
            "recipes": {name: scores_dict(it, per_query=per_query) for name, it in scores.items()},
            "comparisons": {name: comparison_dict(it) for name, it in comparisons.items()},
        }
    )


def _scores_text(scores: dict[str, Scores], comparisons: dict[str, Comparison], measure: str) -> str:
    first = next(iter(scores))
    lines = [format_table(scores), ""]
    lines += [comparison_line(name, first, it, measure) for name, it in comparisons.items()]
    return "\n".join(lines).rstrip()
