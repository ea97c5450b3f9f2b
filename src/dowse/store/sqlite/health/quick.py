"""What can be told of an index by counting: whether its parts agree with each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dowse.store.health import Finding
from dowse.store.sqlite.database import Database
from dowse.store.sqlite.health.mending import ANEW, WORDS, unfinished
from dowse.store.sqlite.rows import UNENCODED_CHUNKS

MEND = "dowse doctor --fix"
_INDEX = "dowse index"


@dataclass(frozen=True, slots=True)
class _Orphans:
    """Rows whose owner is gone: no transaction leaves any."""

    part: str
    what: str
    sql: str


_ORPHANS = (
    _Orphans("records", "records without a collection", "records WHERE collection NOT IN (SELECT id FROM collections)"),
    _Orphans("records", "chunks without a record", "chunks WHERE record NOT IN (SELECT id FROM records)"),
    _Orphans("records", "texts without a record", "texts WHERE record NOT IN (SELECT id FROM records)"),
    _Orphans("records", "records without a text", "records WHERE lined AND id NOT IN (SELECT record FROM texts)"),
    _Orphans("vectors", "vectors without a chunk", "vectors WHERE chunk NOT IN (SELECT id FROM chunks)"),
    _Orphans(
        "catalog",
        "collections that do not match their copies",
        "collections WHERE twin IS NOT name || char(31) || root",
    ),
)


def quick_findings(db: Database) -> Iterator[Finding]:
    """All of one moment; what they are about is not read, only counted."""
    with db.moment():
        yield from _words(db)
        yield from _vectors(db)
        yield from _orphans(db)


def _count(db: Database, sql: str) -> int:
    return int(db.rows(f"SELECT count(*) FROM {sql}")[0][0])


def _words(db: Database) -> Iterator[Finding]:
    if WORDS in unfinished(db.reader()):
        yield Finding(WORDS, "problem", f"the words index is {ANEW}, and that was not finished", MEND)
        return
    chunks, indexed = _count(db, "chunks"), _count(db, "words_docsize")
    if chunks == indexed:
        yield Finding(WORDS, "ok", f"all {chunks:,} chunks are in the words index")
    else:
        yield Finding(WORDS, "problem", f"{indexed:,} of {chunks:,} chunks are in the words index", MEND)


def _vectors(db: Database) -> Iterator[Finding]:
    vectors, following = _count(db, "vectors"), _count(db, "next_vectors")
    chunks = _count(db, "chunks") - _count(db, UNENCODED_CHUNKS)
    if following:
        text = f"{following:,} of {chunks:,} chunks have vectors of the next encoder, which does not answer yet"
        yield Finding("vectors", "warning", text, _INDEX)
    if vectors < chunks:
        yield Finding("vectors", "warning", f"{vectors:,} of {chunks:,} chunks have vectors", _INDEX)
    else:
        yield Finding("vectors", "ok", f"{vectors:,} of {chunks:,} chunks have vectors")


def _orphans(db: Database) -> Iterator[Finding]:
    found = [(it, count) for it in _ORPHANS if (count := _count(db, it.sql))]
    for it, count in found:
        yield Finding(it.part, "problem", f"{count:,} {it.what}", MEND)
    if not found:
        yield Finding("records", "ok", f"{_count(db, 'records'):,} records, and nothing without an owner")
