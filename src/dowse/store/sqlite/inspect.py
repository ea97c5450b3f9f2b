"""Read facts of an index without opening it."""

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

from dowse.model import Collection, ItemVersion
from dowse.store.sqlite.database import APPLICATION_ID, fetch_rows, make_defensive
from dowse.store.sqlite.signing import Signer

_INSPECT_BUSY_MS: Final = 100
_INSPECT_FLAGS: Final = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
_SAMPLE_FILES_SQL: Final = (
    "SELECT DISTINCT records.path, size, mtime_ns, digest, chunking FROM json_each(?) AS spread JOIN records "
    "ON records.id = (SELECT min(id) FROM records WHERE id >= spread.value AND collection = "
    "(SELECT id FROM collections WHERE name = ?))"
)
_READ_ERRORS = (apsw.Error, OSError, LookupError, TypeError, ValueError)


@dataclass(frozen=True, slots=True)
class IndexInfo:
    """The collections and metadata of an index; empty if unreadable."""

    collections: tuple[Collection, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)


def inspect_index(index: Path, signer: Signer) -> IndexInfo:
    """Inspect an index; empty for one that this user's Dowse did not make."""
    with suppress(*_READ_ERRORS), _open_read_only(index) as connection:
        if fetch_rows(connection, "PRAGMA application_id") == [(APPLICATION_ID,)]:
            rows = signer.trusted_roots(connection, index)
            collections = tuple(Collection(str(name), str(root), source=str(source)) for name, root, source in rows)
            return IndexInfo(
                collections, dict(fetch_rows(connection, "SELECT key, value FROM manifest")) if rows else {}
            )
    return IndexInfo()


def sample_files(index: Path, collection: str, sample: int) -> dict[str, ItemVersion]:
    """Return the files at evenly spaced keys; selecting from all files would read all of them."""
    with suppress(*_READ_ERRORS), _open_read_only(index) as connection:
        ((last,),) = fetch_rows(connection, "SELECT coalesce(max(id), 0) FROM records")
        keys = json.dumps([1 + last * place // sample for place in range(sample)])
        rows = fetch_rows(connection, _SAMPLE_FILES_SQL, (keys, collection))
        return {path: ItemVersion(*version) for path, *version in rows}
    return {}


@contextmanager
def _open_read_only(index: Path) -> Iterator[apsw.Connection]:
    if not stat.S_ISREG(index.lstat().st_mode):
        raise OSError("not a regular file")  # opening a named pipe would block forever
    connection = apsw.Connection(f"file:{quote(str(index))}", flags=_INSPECT_FLAGS)
    try:
        connection.set_busy_timeout(_INSPECT_BUSY_MS)
        make_defensive(connection)
        connection.execute("PRAGMA query_only=ON")
        yield connection
    finally:
        connection.close()
