"""What can be told of an index by reading all of it: its pages, its full-text indexes, its seals."""

from __future__ import annotations

import re
import time
import zlib
from collections.abc import Iterator
from contextlib import closing
from itertools import islice

import apsw

from dowse.errors import BadInput, IndexBusy, IndexDamaged
from dowse.store.health import Finding, Progress
from dowse.store.sqlite.database import Database
from dowse.store.sqlite.health.mending import unfinished
from dowse.store.sqlite.health.quick import MEND
from dowse.store.sqlite.health.unsound import unsealed, unsound_records

_STEPS = 10_000  # of SQLite, between two looks at the clock
_MOST = 50  # complaints of SQLite; the first ones tell
_INDEXES = {"words": "words", "symbol_grams": "names"}
_OWNERS = {
    "words": "words",
    "symbol_": "names",
    "sqlite_autoindex_symbol_names": "names",
    "vector": "vectors",
    "next_vectors": "vectors",
}
_OF_INDEX = re.compile(r"(missing from|entries in|non-unique entry in) index (\S+)")
_OF_TREE = re.compile(r"Tree (\d+)")
_OF_FTS = re.compile(r"\bfts5.* table \"?(?:main\.)?(\w+)", re.IGNORECASE)


def deep_findings(db: Database, progress: Progress) -> Iterator[Finding]:
    yield from _pages(db, progress)
    yield from _full_text(db, progress)
    yield from _records(db, progress)
    yield from _names(db)
    yield from _vectors(db, progress)


def _pages(db: Database, progress: Progress) -> Iterator[Finding]:
    progress("checking pages", 0, 1)
    found = page_findings(db)
    progress("checking pages", 1, 1)
    yield from found or [Finding("catalog", "ok", "every page of the file is sound")]


def page_findings(db: Database, within_s: float | None = None) -> list[Finding]:
    """What SQLite complains about. In a given time it looks at less, and what it did not come to is sound."""
    how = "integrity_check" if within_s is None else "quick_check"
    # Of the full-text indexes, a connection that was open while another one wrote would compare what it remembers.
    with closing(Database(db.path, create=False, signer=db.signer)) as newly:
        if within_s is not None:
            end = time.monotonic() + within_s
            newly.reader().set_progress_handler(lambda: time.monotonic() > end, _STEPS)
        try:
            complaints = [str(row[0]) for row in newly.rows(f"PRAGMA {how}({_MOST})")]
        except apsw.InterruptError:
            return []
    if complaints == ["ok"]:
        return []
    roots = {page: name for name, page in db.rows("SELECT tbl_name, rootpage FROM sqlite_schema WHERE rootpage > 0")}
    parts: dict[str, str] = {}
    for complaint in complaints:
        parts.setdefault(_part_of(complaint, roots), " ".join(complaint.split()))
    return [Finding(part, "problem", complaint, MEND) for part, complaint in parts.items()]


def _part_of(complaint: str, roots: dict[int, str]) -> str:
    """Which part a complaint of SQLite is about; the catalog where it does not say."""
    if found := _OF_FTS.search(complaint):
        return _INDEXES.get(found[1], "catalog")
    if found := _OF_TREE.search(complaint):
        return _owner(roots.get(int(found[1]), ""))
    # An index can be made from its table, whose rows have seals.
    if found := _OF_INDEX.search(complaint):
        owner = _owner(found[2])
        return "records" if owner == "catalog" else owner
    return "catalog"


def _owner(name: str) -> str:
    return next((part for start, part in _OWNERS.items() if name.startswith(start)), "catalog")


def _full_text(db: Database, progress: Progress) -> Iterator[Finding]:
    """FTS5 compares its indexes with what they index; it wants to be told by a statement that writes."""
    for done, (table, part) in enumerate(_INDEXES.items()):
        progress("checking words", done, len(_INDEXES))
        if part in unfinished(db.reader()):
            continue
        try:
            with db.transaction() as connection:
                connection.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('integrity-check', 1)")
        except (IndexDamaged, apsw.SQLError) as error:
            yield Finding(
                part, "problem", f"the index of {part} is not that of the catalog ({error.__cause__ or error})", MEND
            )
        except (BadInput, IndexBusy) as error:
            yield Finding(part, "warning", f"the index of {part} was not compared with the catalog: {error}")
        else:
            yield Finding(part, "ok", f"the index of {part} is that of the catalog")
    progress("checking words", len(_INDEXES), len(_INDEXES))


def _records(db: Database, progress: Progress) -> Iterator[Finding]:
    damaged, before = sum(1 for _ in unsound_records(db, progress)), unsealed(db)
    if damaged:
        yield Finding("records", "problem", f"{damaged:,} records are not what was written of them", MEND)
    else:
        yield Finding("records", "ok", "every record matches its checksum")
    if before:
        text = f"{before:,} records were written before there were checksums"
        yield Finding("records", "warning", text, "dowse index --force")


def _names(db: Database) -> Iterator[Finding]:
    ((missing,),) = db.rows(
        "SELECT count(*) FROM (SELECT DISTINCT folded FROM symbols WHERE folded NOT IN (SELECT name FROM symbol_names))"
    )
    if missing:
        yield Finding("names", "problem", f"{missing:,} names of symbols can not be found by a part of them", MEND)


def _vectors(db: Database, progress: Progress) -> Iterator[Finding]:
    for table in ("vectors", "next_vectors"):
        ((total, sizes),) = db.rows(f"SELECT count(*), count(DISTINCT length(vector)) FROM {table}")
        rows, done, damaged = db.stream(f"SELECT vector, seal FROM {table}"), 0, int(sizes > 1)
        while part := list(islice(rows, 10_000)):
            damaged += sum(not _intact(vector, seal) for vector, seal in part)
            done += len(part)
            progress("checking vectors", done, total)
        if damaged:
            yield Finding("vectors", "problem", f"{damaged:,} vectors do not match their checksums", MEND)


def _intact(vector: object, seal: object) -> bool:
    return isinstance(vector, bytes) and (seal is None or zlib.crc32(vector) == seal)
