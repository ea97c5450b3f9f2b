"""A look into an index that may be of any version, damaged or nobody's: what it is of, and nothing is written."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import quote

import apsw

from dowse.model import Collection, Version
from dowse.store.sqlite.database import APPLICATION_ID, fetch, make_defensive
from dowse.store.sqlite.signing import Signer

_BUSY_MS: Final = 100
_FLAGS: Final = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
_NEXT_FILES: Final = (
    "SELECT DISTINCT records.path, size, mtime_ns, digest, chunking FROM json_each(?) AS spread JOIN records "
    "ON records.id = (SELECT min(id) FROM records WHERE id >= spread.value AND collection = "
    "(SELECT id FROM collections WHERE name = ?))"
)
_WHATEVER_IT_HOLDS = (apsw.Error, OSError, LookupError, TypeError, ValueError)


@dataclass(frozen=True, slots=True)
class Glimpse:
    """The collections of an index and its notes; nothing at all of what can not be read."""

    collections: tuple[Collection, ...] = ()
    manifest: Mapping[str, str] = field(default_factory=dict)


def peek(index: Path, signer: Signer) -> Glimpse:
    """Nothing of an index that this user's Dowse did not make."""
    with suppress(*_WHATEVER_IT_HOLDS), _opened(index) as connection:
        if fetch(connection, "PRAGMA application_id") == [(APPLICATION_ID,)]:
            rows = signer.trusted_roots(connection, index)
            collections = tuple(Collection(str(name), str(root), source=str(source)) for name, root, source in rows)
            return Glimpse(collections, dict(fetch(connection, "SELECT key, value FROM manifest")) if rows else {})
    return Glimpse()


def peek_files(index: Path, collection: str, sample: int) -> dict[str, Version]:
    """The next file at each of some evenly spread keys: counting all of them would read them all."""
    with suppress(*_WHATEVER_IT_HOLDS), _opened(index) as connection:
        ((last,),) = fetch(connection, "SELECT coalesce(max(id), 0) FROM records")
        wanted = json.dumps([1 + last * place // sample for place in range(sample)])
        rows = fetch(connection, _NEXT_FILES, (wanted, collection))
        return {path: Version(*version) for path, *version in rows}
    return {}


@contextmanager
def _opened(index: Path) -> Iterator[apsw.Connection]:
    if not stat.S_ISREG(index.lstat().st_mode):
        raise OSError("not a regular file")  # to open a pipe would wait for ever
    connection = apsw.Connection(f"file:{quote(str(index))}", flags=_FLAGS)
    try:
        connection.set_busy_timeout(_BUSY_MS)
        make_defensive(connection)
        connection.execute("PRAGMA query_only=ON")
        yield connection
    finally:
        connection.close()
