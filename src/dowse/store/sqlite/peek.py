"""A look into an index that may be of any version, damaged or nobody's: what it is of, and nothing is written."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote

import apsw

from dowse.model import Collection, Version
from dowse.store.sqlite.database import APPLICATION_ID, fetch

_BUSY_MS: Final = 100


@dataclass(frozen=True, slots=True)
class Glimpse:
    """The collections of an index with some files of each, by name and path."""

    collections: tuple[Collection, ...]
    manifest: Mapping[str, str]
    files: Mapping[str, Mapping[str, Version]]


def peek(index: Path, sample: int) -> Glimpse | None:
    """What the index is of, with up to `sample` files of each collection; None for whatever can not be read."""
    try:
        if not stat.S_ISREG(index.lstat().st_mode):
            return None  # to open a pipe would wait for ever
        connection = apsw.Connection(f"file:{quote(str(index))}?mode=ro", flags=_FLAGS)
    except (OSError, ValueError, apsw.Error):
        return None
    try:
        connection.set_busy_timeout(_BUSY_MS)
        return _glimpse(connection, sample)
    except (apsw.Error, TypeError, ValueError):
        return None
    finally:
        connection.close()


_FLAGS: Final = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI


def _glimpse(connection: apsw.Connection, sample: int) -> Glimpse | None:
    connection.execute("PRAGMA query_only=ON; PRAGMA trusted_schema=OFF")
    if fetch(connection, "PRAGMA application_id") != [(APPLICATION_ID,)]:
        return None
    rows = fetch(connection, "SELECT id, name, root, listed, synced_at FROM collections ORDER BY id")
    collections = tuple(Collection(str(name), str(root), *rest) for _, name, root, *rest in rows)
    files = {str(name): _files(connection, key, sample) for key, name, *_ in rows}
    return Glimpse(collections, dict(fetch(connection, "SELECT key, value FROM manifest")), files)


def _files(connection: apsw.Connection, collection: int, sample: int) -> dict[str, Version]:
    """The next file at each of some evenly spread keys: counting all of them would read them all."""
    ((last,),) = fetch(connection, "SELECT coalesce(max(id), 0) FROM records")
    statement = (
        "SELECT path, size, mtime_ns, digest, chunking, settled FROM records WHERE id >= ? AND collection = ? "
        "ORDER BY id LIMIT 1"
    )
    found: dict[str, Version] = {}
    for place in range(sample):
        for path, size, mtime_ns, digest, chunking, settled in fetch(
            connection, statement, (1 + last * place // sample, collection)
        ):
            found[path] = Version(size, mtime_ns, digest, chunking, bool(settled))
    return found
