"""Signs an index with a key outside of every root, to tell whether this user's Dowse made it.

An index may come with a repository. It could name its own roots, contain triggers, and be served like the user's own.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import apsw

from dowse.errors import BadInput, IndexDamaged, IndexForeign
from dowse.paths import DataPaths

_SIGNATURE_KEY: Final = "signature"  # metadata key
_KEY_BYTES: Final = 32
_KEY_ID_DIGITS: Final = 16
_SCHEMA_SQL: Final = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name"
_ROOTS_SQL: Final = "SELECT name, root, source FROM collections ORDER BY id"
_ROOT_COPIES_SQL: Final = (  # collections are stored twice
    "SELECT substr(twin, 1, instr(twin, char(31)) - 1), substr(twin, instr(twin, char(31)) + 1), source "
    "FROM collections ORDER BY id"
)
_OLD_ROOTS_SQL: Final = (
    "SELECT name, root, 'files' FROM collections ORDER BY id"  # before version 5 there were only files
)
_READABLE_TABLES: Final = ("manifest", "collections")

Rows = list[tuple[object, ...]]


@dataclass(frozen=True, slots=True)
class Signer:
    """Signs and verifies indexes. Those below `own_folder` are the user's, even if an older Dowse did not sign them."""

    key_file: Path
    own_folder: Path

    @classmethod
    def of(cls, places: DataPaths) -> Signer:
        return cls(places.data_dir / "key", places.indexes)

    def verify(self, connection: apsw.Connection, index: Path, scripts: Sequence[Path]) -> None:
        """Verify the signature of an index.

        Raises IndexForeign if this user's Dowse did not make it, and IndexDamaged if it did but the schema or the roots
        changed. `scripts` create the schema of its version.
        """
        schema, key = _fetch_rows(connection, _SCHEMA_SQL), self._read_key()
        signature = _read_signature(connection, schema)
        if signature.is_by(key):
            if signature != _compute_signature(
                key, _read_version(connection), schema, _read_roots(connection, _ROOTS_SQL)
            ):
                raise IndexDamaged(f"{index} was changed outside Dowse (tables or roots); run `dowse rebuild`")
        elif not self._is_own(index):
            raise IndexForeign(
                f"{index} was not made by your Dowse, so it is not used; run `dowse rebuild --index {index}` to move "
                "it aside and build a new one from the files"
            )
        elif [row[:3] for row in schema] != _objects_created_by(scripts):
            raise IndexDamaged(f"{index} does not have the tables of an index; run `dowse rebuild`")

    def has_signed(self, connection: apsw.Connection, version: int) -> bool:
        """Return whether the index was signed with this version, whatever its header says."""
        schema, key = _fetch_rows(connection, _SCHEMA_SQL), self._read_key()
        signature = _read_signature(connection, schema)
        return signature.is_by(key) and signature.schema == _mac(key, [(version,), *schema])

    def trusted_roots(self, connection: apsw.Connection, index: Path) -> Rows:
        """Return name, root and source of each collection; if damaged, from the copy that matches the signature."""
        signature, key = _read_signature(connection, _fetch_rows(connection, _SCHEMA_SQL)), self._read_key()
        if signature.is_by(key):
            copies = (_read_roots(connection, statement) for statement in (_ROOTS_SQL, _ROOT_COPIES_SQL))
            return next((it for it in copies if signature.roots == _mac(key, it)), [])
        if not self._is_own(index):
            return []
        return _read_roots(connection, _ROOTS_SQL) or _read_roots(connection, _OLD_ROOTS_SQL)

    def sign(self, connection: apsw.Connection) -> None:
        """Update the signature; part of the transaction that changes the schema or the collections."""
        key, schema = self._read_key() or self._create_key(), _fetch_rows(connection, _SCHEMA_SQL)
        signature = _compute_signature(key, _read_version(connection), schema, _fetch_rows(connection, _ROOTS_SQL))
        if _read_signature(connection, schema) != signature:
            values = _SIGNATURE_KEY, ":".join(signature)
            connection.execute("INSERT OR REPLACE INTO manifest (key, value) VALUES (?, ?)", values)

    def _is_own(self, index: Path) -> bool:
        return self.own_folder.resolve() in index.resolve().parents

    def _read_key(self) -> bytes:
        """Return the key; empty if it is missing or unreadable."""
        try:
            file = os.open(self.key_file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return b""
        try:
            key = os.read(file, _KEY_BYTES)
        except OSError:
            return b""
        finally:
            os.close(file)
        return key if len(key) == _KEY_BYTES else b""

    def _create_key(self) -> bytes:
        """Create the key under a temporary name and link it: if several processes do so, the first one wins."""
        temporary = self.key_file.with_name(f".key.{os.urandom(8).hex()}")
        try:
            self.key_file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with os.fdopen(
                os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb"
            ) as file:
                file.write(os.urandom(_KEY_BYTES))
                file.flush()
                os.fsync(file.fileno())
            with suppress(FileExistsError):
                os.link(temporary, self.key_file)
        except OSError as error:
            raise BadInput(
                f"cannot write {self.key_file}, the key that signs indexes: {error.strerror}; "
                "choose another directory with --data-dir"
            ) from error
        finally:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
        if not (key := self._read_key()):
            raise BadInput(f"{self.key_file} is not a valid key; remove it, and the next command creates a new one")
        return key


class _Signature(NamedTuple):
    """A signature; empty if there is none. Roots are signed separately, so that they survive the loss of a table."""

    signed_by: str = ""
    schema: str = ""
    roots: str = ""

    def is_by(self, key: bytes) -> bool:
        return bool(key) and self.signed_by == _key_id(key)


def _compute_signature(key: bytes, version: int, schema: Rows, roots: Rows) -> _Signature:
    return _Signature(_key_id(key), _mac(key, [(version,), *schema]), _mac(key, roots))


def _read_version(connection: apsw.Connection) -> int:
    return int(str(_fetch_rows(connection, "PRAGMA user_version")[0][0]))


def _read_signature(connection: apsw.Connection, schema: Rows) -> _Signature:
    """Return the signature stored in the index. Reads nothing but two plain tables of an untrusted file."""
    tables = {row[1]: str(row[3]) for row in schema if row[0] == "table"}
    if not all(tables.get(name, "").startswith("CREATE TABLE ") for name in _READABLE_TABLES):
        return _Signature()
    try:
        rows = _fetch_rows(connection, "SELECT value FROM manifest WHERE key = ?", _SIGNATURE_KEY)
    except apsw.SQLError:
        return _Signature()
    parts = str(rows[0][0]).split(":") if rows else []
    return _Signature(*parts) if len(parts) == len(_Signature._fields) else _Signature()


def _read_roots(connection: apsw.Connection, statement: str) -> Rows:
    try:
        return _fetch_rows(connection, statement)
    except apsw.SQLError:
        return []  # columns are missing: no signature matches that


def _fetch_rows(connection: apsw.Connection, statement: str, *values: object) -> Rows:
    return connection.execute(statement, values).fetchall()


def _key_id(key: bytes) -> str:
    """Return the public id of a key, which reveals nothing of it."""
    return hashlib.blake2b(b"name", key=key).hexdigest()[:_KEY_ID_DIGITS]


def _mac(key: bytes, rows: Rows) -> str:
    signed = json.dumps(rows, default=str).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(signed, key=key, digest_size=_KEY_BYTES).hexdigest()


def _objects_created_by(scripts: Sequence[Path]) -> Rows:
    """Return type, name and table of everything these scripts create."""
    connection = apsw.Connection(":memory:")
    try:
        for script in scripts:
            connection.execute(script.read_text(encoding="utf-8"))
        return [row[:3] for row in _fetch_rows(connection, _SCHEMA_SQL)]
    finally:
        connection.close()
