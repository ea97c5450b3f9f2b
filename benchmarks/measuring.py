"""Asks a labelled set's questions of a recipe and keeps the scores, so that a run that was cut goes on where it was.

Corpora go through the real flow: the same chunker, store, encoder and recipes as a user's files. Scores are kept by
a digest of the code and the labels they depend on; vectors by the text they were made from.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import fmean
from types import ModuleType
from unittest.mock import patch

import dowse
from dowse.config import Settings
from dowse.engine import Engine
from dowse.evaluate import QueryScore, Scores
from dowse.ingest.sources.corpus import CorpusSource
from dowse.model import Answer, Query, Scope
from dowse.search import recipes
from dowse.search.plan import AUTO_RECIPE
from dowse.search.recipes import Recipe
from labelled.model import Found, LabelledSet, Part, Question

SOURCES = Path(dowse.__file__).parent
# What no score depends on.
APART = {"cli", "server", "tools", "live"}
# What decides what is in an index.
INDEXING = ("ingest", "store", "text", "model.py")
PROGRESS_S = 10.0
# How the note of a step begins that was not done.
UNDONE = ("skipped", "failed")


Patch = tuple[ModuleType, str, object]
"""A name of a module and what it stands for meanwhile."""


@dataclass(frozen=True, slots=True)
class Way:
    """A way to search: a recipe that is there, or one made up for the occasion under a name of its own, with other
    numbers in some modules."""

    name: str
    recipe: Recipe | None = None
    patches: tuple[Patch, ...] = ()


@dataclass(frozen=True)
class Bench:
    """Where the sets are, where work is kept, and whether what is kept counts."""

    sets: Path
    work: Path
    fresh: bool = False

    def scores(self, labelled: LabelledSet, encoder: str, ways: Sequence[Way]) -> dict[str, Scores]:
        """What each way scores, by its name; only what is not known yet is measured."""
        files = {way.name: self._file(labelled, encoder, way.name) for way in ways}
        missing = [way for way in ways if self.fresh or not files[way.name].is_file()]
        if missing:
            with self.opened(labelled, encoder) as parts:
                for way in missing:
                    _keep(files[way.name], _measured(labelled, encoder, way, parts))
        return {name: _kept(path) for name, path in files.items()}

    @contextmanager
    def opened(self, labelled: LabelledSet, encoder: str) -> Iterator[list[tuple[Engine, Part]]]:
        """An engine per part, with everything indexed."""
        with ExitStack() as stack:
            parts = labelled.parts(self.sets, self.work / "corpora")
            yield [(stack.enter_context(self._engine(part, encoder)), part) for part in parts]

    @contextmanager
    def _engine(self, part: Part, encoder: str) -> Iterator[Engine]:
        settings = Settings(encoder=encoder, data_dir=self.work / "data")
        index = self.work / "indexes" / f"{part.name}-{encoder}.db"
        drop_stale(index)
        with Engine(settings, index, create=True) as engine:
            _index(engine, part, Told(f"{part.name}, {encoder}"))
            yield engine

    def _file(self, labelled: LabelledSet, encoder: str, way: str) -> Path:
        key = f"{self._code}{_digest_of([self.sets / (labelled.folder or labelled.name)])}{way}"
        key += f"{labelled.sample or ''}"
        name = f"{_slug(way)}-{hashlib.sha256(key.encode()).hexdigest()[:12]}.json"
        return self.work / "scores" / labelled.name / encoder / name

    @cached_property
    def _code(self) -> str:
        parts = [it for it in sorted(SOURCES.iterdir()) if it.name not in APART]
        return _digest_of([*parts, Path(__file__).with_name("labelled")])


class Told:
    """Progress in lines on stderr, at most one every few seconds."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._next = time.monotonic() + PROGRESS_S

    def __call__(self, stage: str, done: int, total: int) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + PROGRESS_S
            say(f"{self._what}: {stage} {done:,} of {total:,}")


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def mean(scores: Scores, measure: str) -> float:
    """The mean over the questions; with several parts, over the means of the parts."""
    by_part: dict[str, list[float]] = {}
    for query in scores.queries:
        by_part.setdefault(query.id.partition("/")[0], []).append(query.values[measure])
    return fmean(map(fmean, by_part.values()))


