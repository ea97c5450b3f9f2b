"""What must be true of an index after a kill, whenever it came."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import apsw

from crashes.corpus import Content
from dowse.config import Settings
from dowse.engine import Engine
from dowse.errors import NotIndexed
from dowse.model import Chunk, Query

_ORPHANS = (
    "SELECT count(*) FROM chunks WHERE record NOT IN (SELECT id FROM records)",
    "SELECT count(*) FROM texts WHERE record NOT IN (SELECT id FROM records)",
    "SELECT count(*) FROM symbols WHERE record NOT IN (SELECT id FROM records)",
    "SELECT count(*) FROM vectors WHERE chunk NOT IN (SELECT id FROM chunks)",
    "SELECT count(*) FROM next_vectors WHERE chunk NOT IN (SELECT id FROM chunks)",
)


class Broken(AssertionError):
    """A kill did harm."""


def contents(index: Path, data: Path) -> dict[str, Content]:
    """What the index has of each file; it opens, and it answers by words and by meaning; nothing is brought in."""
    try:
        engine = Engine(Settings(encoder="auto", data_dir=data, freshness_timeout_ms=0), index, create=False)
    except NotIndexed:
        return {}  # it was killed before there was any
    found: dict[str, list[Chunk]] = {}
    with engine:
        for stored in engine.export():
            found.setdefault(stored.record.path, []).append(stored.chunk)
        for recipe in ("lexical", "hybrid"):
            answer = engine.search(Query("alpha retry cache", recipe=recipe))
            if found and not answer.hits:
                raise Broken(f"{recipe}: no hits in {len(found)} files")
    return {path: tuple(chunks) for path, chunks in found.items()}


def check_files(before: Mapping[str, Content], after: Mapping[str, Content], on_disk: Mapping[str, Content]) -> None:
    """Each file is as it was indexed or as it is on disk now: never lost, never half."""
    for path in before.keys() | after.keys() | on_disk.keys():
        now = after.get(path)
        if now != before.get(path) and now != on_disk.get(path):
            raise Broken(f"{path} has {len(now or ())} chunks, which are neither the old nor the new ones")


def check_tables(index: Path) -> None:
    """Every page, every index, and the words against the chunks they are of."""
    connection = apsw.Connection(str(index))
    try:
        if (found := connection.execute("PRAGMA integrity_check").fetchall()) != [("ok",)]:
            raise Broken(f"integrity: {found}")
        connection.execute("INSERT INTO words (words, rank) VALUES ('integrity-check', 1)")
        for query in _ORPHANS:
            if connection.execute(query).fetchall() != [(0,)]:
                raise Broken(query)
    finally:
        connection.close()
