"""Retrievers: each gives its own ranked candidates for a run, best first."""

from __future__ import annotations

from collections.abc import Callable

from dowse.model import Scored
from dowse.search.run import Run
from dowse.text.terms import MAX_QUERY_CHARS, parse

Retriever = Callable[[Run], list[Scored]]


def lexical(run: Run) -> list[Scored]:
    """BM25 over the words of the query."""
    terms = parse(run.query.text)
    if not terms:
        run.notes.append("the query has no words to match")
    if len(run.query.text) > MAX_QUERY_CHARS:
        run.notes.append(f"only the first {MAX_QUERY_CHARS:,} characters of the query were used")
    return run.store.match(terms, run.query.scope, run.weights, run.pool)


def semantic(run: Run) -> list[Scored]:
    """Cosine between the query's vector and the chunks'."""
    query = run.encode(run.query.text[:MAX_QUERY_CHARS])
    if query.vector is None:
        run.notes.append(query.why_not)
        return []
    return run.store.near(query.vector, run.query.scope, run.pool)