def recipe_for(labelled: LabelledSet, recipe: str) -> str:
    """The recipe that asks for what the set labels: whole files where there is one of that name."""
    whole = f"{recipe}-files"
    return whole if labelled.files and (recipe == AUTO_RECIPE or whole in recipes.RECIPES) else recipe


def drop_stale(index: Path, *, always: bool = False) -> None:
    """An index that other code made goes away; its vectors come back from the cache by their texts."""
    index.parent.mkdir(parents=True, exist_ok=True)
    stamp, made_by = index.with_suffix(".made-by"), _digest_of(SOURCES / name for name in INDEXING)
    if always or not stamp.is_file() or stamp.read_text() != made_by:
        for path in index.parent.glob(f"{index.name}*"):
            path.unlink()
        stamp.write_text(made_by)


def _index(engine: Engine, part: Part, progress: Told) -> None:
    if part.corpus.is_dir():
        report = engine.index([part.corpus], progress=progress)
    else:
        report = engine.indexing.index_source(str(part.corpus.resolve()), CorpusSource(part.corpus), progress=progress)
    for note in report.notes if engine.settings.encoder != "none" else ():
        say(f"{part.name}: {note}")


def _measured(labelled: LabelledSet, encoder: str, way: Way, parts: list[tuple[Engine, Part]]) -> Scores:
    began, undone = time.monotonic(), Counter[str]()
    scope = Scope(kinds=labelled.kinds)
    known = {**recipes.RECIPES, **({} if way.recipe is None else {way.name: way.recipe})}
    scores = []
    with ExitStack() as stack:
        for module, name, value in ((recipes, "RECIPES", known), *way.patches):
            stack.enter_context(patch.object(module, name, value))
        for engine, part in parts:
            for question in part.questions:
                score, answer = _asked(
                    engine, part, question, Query(question.text, scope, limit=labelled.depth, recipe=way.name)
                )
                scores.append(score)
                undone.update({f"{it.name} {it.note}" for it in answer.steps if it.note.startswith(UNDONE)})
    where = f"{labelled.name}, {encoder}, {way.name}"
    _say_undone(where, undone, len(scores))
    first, found = labelled.measures[0], Scores(tuple(scores))
    say(f"{where}: {first} {mean(found, first):.4f} ({time.monotonic() - began:.0f} s)")
    return found


def _asked(engine: Engine, part: Part, question: Question, query: Query) -> tuple[QueryScore, Answer]:
    began = time.perf_counter()
    answer = engine.search(query)
    took_ms = (time.perf_counter() - began) * 1000
    chunks = [(hit.stored.record.path, hit.stored.chunk) for hit in answer.hits]
    found = [Found(path, it.start_line, it.end_line, it.text) for path, it in chunks]
    return QueryScore(f"{part.name}/{question.id}", question.judge(found), took_ms), answer


def _say_undone(where: str, undone: Counter[str], questions: int) -> None:
    """A step that did nothing on every question means that something else was measured than was asked for."""
    for note, count in undone.most_common(3):
        say(f"{where}: {note} ({count} of {questions} questions)")
        if count == questions:
            raise SystemExit(f"{where}: {note}, on every question; leave the recipe out or fix it")


# --- keeping ----------------------------------------------------------------------------------


def _keep(path: Path, scores: Scores) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_suffix(".part")
    aside.write_text(json.dumps([[it.id, it.values, round(it.ms, 3)] for it in scores.queries]))
    aside.replace(path)


def _kept(path: Path) -> Scores:
    return Scores(tuple(QueryScore(id, values, ms) for id, values, ms in json.loads(path.read_text())))


def _slug(text: str) -> str:
    return "".join(it if it.isalnum() or it in "-_." else "_" for it in text)[:80]


def _digest_of(places: Iterable[Path]) -> str:
    """Of everything in the places: names and contents."""
    digest = hashlib.sha256()
    for place in places:
        for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(f"{path.relative_to(place)}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
