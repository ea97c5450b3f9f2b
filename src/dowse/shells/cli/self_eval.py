"""`dowse eval --self`: questions from the user's own files, every weighting tried, the best one kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from dowse.config import load_settings
from dowse.engine import Engine
from dowse.errors import BadInput
from dowse.evaluate import (
    Advice,
    Comparison,
    Gold,
    Sample,
    Scores,
    Weights,
    advise,
    compare_scores,
    draw,
    evaluate,
    gold_queries,
)
from dowse.evaluate.questions import MAKERS, file_id, passage_id, questions
from dowse.evaluate.tune import DEFAULT, RATIOS, ROUNDS
from dowse.ingest.embed import Progress
from dowse.ingest.sources.git.work_tree.commit_log import recent_commits
from dowse.model import FILES, Query, Scope
from dowse.search.plan import check_recipe
from dowse.search.recipes import RECIPES
from dowse.shells.cli.progress import progress_bar
from dowse.shells.cli.search import ready
from dowse.shells.settings_file import check_settings_file, write_settings
from dowse.shells.workspace import Workspace

_SEED = 20261115
_COMMITS = 300
_SHOWN = 10  # hits that are looked at, as many as a person does
_MEASURES = (*(f"{name}@{_SHOWN}" for name in ("ndcg", "recall", "precision", "hit")), "mrr")
FUSED = "hybrid"
_SCOPE = Scope(kinds=tuple(MAKERS))


@dataclass(frozen=True, slots=True)
class Trial:
    """One row of the table: a recipe, with these weights where it fuses words and meaning."""

    name: str
    recipe: str
    weights: Weights


@dataclass(frozen=True, slots=True)
class Outcome:
    sample: Sample
    scores: Mapping[Trial, Scores]
    comparisons: Mapping[Trial, Comparison]
    advice: Advice
    notes: tuple[str, ...]


def run(workspace: Workspace, recipes: Sequence[str], size: int, measure: str) -> Outcome:
    """Draw the questions, ask them of every trial, and compare each with the default weights."""
    if measure not in _MEASURES:
        raise BadInput(f"unknown measure {measure!r}; choose one of {', '.join(_MEASURES)}")
    for name in recipes:
        check_recipe(name)
    with ready(workspace) as engine:
        fused = _can_fuse(engine)
        sample = draw(questions(engine.export(), _history(engine)), size, _SEED)
    if not sample.questions:
        raise BadInput(
            "nothing indexed here gives a question: no headings, no documented code, no commits that touched an indexed"
            " file; `dowse eval GOLD` takes questions of your own"
        )
    trials = _trials(recipes, workspace, fused)
    notes: dict[str, None] = {}
    with progress_bar() as progress:
        tick = _ticker(progress, len(trials) * len(sample.questions))
        scores = {trial: _score(workspace, trial, sample, tick, notes) for trial in trials}
    return _judged(sample, scores, measure, fused, tuple(notes))


def _can_fuse(engine: Engine) -> bool:
    """Whether there are vectors to weigh; half of them would be measured as if the rest did not exist."""
    completeness = engine.completeness()
    if completeness.notes:
        raise BadInput(f"the index is not complete: {'; '.join(completeness.notes)}; run `dowse index` first")
    return completeness.vectors > 0


def _history(engine: Engine) -> dict[str, list[tuple[str, tuple[str, ...]]]]:
    # Memories and histories lie in the same repositories: a commit would be asked about twice, and count as ambiguous.
    roots = {it.name: it.root for it in engine.collections() if it.source == FILES and Path(it.root).is_dir()}
    return {name: [(it.subject, it.paths) for it in recent_commits(root, _COMMITS)] for name, root in roots.items()}


def _trials(recipes: Sequence[str], workspace: Workspace, fused: bool) -> list[Trial]:
    """The recipes asked for, then the fused one with each ratio and with the weights it has now."""
    settings = workspace.settings
    now = Weights(settings.lexical_weight, settings.semantic_weight)
    names = recipes or (("lexical", "semantic") if fused else ("lexical",))
    weighed = [Weights(1.0, ratio) for ratio in RATIOS]
    if now.semantic * DEFAULT.lexical not in [now.lexical * it.semantic for it in weighed]:
        weighed.append(now)
    single = [Trial(name, name, now) for name in names if name != FUSED]
    return single + ([Trial(f"{FUSED} {it}", FUSED, it) for it in weighed] if fused else [])


# --- asking ---------------------------------------------------------------------------------


def _ticker(progress: Progress, total: int) -> Callable[[], None]:
    done = iter(range(1, total + 1))
    return lambda: progress("Asking", next(done), total)


def _score(
    workspace: Workspace, trial: Trial, sample: Sample, tick: Callable[[], None], notes: dict[str, None]
) -> Scores:
    found: tuple[Scores, ...] = ()
    with _engine_for(workspace, trial, sample) as engine:
        for whole in (False, True):
            asked = tuple(gold_queries(it for it in sample.questions if it.for_files is whole))
            ask = _asker(engine, _recipe(trial.recipe, whole), whole, tick, notes)
            found += (evaluate(Gold("self", asked), ask, ks=(_SHOWN,)),) if asked else ()
    return Scores(tuple(query for part in found for query in part.queries))


@contextmanager
def _engine_for(workspace: Workspace, trial: Trial, sample: Sample) -> Iterator[Engine]:
    """An engine with the trial's weights, warm: loading a model is no part of a question's time."""
    settings = replace(workspace.settings, lexical_weight=trial.weights.lexical, semantic_weight=trial.weights.semantic)
    with replace(workspace, settings=settings).open(create=False) as engine:
        engine.search(Query(sample.questions[0].text, _SCOPE, _SHOWN, trial.recipe))
        yield engine


def _recipe(name: str, whole: bool) -> str:
    return f"{name}-files" if whole and f"{name}-files" in RECIPES else name


def _asker(
    engine: Engine, recipe: str, whole: bool, tick: Callable[[], None], notes: dict[str, None]
) -> Callable[[str], list[str]]:
    def ask(text: str) -> list[str]:
        answer = engine.search(Query(text, _SCOPE, _SHOWN, recipe))
        tick()
        notes.update(dict.fromkeys(f"{step.name}: {step.note}" for step in answer.steps if step.note))
        found = [it.stored for it in answer.hits]
        ids = [file_id(it.record.collection, it.record.path) if whole else passage_id(it) for it in found]
        return list(dict.fromkeys(ids))

    return ask


# --- judging --------------------------------------------------------------------------------


def _judged(
    sample: Sample, scores: Mapping[Trial, Scores], measure: str, fused: bool, notes: tuple[str, ...]
) -> Outcome:
    if not fused:
        advice = Advice(DEFAULT, "there are no vectors here, and so nothing to weigh words against")
        return Outcome(sample, scores, {}, advice, notes)
    weighed = {trial.weights: it for trial, it in scores.items() if trial.recipe == FUSED}
    baseline = weighed[DEFAULT]
    comparisons = {
        trial: compare_scores(baseline, it, measure, seed=_SEED, rounds=ROUNDS)
        for trial, it in scores.items()
        if it is not baseline
    }
    return Outcome(sample, scores, comparisons, advise(weighed, sample, measure, seed=_SEED), notes)


def check(workspace: Workspace) -> None:
    """Refuses what `keep` could not do, before anything is measured."""
    check_settings_file(_folder(workspace))


def keep(workspace: Workspace, weights: Weights) -> str:
    """Writes the weights into the root's settings file; a sentence says what was done."""
    folder = _folder(workspace)
    set_now = load_settings(flags={}, environment={}, folder=folder)
    if Weights(set_now.lexical_weight, set_now.semantic_weight) == weights:
        return f"Nothing to write: these are the weights of {folder} already."
    path = write_settings(folder, {"lexical_weight": weights.lexical, "semantic_weight": weights.semantic})
    return f"Wrote lexical_weight = {weights.lexical} and semantic_weight = {weights.semantic} to {path}."


def _folder(workspace: Workspace) -> Path:
    return workspace.root if workspace.root.is_dir() else workspace.root.parent
