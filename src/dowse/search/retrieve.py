"""Retrievers: each returns ranked candidates for a run, best first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

from dowse.errors import EncoderMismatch
from dowse.model import Query, Scope, ScoredChunk
from dowse.search.run import QueryVector, SearchRun, retrieve_per_group
from dowse.text.tokenize import MAX_QUERY_CHARS, QueryTerm, QueryTerms, headline, parse_query

_MAX_ENCODER_TRIES = 3  # an index does not change its encoder twice within one search
_COSINE_DIGITS = 6  # vectors are stored with lower precision, so further digits are noise

Retriever = Callable[[SearchRun], list[ScoredChunk]]


def retrieve_lexical(run: SearchRun) -> list[ScoredChunk]:
    """Rank by BM25 over the words of the query."""
    terms = parse_query(run.query.text)
    if not terms:
        run.notes.append("the query has no words to match")
    if len(run.query.text) > MAX_QUERY_CHARS:
        run.notes.append(f"only the first {MAX_QUERY_CHARS:,} characters of the query were used")
    return match_terms(terms, run.query.scope, run)


def retrieve_headline(run: SearchRun) -> list[ScoredChunk]:
    """Rank by BM25 over the first line of a multi-line query, which states the subject of a report."""
    first = headline(run.query.text)
    return match_terms(parse_query(first), run.query.scope, run) if first else []


def retrieve_semantic(run: SearchRun) -> list[ScoredChunk]:
    """Rank by the cosine between the query's vector and those of the chunks."""
    found, why_not = find_nearest(run, run.pool)
    if note := why_not or get_query_vector(run).note:
        run.notes.append(note)
    return _break_ties_by_path(found, run, digits=_COSINE_DIGITS)


def find_nearest(run: SearchRun, limit: int) -> tuple[list[ScoredChunk], str]:
    """Return the chunks nearest in meaning to the query, or the reason why there are none."""
    if run.phrase_chunks is not None and not run.phrase_chunks:
        return [], ""
    for _ in range(_MAX_ENCODER_TRIES):
        query = get_query_vector(run)
        if query.vector is None:
            return [], query.skip_reason
        try:
            return retrieve_per_group(run.query.scope, run, limit, partial(_query_vectors, run, query)), ""
        except EncoderMismatch:
            # The index switched to another encoder after the query was encoded.
            run.vector = None
    return [], "skipped: the vectors of the index are being replaced; try again"


def _query_vectors(run: SearchRun, query: QueryVector, scope: Scope, limit: int) -> list[ScoredChunk]:
    assert query.vector is not None  # `nearest` has checked this
    return run.view.near(query.vector, scope, limit, query.encoder_fingerprint, run.phrase_chunks)


def required_phrases(query: Query) -> tuple[QueryTerm, ...]:
    """Return the phrases that the query requires by quotes. Quotes in a hypothesis are not requirements."""
    return () if query.hypothesis == query.text else parse_query(query.text).required


def find_phrase_chunks(run: SearchRun, phrases: Sequence[QueryTerm]) -> frozenset[int]:
    """Look up once which chunks contain all phrases, for every retriever and stage."""
    run.phrase_chunks = frozenset()  # if the lookup fails, no chunk counts as a match
    run.phrase_chunks = frozenset(run.view.chunks_containing(phrases))
    return run.phrase_chunks


def get_query_vector(run: SearchRun) -> QueryVector:
    """Return the vector of the hypothesis, or else of the query text. It is encoded once per run."""
    if run.vector is None:
        run.vector = run.models.encode((run.query.hypothesis or run.query.text)[:MAX_QUERY_CHARS])
    return run.vector


def match_terms(terms: QueryTerms, scope: Scope, run: SearchRun) -> list[ScoredChunk]:
    """Return the best chunks by BM25 for these terms."""
    ask = partial(_query_terms, run, terms)
    return _break_ties_by_path(retrieve_per_group(scope, run, run.pool, ask, sets_kind_weights=True), run, digits=None)


def _query_terms(run: SearchRun, terms: QueryTerms, scope: Scope, limit: int) -> list[ScoredChunk]:
    return run.view.match(terms, scope, run.weights, limit)


def _break_ties_by_path(ranking: list[ScoredChunk], run: SearchRun, digits: int | None) -> list[ScoredChunk]:
    """Break ties by path. Keys depend on the time of indexing, which must not affect the ranking."""
    scores = [it.score if digits is None else round(it.score, digits) for it in ranking]
    tied = {score for score, following in pairwise(scores) if score == following}
    if not tied:
        return ranking
    places = run.view.chunk_places([it.key for it, score in zip(ranking, scores, strict=True) if score in tied])
    nowhere = ("", "", 0)
    order = sorted(range(len(ranking)), key=lambda at: (-scores[at], places.get(ranking[at].key, nowhere)))
    return [ranking[at] for at in order]
