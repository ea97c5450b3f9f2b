"""A small store of either backend, hits on its chunks and a run over it, for the tests of the stages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from dowse.model import Chunk, Hit, Link, Query, Record, Scope
from dowse.search.run import QueryVector, SearchModels, SearchRun
from dowse.store.base import Store
from dowse.store.types import ChunkInput, ColumnWeights

NOW = 1_700_000_000.0
DAY = 86_400


def put(
    store: Store,
    path: str,
    *texts: str,
    links: Iterable[Link | str] = (),
    trails: Sequence[tuple[str, ...]] = (),
    age_days: float = 0.0,
    collection: str = "notes",
    **rest: object,
) -> Record:
    """A record with these chunks, one blank line between them; a link given as text is a plain one."""
    mtime_ns = int((NOW - age_days * DAY) * 1_000_000_000)
    values: dict[str, object] = {"kind": "doc", "title": "", "size": 1, "mtime_ns": mtime_ns} | rest
    record = Record(collection=collection, path=path, digest="d", chunking="c", **values)  # type: ignore[arg-type]
    store.writer.put(record, list(_pieces(texts, trails)), (), [_link(it) for it in links])
    return record


def _pieces(texts: Sequence[str], trails: Sequence[tuple[str, ...]]) -> Iterable[ChunkInput]:
    line = 1
    for ordinal, text in enumerate(texts):
        end = line + text.count("\n")
        trail = trails[ordinal] if trails else ()
        yield ChunkInput(Chunk(ordinal, text, line, end, trail), f"{ordinal} {text}".encode().ljust(16)[:16])
        line = end + 2


def _link(link: Link | str) -> Link:
    return Link("links_to", link, 1) if isinstance(link, str) else link


def vectors(store: Store, rows: dict[str, Sequence[float]]) -> None:
    """A vector for each place, such as `a.md#0`."""
    keys = [_key(store, place) for place in rows]
    store.vectors.put_vectors(keys, np.array(list(rows.values()), dtype=np.float32))


def hits(store: Store, scores: dict[str, float]) -> list[Hit]:
    """Hits at these places, best first as given."""
    chunks = store.catalog.load([_key(store, place) for place in scores])
    return [Hit(it, score, {}) for it, score in zip(chunks, scores.values(), strict=True)]


def _key(store: Store, place: str) -> int:
    path, _, ordinal = place.partition("#")
    (record,) = store.catalog.records(path, "notes")
    return store.catalog.chunks(record)[int(ordinal or 0)].key


def run_over(store: Store, scope: Scope = Scope(), now: float = NOW) -> SearchRun:  # noqa: B008 - frozen
    query = Query("anything", scope)
    return SearchRun(
        query, store.view(), SearchModels(lambda _: QueryVector(None)), 100, ColumnWeights(), 60, now=lambda: now
    )


def places(found: Iterable[Hit]) -> list[str]:
    return [_place(hit) for hit in found]


def scores(found: Iterable[Hit]) -> dict[str, float]:
    return {_place(hit): round(hit.score, 6) for hit in found}


def _place(hit: Hit) -> str:
    return f"{hit.stored.record.path}#{hit.stored.chunk.ordinal}"
