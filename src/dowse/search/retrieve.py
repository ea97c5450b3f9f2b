"""Retrievers: each gives its own ranked candidates for a run, best first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

from dowse.errors import OtherVectors
from dowse.model import Query, Scope, Scored
from dowse.search.families import gathered
from dowse.search.run import QueryVector, Run
from dowse.text.terms import MAX_QUERY_CHARS, Term, Terms, headline, parse

_TRIES = 3  # an index is not switched twice within one search
_COSINE_DIGITS = 6  # vectors are stored with less, so a difference beyond is noise

Retriever = Callable[[Run], list[Scored]]


def lexical(run: Run) -> list[Scored]:
    """BM25 over the words of the query."""
    terms = parse(run.query.text)
    if not terms:
        run.notes.append("the query has no words to match")
    if len(run.query.text) > MAX_QUERY_CHARS:
        run.notes.append(f"only the first {MAX_QUERY_CHARS:,} characters of the query were used")
    return matched(terms, run.query.scope, run)


def headlined(run: Run) -> list[Scored]:
    """BM25 over the first line of a text of several: what a report is about, without all it tells besides."""
    first = headline(run.query.text)
    return matched(parse(first), run.query.scope, run) if first else []


def semantic(run: Run) -> list[Scored]:
    """Cosine between the query's vector and the chunks'."""
    found, why_not = nearest(run, run.pool)
    if note := why_not or query_vector(run).note:
        run.notes.append(note)
    return _stable(found, run, digits=_COSINE_DIGITS)


def nearest(run: Run, limit: int) -> tuple[list[Scored], str]:
    """The chunks nearest to the query by meaning, or why there are none."""
    if run.holders is not None and not run.holders:
        return [], ""
    for _ in range(_TRIES):
        query = query_vector(run)
        if query.vector is None:
            return [], query.why_not
        try:
            return gathered(run.query.scope, run, limit, partial(_near, run, query)), ""
        except OtherVectors:
            # The index was switched to another encoder since the query was encoded.
            run.vector = None
    return [], "skipped: the index's vectors are being replaced, ask again"


def _near(run: Run, query: QueryVector, scope: Scope, limit: int) -> list[Scored]:
    assert query.vector is not None  # asked before
    return run.store.near(query.vector, scope, limit, query.made_by, run.holders)


def phrases_of(query: Query) -> tuple[Term, ...]:
    """What the query requires by quotes; a sketch of the answer quotes only what a document might."""
    return () if query.hypothesis == query.text else parse(query.text).required


def find_holders(run: Run, phrases: Sequence[Term]) -> frozenset[int]:
    """Look up once which chunks hold the phrases, for all that find candidates and all that add hits."""
    run.holders = frozenset()  # nothing is vouched for where the words can not be looked up
    run.holders = frozenset(run.store.holding(phrases))
    return run.holders


def query_vector(run: Run) -> QueryVector:
    """What is compared by meaning: the hypothesis where there is one. Encoded once for all who ask."""
    if run.vector is None:
        run.vector = run.models.encode((run.query.hypothesis or run.query.text)[:MAX_QUERY_CHARS])
    return run.vector


def matched(terms: Terms, scope: Scope, run: Run) -> list[Scored]:
    """The run's best chunks by BM25 for these terms."""
    ask = partial(_match, run, terms)
    return _stable(gathered(scope, run, run.pool, ask, leans=True), run, digits=None)


def _match(run: Run, terms: Terms, scope: Scope, limit: int) -> list[Scored]:
    return run.store.match(terms, scope, run.weights, limit)


def _stable(ranking: list[Scored], run: Run, digits: int | None) -> list[Scored]:
    """Equal scores in the order of paths: keys tell when a chunk was indexed, which must not decide a rank."""
    scores = [it.score if digits is None else round(it.score, digits) for it in ranking]
    tied = {score for score, following in pairwise(scores) if score == following}
    if not tied:
        return ranking
    places = run.store.places([it.key for it, score in zip(ranking, scores, strict=True) if score in tied])
    nowhere = ("", "", 0)
    order = sorted(range(len(ranking)), key=lambda at: (-scores[at], places.get(ranking[at].key, nowhere)))
    return [ranking[at] for at in order]
